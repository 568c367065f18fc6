"""Exact sums of rows times clipped residuals, for one linear model after another.

A residual is clipped and truncated to a whole unit row by row, and ``theta'z`` is exact, so a sum
depends on the set of rows alone, and of their weights. Its sensitivity is
:func:`nolook.statistics.design_moments.product_sensitivity`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook.kernels.row_models import residual_products, scores
from nolook.statistics import Statistic, in_full

__all__ = ["RESIDUAL_UNIT", "ResidualProducts", "grid_model"]


#: Residuals are whole multiples of 1/RESIDUAL_UNIT of the target's unit.
RESIDUAL_UNIT = 2**18

_EXACT = 2**53
# Rows of a block, a thread's piece of work; starting threads for a few blocks costs more than it
# saves. Sums of integers do not depend on which is ready first.
_BLOCK_ROWS = 2**15
_THREADS = 2
_WORTH_THREADS = 4
# Exponents of a model's grid: its products with rows stay far inside the range of doubles.
_LEAST_EXPONENT = -500
_MOST_EXPONENT = 500


def grid_model(theta: Array, squared_radius: int) -> tuple[Array, float]:
    """Round a finite model to a grid so coarse that its product with any row is exact in float64.

    Returns whole numbers, whose norm times that of a row within `squared_radius` is at most 2^52,
    and the grid's spacing, a power of two: the rounded model is ``spacing * whole_model``.
    """
    theta = theta.clip(-(2.0**_MOST_EXPONENT), 2.0**_MOST_EXPONENT)
    # Entries up to 2^bits: norms up to sqrt(p) 2^bits.
    norm = math.isqrt(theta.size * squared_radius) + 1
    bits = 52 - norm.bit_length()
    exponent = max(math.frexp(float(np.abs(theta).max(initial=0.0)))[1], _LEAST_EXPONENT) - bits
    return np.rint(np.ldexp(theta, -exponent)), math.ldexp(1.0, exponent)


class ResidualProducts(Statistic):
    """Rows kept in memory, two bytes a cell, and their products with clipped residuals.

    Every row has `size` whole numbers of 16 bits, multiples of 1/`unit` (a power of two), and a
    squared norm of at most `squared_radius`. Residuals are clipped to `largest_residual` units of
    1/RESIDUAL_UNIT, at most 2^20. Of rows with weights, the weighted sums over `whole` are rounded
    down.
    """

    def __init__(
        self, size: int, squared_radius: int, unit: int, largest_residual: int, whole: int = 1
    ) -> None:
        self._size = size
        self._whole = whole
        self._unit = unit
        self._bound = largest_residual
        entry = math.isqrt(squared_radius) + 1
        self._block_rows = max(1, min(_BLOCK_ROWS, _EXACT // (entry * largest_residual)))
        self._blocks: list[tuple[NDArray[np.int16], Array, NDArray[np.int32]]] = []
        self._filled = self._block_rows  # of the last block

    def update(
        self,
        rows: NDArray[np.number],
        targets: Array,
        weights: NDArray[np.integer] | None = None,
    ) -> Self:
        """Keep rows of shape (size, rows), whole numbers, their finite targets, and weights."""
        start = 0
        while start < targets.size:
            if self._filled == self._block_rows:
                block = np.empty((self._size, self._block_rows), dtype=np.int16)
                own = np.empty(0 if weights is None else self._block_rows, dtype=np.int32)
                self._blocks.append((block, np.empty(self._block_rows), own))
                self._filled = 0
            count = min(targets.size - start, self._block_rows - self._filled)
            place = slice(self._filled, self._filled + count)
            self._blocks[-1][0][:, place] = rows[:, start : start + count]
            self._blocks[-1][1][place] = targets[start : start + count]
            if weights is not None:
                self._blocks[-1][2][place] = weights[start : start + count]
            self._filled += count
            start += count
        return self

    def merge(self, other: Self) -> Self:
        """Keep the rows another one of the same grid and bounds has seen."""
        for index in range(len(other._blocks)):
            self.update(*other._block(index))
        return self

    def value(self, whole_model: Array, spacing: float) -> NDArray[np.object_]:
        """Sum of ``z r`` over all rows, r the clipped residual in units of 1/RESIDUAL_UNIT.

        The model is what :func:`grid_model` returns.
        """
        one = partial(self._products, whole_model, spacing)
        places = range(len(self._blocks))
        if len(places) < _WORTH_THREADS:
            parts = [one(place) for place in places]
        else:
            with ThreadPoolExecutor(_THREADS) as threads:
                parts = list(threads.map(one, places))
        total = np.zeros(self._size, dtype=object)
        for part in parts:
            total += part
        return in_full(total, self._whole)

    def _products(self, whole_model: Array, spacing: float, index: int) -> NDArray[np.object_]:
        rows, targets, weights = self._block(index)
        residuals = targets - scores(rows, whole_model, spacing / self._unit)[: targets.size]
        return residual_products(rows, residuals, RESIDUAL_UNIT, self._bound, weights)

    def _block(self, index: int) -> tuple[NDArray[np.int16], Array, NDArray[np.int32] | None]:
        """Return a block's rows, targets, weights; columns after the last target hold no rows."""
        rows, targets, weights = self._blocks[index]
        if index == len(self._blocks) - 1:
            targets, weights = targets[: self._filled], weights[: self._filled]
        return rows, targets, None if self._whole == 1 else weights
