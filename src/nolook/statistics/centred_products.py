"""Centred products of features and a label, as exact integers one record moves little.

For u and v, a feature and the label clipped to a range each and scaled to width 1, it is
``|sum (u_i - mean u)(v_i - mean v)|`` over the rows; 0 for a range of no width.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.statistics import Statistic

__all__ = ["PRODUCTS_SENSITIVITY", "PRODUCTS_UNIT", "CentredProducts"]

#: Numbers are whole steps of 1/PRODUCTS_UNIT of their range.
PRODUCTS_UNIT = 2**16
#: Largest change of a score when one record is added or removed, in its own steps.
PRODUCTS_SENSITIVITY = PRODUCTS_UNIT**2

# Rows whose sum of products, at most 2^32 each, stays below 2^53 and so is exact in float64.
_EXACT_ROWS = 2**20
# Scores of more than 2^32 rows may exceed it; a cut never moves more than what it cuts.
_LARGEST_SCORE = 2**63 - 1

Vector = NDArray[np.float64]


class CentredProducts(Statistic):
    """Scores of every column by its product with the last one.

    Parameters
    ----------
    low, high : ndarray of shape (columns,)
        The ranges; finite, ``low <= high``.
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
            steps = _whole_steps(batch[:, start : start + _EXACT_ROWS], *self._range)
            self._rows += steps.shape[1]
            self._sums += steps.sum(axis=1).astype(np.int64)
            self._products += (steps[:-1] @ steps[-1]).astype(np.int64)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one of the same ranges has seen."""
        self._rows += other._rows
        self._sums += other._sums
        self._products += other._products
        return self

    @property
    def value(self) -> NDArray[np.int64]:
        """The exact scores, of shape (columns - 1,), each rounded down once.

        In steps of 1/PRODUCTS_UNIT^2; at most 2^63 - 1, and 0 without rows.
        """
        centred = abs(self._rows * self._products - self._sums[:-1] * self._sums[-1])
        scores = centred // max(self._rows, 1)
        return np.array([min(score, _LARGEST_SCORE) for score in scores], dtype=np.int64)


def _whole_steps(batch: Vector, low: Vector, high: Vector) -> Vector:
    """Return each number's place in its range, a whole number from 0 to PRODUCTS_UNIT."""
    # Halves, since the width of a range may exceed the largest double.
    width = (high / 2 - low / 2)[:, None]
    places = batch.clip(low[:, None], high[:, None]) / 2 - low[:, None] / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        places = np.where(width > 0.0, places / width, 0.0)
    steps: Vector = np.floor(PRODUCTS_UNIT * places).clip(0.0, PRODUCTS_UNIT)
    return steps
