"""Refuse noisy sums that no honest server can have sent.

The sums are exact counts of n reports and noise of a known law, so they can be off by only so much.
A change that the noise explains is not found out. All of this is post-processing.

The bound: a discrete Laplace number X of variance v has E exp(tX) = 1 / (1 - u) for every t with
u = v (cosh t - 1) < 1. So k independent ones add up to x or more with a probability of at most
exp(-t x) (1 - u)^-k, which is q at x = (log(1/q) - k log(1 - u)) / t, whatever u is. The largest of
m sums reaches x with m times that probability at most. Each bound here is exceeded with probability
2^-42 at most, and an answer is held against a few of them, or three for each of 100 groups at most:
an honest one is refused with a probability below 1e-10.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.errors import NolookError

__all__ = ["TreeNoise", "bound", "refuse_impossible", "refuse_outside"]

_CHANCE = 2.0**-42

Numbers = NDArray[np.float64] | NDArray[np.int64]


def bound(noises: int, variance: float, sums: int) -> float:
    """Return what the largest of some sums of so many noises exceeds with probability 2^-42."""
    u = np.linspace(0.02, 0.98, 49)
    with np.errstate(divide="ignore"):  # without any variance the bound is 0
        t = 2.0 * np.arcsinh(np.sqrt(u / 2.0 / np.float64(variance)))
    return float(((math.log(sums / _CHANCE) - noises * np.log1p(-u)) / t).min())


@frozen
class TreeNoise:
    """The noise of counts: `noises` times that of a tree of so many levels, `variance` a node."""

    levels: int
    variance: float
    noises: int

    def of_counts(self, size: int) -> float:
        """Bound the noise of so many counts: each has that of a node of every level."""
        return bound(self.noises * (self.levels + 1), self.variance, 2 * size)

    def of_falls(self, size: int) -> float:
        """Bound the fall from any of so many counts to another: all have the root in common."""
        return bound(self.noises * 2 * self.levels, self.variance, size**2)


def refuse_outside(found: Numbers, low: float, high: Numbers | float, slack: float) -> None:
    """Refuse numbers that are outside an interval by more than the noise explains."""
    if not ((found >= low - slack) & (found <= high + slack)).all():
        raise NolookError(
            "the sums cannot be: one is outside what the number of rows allows by more than the "
            "noise explains; expected honest sums (ask those who added up)"
        )


def refuse_impossible(
    counts: NDArray[np.int64],
    places: NDArray[np.integer[Any]],
    last: int,
    rows: float,
    noise: TreeNoise,
    slack: float = 0.0,
) -> None:
    """Refuse noisy counts up to the thresholds at some places that no table explains.

    From the place `last` on every row is counted; their number `rows` may be off by `slack`.
    """
    slack += noise.of_counts(len(counts))
    refuse_outside(counts, 0.0, rows, slack)
    refuse_outside(counts[places >= last], rows, rows, slack)
    ordered = counts[np.argsort(places, kind="stable")]
    if (np.maximum.accumulate(ordered) - ordered > noise.of_falls(len(counts))).any():
        raise NolookError(
            "the sums cannot be: counts fall between thresholds by more than the noise explains; "
            "expected honest sums (ask those who added up)"
        )
