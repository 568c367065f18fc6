"""Errors of predictions on rows that the model has not seen."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.weights import integer_sums
from nolook.statistics import WeightedTotal, rounding_sensitivity
from nolook.statistics.weighted_rows import ERROR_UNIT, LARGEST_ERROR

__all__ = ["COUNT_STEPS", "DEVIATION_STEPS", "HeldOutErrors", "held_out_sensitivity"]

#: What a row adds to the number of rows ...
COUNT_STEPS = 2**26
#: ... and a deviation of one grid step to their sum: both cost little beside the squares.
DEVIATION_STEPS = 2**13

_LARGEST = LARGEST_ERROR * ERROR_UNIT


def held_out_sensitivity(whole: int = 1) -> int:
    """L2 sensitivity of :class:`HeldOutErrors` under add-remove, rounded up: all four grow."""
    squared = COUNT_STEPS**2 + (DEVIATION_STEPS * _LARGEST) ** 2 + 2 * _LARGEST**4
    return math.isqrt(squared) + 1 + rounding_sensitivity(4, whole)


class HeldOutErrors(WeightedTotal):
    """Sums over rows of 1, y - c, (y - c)^2 and (y - p)^2, p a row's prediction.

    Differences are in grid steps of 1/ERROR_UNIT of `scale`, cut off at LARGEST_ERROR scales on
    either side and truncated, row by row; the first two sums are in steps of their own.
    """

    def __init__(self, center: float, scale: float, whole: int = 1) -> None:
        super().__init__(4, whole)
        self._center, self._scale = center, scale

    def update(
        self, numbers: NDArray[np.float64], weights: NDArray[np.int64] | None = None
    ) -> Self:
        """Add rows: predictions, then targets."""
        predicted, targets = numbers
        with np.errstate(all="ignore"):
            away = (targets - np.stack([np.full_like(targets, self._center), predicted])) / (
                self._scale / ERROR_UNIT
            )
        # What is no number is the largest difference.
        away = np.nan_to_num(away, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)
        steps = np.trunc(away).clip(-_LARGEST, _LARGEST).astype(np.int64)
        one = np.full_like(steps[0], COUNT_STEPS)
        added = np.stack([one, DEVIATION_STEPS * steps[0], *steps**2])
        self._total = self._total + integer_sums(added, weights)
        return self
