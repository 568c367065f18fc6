"""Every pair of keys of small point functions: whatever is accepted is one cell, or a collision.

Blocks have three bits, and tables of random numbers stand for the permutations, so that all seeds
and corrections can be tried. What `point_functions.md` claims of large ones is then a statement
about tables.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.federated.slow_point_functions import PROOF, Slow, control

BLOCKS = 8


@dataclass(frozen=True)
class Small(Slow):
    """Blocks 0..7, the lowest bit the control bit; values modulo 8; proofs of some bits."""

    modulus: int = 8
    tables: dict = field(default_factory=dict)

    def one_way(self, name, block):
        return self.tables[name][self.seen(block)].to_bytes(16, "little")

    def proof(self, block, offset):
        return self.tables[offset][self.seen(block)].to_bytes(PROOF, "little")

    def seen(self, block):
        return block[0] if self.hash_control else block[0] & ~1


def small(levels, stops, proof_bits, seed):
    chance = np.random.default_rng(seed)
    tables = {name: chance.integers(0, BLOCKS, BLOCKS).tolist() for name in ("left", "right")}
    tables["value"] = chance.integers(0, 8, BLOCKS).tolist()
    for offset in range(1 << max(stops)):
        tables[offset] = chance.integers(0, 1 << proof_bits, BLOCKS).tolist()
    return Small(levels, stops, bytes(32), tables=tables)


def bad(slow):
    """Whether two blocks have one proof, or two pairs of two offsets the same sum of proofs."""
    seen = {0}
    for offset in range(1 << max(slow.gap(i) for i in range(len(slow.stops)))):
        table = slow.tables[offset]
        sums = {table[a] ^ table[b] for a, b in itertools.combinations(range(BLOCKS), 2)}
        if seen & sums:
            return True
        seen |= sums
    return False


def proofs_that_fit(slow, nodes, gap):
    """Return the corrections that could make all proofs of nodes of one stop equal."""
    fits = {bytes(PROOF)}
    for node in nodes[0]:
        pair = [nodes[b][node] for b in (0, 1)]
        if pair[0] != pair[1]:
            one, other = (slow.proof(block, node % (1 << gap)) for block in pair)
            fits.add(bytes(a ^ b for a, b in zip(one, other, strict=True)))
    return sorted(fits)


def all_accepted(slow):
    """Yield what every accepted pair of keys counts, whatever its seeds and corrections."""
    seeds = [bytes([2 * seed]) + bytes(15) for seed in range(BLOCKS // 2)]
    level = [(seed, left, right) for seed in seeds for left in (0, 1) for right in (0, 1)]
    for roots in itertools.product(seeds, repeat=2):
        for levels in itertools.product(level, repeat=slow.levels):
            blank = slow.public(levels, [(0, bytes(PROOF))] * len(slow.stops))
            nodes = [slow.nodes(b, roots[b] + blank) for b in (0, 1)]
            proofs = [
                proofs_that_fit(slow, [nodes[b][i] for b in (0, 1)], slow.gap(i))
                for i in range(len(slow.stops))
            ]
            for chosen in itertools.product(*proofs):
                if not equal_proofs(slow, nodes, chosen):
                    continue
                for values in itertools.product(range(slow.modulus), repeat=len(slow.stops)):
                    public = slow.public(levels, list(zip(values, chosen, strict=True)))
                    pair = roots[0] + public, roots[1] + public
                    if slow.accepted(pair):
                        yield slow.opened(pair)


def equal_proofs(slow, nodes, chosen):
    """Whether the proofs of each stop are equal, summed over parents as in a message."""
    for i, correction in enumerate(chosen):
        size = 1 << slow.gap(i)
        total = [0] * size
        for b in (0, 1):
            for node, block in nodes[b][i].items():
                word = int.from_bytes(slow.proof(block, node % size), "little")
                word ^= control(block) * int.from_bytes(correction, "little")
                total[node % size] ^= word
        if any(total):
            return False
    return True


def is_one_cell(slow, opened):
    """Whether one node of each stop has the value 1, each below the one before."""
    if any(len(found) != 1 or set(found.values()) != {1} for found in opened):
        return False
    path = [next(iter(found)) for found in opened]
    return all(
        path[-1] >> slow.levels - stop == x for x, stop in zip(path, slow.stops, strict=True)
    )


SLOW = pytest.param((1, 3), marks=pytest.mark.slow)


@pytest.mark.parametrize("stops", [(1,), (2,), (1, 2), SLOW])
def test_without_a_collision_every_accepted_pair_is_one_cell(stops):
    slow = without_collision(stops)
    found = list(all_accepted(slow))
    assert len(found) >= 16 << slow.levels
    assert all(is_one_cell(slow, opened) for opened in found)
    assert {next(iter(opened[-1])) for opened in found} == set(range(1 << stops[-1]))


@pytest.mark.parametrize("stops", [(1,), (2,)])
def test_short_proofs_have_collisions_and_accept_other_values(stops):
    """So the test above can fail."""
    slow = small(stops[-1], stops, 2, 1)
    assert bad(slow)
    assert not all(is_one_cell(slow, opened) for opened in all_accepted(slow))


def without_collision(stops):
    return next(each for seed in range(100) if not bad(each := small(stops[-1], stops, 30, seed)))


def test_one_hash_for_all_offsets_accepts_other_values():
    """Two nodes with the same blocks then have the same proofs, however long these are.

    Modulo an odd number, where two halves make 1.
    """
    sound = replace(without_collision((2,)), modulus=7)
    assert all(is_one_cell(sound, opened) for opened in all_accepted(sound))
    planted = replace(sound, tables=sound.tables | dict.fromkeys(range(4), sound.tables[0]))
    assert not all(is_one_cell(planted, opened) for opened in all_accepted(planted))


@pytest.mark.parametrize("hash_control", [True, False])
def test_a_hash_without_the_control_bit_accepts_other_values(hash_control):
    """Again modulo an odd number."""
    slow = replace(without_collision((1,)), modulus=7, hash_control=hash_control)
    found = list(all_accepted(slow))
    assert all(is_one_cell(slow, opened) for opened in found) == hash_control
    assert ([{0: 4, 1: 4}] in found) == (not hash_control)
