"""Centred products of features and a target, as exact integers one row moves little.

For u and v, a feature and the target, each clipped to a range and scaled to width 1, it is
``|sum (u_i - mean u)(v_i - mean v)|`` over the rows; 0 for a range of no width.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.statistics import Statistic

__all__ = ["PRODUCTS_SENSITIVITY", "PRODUCTS_UNIT", "CentredProducts"]

#: Numbers are whole multiples of 1/PRODUCTS_UNIT of their range's width.
PRODUCTS_UNIT = 2**16
#: Largest change of a score when one row is added or removed, in units of 1/PRODUCTS_UNIT^2.
PRODUCTS_SENSITIVITY = PRODUCTS_UNIT**2

# Rows whose sum of products, at most 2^32 each, stays below 2^53 and so is exact in float64.
_EXACT_ROWS = 2**20
# Scores of more than 2^33 rows may exceed it; two scores that are cut only come closer.
_LARGEST_SCORE = 2**63 - 1

Vector = NDArray[np.float64]


class CentredProducts(Statistic):
    """Scores of every column by its centred product with the last one.

    The columns' ranges are finite, ``low <= high``.
    """

    def __init__(self, low: Vector, high: Vector) -> None:
        self._range = low, high
        self._rows = 0
        # Python integers: these may exceed 64 bits.
        self._sums = np.zeros(len(low), dtype=object)
        self._products = np.zeros(len(low) - 1, dtype=object)

    def update(self, batch: Vector) -> Self:
        """Add rows of shape (columns, rows), finite numbers."""
        for start in range(0, batch.shape[1], _EXACT_ROWS):
            places = _places(batch[:, start : start + _EXACT_ROWS], *self._range)
            self._rows += places.shape[1]
            self._sums += places.sum(axis=1).astype(np.int64)
            self._products += (places[:-1] @ places[-1]).astype(np.int64)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one of the same ranges has seen."""
        self._rows += other._rows
        self._sums += other._sums
        self._products += other._products
        return self

    @property
    def value(self) -> NDArray[np.int64]:
        """The exact scores, one a feature, in units of 1/PRODUCTS_UNIT^2, each rounded down once.

        They are at most 2^63 - 1, and 0 without rows.
        """
        centred = abs(self._rows * self._products - self._sums[:-1] * self._sums[-1])
        scores = centred // max(self._rows, 1)
        return np.array([min(score, _LARGEST_SCORE) for score in scores], dtype=np.int64)


def _places(batch: Vector, low: Vector, high: Vector) -> Vector:
    """Return each number's place in its range, a whole number from 0 to PRODUCTS_UNIT."""
    # Halves, since the width of a range may exceed the largest double.
    width = (high / 2 - low / 2)[:, None]
    places = batch.clip(low[:, None], high[:, None]) / 2 - low[:, None] / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        places = np.where(width > 0.0, places / width, 0.0)
    whole: Vector = np.floor(PRODUCTS_UNIT * places).clip(0.0, PRODUCTS_UNIT)
    return whole
