"""Lower bounds on the privacy loss, from draws on two neighbouring tables.

An event that is likelier on one table than on the other bounds the loss. It is chosen on one half
of the draws and counted on the other, where exact binomial limits (Clopper and Pearson 1934) hold.
So a bound above the claim is a fault, but for chance with the stated probability.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

__all__ = ["CONFIDENCE", "Event", "best_event", "epsilon_bound", "limits", "mu_bound"]

#: A bound is not above the truth with at least this probability.
CONFIDENCE = 1.0 - 1e-5

_CANDIDATES = 500  # thresholds tried

Vector = NDArray[np.float64]


@frozen
class Event:
    """A score at or `above` a threshold, or else at or below it.

    `swapped` says that the event is likelier on the second table.
    """

    threshold: float
    above: bool
    swapped: bool

    def counts(self, first: Vector, second: Vector) -> tuple[int, int]:
        """Count the event on the table where it is likelier, and on the other."""
        likelier, rarer = (second, first) if self.swapped else (first, second)
        return self._count(likelier), self._count(rarer)

    def _count(self, scores: Vector) -> int:
        inside = scores >= self.threshold if self.above else scores <= self.threshold
        return int(np.count_nonzero(inside))


def epsilon_bound(first: Vector, second: Vector, delta: float = 0.0) -> float:
    """Return a lower bound on epsilon at a delta; above the truth with probability at most 1e-5.

    Both arrays hold independent draws of the same function of the output, whatever it is.
    """
    choosing, counting = _halves(first, second)
    event = best_event(*choosing, delta)
    return float(_epsilon(*_limits(event, counting), delta))


def mu_bound(first: Vector, second: Vector) -> float:
    """Return a lower bound on mu (Gaussian DP); above the truth with probability at most 1e-5.

    An event of probability p on one table and q on the other shows mu >= Phi^-1(p) - Phi^-1(q).
    """
    choosing, counting = _halves(first, second)
    event = best_event(*choosing, None)
    return float(_mu(*_limits(event, counting)))


def best_event(first: Vector, second: Vector, delta: float | None) -> Event:
    """Choose the event that shows most: the largest epsilon at a delta, or mu if delta is None."""
    shares = np.linspace(0.0, 1.0, _CANDIDATES)
    pooled = np.concatenate([first, second])
    thresholds = np.unique(np.quantile(pooled, shares, method="inverted_cdf"))
    sizes = len(first), len(second)
    ordered = np.sort(first), np.sort(second)
    best, found = -math.inf, Event(0.0, above=True, swapped=False)
    for above in (True, False):
        below = [
            np.searchsorted(scores, thresholds, side="left" if above else "right")
            for scores in ordered
        ]
        counts = [size - part if above else part for size, part in zip(sizes, below, strict=True)]
        for swapped in (False, True):
            (likely, rare), (n, m) = (counts[::-1], sizes[::-1]) if swapped else (counts, sizes)
            low, high = limits(likely, n)[0], limits(rare, m)[1]
            shown = _mu(low, high) if delta is None else _epsilon(low, high, delta)
            place = int(np.argmax(shown))
            if shown[place] > best:
                best = float(shown[place])
                found = Event(float(thresholds[place]), above, swapped)
    return found


def _halves(first: Vector, second: Vector) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Split the draws in two: one half chooses the event, the other counts it."""
    middle, other = len(first) // 2, len(second) // 2
    return (first[:middle], second[:other]), (first[middle:], second[other:])


def _limits(event: Event, draws: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    likely, rare = event.counts(*draws)
    n, m = (len(draws[1]), len(draws[0])) if event.swapped else (len(draws[0]), len(draws[1]))
    return limits(np.array(likely), n)[0], limits(np.array(rare), m)[1]


def limits(count: NDArray[np.int64], draws: int) -> tuple[Vector, Vector]:
    """Return lower and upper limits of probabilities (Clopper and Pearson), jointly to 1e-5."""
    tail = (1.0 - CONFIDENCE) / 2
    seen, missed = np.maximum(count, 1), np.maximum(draws - count, 1)
    lower = np.where(count > 0, betaincinv(seen, draws - count + 1.0, tail), 0.0)
    upper = np.where(count < draws, betaincinv(count + 1.0, missed, 1.0 - tail), 1.0)
    return lower, upper


def _epsilon(likely: Vector, rare: Vector, delta: float) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        shown: Vector = np.log((likely - delta).clip(0.0) / rare)
    return np.maximum(shown, 0.0)


def _mu(likely: Vector, rare: Vector) -> Vector:
    shown: Vector = ndtri(likely) - ndtri(rare)
    return np.nan_to_num(shown, nan=0.0, neginf=0.0).clip(0.0)
