from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from nolook.kernels import inversions
from nolook.kernels.inversions import pair_differences, rank_columns
from tests.contracts.columns import COLUMNS, column


def by_definition(x, y):
    orders = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    return int(orders.sum()) // 2


def differences(*columns):
    ranked = rank_columns([np.array(columns, dtype=float)])
    return pair_differences(ranked[-1], ranked[:-1]).tolist()


@given(
    rows=st.integers(0, 130),
    values=st.sampled_from([1, 2, 5, 60, 10**9]),
    levels=st.sampled_from([1, 2, 5, 60, 10**9]),
    seed=st.integers(0, 2**31),
)
def test_differences_are_those_of_the_definition(rows, values, levels, seed):
    generator = np.random.default_rng(seed)
    x = generator.integers(0, values, (3, rows))
    y = generator.integers(0, levels, rows)
    assert differences(*x, y) == [by_definition(own, y) for own in x]


# Around the sizes of the blocks: 4096, and 64 times that.
@pytest.mark.parametrize(
    "rows",
    [
        *(4095, 4096, 4097, 8192, 70_000, 262_145),
        *(pytest.param(rows, marks=pytest.mark.slow) for rows in (262_144, 1_048_577)),
    ],
)
@pytest.mark.parametrize(("ties_x", "ties_y"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_large_columns_agree_with_scipy(rows, ties_x, ties_y):
    generator = np.random.default_rng(rows)
    x, y = generator.normal(size=(2, rows))
    y += x
    x = np.rint(3 * x) if ties_x else x
    y = np.rint(5 * y) if ties_y else y
    (found,) = differences(x, y)
    # tau-b times the roots of the numbers of pairs that are not tied.
    tied = [
        int((c * (c - 1) // 2).sum()) for c in (np.unique(v, return_counts=True)[1] for v in (x, y))
    ]
    free = [rows * (rows - 1) // 2 - t for t in tied]
    expected = kendalltau(x, y).statistic * np.sqrt(float(free[0])) * np.sqrt(float(free[1]))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 3_037_000_500, 3_037_000_501, 2**32 - 1])
def test_pairs_are_counted_exactly_as_far_as_ranks_go(rows):
    assert inversions._pairs(rows) == rows * (rows - 1) // 2


def test_sorted_and_reversed_columns_are_exact():
    rows = 300_000
    rising = np.arange(rows)
    pairs = rows * (rows - 1) // 2
    assert differences(rising, -rising, np.zeros(rows), rising) == [pairs, -pairs, 0]


@pytest.mark.parametrize("name", COLUMNS)
def test_degenerate_columns(name):
    x = column(name, 300)
    y = np.random.default_rng(5).normal(size=300)
    assert differences(x, y) == [by_definition_of_ranks(x, y)]


def by_definition_of_ranks(x, y):
    # Differences of huge or tiny numbers overflow or vanish; those of ranks do not.
    return by_definition(*(np.unique(v, return_inverse=True)[1] for v in (x, y)))


def test_numbers_that_differ_in_their_last_bits_only():
    steps = np.random.default_rng(0).permutation(5000)
    x = 1.0 + steps * 2.0**-52
    y = np.random.default_rng(1).normal(size=5000)
    assert differences(x, y) == [by_definition(steps, y)]
    (ranked,) = rank_columns([x[np.newaxis]])
    assert ranked.ranks.tolist() == steps.tolist()
    # Insertion gives up on so many, and repairs a few.
    rows, mask = np.arange(5000, dtype=np.uint64), np.uint64(8191)
    assert not inversions._repair(x, rows.copy(), mask)
    few = np.arange(5000.0)
    few[[7, 8, 4000]] = few[[8, 7, 3990]]
    assert inversions._repair(few, rows, mask)
    assert (np.diff(few[rows]) >= 0).all()


def test_minus_zero_ties_with_zero():
    assert differences([-0.0, 0.0, 1.0, -0.0], [1.0, 2.0, 3.0, 4.0]) == [1]


def test_batches_and_the_order_of_rows_do_not_matter():
    generator = np.random.default_rng(0)
    block = np.rint(generator.normal(size=(7, 20_000)) * [[1], [9], [1e3], [1e9], [0], [3], [40]])
    whole = rank_columns([block])
    expected = pair_differences(whole[-1], whole)
    shuffled = block[:, generator.permutation(20_000)]
    parts = [np.ascontiguousarray(part) for part in np.split(shuffled, [11, 12, 15_000], axis=1)]
    ranked = rank_columns(parts)
    np.testing.assert_array_equal(pair_differences(ranked[-1], ranked), expected)


@pytest.mark.parametrize("processors", [1, 3])
def test_the_number_of_threads_does_not_matter(processors, monkeypatch):
    block = np.random.default_rng(0).normal(size=(20, 5000))
    ranked = rank_columns([block])
    expected = pair_differences(ranked[-1], ranked)
    monkeypatch.setattr(inversions.os, "cpu_count", lambda: processors)
    again = rank_columns([block])
    np.testing.assert_array_equal(pair_differences(again[-1], again), expected)
