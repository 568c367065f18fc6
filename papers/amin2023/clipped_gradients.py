"""Exact sums of the rows' gradients, each clipped to a norm in integers.

A row's gradient of half the squared error, its sign turned to point downhill, is ``r z``, r the
residual and z the row (1, u). It is clipped to a norm and truncated to whole units row by row;
``theta'z`` is exact, so a sum depends on the set of rows only.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.moments import shrink_rows
from nolook.statistics import Statistic

__all__ = ["GRADIENT_UNIT", "ClippedGradients", "gradient_radius", "gradient_sensitivity"]

Array = NDArray[np.float64]

#: Gradients are whole multiples of 1/GRADIENT_UNIT.
GRADIENT_UNIT = 2**14

_PART_ROWS = 2**14  # working arrays stay small; partial sums stay far below 2^53


def gradient_radius(clip: float) -> int:
    """Return the bound on a gradient's squared norm, in squares of 1/GRADIENT_UNIT."""
    return math.floor((clip * GRADIENT_UNIT) ** 2)


def gradient_sensitivity(squared_radius: int) -> float:
    """L2 sensitivity of a sum of clipped gradients under add-remove, in units of 1/GRADIENT_UNIT.

    A row adds one vector of squared norm at most `squared_radius`, if it is in the sample. Rounded
    up.
    """
    return math.nextafter(math.sqrt(squared_radius), math.inf)


class ClippedGradients(Statistic):
    """Rows kept in memory, two bytes a value, and sums of the gradients of some of them.

    The rows are whole multiples of 1/`unit` that fit 16 bits; `squared_radius` bounds a gradient's
    squared norm, from :func:`gradient_radius`.
    """

    def __init__(self, size: int, unit: int, squared_radius: int) -> None:
        self._size = size
        self._unit = unit
        self._radius = squared_radius
        self._parts: list[tuple[NDArray[np.int16], Array]] = []

    def update(self, rows: Array, targets: Array) -> Self:
        """Keep rows of shape (size, rows), whole numbers, and their finite targets."""
        for start in range(0, targets.size, _PART_ROWS):
            part = slice(start, start + _PART_ROWS)
            self._parts.append((rows[:, part].astype(np.int16), targets[part].copy()))
        return self

    def merge(self, other: Self) -> Self:
        """Keep the rows another one of the same grid and radius has seen, in parts of their own."""
        self._parts += other._parts
        return self

    @property
    def rows(self) -> int:
        """The number of rows; as confidential as the table."""
        return sum(targets.size for _, targets in self._parts)

    def value(
        self, chosen: NDArray[np.bool_], whole_model: Array, spacing: float
    ) -> NDArray[np.object_]:
        """Sum the clipped gradients, in units of 1/GRADIENT_UNIT, of the chosen rows.

        The model is what :func:`nolook.statistics.grid_models.grid_model` returns.
        """
        total, start = np.zeros(self._size, dtype=object), 0
        for rows, targets in self._parts:
            taken = chosen[start : start + targets.size]
            start += targets.size
            z = rows[:, taken].astype(np.float64)
            residuals = targets[taken] - (whole_model @ z) * (spacing / self._unit)
            total += self._clipped(z, residuals).sum(axis=1).astype(np.int64).astype(object)
        return total

    def _clipped(self, rows: Array, residuals: Array) -> Array:
        """Return each row's gradient in units of 1/GRADIENT_UNIT, whole and within the radius."""
        norms = np.sqrt((rows * rows).sum(axis=0))
        # In units of 1/GRADIENT_UNIT a gradient has the norm |r| |z| GRADIENT_UNIT / unit.
        weights = residuals * (GRADIENT_UNIT / self._unit)
        bound = math.sqrt(self._radius) / np.maximum(norms, 1.0)
        gradients = rows * np.clip(weights, -bound, bound)
        np.trunc(gradients, out=gradients)
        shrink_rows(gradients, self._radius)
        return gradients
