from __future__ import annotations

import numpy as np
import pytest

from nolook._unit import WHOLE
from nolook.statistics.block_moments import BlockMoments

BLOCKS = 3


def made(n, largest, seed=0):
    """Return rows near the largest size, and the block of each."""
    generator = np.random.default_rng(seed)
    sizes = largest - generator.integers(0, min(largest, 50), (2, n))
    return (sizes * generator.choice([-1, 1], (2, n))).astype(float), generator.integers(0, 2, n)


def added(rows, blocks, largest, step=65_536):
    moments = BlockMoments(BLOCKS, 2, largest)
    for start in range(0, blocks.size, step):
        moments.update(rows[:, start : start + step], None, blocks[start : start + step])
    return moments


def lower(moments):
    return [matrix[np.tril_indices(3)].tolist() for matrix in moments.value]


def nearest(rows, blocks):
    """Return the doubles nearest to the sums, from Python's integers."""
    whole = np.vstack([np.ones(rows.shape[1]), rows]).astype(np.int64).astype(object)
    sums = [whole[:, blocks == block] @ whole[:, blocks == block].T for block in range(BLOCKS)]
    return [[float(number) for number in matrix[np.tril_indices(3)]] for matrix in sums]


@pytest.mark.parametrize("largest", [1, 6 * 2**14, 2**30, 2**31 - 1])
@pytest.mark.parametrize("step", [1, 300, 10_000])
def test_sums_are_exact_whatever_their_size_and_the_batches(largest, step):
    rows, blocks = made(3000, largest)
    assert lower(added(rows, blocks, largest, step)) == nearest(rows, blocks)


def test_a_large_block_has_the_nearest_sums_in_any_order():
    largest, n = 6 * 2**14, 1_200_000
    rows, blocks = np.abs(made(n, largest)[0]), np.zeros(n, dtype=np.int64)
    whole = np.vstack([np.ones(n), rows]).astype(np.int64)
    exact = whole @ whole.T
    assert exact.max() > 2**53
    assert (
        lower(added(rows, blocks, largest))[0] == exact.astype(float)[np.tril_indices(3)].tolist()
    )
    order = np.random.default_rng(1).permutation(n)
    assert lower(added(rows[:, order], blocks, largest)) == lower(added(rows, blocks, largest))


def test_merging_goes_beyond_64_bits():
    rows, blocks = made(500, 2**31 - 1)
    moments = added(rows, blocks, 2**31 - 1)
    for _ in range(12):
        moments.merge(moments)
    # Doubling a sum below 2^85 doubles the nearest double.
    doubled = [[number * 2.0**12 for number in matrix] for matrix in nearest(rows, blocks)]
    assert lower(moments) == doubled
    assert doubled[0][-1] > 2.0**64


def test_sums_of_weighted_rows_are_carried_before_64_bits():
    rows = np.full((1, 100_000), float(2**22))
    found = BlockMoments(1, 1, 2**22, WHOLE)
    found.update(rows, np.full(100_000, WHOLE), np.zeros(100_000, dtype=np.int64))
    assert found.value[0, 1, 1] == 100_000 * 2**15 * 2**44
