"""Counts, moments and finer counts of rows by group, and what one row can change in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from attrs import frozen

from nolook._arrays import Array, Integers
from nolook.kernels.group_totals import add_cells, add_moments, add_weights, group_numbers
from nolook.statistics import Statistic
from nolook.statistics.cell_counts import cell_counts_sensitivity, node_counts_l2_sensitivity

__all__ = [
    "BLOCK_WEIGHT",
    "GroupCounts",
    "GroupMoments",
    "GroupedCells",
    "Grouping",
    "blocks_and_cells_sensitivities",
    "moments_l1_sensitivity",
    "moments_l2_sensitivity",
]


def moments_l1_sensitivity(times: int, relation: Literal["add-remove", "replace"]) -> float:
    """L1 sensitivity of :class:`GroupMoments`, in rows, for `times` pairs of column and grouping.

    A row adds ``(1/4, t, (t^2 - 1/2) / 4)`` to one group of each, whose entries add up to at most
    11/8 in size, at ``|t| = 1``.
    """
    return times * 11 / 8 * (1 if relation == "add-remove" else 2)


def moments_l2_sensitivity(times: int, relation: Literal["add-remove", "replace"]) -> float:
    """L2 sensitivity of the same, rounded up: the squares add up to at most 69/64."""
    once = node_counts_l2_sensitivity(69 * times) / 8
    return once if relation == "add-remove" else 2 * once


#: How often blocks are counted where their cells are counted once: they have less noise.
BLOCK_WEIGHT = 3


def blocks_and_cells_sensitivities(
    times: int, relation: Literal["add-remove", "replace"]
) -> tuple[int, float]:
    """L1 and L2 sensitivity of counts of blocks, times BLOCK_WEIGHT, and of their cells.

    A row is in one block and in one cell of each of `times` pairs of column and grouping.
    """
    changes = times * cell_counts_sensitivity(relation)
    l2 = node_counts_l2_sensitivity((BLOCK_WEIGHT**2 + 1) * changes)
    return (BLOCK_WEIGHT + 1) * changes, l2


@frozen
class Grouping:
    """Columns of codes that put every row into one group, and how many codes each has."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(np.prod(self.sizes, dtype=np.int64))

    def of(self, batch: Array) -> Integers:
        """Return the number of the group of every row of a batch."""
        return group_numbers(batch[list(self.columns)], self.sizes)


class _ByGroup(Statistic):
    """Totals of whole numbers by group, for each of some groupings, and perhaps of some columns.

    `columns` are their places, each with what else the kernel that adds one takes.
    """

    _add: ClassVar[Any]

    def __init__(
        self, groupings: Sequence[Grouping], columns: Iterable[Any] = (), *shape: int
    ) -> None:
        self._groupings, self._columns = tuple(groupings), list(columns)
        self._totals = [np.zeros((each.groups, *shape), dtype=np.int64) for each in groupings]

    def update(self, batch: Array, weights: Integers | None = None) -> Self:
        """Add rows, shape (columns, rows), each as often as its weight says."""
        for grouping, total in zip(self._groupings, self._totals, strict=True):
            groups = grouping.of(batch)
            for place, (column, *known) in enumerate(self._columns):
                self._add(total[:, place], groups, batch[column], weights, *known)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        for place, seen in enumerate(other._totals):
            self._totals[place] += seen
        return self

    @property
    def value(self) -> Integers:
        """The totals of all groupings, one after the other."""
        return np.concatenate([total.ravel() for total in self._totals])


class GroupCounts(_ByGroup):
    """The number of rows of each group, or their weights.

    A row is in one group of each grouping, as in one cell of each column (`cell_counts.py`).
    """

    def update(self, batch: Array, weights: Integers | None = None) -> Self:
        """Add rows, shape (columns, rows), each as often as its weight says."""
        for grouping, total in zip(self._groupings, self._totals, strict=True):
            add_weights(total, grouping.of(batch), weights)
        return self


class GroupMoments(_ByGroup):
    """Sums of ``(1/4, t, (t^2 - 1/2) / 4)`` by group, in units of 1/MOMENT_UNIT.

    ``t = clip((x - center) / clip, -1, 1)`` of every value of each column; missing ones add
    nothing. Shape (groups, columns, 3) for each grouping. `clips` are above 0. The weights of a
    unit's rows add up to MOMENT_UNIT at most.
    """

    _add = staticmethod(add_moments)

    def __init__(
        self, groupings: Sequence[Grouping], columns: Sequence[int], centers: Array, clips: Array
    ) -> None:
        known = zip(columns, centers.tolist(), clips.tolist(), strict=True)
        super().__init__(groupings, known, len(columns), 3)


class GroupedCells(_ByGroup):
    """The number of values of each column and group in each of some cells, or their weights.

    The cells of a column are as many as those of the others. Each holds values up to its end, the
    last one all above; missing values are in none. Shape (groups, columns, cells) for each
    grouping.
    """

    _add = staticmethod(add_cells)

    def __init__(
        self, groupings: Sequence[Grouping], columns: Sequence[int], ends: Sequence[Array]
    ) -> None:
        super().__init__(groupings, zip(columns, ends, strict=True), *np.shape(ends))
