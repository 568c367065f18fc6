"""Histograms of columns of unknown range.

Columns have shape ``(columns, rows)``, and each row is counted into exactly one bin of each column,
whatever its value, or into none if that is missing (NaN). The bin of a value depends on that value
alone. A row counts as often as its
weight says, once without weights: whole numbers, shape (rows,), that add up to 2^53 at most.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array, Integers
from nolook._compiled import compiled

__all__ = [
    "MAGNITUDE_BINS",
    "likeliest",
    "linear_counts",
    "magnitude_counts",
    "magnitude_edges",
    "precisions",
    "row_counts",
    "threshold_counts",
]

Weights = NDArray[np.int64] | None

# Finite doubles below 2^-1000 in size count as zero and those of 2^1000 and more as out of range,
# so that no later difference, quotient or refined bin width can overflow or become subnormal.
_LARGEST = 1000
_BIASED_ZERO = 1023 - _LARGEST - 1
_BIASED_OUT = 1023 + _LARGEST
_HALF = _BIASED_OUT - _BIASED_ZERO
#: One bin a sign and power of two, one for zero, one at either end for what is out of range.
MAGNITUDE_BINS = 2 * _HALF + 1
_FACTORS = 6  # whose product neither overflows nor underflows


@compiled
def _count_magnitudes(columns, weights, counts):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    bits = columns.view(np.int64)
    for j in range(bits.shape[0]):
        own = counts[j]
        for i in range(bits.shape[1]):
            if np.isnan(columns[j, i]):
                continue
            pattern = bits[j, i]
            size = min(max((pattern >> 52) & 0x7FF, _BIASED_ZERO), _BIASED_OUT) - _BIASED_ZERO
            place = _HALF - size if pattern < 0 else _HALF + size
            own[place] += 1 if weights is None else weights[i]


@partial(compiled, error_model="numpy")
def _count_linear(columns, weights, low, width, counts):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    last = counts.shape[1] - 1.0
    for j in range(columns.shape[0]):
        own, start, step = counts[j], low[j], width[j]
        for i in range(columns.shape[1]):
            if np.isnan(columns[j, i]):
                continue
            # The cast truncates, which floors: nothing is below zero.
            place = min(max((columns[j, i] - start) / step + 1.0, 0.0), last)
            own[int(place)] += 1 if weights is None else weights[i]


def magnitude_counts(columns: Array, weights: Weights = None) -> Integers:
    """Count every value by its sign and binary exponent, in the order of the real line.

    Any doubles: zeros of both signs and values below ``2**-1000`` in size share the middle bin;
    infinities and values of ``2**1000`` and more share the first and last bin.
    """
    counts = np.zeros((columns.shape[0], MAGNITUDE_BINS), np.int64)
    _count_magnitudes(np.ascontiguousarray(columns), weights, counts)
    return counts


def magnitude_edges() -> tuple[Array, Array]:
    """Return the lower and upper edge of each bin of :func:`magnitude_counts`.

    The zero bin is [0, 0]; the first and last bin have their finite edge as both edges.
    """
    near = np.concatenate([[0.0], np.ldexp(1.0, np.arange(-_LARGEST, _LARGEST + 1))])
    far = np.append(near[1:], near[-1])
    far[0] = 0.0
    return np.concatenate([-far[:0:-1], near]), np.concatenate([-near[:0:-1], far])


def linear_counts(
    columns: Array, weights: Weights = None, *, low: Array, width: Array, bins: int
) -> Integers:
    """Count finite values into equal bins of each column's range, with one more bin at either end.

    The first inner bin begins at `low`, and a `width` is above 0.
    """
    counts = np.zeros((columns.shape[0], bins + 2), dtype=np.int64)
    _count_linear(np.ascontiguousarray(columns), weights, low, width, counts)
    return counts


def threshold_counts(values: Array, thresholds: Array, weights: Weights = None) -> Integers:
    """Count values between increasing thresholds: bin ``i`` holds ``t[i-1] < value <= t[i]``."""
    # NaN is sorted behind infinity.
    places = np.searchsorted(np.append(thresholds, np.inf), values)
    return np.bincount(places, weights, thresholds.size + 2)[:-1].astype(np.int64)


def row_counts(columns: Array, weights: Weights = None) -> Integers:
    """Count all rows in one bin, shape (1, 1)."""
    return np.array([[columns.shape[1] if weights is None else weights.sum()]])


@compiled
def precisions(mass: Array, ratio: float) -> tuple[Array, Array, Array]:
    """Return ``1 / (1 + ratio p (1 - p))`` of each mass p, and two sums for each distribution.

    The mass has shape ``(bins, distributions)``; the sums are of ``p**2`` times that, and of its
    logarithm.
    """
    precise, squares = np.empty_like(mass), np.zeros(mass.shape[1])
    logs, product = np.zeros_like(squares), np.ones_like(squares)
    for j in range(mass.shape[0]):
        for i in range(squares.size):
            own = mass[j, i]
            precise[j, i] = 1.0 / (1.0 + ratio * own * (1.0 - own))
            squares[i] += own * own * precise[j, i]
            product[i] *= precise[j, i]
        if j % _FACTORS == 0:
            logs += np.log(product)
            product[:] = 1.0
    return precise, squares, logs + np.log(product)


@partial(compiled, error_model="numpy")
def likeliest(
    found: Array, squares: Array, prior: Array, least: float, most: float, sigma: float
) -> tuple[int, int, float, float]:
    """Return row and place of the largest gain, that gain, and the size that it is for.

    The gain of a size m from `least` to `most` is ``m (a - m b / 2) / sigma**2`` and a place's
    prior: a of the matrix, b of the row's squares.
    """
    own, best = np.empty_like(prior), (0, 0, -np.inf, 0.0)
    for i in range(squares.size):
        for j in range(prior.size):
            size = min(max(found[i, j] / squares[i], least), most)
            own[j] = size * (found[i, j] - size * squares[i] / 2.0) / sigma**2 + prior[j]
        place = int(own.argmax())
        if own[place] > best[2]:
            size = min(max(found[i, place] / squares[i], least), most)
            best = i, place, own[place], size
    return best
