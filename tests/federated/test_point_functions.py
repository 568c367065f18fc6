"""Verifiable point functions: what two keys share, what a check accepts, what one key tells."""

from __future__ import annotations

import itertools
import json
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.federated import point_functions
from nolook.federated.point_functions import PointFunctions
from nolook.privacy.noise import SeededSource, SystemEntropy
from scripts import point_function_vectors
from tests.federated.slow_point_functions import Slow

CONTEXT = bytes(range(32))
LEVELS, GAPS = st.integers(1, 9), st.integers(1, 8)
CASES = json.loads(point_function_vectors.PATH.read_text(encoding="utf-8"))["cases"]
SHAPES = [(1, 8), (2, 8), (3, 1), (6, 8), (8, 3), (9, 4)]  # levels, and the most between stops


def words(*values):
    return np.array(values, np.uint64)


def as_keys(*keys):
    return np.array([np.frombuffer(key, np.uint8) for key in keys])


def nameless(keys):
    return np.zeros((len(keys), 0), np.uint8)


def messages(functions, pair):
    return [functions.check(b, pair[b], nameless(pair[b])).messages for b in (0, 1)]


def opened(functions, pair):
    first, second = (functions.check(b, pair[b], nameless(pair[b])).counts for b in (0, 1))
    return first + second


def with_gap(levels, gap):
    """Return functions with at most some levels between stops: small ones with many stops."""
    with patch.object(point_functions, "LARGEST_GAP", gap):
        functions = PointFunctions(levels, CONTEXT)
        assert len(functions.stops) >= levels / gap
    return functions


