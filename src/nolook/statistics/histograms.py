"""Exact histograms of every column of a table, and what one row can change in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.statistics import Statistic

__all__ = ["Count", "Histograms", "histograms_sensitivity", "row_parts"]


def histograms_sensitivity(columns: int, relation: Literal["add-remove", "replace"]) -> float:
    """L2 sensitivity of one histogram a column, taken together as one vector of counts; rounded up.

    A row is in one bin of each column at most, so adding or removing it changes ``columns`` counts
    by one. Replacing it takes one from a bin and adds one to another, in each column. The rows of a
    unit with weights count as one row at most.
    """
    squared = columns if relation == "add-remove" else 2 * columns
    root = math.sqrt(squared)
    return root if Fraction(root) ** 2 >= squared else math.nextafter(root, math.inf)


#: Maps a batch of shape (columns, rows), and what each row weighs, to int64 counts of shape
#: (columns, bins), each row in one bin of each column at most.
Count: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.int64] | None], NDArray[np.int64]]


def row_parts(
    columns: NDArray[np.float64], weights: NDArray[np.int64] | None, *, others: Collection[int]
) -> NDArray[np.int64]:
    """Count rows in one bin, shape (1, 1), or in a second one if any of the columns `others` is 1.

    There is a second bin only if there are such columns. Takes what `Count` takes.
    """
    marked = (columns[list(others)] == 1.0).any(axis=0).astype(np.intp)
    return np.bincount(marked, weights, 2 if others else 1).astype(np.int64)[np.newaxis]


class Histograms(Statistic):
    """Counts of a table's rows in fixed bins, one histogram a column, or sums of their weights.

    Without `columns`, of all columns.
    """

    def __init__(self, count: Count, columns: Sequence[int] | None = None) -> None:
        self._count = count
        self._columns = slice(None) if columns is None else list(columns)
        self._value: NDArray[np.int64] | None = None

    def update(self, batch: NDArray[np.float64], weights: NDArray[np.int64] | None = None) -> Self:
        """Add the rows of a batch of shape (columns, rows), each as often as its weight says."""
        return self._add(self._count(batch[self._columns], weights))

    def merge(self, other: Self) -> Self:
        """Add the rows another histogram of the same bins has seen."""
        return self if other._value is None else self._add(other._value)

    def _add(self, counts: NDArray[np.int64]) -> Self:
        if self._value is None:
            self._value = counts.copy()
        else:
            self._value += counts
        return self

    def value(self, columns: int) -> NDArray[np.int64]:
        """Return the counts, of shape (columns, bins); all zero before any batch."""
        if self._value is None:
            return self._count(np.empty((columns, 0))[self._columns], None)
        return self._value
