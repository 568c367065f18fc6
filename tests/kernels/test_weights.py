"""Sums of weighted blocks are exact wherever blocks end."""

from __future__ import annotations

import numpy as np
import pytest

from nolook.kernels.weights import part_bits, weighted_sums


@pytest.mark.parametrize("rows", [0, 1, 511, 512, 513, 1_500])
@pytest.mark.parametrize("block_rows", [1, 2, 2_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_whole_numbers(rows, block_rows, weighted):
    random = np.random.default_rng(rows)
    values = random.integers(-(2**31), 2**31, (2, rows))
    weights = random.integers(0, 2**30, rows, endpoint=True) if weighted else None

    def product(place, part):
        return (values[:, place] * part).sum(axis=1).astype(np.int64)

    bits = part_bits(2**41)
    found = weighted_sums(product, (2,), rows, block_rows, weights, bits)
    times = [1] * rows if weights is None else weights.tolist()
    assert found.tolist() == [
        sum(value * time for value, time in zip(row, times, strict=True)) for row in values.tolist()
    ]
