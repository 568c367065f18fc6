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
from nolook.kernels.inversions import RankedColumn, pair_differences, rank_columns
from nolook.statistics import Statistic

__all__ = ["KENDALL_UNIT", "KendallRows", "RankedTable", "kendall_scores", "kendall_sensitivity"]

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
    out = np.zeros(len(target), dtype=np.int64)
    if rows < 2:
        return out
    parts = max(chosen, 1)
    divisor = parts * (rows - 1)
    # Python integers: a product may exceed 64 bits.
    for j, (own, others) in enumerate(zip(target.tolist(), redundancy, strict=True)):
        out[j] = KENDALL_UNIT * (parts * abs(own) - others) // divisor
    return out


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
    def value(self) -> RankedTable:
        """The ranks of the rows."""
        return RankedTable(self._parts)


class RankedTable:
    """The ranks of a table's columns, four bytes a cell, and the pairs of rows they order.

    Parts have finite numbers and shape (columns, rows). 2^32 rows or more are a TableError: ranks
    would wrap.
    """

    def __init__(self, parts: Sequence[NDArray[np.float64]]) -> None:
        #: As confidential as the table.
        self.rows = sum(part.shape[1] for part in parts)
        if self.rows > _MOST_ROWS:
            raise TableError("the table has 2**32 rows or more (rank a random part of them)")
        self._columns: list[RankedColumn] = rank_columns(parts)

    def differences(self, column: int, others: Sequence[int]) -> NDArray[np.int64]:
        """Count the concordant less the discordant pairs of a column and each of others.

        They are the same whatever the order of the rows.
        """
        return pair_differences(self._columns[column], [self._columns[j] for j in others])
