"""What draws from two neighbouring tables prove about the privacy loss: bounds from below.

An event that is likelier on one table than on the other bounds the loss. It is chosen on one half
of the draws and counted on the other, where exact binomial limits (Clopper and Pearson 1934) hold.
So a bound above the claim is a fault, and chance only with the probability stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

__all__ = ["CONFIDENCE", "Event", "best_event", "epsilon_bound", "mu_bound"]

#: With at least this probability a bound is not above the truth.
CONFIDENCE = 1.0 - 1e-5

_CANDIDATES = 500  # thresholds tried

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Event:
    """That a score lies on one side of a threshold.

    Parameters
    ----------
    threshold : float
    above : bool
        Whether the event is a score at or above the threshold; otherwise at or below.
    swapped : bool
        Whether it is likelier on the second table.
    """

    threshold: float
    above: bool
    swapped: bool

    def counts(self, first: Vector, second: Vector) -> tuple[int, int]:
        """Count the event among the draws it is likelier in, and among the others."""
        likelier, rarer = (second, first) if self.swapped else (first, second)
        return self._count(likelier), self._count(rarer)

    def _count(self, scores: Vector) -> int:
        inside = scores >= self.threshold if self.above else scores <= self.threshold
        return int(np.count_nonzero(inside))


def epsilon_bound(
    first: Vector, second: Vector, delta: float = 0.0, *, outcomes: bool = False
) -> float:
    """Bound epsilon from below at a delta, from draws on two neighbouring tables.

    Parameters
    ----------
    first, second : ndarray of shape (draws,)
        Any score of each output, the same function for both; independent draws.
    delta : float
        The claimed one.
    outcomes : bool, default=False
        Whether the numbers only name outputs, so that events are sets of them.

    Returns
    -------
    float
        At least 0; above the true epsilon with probability at most 1e-5.
    """
    choosing, counting = _halves(first, second)
    if outcomes:
        choosing, counting = _scored(choosing, choosing), _scored(counting, choosing)
    event = best_event(*choosing, delta)
    return float(_epsilon(*_limits(event, counting), delta))


def mu_bound(first: Vector, second: Vector) -> float:
    """Bound the parameter of Gaussian differential privacy from below.

    An event of probability p on one table and q on the other shows mu >= Phi^-1(p) - Phi^-1(q).

    Parameters
    ----------
    first, second : ndarray of shape (draws,)
        As for :func:`epsilon_bound`.

    Returns
    -------
    float
        At least 0; above the true mu with probability at most 1e-5.
    """
    choosing, counting = _halves(first, second)
    event = best_event(*choosing, None)
    return float(_mu(*_limits(event, counting)))


def best_event(first: Vector, second: Vector, delta: float | None) -> Event:
    """Choose the event that shows most.

    Parameters
    ----------
    first, second : ndarray of shape (draws,)
    delta : float or None
        None to look for the largest mu.

    Returns
    -------
    Event
    """
    shares = np.linspace(0.0, 1.0, _CANDIDATES)
    pooled = np.concatenate([first, second])
    thresholds = np.unique(np.quantile(pooled, shares, method="inverted_cdf"))
    sizes = len(first), len(second)
    ordered = np.sort(first), np.sort(second)
    best, found = -math.inf, Event(0.0, above=True, swapped=False)
    for above in (True, False):
        side = "left" if above else "right"
        below = [np.searchsorted(scores, thresholds, side=side) for scores in ordered]
        counts = [size - part if above else part for size, part in zip(sizes, below, strict=True)]
        for swapped in (False, True):
            (likely, rare), (n, m) = (counts[::-1], sizes[::-1]) if swapped else (counts, sizes)
            low, high = _lower_limit(likely, n), _upper_limit(rare, m)
            shown = _mu(low, high) if delta is None else _epsilon(low, high, delta)
            place = int(np.argmax(shown))
            if shown[place] > best:
                best = float(shown[place])
                found = Event(float(thresholds[place]), above, swapped)
    return found


def _halves(first: Vector, second: Vector) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Split the draws into those that choose the event and those that count it."""
    middle, other = len(first) // 2, len(second) // 2
    return (first[:middle], second[:other]), (first[middle:], second[other:])


def _scored(draws: tuple[Vector, Vector], choosing: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """Replace outputs by their likelihood ratio among the draws that choose the event."""
    names = np.unique(np.concatenate(choosing))
    places = [np.searchsorted(names, own) for own in choosing]
    counts = [np.bincount(own, minlength=len(names)) + 1.0 for own in places]
    # An output never seen while choosing stands between the others.
    ratios = np.append(np.log(counts[0] / counts[1]), 0.0)

    def score(own: Vector) -> Vector:
        place = np.searchsorted(names, own)
        known = names[np.minimum(place, len(names) - 1)] == own
        ratio: Vector = ratios[np.where(known, place, len(names))]
        return ratio

    return score(draws[0]), score(draws[1])


def _limits(event: Event, draws: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    likely, rare = event.counts(*draws)
    n, m = (len(draws[1]), len(draws[0])) if event.swapped else (len(draws[0]), len(draws[1]))
    return _lower_limit(np.array(likely), n), _upper_limit(np.array(rare), m)


def _lower_limit(count: NDArray[np.int64], draws: int) -> Vector:
    tail = (1.0 - CONFIDENCE) / 2
    limit: Vector = betaincinv(np.maximum(count, 1), draws - count + 1.0, tail)
    return np.where(count > 0, limit, 0.0)


def _upper_limit(count: NDArray[np.int64], draws: int) -> Vector:
    tail = (1.0 - CONFIDENCE) / 2
    limit: Vector = betaincinv(count + 1.0, np.maximum(draws - count, 1), 1.0 - tail)
    return np.where(count < draws, limit, 1.0)


def _epsilon(likely: Vector, rare: Vector, delta: float) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        shown: Vector = np.log((likely - delta).clip(0.0) / rare)
    return np.maximum(shown, 0.0)


def _mu(likely: Vector, rare: Vector) -> Vector:
    shown: Vector = ndtri(likely) - ndtri(rare)
    return np.nan_to_num(shown, nan=0.0, neginf=0.0).clip(0.0)
