"""Counts of the values in each cell of a public grid, and their sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.cells import Cells, count_into, index_cells
from nolook.statistics import Statistic

__all__ = [
    "CellCounts",
    "ClassCells",
    "ColumnCells",
    "cell_counts_sensitivity",
    "node_counts_l2_sensitivity",
    "node_counts_sensitivity",
]


def cell_counts_sensitivity(relation: Literal["add-remove", "replace"]) -> int:
    """L1 sensitivity of the counts: a row is in one cell (add-remove) or changes it (replace)."""
    return 1 if relation == "add-remove" else 2


def node_counts_sensitivity(levels: int, relation: Literal["add-remove", "replace"]) -> int:
    """L1 sensitivity of the counts of blocks, if a row is in one block of each of some levels.

    So many counts change, by one each.
    """
    return levels * cell_counts_sensitivity(relation)


def node_counts_l2_sensitivity(changes: int) -> float:
    """L2 sensitivity, rounded up, of counts of which n change, by one each."""
    root = math.sqrt(changes)
    return root if Fraction(root) ** 2 >= changes else math.nextafter(root, math.inf)


class CellCounts(Statistic):
    """Numbers, or weights, of the values between increasing public edges, N of them.

    The last edge stands for plus infinity, whatever it is; cumulative sums are the numbers up to an
    edge.
    """

    def __init__(self, edges: NDArray[np.float64], cells: Cells | None = None) -> None:
        self._cells = cells or index_cells(edges[:-1])
        self._counts = np.zeros(len(edges), dtype=np.int64)

    def update(self, values: NDArray[np.float64], weights: NDArray[np.int64] | None = None) -> Self:
        """Add values, any doubles. NaN counts in the last cell."""
        count_into(self._counts, values, self._cells, weights)
        return self

    def merge(self, other: Self) -> Self:
        """Add the values another one of the same edges has seen."""
        self._counts += other._counts
        return self

    @property
    def value(self) -> NDArray[np.int64]:
        """The counts, shape (N,); cell i holds the values above edge i - 1 and up to edge i."""
        return self._counts.copy()


class ColumnCells(Statistic):
    """The counts of every column, each with edges of its own."""

    def __init__(self, edges: Sequence[NDArray[np.float64]]) -> None:
        # Equal edges are mostly one array: its index is many times as large as the counts.
        cells = {key: index_cells(each[:-1]) for key, each in {id(e): e for e in edges}.items()}
        self._counts = [CellCounts(each, cells[id(each)]) for each in edges]

    def update(self, batch: NDArray[np.float64], weights: NDArray[np.int64] | None = None) -> Self:
        """Add rows, shape (columns, rows), each as often as its weight says."""
        for column, counts in zip(batch, self._counts, strict=True):
            counts.update(column, weights)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one of the same edges has seen."""
        for counts, seen in zip(self._counts, other._counts, strict=True):
            counts.merge(seen)
        return self

    @property
    def value(self) -> list[NDArray[np.int64]]:
        """The counts of each, as of :class:`CellCounts`."""
        return [counts.value for counts in self._counts]


class ClassCells(ColumnCells):
    """The counts of positives' scores, and of negatives'."""

    def __init__(self, edges: NDArray[np.float64]) -> None:
        super().__init__([edges, edges])

    def update(
        self, numbers: NDArray[np.float64], weights: NDArray[np.int64] | None = None
    ) -> Self:
        """Add rows, scores and then targets, 1 of positives; each as often as its weight says."""
        scores, targets = numbers
        for own, counts in zip((targets == 1.0, targets != 1.0), self._counts, strict=True):
            counts.update(scores[own], None if weights is None else weights[own])
        return self
