"""Histograms of columns whose range nobody knows.

Columns have shape ``(columns, rows)``, and each row is counted into exactly one bin of each column,
whatever its value. The bin of a value depends on that value alone. A row counts as often as its
weight says, once without weights: whole numbers, shape (rows,), that add up to 2^53 at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAGNITUDE_BINS",
    "linear_counts",
    "magnitude_counts",
    "magnitude_edges",
    "row_counts",
    "threshold_counts",
]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Weights = NDArray[np.int64] | None

# Finite doubles below 2^-1000 in size count as zero and those of 2^1000 and more as out of range,
# so that no later difference, quotient or refined bin width can overflow or become subnormal.
_LARGEST = 1000
_BIASED_ZERO = 1023 - _LARGEST - 1
_BIASED_OUT = 1023 + _LARGEST
_HALF = _BIASED_OUT - _BIASED_ZERO
#: One bin a sign and power of two, one for zero, one at either end for what is out of range.
MAGNITUDE_BINS = 2 * _HALF + 1


def magnitude_counts(columns: Array, weights: Weights = None) -> Counts:
    """Count every value by its sign and binary exponent, in the order of the real line.

    Any doubles: zeros of both signs and values below ``2**-1000`` in size share the middle bin;
    infinities, NaN and values of ``2**1000`` and more share the first and last bin.
    """
    counts = np.empty((columns.shape[0], MAGNITUDE_BINS), dtype=np.int64)
    for index, column in enumerate(columns):
        bits = np.ascontiguousarray(column).view(np.int64)
        size = ((bits >> 52) & 0x7FF).clip(_BIASED_ZERO, _BIASED_OUT) - _BIASED_ZERO
        np.negative(size, out=size, where=bits < 0)
        counts[index] = _count(size + _HALF, MAGNITUDE_BINS, weights)
    return counts


def magnitude_edges() -> tuple[Array, Array]:
    """Return the lower and upper edge of each bin of :func:`magnitude_counts`.

    The zero bin is [0, 0]; the first and last bin have their finite edge as both edges.
    """
    powers = np.concatenate([[0.0], np.ldexp(1.0, np.arange(-_LARGEST, _LARGEST + 1))])
    inner = np.minimum(np.arange(_HALF + 1), _HALF)
    near = powers[inner]
    far = powers[np.minimum(inner + 1, _HALF)]
    far[0] = 0.0
    low = np.concatenate([-far[:0:-1], near])
    high = np.concatenate([-near[:0:-1], far])
    return low, high


def linear_counts(
    columns: Array, weights: Weights = None, *, low: Array, width: Array, bins: int
) -> Counts:
    """Count finite values into equal bins of each column's range, with one more bin at either end.

    The first inner bin begins at `low`, and a `width` is above 0; NaN counts in the lower end bin.
    """
    counts = np.empty((columns.shape[0], bins + 2), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for index, column in enumerate(columns):
            place = column - low[index]
            place /= width[index]
            place += 1.0
            # fmax and fmin send NaN to the lower end bin; the cast then truncates, which floors
            # because nothing below zero is left.
            np.fmax(place, 0.0, out=place)
            np.fmin(place, bins + 1.0, out=place)
            counts[index] = _count(place.astype(np.int64), bins + 2, weights)
    return counts


def threshold_counts(values: Array, thresholds: Array, weights: Weights = None) -> Counts:
    """Count values between increasing thresholds: bin ``i`` holds ``t[i-1] < value <= t[i]``."""
    place = np.searchsorted(thresholds, values, side="left")
    return _count(place, thresholds.size + 1, weights)


def row_counts(columns: Array, weights: Weights = None) -> Counts:
    """Count all rows in one bin, shape (1, 1)."""
    return np.array([[columns.shape[1] if weights is None else weights.sum()]])


def _count(places: NDArray[np.int64], bins: int, weights: Weights) -> Counts:
    return np.bincount(places, weights, bins).astype(np.int64)