@pytest.mark.parametrize(("levels", "gap"), SHAPES)
def test_every_cell_is_counted_and_accepted(levels, gap):
    functions = with_gap(levels, gap)
    cells = np.arange(1 << levels, dtype=np.uint64)
    pair = functions.generate(cells, SeededSource(levels))
    first, second = messages(functions, pair)
    assert (first == second).all()
    for k in range(0, len(cells), max(1, len(cells) // 40)):
        want = np.zeros(1 << levels, np.uint64)
        want[k] = 1
        assert (opened(functions, [keys[k : k + 1] for keys in pair]) == want).all()


@pytest.mark.parametrize("levels", [1, 4, 8, 11, 16, 17])
def test_sums_over_keys_are_the_counts_of_their_cells(levels):
    functions = PointFunctions(levels, CONTEXT)
    n = 300 if levels < 12 else 5
    cells = SeededSource(levels).words(n) >> np.uint64(64 - levels)
    pair = functions.generate(cells, SystemEntropy())
    checked = [functions.check(b, pair[b], nameless(pair[b])) for b in (0, 1)]
    assert (checked[0].messages == checked[1].messages).all()
    counts = checked[0].counts + checked[1].counts
    assert (counts == opened(functions, pair)).all()
    assert (counts == np.bincount(cells.astype(int), minlength=1 << levels)).all()


def test_how_many_keys_are_taken_together_changes_nothing(monkeypatch):
    functions = PointFunctions(9, CONTEXT)
    cells = SeededSource(1).words(50) >> np.uint64(55)

    def results():
        pair = functions.generate(cells, SeededSource(3))
        checked = functions.check(1, pair[1], nameless(pair[1]))
        return [*pair, checked.messages, checked.counts]

    whole = results()
    for name, size in {"_DEALT_KEYS": 7, "_GROWN_PARENTS": 96, "_GROWN_NODES": 64}.items():
        monkeypatch.setattr(point_functions, name, size)
    for one, other in zip(whole, results(), strict=True):
        assert one.tobytes() == other.tobytes()


@given(levels=LEVELS, gap=GAPS, cell=st.integers(0), seed=st.integers(0, 10**6))
def test_both_implementations_make_read_and_check_the_same_keys(levels, gap, cell, seed):
    cell %= 1 << levels
    functions = with_gap(levels, gap)
    slow = Slow(levels, functions.stops, CONTEXT)
    roots = SeededSource(seed).words(4).astype("<u8").tobytes()
    made = slow.generate(cell, roots[:16], roots[16:])
    pair = functions.generate(words(cell), SeededSource(seed))
    assert made == tuple(keys.tobytes() for keys in pair)
    for role in (0, 1):
        checked = functions.check(role, pair[role], as_keys(CONTEXT))
        assert checked.messages[0].tobytes() == slow.message(role, made[role], CONTEXT)
        *_, shares = slow.shares(role, made[role])
        assert checked.counts.tolist() == [shares[cell] for cell in sorted(shares)]
    assert slow.opened(made) == [{cell >> levels - stop: 1} for stop in functions.stops]


@given(levels=LEVELS, gap=GAPS, seed=st.integers(0, 10**6), role=st.integers(0, 1))
def test_any_bytes_are_a_key(levels, gap, seed, role):
    functions = with_gap(levels, gap)
    slow = Slow(levels, functions.stops, CONTEXT)
    key = SeededSource(seed).words(-(-functions.key_bytes // 8)).tobytes()[: functions.key_bytes]
    checked = functions.check(role, as_keys(key), as_keys(CONTEXT))
    assert checked.messages[0].tobytes() == slow.message(role, key, CONTEXT)
    *_, shares = slow.shares(role, key)
    assert checked.counts.tolist() == [shares[cell] for cell in sorted(shares)]


def test_the_stored_vectors_are_what_the_code_makes():
    assert point_function_vectors.PATH.read_text(encoding="utf-8") == point_function_vectors.text()


def of_case(case):
    """Name a case; of the longest keys those of the outermost cells are not for every day."""
    slow = case["levels"] == 12 and case["cell"] in {0, 4095}
    name = f"{case['levels']}-{case['cell']}"
    return pytest.param(case, id=name, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize("case", [of_case(case) for case in CASES])
def test_a_second_implementation_agrees_with_the_vectors(case):
    levels, stops, cell = case["levels"], tuple(case["stops"]), case["cell"]
    context = bytes.fromhex(case["context"])
    slow = Slow(levels, stops, context)
    keys = [bytes.fromhex(case[f"key{role}"]) for role in (0, 1)]
    assert slow.generate(cell, keys[0][:16], keys[1][:16]) == tuple(keys)
    for role in (0, 1):
        assert slow.message(role, keys[role], context).hex() == case[f"message{role}"]
    assert case["message0"] == case["message1"]


def test_the_length_of_a_key():
    assert PointFunctions(16, CONTEXT).key_bytes == 386
    for levels in range(1, 25):
        functions = PointFunctions(levels, CONTEXT)
        size = 16 + 16 * levels + -(-levels // 8) + 56 * len(functions.stops)
        assert functions.key_bytes == size


# What one key tells.


def test_a_root_does_not_depend_on_the_cell_and_all_else_is_the_same_in_both_keys():
    functions = PointFunctions(16, CONTEXT)
    one = functions.generate(words(0), SeededSource(4))
    other = functions.generate(words(40_000), SeededSource(4))
    for role in (0, 1):
        assert one[role][0, :16].tobytes() == other[role][0, :16].tobytes()
    assert one[0][0, 16:].tobytes() == one[1][0, 16:].tobytes()
    assert one[0][0, 16:].tobytes() != other[0][0, 16:].tobytes()


@pytest.mark.parametrize("cell", [0, 1, 15, 16, 333, 511])
def test_every_bit_of_one_key_is_fair_and_no_two_go_together(cell):
    """On many keys of one cell; the limits are 8 standard deviations, and the seed is fixed."""
    n, functions = 1000, PointFunctions(9, CONTEXT)
    for keys in functions.generate(np.full(n, cell, np.uint64), SeededSource(cell)):
        bits = np.unpackbits(keys, axis=1, bitorder="little")
        unused = 8 * (16 + 16 * 9) + np.arange(9, 16)
        assert not bits[:, unused].any()
        signs = 1.0 - 2.0 * np.delete(bits, unused, axis=1).astype(np.float32)
        assert np.abs(signs.sum(axis=0)).max() < 8 * np.sqrt(n)
        together = signs.T @ signs
        np.fill_diagonal(together, 0.0)
        assert np.abs(together).max() < 8 * np.sqrt(n)


def test_the_shares_of_one_party_are_uniform_at_the_cell_and_elsewhere():
    n, functions = 1500, PointFunctions(4, CONTEXT)
    pair = functions.generate(np.full(n, 7, np.uint64), SeededSource(6))
    for role in (0, 1):
        one_by_one = [
            functions.check(role, keys[None], keys[None, :0]).counts for keys in pair[role]
        ]
        for cell in (0, 6, 7, 15):
            shares = np.array([shares[cell] for shares in one_by_one])
            bits = np.unpackbits(shares.view(np.uint8).reshape(n, 8), axis=1)
            assert np.abs(bits.sum(axis=0) - n / 2).max() < 4 * np.sqrt(n)


def test_a_context_is_part_of_every_permutation():
    functions = PointFunctions(6, CONTEXT)
    pair = functions.generate(words(*range(40)), SeededSource(0))
    first, second = messages(PointFunctions(6, bytes(32)), pair)
    assert not (first == second).all(axis=1).any()


def test_a_message_is_about_one_name():
    functions = PointFunctions(3, CONTEXT)
    keys, _ = functions.generate(words(1, 1), SeededSource(0))
    one, other = (
        functions.check(0, keys[:1], as_keys(name)).messages for name in (b"a" * 8, b"b" * 8)
    )
    assert one.tobytes() != other.tobytes()


# Parameters.


@pytest.mark.parametrize("levels", range(1, 25))
def test_stops_rise_to_the_cells_and_are_at_most_8_levels_apart(levels):
    stops = PointFunctions(levels, CONTEXT).stops
    assert stops[-1] == levels
    assert all(1 <= b - a <= 8 for a, b in itertools.pairwise((0, *stops)))


@pytest.mark.parametrize("levels", [1, 9, 16])
def test_no_keys(levels):
    functions = PointFunctions(levels, CONTEXT)
    keys, _ = functions.generate(words(), SeededSource(0))
    checked = functions.check(1, keys, nameless(keys))
    assert checked.messages.shape == (0, 32)
    assert not checked.counts.any()
