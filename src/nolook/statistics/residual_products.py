"""Exact sums of rows times clipped residuals, for one linear model after another.

A residual is clipped and truncated to whole steps record by record, and ``theta'z`` is exact, so a
sum depends on the set of records alone. Its sensitivity is
:func:`nolook.statistics.design_moments.product_sensitivity`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import add_clipped_gradient
from nolook.statistics import Statistic

__all__ = ["RESIDUAL_UNIT", "ResidualProducts", "grid_model"]

#: Residuals are whole steps of 1/RESIDUAL_UNIT of the label's unit.
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


def grid_model(
    theta: NDArray[np.float64], squared_radius: int
) -> tuple[NDArray[np.float64], float]:
    """Round a model to a grid so coarse that its product with any row is exact in float64.

    Parameters
    ----------
    theta : ndarray of shape (p,)
        Finite.
    squared_radius : int
        Bound on the squared norm of the rows.

    Returns
    -------
    steps : ndarray of shape (p,)
        Whole numbers whose norm times that of a row is at most 2^52.
    step : float
        The grid's step, a power of two: the rounded model is ``step * steps``.
    """
    theta = theta.clip(-(2.0**_MOST_EXPONENT), 2.0**_MOST_EXPONENT)
    # Entries up to 2^bits: norms up to sqrt(p) 2^bits.
    norm = math.isqrt(theta.size * squared_radius) + 1
    bits = 52 - norm.bit_length()
    exponent = max(math.frexp(float(np.abs(theta).max(initial=0.0)))[1], _LEAST_EXPONENT) - bits
    steps = np.rint(np.ldexp(theta, -exponent))
    return steps, math.ldexp(1.0, exponent)


class ResidualProducts(Statistic):
    """Rows kept in memory, two bytes a cell, and their products with clipped residuals.

    Parameters
    ----------
    size : int
        Length of a row.
    squared_radius : int
        Bound on the squared norm of every row; entries fit 16 bits.
    unit : int
        The rows' grid: a power of two.
    largest_residual : int
        Residuals are clipped to so many steps of 1/RESIDUAL_UNIT.
    """

    def __init__(self, size: int, squared_radius: int, unit: int, largest_residual: int) -> None:
        self._size = size
        self._unit = unit
        self._bound = largest_residual
        entry = math.isqrt(squared_radius) + 1
        self._block_rows = max(1, min(_BLOCK_ROWS, _EXACT // (entry * largest_residual)))
        self._blocks: list[tuple[NDArray[np.int16], NDArray[np.float64]]] = []
        self._filled = self._block_rows  # of the last block

    def update(self, rows: NDArray[np.number], labels: NDArray[np.float64]) -> Self:
        """Keep rows of shape (size, rows), whole numbers, and finite labels of shape (rows,)."""
        start = 0
        while start < labels.size:
            if self._filled == self._block_rows:
                block = np.empty((self._size, self._block_rows), dtype=np.int16)
                self._blocks.append((block, np.empty(self._block_rows)))
                self._filled = 0
            count = min(labels.size - start, self._block_rows - self._filled)
            place = slice(self._filled, self._filled + count)
            self._blocks[-1][0][:, place] = rows[:, start : start + count]
            self._blocks[-1][1][place] = labels[start : start + count]
            self._filled += count
            start += count
        return self

    def merge(self, other: Self) -> Self:
        """Keep the rows another one of the same grid and bounds has seen."""
        for index in range(len(other._blocks)):
            self.update(*other._block(index))
        return self

    def value(self, steps: NDArray[np.float64], step: float) -> NDArray[np.object_]:
        """Sum of ``z r`` over all rows, r the clipped residual in steps of 1/RESIDUAL_UNIT.

        Parameters
        ----------
        steps : ndarray of shape (size,)
        step : float
            A model from :func:`grid_model`.

        Returns
        -------
        ndarray of Python ints, shape (size,)
        """
        one = partial(self._products, steps, step)
        places = range(len(self._blocks))
        if len(places) < _WORTH_THREADS:
            parts = [one(place) for place in places]
        else:
            with ThreadPoolExecutor(_THREADS) as threads:
                parts = list(threads.map(one, places))
        total = np.zeros(self._size, dtype=object)
        for part in parts:
            total += part
        return total

    def _products(self, steps: NDArray[np.float64], step: float, index: int) -> NDArray[np.object_]:
        rows, labels = self._block(index)
        out = np.zeros(self._size)
        add_clipped_gradient(
            rows, labels, steps, step / self._unit, RESIDUAL_UNIT, self._bound, out
        )
        exact: NDArray[np.object_] = out.astype(np.int64).astype(object)
        return exact

    def _block(self, index: int) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
        """Return the rows and labels of a block; rows may go on beyond the labels."""
        rows, labels = self._blocks[index]
        last = index == len(self._blocks) - 1
        return rows, labels[: self._filled] if last else labels
