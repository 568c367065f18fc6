"""Exact sums of the rows' gradients, each clipped to a norm in integers.

A row's gradient of half the squared error, its sign turned to point downhill, is ``r z``, r the
residual and z the row (1, u). It is clipped to a norm and truncated to whole units row by row;
``theta'z`` is exact, so a sum depends on the set of rows alone, and of their weights.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.moments import shrink_rows
from nolook.kernels.weights import part_bits, weight_parts
from nolook.statistics import Statistic, in_full, rounding_sensitivity

__all__ = [
    "GRADIENT_UNIT",
    "ClippedGradients",
    "UnitGradients",
    "gradient_radius",
    "gradient_sensitivity",
]

Array = NDArray[np.float64]

#: Gradients are whole multiples of 1/GRADIENT_UNIT.
GRADIENT_UNIT = 2**14

_PART_ROWS = 2**14  # working arrays stay small; partial sums stay far below 2^53


def gradient_radius(clip: float) -> int:
    """Return the bound on a gradient's squared norm, in squares of 1/GRADIENT_UNIT."""
    return math.floor((clip * GRADIENT_UNIT) ** 2)


def gradient_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> float:
    """L2 sensitivity of a sum of clipped gradients under add-remove, in units of 1/GRADIENT_UNIT.

    A row adds one vector of squared norm at most `squared_radius`, if it is in the sample. Rounded
    up. With weights, which need the `size` of a row, rounding adds its root.
    """
    norm = math.nextafter(math.sqrt(squared_radius), math.inf)
    rounding = rounding_sensitivity(size, whole)
    return math.nextafter(norm + rounding, math.inf) if rounding else norm


class _Part(NamedTuple):
    """Some rows in few bytes."""

    rows: NDArray[np.int16]  # shape (size, rows)
    targets: Array
    weights: NDArray[np.int64] | None
    units: NDArray[np.int64] | None  # None: every row is a unit of its own


class ClippedGradients(Statistic):
    """Rows kept in memory, two bytes a cell, and sums of the gradients of some units' rows.

    The rows are whole multiples of 1/`unit` that fit 16 bits; `squared_radius` bounds a gradient's
    squared norm, from :func:`gradient_radius`. Of rows with weights, the weighted sums over `whole`
    are rounded down.
    """

    def __init__(self, size: int, unit: int, squared_radius: int, whole: int = 1) -> None:
        self._size = size
        self._unit = unit
        self._radius = squared_radius
        self._whole = whole
        self._bits = part_bits(_PART_ROWS * (math.isqrt(squared_radius) + 1))
        self._parts: list[_Part] = []

    def update(
        self,
        rows: Array,
        targets: Array,
        weights: NDArray[np.int64] | None = None,
        units: NDArray[np.int64] | None = None,
    ) -> Self:
        """Keep rows of shape (size, rows), whole numbers, and their finite targets.

        `units` numbers the unit of each row from 0; without it each row is one, in their order.
        """
        for start in range(0, targets.size, _PART_ROWS):
            part = slice(start, start + _PART_ROWS)
            own = (None if each is None else each[part] for each in (weights, units))
            self._parts.append(_Part(rows[:, part].astype(np.int16), targets[part].copy(), *own))
        return self

    def merge(self, other: Self) -> Self:
        """Keep the rows another one of the same grid and radius has seen, in parts of their own."""
        self._parts += other._parts
        return self

    @property
    def units(self) -> int:
        """How many units the rows are of; as confidential as the table."""
        named = [part.units for part in self._parts if part.units is not None]
        if named:
            return 1 + max(int(each.max()) for each in named)
        return sum(part.targets.size for part in self._parts)

    def value(
        self, chosen: NDArray[np.bool_], whole_model: Array, spacing: float
    ) -> NDArray[np.object_]:
        """Sum the clipped gradients, in units of 1/GRADIENT_UNIT, of the chosen units' rows.

        `chosen` has an entry for each unit. The model is what
        :func:`nolook.statistics.residual_products.grid_model` returns.
        """
        total, start = np.zeros(self._size, dtype=object), 0
        for part in self._parts:
            stop = start + part.targets.size
            taken = chosen[start:stop] if part.units is None else chosen[part.units]
            start = stop
            z = part.rows[:, taken].astype(np.float64)
            residuals = part.targets[taken] - (whole_model @ z) * (spacing / self._unit)
            total += self._summed(part, taken, self._clipped(z, residuals))
        return in_full(total, self._whole)

    def _summed(
        self, part: _Part, taken: NDArray[np.bool_], gradients: Array
    ) -> NDArray[np.object_]:
        """Add up gradients of the rows taken of a part, with their weights."""
        total = np.zeros(self._size, dtype=object)
        weights = None if part.weights is None else part.weights[taken]
        for factor, own in weight_parts(weights, self._bits):
            sums = gradients.sum(axis=1) if isinstance(own, float) else gradients @ own
            total += factor * sums.astype(np.int64).astype(object)
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


class UnitGradients(ClippedGradients):
    """The same where a unit's rows count in full: their gradients' sum is clipped once more.

    So a unit counts as one row does, however many it has; up to 2^20 of them are added exactly.
    """

    _grouped = 0  # parts whose rows are together by unit

    def value(
        self, chosen: NDArray[np.bool_], whole_model: Array, spacing: float
    ) -> NDArray[np.object_]:
        """Sum the chosen units' clipped sums."""
        if self._grouped != len(self._parts):
            self._group()
        return super().value(chosen, whole_model, spacing)

    def _group(self) -> None:
        """Put the rows of a unit together, in one part."""
        rows, targets, _, named = zip(*self._parts, strict=True)
        units = np.concatenate(named)
        order = np.argsort(units, kind="stable")
        units, together = units[order], np.concatenate(rows, axis=1)[:, order]
        values = np.concatenate(targets)[order]
        cuts = np.unique(np.searchsorted(units, units[_PART_ROWS::_PART_ROWS]))
        self._parts = [
            _Part(together[:, start:stop], values[start:stop], None, units[start:stop])
            for start, stop in pairwise([0, *cuts[cuts > 0].tolist(), units.size])
        ]
        self._grouped = len(self._parts)

    def _summed(
        self, part: _Part, taken: NDArray[np.bool_], gradients: Array
    ) -> NDArray[np.object_]:
        if part.units is None:
            raise RuntimeError("rows of units come without their numbers")
        starts = np.flatnonzero(np.diff(part.units[taken], prepend=-1))
        # Of no rows, no unit: reduceat refuses that.
        sums = np.add.reduceat(gradients, starts, axis=1) if starts.size else gradients
        # A norm beyond 2^53 is rounded, but still found to be too large.
        shrink_rows(sums, self._radius)
        exact: NDArray[np.object_] = sums.sum(axis=1).astype(np.int64).astype(object)
        return exact
