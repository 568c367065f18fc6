"""The exact moment matrix of standardised, norm-bounded rows, and what one row can change in it."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Vector
from nolook.kernels.moments import UNIT, exact_block_rows, integer_gram, shrink_rows
from nolook.kernels.weights import part_bits, weighted_sums
from nolook.statistics import Statistic, in_full, rounding_sensitivity

__all__ = ["MomentMatrix", "moment_sensitivity"]


def moment_sensitivity(
    squared_radius: int,
    relation: Literal["add-remove", "replace"],
    columns: int = 0,
    whole: int = 1,
) -> int:
    """L2 sensitivity of the moment matrix, in units of its grid.

    A row adds ``z z'`` for one integer vector ``z = (UNIT, u)`` with ``|u|^2 <= squared_radius``.
    As the vector of ``z_i^2`` and ``sqrt(2) z_i z_j`` (i < j) it has norm ``|z|^2``, at most
    ``UNIT^2 + squared_radius``. Replacing a row moves the sum by a difference of two such vectors;
    their inner product ``(z'w)^2`` is not negative, so the norm grows by at most sqrt(2), which is
    rounded up to a whole number here. With weights, which need the number of `columns`, rounding
    adds one more than those.
    """
    single, rounding = UNIT**2 + squared_radius, rounding_sensitivity((columns + 1) ** 2, whole)
    if relation == "add-remove":
        return single + rounding
    return -(-single * 14_142_135_624 // 10_000_000_000) + rounding


class MomentMatrix(Statistic):
    """Sum of ``z z'`` over rows ``z = (UNIT, u)``, as exact integers of any size.

    Each u is first shrunk to `squared_radius`, in squares of the grid's unit. Of rows with weights,
    their weighted sum over `whole`, rounded down.
    """

    def __init__(self, columns: int, squared_radius: int, whole: int = 1) -> None:
        self.squared_radius = squared_radius
        self._whole = whole
        self._total = np.zeros((columns + 1, columns + 1), dtype=object)
        largest = max(UNIT**2, squared_radius)
        self._bits = 0 if whole == 1 else part_bits(largest)
        self._block_rows = exact_block_rows(largest << self._bits)

    def update(self, rows: NDArray[np.float64], weights: NDArray[np.int64] | None = None) -> Self:
        """Add integer rows of shape (columns, rows); they are shrunk in place."""
        shrink_rows(rows, self.squared_radius)

        def gram(place: slice, part: Vector | float) -> NDArray[np.int64]:
            return integer_gram(rows[:, place], part)

        self._total = self._total + weighted_sums(
            gram, self._total.shape, rows.shape[1], self._block_rows, weights, self._bits
        )
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another matrix of the same radius has seen."""
        if other.squared_radius != self.squared_radius:
            raise ValueError("moment matrices of different radii cannot be merged")
        self._total = self._total + other._total
        return self

    @property
    def value(self) -> NDArray[np.object_]:
        """The symmetric matrix of shape (columns + 1, columns + 1), of Python ints."""
        return in_full(self._total, self._whole).copy()
