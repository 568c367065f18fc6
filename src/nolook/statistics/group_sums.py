"""Sums over groups of probabilities, as exact integers one row moves little."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Integers, Vector
from nolook.statistics import Statistic

__all__ = ["GROUP_COUNTS_SENSITIVITY", "GROUP_UNIT", "GroupSums", "excess_sensitivities"]

#: Probabilities are whole multiples of 1/GROUP_UNIT in sums.
GROUP_UNIT = 2**30
#: L1 sensitivity of the counts of a group: a row is positive or negative.
GROUP_COUNTS_SENSITIVITY = 1

# Rows whose weights and excesses, at most 2^30 each, add up exactly in float64 and int64.
_EXACT_ROWS = 2**23


def excess_sensitivities(borders: Vector) -> Integers:
    """Largest change of each group's excess when a row enters it: its width, in 1/GROUP_UNIT."""
    widths: Integers = np.diff(borders * GROUP_UNIT).astype(np.int64)
    return widths


class GroupSums(Statistic):
    """The rows of each group, counted, and how far their probabilities exceed its left border.

    Rows with weights are counted in units of 1/whole; their excesses are multiplied by their
    weights over `whole`, each rounded down, so that those of a unit exceed no single row's.
    Borders increase from 0 to 1 in whole multiples of 1/GROUP_UNIT. A group holds the probabilities
    above its left border and up to its right one; the first group also holds 0.
    """

    def __init__(self, borders: Vector, whole: int = 1) -> None:
        self._whole = whole
        self._inner = borders[1:-1]
        self._left = (borders[:-1] * GROUP_UNIT).astype(np.int64)
        self._counts = np.zeros((2, len(self._left)), dtype=np.int64)
        self._excess = np.zeros(len(self._left), dtype=object)

    def update(self, numbers: Vector, weights: Integers | None = None) -> Self:
        """Add rows, probabilities and then targets, 1 of positives, and what each weighs.

        Probabilities are clipped to 0 and 1, NaN to 0, and each is rounded down to a whole unit.
        """
        probabilities, targets = numbers
        for start in range(0, len(probabilities), _EXACT_ROWS):
            rows = slice(start, start + _EXACT_ROWS)
            inside = np.nan_to_num(probabilities[rows], nan=0.0).clip(0.0, 1.0)
            group = np.searchsorted(self._inner, inside, side="left")
            excess = (inside * GROUP_UNIT).astype(np.int64) - self._left[group]
            own = None if weights is None else weights[rows]
            if own is not None:
                excess = excess * own // self._whole
            part = np.zeros_like(self._left)
            places = group + len(part) * (targets[rows] != 1.0)
            counts = np.bincount(places, own, self._counts.size).astype(np.int64)
            self._counts += counts.reshape(2, -1)
            np.add.at(part, group, excess)
            self._excess += part
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one of the same borders has seen."""
        self._counts += other._counts
        self._excess += other._excess
        return self

    @property
    def value(self) -> tuple[Integers, Integers, NDArray[np.object_]]:
        """Positives, negatives, and excesses as Python ints in units of 1/GROUP_UNIT, by group."""
        positives, negatives = self._counts.copy()
        return positives, negatives, self._excess.copy()
