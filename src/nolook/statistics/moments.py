"""The exact moment matrix of standardised, norm-bounded rows, and what one row can change in it."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.moments import UNIT, exact_block_rows, integer_gram, shrink_rows
from nolook.statistics import Statistic

__all__ = ["MomentMatrix", "moment_sensitivity"]

# Every block's sums stay within 2^53, so this many blocks fit an int64 with room to spare.
_BLOCKS_PER_FLUSH = 512


def moment_sensitivity(squared_radius: int, relation: Literal["add-remove", "replace"]) -> int:
    """L2 sensitivity of the moment matrix, in units of its grid.

    A row adds ``z z'`` for one integer vector ``z = (UNIT, u)`` with ``|u|^2 <= squared_radius``.
    As the vector of ``z_i^2`` and ``sqrt(2) z_i z_j`` (i < j) it has norm ``|z|^2``, at most
    ``UNIT^2 + squared_radius``. Replacing a row moves the sum by a difference of two such vectors;
    their inner product ``(z'w)^2`` is not negative, so the norm grows by at most sqrt(2), which is
    rounded up to a whole number here.
    """
    single = UNIT**2 + squared_radius
    if relation == "add-remove":
        return single
    return -(-single * 14_142_135_624 // 10_000_000_000)


class MomentMatrix(Statistic):
    """Sum of ``z z'`` over rows ``z = (UNIT, u)``, as exact integers of any size.

    Each u is first shrunk to `squared_radius`, in squares of the grid's unit.
    """

    def __init__(self, columns: int, squared_radius: int) -> None:
        self.squared_radius = squared_radius
        self._total = np.zeros((columns + 1, columns + 1), dtype=object)
        self._recent = np.zeros((columns + 1, columns + 1), dtype=np.int64)
        self._blocks = 0

    def update(self, rows: NDArray[np.float64]) -> Self:
        """Add integer rows of shape (columns, rows); they are shrunk in place."""
        shrink_rows(rows, self.squared_radius)
        size = exact_block_rows(self.squared_radius)
        for start in range(0, rows.shape[1], size):
            self._recent += integer_gram(rows[:, start : start + size])
            self._blocks += 1
            if self._blocks == _BLOCKS_PER_FLUSH:
                self._flush()
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another matrix of the same radius has seen."""
        if other.squared_radius != self.squared_radius:
            raise ValueError("moment matrices of different radii cannot be merged")
        self._total = self._total + other.value
        return self

    def _flush(self) -> None:
        self._total = self._total + self._recent.astype(object)
        self._recent[...] = 0
        self._blocks = 0

    @property
    def value(self) -> NDArray[np.object_]:
        """The symmetric matrix of shape (columns + 1, columns + 1), of Python ints."""
        total: NDArray[np.object_] = self._total + self._recent.astype(object)
        return total
