"""Exact, mergeable statistics of a table, each with its sensitivity as a named function."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Statistic", "WeightedTotal", "rounding_sensitivity"]


class Statistic(Protocol):
    """A sum over a table's rows, or what can be merged like one: part by part, in any order.

    An implementer owes: it is made from public arguments, with no rows seen. It can be sent to
    another process. Its ``value`` (a property, or a method of further public arguments) depends on
    the rows seen and on nothing else, to the last bit: not on how they were cut into batches, which
    object saw them, or in which order it was merged. Next to it stands its sensitivity, a named
    function or constant of public numbers: how far the values of neighbouring tables differ at
    most.
    """

    def update(self, *batch: Any, **named: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch, which may be kept as it is."""

    def merge(self, other: Self) -> Self:
        """Add the rows that another one, made with the same arguments, has seen."""


class WeightedTotal(Statistic):
    """Shared parts of sums of weighted integers: totals in units of 1/whole, read in rows."""

    def __init__(self, shape: int | tuple[int, ...], whole: int = 1) -> None:
        self._total: NDArray[np.object_] = np.zeros(shape, dtype=object)
        self._whole = whole

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        own = copy(self)  # all else stays as it is, as do Python's ints
        own._total = self._total.copy()
        return own

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self._total = self._total + other._total
        return self

    @property
    def value(self) -> NDArray[np.object_]:
        """The sums of rows' weights in units of a row, each rounded down: Python ints.

        So exact sums, whose grid is fine already, keep it. What the rounding adds to their
        sensitivity is :func:`rounding_sensitivity`.
        """
        return self._total if self._whole == 1 else self._total // self._whole


def rounding_sensitivity(entries: int, whole: int) -> int:
    """Return the L2 sensitivity that rounding down adds to n sums: below 1 for each."""
    if whole == 1:
        return 0
    root = math.isqrt(entries)
    return root + (root * root < entries)
