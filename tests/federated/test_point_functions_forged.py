"""Forged keys change no count, honest ones are never refused; planted faults let forgers in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nolook.federated.point_functions import PointFunctions
from nolook.privacy.noise import SeededSource
from tests.federated.forged_keys import FORGERIES
from tests.federated.slow_point_functions import PROOF, Slow, control, with_control, xor

CONTEXT = bytes(range(32))


def count(functions, pairs):
    """Return the counts of accepted pairs, as the servers get them, and which were accepted."""
    names = np.arange(pairs.shape[1] * 8).reshape(-1, 8).astype(np.uint8)
    found = [functions.check(b, pairs[b], names) for b in (0, 1)]
    accepted = (found[0].messages == found[1].messages).all(axis=1)
    totals = np.zeros(1 << functions.levels, np.uint64)
    for b in (0, 1):
        rejected = functions.check(b, pairs[b][~accepted], names[~accepted]).counts
        totals += found[b].counts - rejected
    return totals, accepted


def honest(functions, n, seed):
    source = SeededSource(seed)
    cells = source.words(n) >> np.uint64(64 - functions.levels)
    return cells, np.stack(functions.generate(cells, source))


def forge_and_count(levels, forged_each, honest_count):
    """Check that forged reports of every kind among honest ones change nothing."""
    functions = PointFunctions(levels, CONTEXT)
    chance = np.random.default_rng(levels)
    cells, pairs = honest(functions, honest_count, levels)
    parts = [pairs]
    for i, forge in enumerate(FORGERIES.values()):
        parts.append(forge(functions, honest(functions, forged_each, 100 + i)[1], chance))
    totals, accepted = count(functions, np.concatenate(parts, axis=1))
    assert accepted[:honest_count].all()
    assert not accepted[honest_count:].any()
    assert (totals == np.bincount(cells.astype(int), minlength=1 << levels)).all()


@pytest.mark.parametrize("levels", [1, 2, 5, 8, 11])
def test_forged_reports_change_no_count_and_honest_ones_are_never_refused(levels):
    forge_and_count(levels, 40, 200)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [8, 12])
def test_ten_thousand_forged_reports_among_a_thousand(levels):
    forge_and_count(levels, 770, 1_000)


@pytest.mark.parametrize("name", FORGERIES)
def test_without_the_check_each_forgery_would_change_counts(name):
    """So that what is refused above is worth refusing."""
    slow, functions = Slow(8, (4, 8), CONTEXT), PointFunctions(8, CONTEXT)
    _, pairs = honest(functions, 10, 5)
    forged = FORGERIES[name](functions, pairs, np.random.default_rng(5))
    wrong = []
    for k in range(10):
        values = slow.opened([keys[k].tobytes() for keys in forged])
        wrong.append(any(list(each.values()) != [1] for each in values))
    assert any(wrong)


# The first trap: a hash of the seed without the control bit.


def equal_seed_pair(slow, seed, value):
    """Return keys of two cells with equal seeds at both parties, and control bits that differ."""
    public = slow.public([(bytes(16), 1, 1)], [(value % slow.modulus, bytes(PROOF))])
    return seed + public, seed + public


def first_seed(slow, same):
    """Return a seed whose two children have the same control bits, or different ones."""
    for seed in range(1, 1000):
        found = bytes([2 * seed % 256, seed >> 7]) + bytes(14)
        bits = [control(slow.one_way(side, found)) for side in ("left", "right")]
        if (bits[0] == bits[1]) == same:
            return found, bits[0]
    raise AssertionError("no such seed")


def half_and_half(slow):
    """Return keys of value 1/2 in each of two cells, which an odd modulus has."""
    seed, bit = first_seed(slow, same=True)
    half = pow(2, -1, slow.modulus)
    return equal_seed_pair(slow, seed, half if bit else -half)


ODD = 2**64 - 59


def test_a_hash_without_the_control_bit_lets_an_owner_set_two_cells():
    planted = Slow(1, (1,), CONTEXT, modulus=ODD, hash_control=False)
    pair = half_and_half(planted)
    half = pow(2, -1, ODD)
    assert planted.accepted(pair)
    assert planted.opened(pair) == [{0: half, 1: half}]


def test_a_hash_with_the_control_bit_refuses_them():
    assert not Slow(1, (1,), CONTEXT, modulus=ODD).accepted(
        half_and_half(Slow(1, (1,), CONTEXT, modulus=ODD, hash_control=False))
    )


def test_modulo_two_to_the_64_its_proofs_are_as_blind_and_only_the_sum_is_left():
    planted = Slow(1, (1,), CONTEXT, hash_control=False)
    seed, _ = first_seed(planted, same=False)
    pair = equal_seed_pair(planted, seed, 5)
    assert sorted(planted.opened(pair)[0].values()) == [5, 2**64 - 5]
    (first, second) = (planted.found(b, pair[b]) for b in (0, 1))
    assert first[0][1] == second[0][1]
    sound = Slow(1, (1,), CONTEXT)
    (first, second) = (sound.found(b, pair[b]) for b in (0, 1))
    assert all(one != other for one, other in zip(first[0][1], second[0][1], strict=True))


# The second trap: a block of leaves below the last proof.


class EarlyEnd(Slow):
    """Each node of the last stop has two leaves, with a correction each and no proof."""

    def leaves(self, role, key):
        words = [int.from_bytes(key[-16 + 8 * i :][:8], "little") for i in (0, 1)]
        found = {}
        for node, block in self.nodes(role, key[:-16])[-1].items():
            seed = self.one_way("leaf", block)
            for i in (0, 1):
                value = int.from_bytes(seed[8 * i :][:8], "little") + control(block) * words[i]
                found[2 * node + i] = value
        return found

    def message(self, role, key, name):
        parents = sum(self.values(role, key[:-16])[-1].values())
        below = (parents - sum(self.leaves(role, key).values())) % self.modulus
        return super().message(role, key[:-16], name) + below.to_bytes(8, "little")


def early_pair(planted, values):
    """Return keys of cell 0 whose leaves there have any two values that add up to 1."""
    pair = planted.generate(0, bytes(16), bytes(range(16)))
    blocks = [planted.nodes(b, pair[b])[-1][0] for b in (0, 1)]
    free = b""
    for i, value in enumerate(values):
        mine, other = (
            int.from_bytes(planted.one_way("leaf", block)[8 * i :][:8], "little")
            for block in blocks
        )
        sign = -1 if control(blocks[1]) else 1
        free += (sign * (value - mine + other) % 2**64).to_bytes(8, "little")
    return pair[0] + free, pair[1] + free


def test_leaves_below_the_last_proof_let_an_owner_choose_their_values():
    planted = EarlyEnd(2, (2,), CONTEXT)
    pair = early_pair(planted, (1000, -999))
    assert planted.accepted(pair)
    leaves = [planted.leaves(b, pair[b]) for b in (0, 1)]
    opened = {x: (leaves[0][x] - leaves[1][x]) % 2**64 for x in leaves[0]}
    assert {x: v for x, v in opened.items() if v} == {0: 1000, 1: 2**64 - 999}


def test_with_a_proof_at_the_leaves_no_values_but_0_and_1_are_accepted():
    """The same two values, one level further down: whatever is corrected, the check fails."""
    sound = Slow(3, (2, 3), CONTEXT)
    pair = sound.generate(0, bytes(16), bytes(range(16)))
    levels, stops = sound.corrections(pair[0])
    seed = levels[2][0]
    # Both leaves keep blocks that differ; all control bits and the proof of either are tried.
    for block, bits in itertools.product((seed, xor(seed, bytes(15) + b"\1")), range(4)):
        forged_levels = [*levels[:2], (block, bits & 1, bits >> 1)]
        probe = sound.public(forged_levels, stops)
        parents = [sound.nodes(b, pair[b][:16] + probe)[-1] for b in (0, 1)]
        for leaf in (0, 1):
            proof = xor(*(sound.proof(parents[b][leaf], leaf) for b in (0, 1)))
            for value in (1000, -999, stops[1][0]):
                word = value % 2**64
                public = sound.public(forged_levels, [stops[0], (word, proof)])
                forged = pair[0][:16] + public, pair[1][:16] + public
                one_cell = sound.opened(forged)[-1] in ({0: 1}, {1: 1})
                assert one_cell or not sound.accepted(forged)


def test_control_bits_are_part_of_a_block():
    block = bytes(range(16))
    assert control(with_control(block, 1)) == 1
    assert with_control(with_control(block, 1), 0) == block
