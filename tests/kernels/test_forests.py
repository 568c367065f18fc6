"""Counts of blocks, and the cells that agree with them best, against their definitions."""

from __future__ import annotations

from itertools import accumulate
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook.kernels.forests import block_counts, cells_of_blocks, level_starts

FAN_OUTS = st.lists(st.integers(2, 5), min_size=0, max_size=3)


@st.composite
def shapes(draw, largest=125):
    """Draw lengths of blocks, longest first, and a number of cells above the longest."""
    fan_outs = draw(FAN_OUTS.filter(lambda found: prod(found) <= largest))
    lengths = list(accumulate([1, *fan_outs], int.__mul__))[::-1]
    return draw(st.integers(1, 4 * lengths[0])), lengths


def blocks_matrix(padded, lengths):
    """Return which cells each block holds."""
    return np.vstack([
        np.kron(np.eye(padded // length), np.ones(length)) for length in lengths
    ])  # fmt: skip


@given(shapes(), st.integers(0, 2**32))
def test_blocks_hold_the_counts_of_their_cells(shape, seed):
    cells, lengths = shape
    counts = np.random.default_rng(seed).integers(0, 100, cells)
    padded = -(-cells // lengths[0]) * lengths[0]
    expected = blocks_matrix(padded, lengths) @ np.append(counts, np.zeros(padded - cells))
    found = block_counts(counts, lengths)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
    assert level_starts(padded, lengths)[-1] == len(found)


@settings(max_examples=40)
@given(shapes(largest=30), st.integers(0, 2**32))
def test_cells_are_the_least_squares_ones(shape, seed):
    cells, lengths = shape
    padded = -(-cells // lengths[0]) * lengths[0]
    matrix = blocks_matrix(padded, lengths)
    blocks = np.random.default_rng(seed).normal(size=len(matrix))
    expected = np.linalg.lstsq(matrix, blocks, rcond=None)[0]
    np.testing.assert_allclose(cells_of_blocks(blocks, padded, lengths), expected, atol=1e-9)


@pytest.mark.parametrize("lengths", [[1], [6, 3, 1], [1000, 50, 10, 1]])
def test_exact_blocks_give_their_cells_back(lengths):
    counts = np.random.default_rng(0).integers(0, 1000, 2500)
    padded = -(-2500 // lengths[0]) * lengths[0]
    found = cells_of_blocks(block_counts(counts, lengths).astype(float), padded, lengths)
    np.testing.assert_allclose(found[:2500], counts, atol=1e-8)
    np.testing.assert_allclose(found[2500:], 0.0, atol=1e-8)
