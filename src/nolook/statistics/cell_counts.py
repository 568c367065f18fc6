"""How many values fall into each cell of a public grid, and what one record can change in it."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.cells import count_into, index_cells
from nolook.statistics import Statistic

__all__ = ["CellCounts", "cell_counts_sensitivity"]


def cell_counts_sensitivity(relation: Literal["add-remove", "replace"]) -> int:
    """L1 sensitivity of the counts: a record is in one cell, and moves from one to another.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
        Which tables are neighbours.

    Returns
    -------
    int
    """
    return 1 if relation == "add-remove" else 2


class CellCounts(Statistic):
    """How many values lie between public edges; cumulative sums are the numbers up to an edge.

    Parameters
    ----------
    edges : ndarray of float64, shape (N,)
        Increasing, N >= 1. The last stands for plus infinity, whatever it is.
    """

    def __init__(self, edges: NDArray[np.float64]) -> None:
        self._cells = index_cells(edges[:-1])
        self._counts = np.zeros(len(edges), dtype=np.int64)

    def update(self, values: NDArray[np.float64]) -> Self:
        """Add values of shape (rows,), any doubles. NaN counts in the last cell."""
        count_into(self._counts, values, self._cells)
        return self

    def merge(self, other: Self) -> Self:
        """Add the values another one of the same edges has seen."""
        self._counts += other._counts
        return self

    @property
    def value(self) -> NDArray[np.int64]:
        """The counts, of shape (N,).

        Cell i holds the values above ``edges[i-1]`` and up to ``edges[i]``; the first one all up
        to ``edges[0]``, the last one all above ``edges[N-2]``.
        """
        return self._counts.copy()
