"""Sums over groups of probabilities, as exact integers one record moves little."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["GROUP_COUNTS_SENSITIVITY", "GROUP_UNIT", "excess_sensitivities", "group_sums"]

#: Probabilities are whole steps of 1/GROUP_UNIT in sums.
GROUP_UNIT = 2**30
#: L1 sensitivity of the counts of a group: a record is positive or negative.
GROUP_COUNTS_SENSITIVITY = 1

# Rows whose sum of excesses, at most GROUP_UNIT each, stays far inside int64.
_EXACT_ROWS = 2**32

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]


def excess_sensitivities(borders: Vector) -> Integers:
    """Largest change of each group's excess when a record enters it: the group's width.

    Parameters
    ----------
    borders : ndarray of shape (groups + 1,)
        As for :func:`group_sums`.

    Returns
    -------
    ndarray of int64, shape (groups,)
        In steps of 1/GROUP_UNIT.
    """
    widths: Integers = np.diff(borders * GROUP_UNIT).astype(np.int64)
    return widths


def group_sums(
    batches: Iterable[tuple[Vector, NDArray[np.bool_]]], borders: Vector
) -> tuple[Integers, Integers, NDArray[np.object_]]:
    """Count the rows of each group, and sum how far their probabilities exceed its left border.

    Parameters
    ----------
    batches : iterable of (ndarray of shape (rows,), ndarray of bool, shape (rows,))
        Probabilities, clipped to 0 and 1, and whether each row is positive; fewer than 2^32 rows
        together. NaN counts as 0.
    borders : ndarray of shape (groups + 1,)
        Increasing from 0 to 1, whole multiples of 1/GROUP_UNIT. A group holds the probabilities
        above its left border and up to its right one, the first one also 0.

    Returns
    -------
    positives, negatives : ndarray of int64, shape (groups,)
    excess : ndarray of Python ints, shape (groups,)
        In steps of 1/GROUP_UNIT; each probability is rounded down to them.
    """
    positives, negatives = np.zeros((2, len(borders) - 1), dtype=np.int64)
    excess = np.zeros(len(borders) - 1, dtype=object)
    left = (borders[:-1] * GROUP_UNIT).astype(np.int64)
    for probabilities, positive in batches:
        for start in range(0, len(probabilities), _EXACT_ROWS):
            rows = slice(start, start + _EXACT_ROWS)
            inside = np.nan_to_num(probabilities[rows], nan=0.0).clip(0.0, 1.0)
            group = np.searchsorted(borders[1:-1], inside, side="left")
            positives += np.bincount(group[positive[rows]], minlength=len(left))
            negatives += np.bincount(group[~positive[rows]], minlength=len(left))
            part = np.zeros_like(left)
            np.add.at(part, group, (inside * GROUP_UNIT).astype(np.int64) - left[group])
            excess += part
    return positives, negatives, excess
