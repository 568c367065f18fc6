"""Centred products of features and a target, as exact integers one row moves little.

For u and v, a feature and the target, each clipped to a range and scaled to width 1, it is
``|sum (u_i - mean u)(v_i - mean v)|`` over the rows; 0 for a range of no width. Where rows have
weights, sums and means are weighted.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Vector
from nolook.kernels.weights import part_bits, weight_parts
from nolook.statistics import Statistic

__all__ = ["PRODUCTS_SENSITIVITY", "PRODUCTS_UNIT", "CentredProducts"]

#: Numbers are whole multiples of 1/PRODUCTS_UNIT of their range's width.
PRODUCTS_UNIT = 2**16
#: Largest change of a score when one row is added or removed, or one unit whose rows' weights add
#: up to a row's at most, in units of 1/PRODUCTS_UNIT^2.
PRODUCTS_SENSITIVITY = PRODUCTS_UNIT**2

# Rows whose sum of products, at most 2^32 each, stays below 2^53 and so is exact in float64; with
# weights they are so much larger.
_EXACT_ROWS = 2**20
_BITS = part_bits(2**42)
# Scores of more than 2^33 rows may exceed it; two scores that are cut only come closer.
_LARGEST_SCORE = 2**63 - 1


class CentredProducts(Statistic):
    """Scores of every column by its centred product with the last one.

    The columns' ranges are finite, ``low <= high``. Weights are whole multiples of 1/whole.
    """

    def __init__(self, low: Vector, high: Vector, whole: int = 1) -> None:
        self._range = low, high
        self._whole = whole
        self._rows = 0  # or the sum of their weights
        self._sums = np.zeros(len(low), dtype=object)
        self._products = np.zeros(len(low) - 1, dtype=object)

    def update(self, batch: Vector, weights: NDArray[np.int64] | None = None) -> Self:
        """Add rows of shape (columns, rows), finite numbers."""
        step = _EXACT_ROWS if weights is None else _EXACT_ROWS >> _BITS
        for start in range(0, batch.shape[1], step):
            part = slice(start, start + step)
            places = _places(batch[:, part], *self._range)
            self._add(places, None if weights is None else weights[part])
        return self

    def _add(self, places: Vector, weights: NDArray[np.int64] | None) -> None:
        self._rows += places.shape[1] if weights is None else int(weights.sum())
        for factor, part in weight_parts(weights, _BITS):
            weighted = places * part
            # Python integers from here on: they may exceed 64 bits.
            sums, products = weighted.sum(axis=1), weighted[:-1] @ places[-1]
            self._sums += factor * sums.astype(np.int64).astype(object)
            self._products += factor * products.astype(np.int64).astype(object)

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
        scores = centred // (max(self._rows, 1) * self._whole)
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
