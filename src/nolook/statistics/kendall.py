"""Kendall's rank correlation as an exact integer, scaled so that one row moves it little.

For C concordant and D discordant pairs of n rows it is T = (C - D)/(n - 1), between -n/2 and n/2; a
pair tied in either column counts zero, and T is 0 for fewer than two rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.errors import TableError
from nolook.kernels.inversions import RankedColumn, rank_columns
from nolook.statistics import Statistic

__all__ = ["KENDALL_UNIT", "KendallRows", "kendall_scores", "kendall_sensitivity"]

#: Scores are whole multiples of 1/KENDALL_UNIT. A multiple of 4, so that 5/4 is a whole number.
KENDALL_UNIT = 2**20

_MOST_ROWS = 2**32 - 1  # ranks have 32 bits


def kendall_sensitivity(chosen: int) -> float:
    """Half of the most that two scores move apart under add-remove, in units of 1/KENDALL_UNIT.

    A row that is added moves |T| by -3/2 at least and 1 at most: 5/4, or 5/2 if features were
    chosen before, whose |T| is then subtracted.
    """
    return 1.25 * KENDALL_UNIT if chosen == 0 else 2.5 * KENDALL_UNIT


def kendall_scores(
    target: NDArray[np.int64], redundancy: Sequence[int], chosen: int, rows: int
) -> NDArray[np.int64]:
    """Score features: |T| with the target less the mean |T| with the features chosen before.

    For each feature, `target` is C - D with the target and `redundancy` the sum of |C - D| with
    those chosen. Scores are exact, in units of 1/KENDALL_UNIT, each rounded down once.
    """
    parts = max(chosen, 1)
    # Python integers: a product may exceed 64 bits.
    rest = parts * abs(target.astype(object)) - np.array(redundancy, dtype=object)
    found = KENDALL_UNIT * rest // (parts * max(rows - 1, 1))
    return np.where(rows < 2, 0, found).astype(np.int64)


class KendallRows(Statistic):
    """Rows kept in memory, eight bytes a cell, until they are ranked."""

    def __init__(self, columns: int) -> None:
        self._parts = [np.empty((columns, 0))]

    def update(self, batch: NDArray[np.float64], weights: None = None) -> Self:  # noqa: ARG002
        """Keep rows of shape (columns, rows), finite numbers without weights, and no copy."""
        self._parts.append(batch)
        return self

    def merge(self, other: Self) -> Self:
        """Keep the rows another one has seen."""
        self._parts += other._parts
        return self

    @property
    def value(self) -> list[RankedColumn]:
        """The ranks of every column, four bytes a cell; as confidential as the table.

        2^32 rows or more are a TableError: ranks would wrap.
        """
        if sum(part.shape[1] for part in self._parts) > _MOST_ROWS:
            raise TableError("the table has 2**32 rows or more (rank a random part of them)")
        return rank_columns(self._parts)
