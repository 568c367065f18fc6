"""Lower bounds on the privacy loss, from draws on two neighbouring tables.

An event that is likelier on one table than on the other bounds the loss. It is chosen on one half
of the draws and counted on the other, where exact binomial limits (Clopper and Pearson 1934) hold.
So a bound above the claim is a fault, except by chance with the stated probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from nolook._arrays import Vector

__all__ = ["CONFIDENCE", "limits", "loss_bound"]

#: A bound is not above the truth with at least this probability.
CONFIDENCE = 1.0 - 1e-5

_CANDIDATES = 500  # thresholds tried


#: A score at or below a threshold or, with a sign of -1, at or above it; with an order of -1 the
#: event is likelier on the second table, else on the first.
Event: TypeAlias = tuple[float, int, int]


def loss_bound(first: Vector, second: Vector, delta: float | None) -> float:
    """Return a lower bound on epsilon at a delta, or on mu (Gaussian DP) if delta is None.

    It is above the truth with probability at most 1e-5. Both arrays hold independent draws of the
    same function of the output, whatever it is.
    """
    middle, other = len(first) // 2, len(second) // 2
    threshold, sign, order = _best_event(first[:middle], second[:other], delta)
    rest = first[middle:], second[other:]
    counts = [np.count_nonzero(sign * scores <= sign * threshold) for scores in rest]
    sizes = [len(scores) for scores in rest]
    return float(_shown(counts[::order], sizes[::order], delta))


def _best_event(first: Vector, second: Vector, delta: float | None) -> Event:
    """Choose the event that shows most: the largest epsilon at a delta, or mu if delta is None."""
    shares = np.linspace(0.0, 1.0, _CANDIDATES)
    pooled = np.concatenate([first, second])
    thresholds = np.unique(np.quantile(pooled, shares, method="inverted_cdf"))
    best, found = -math.inf, (0.0, -1, 1)
    for sign in (-1, 1):
        counts = [
            np.searchsorted(np.sort(sign * scores), sign * thresholds, side="right")
            for scores in (first, second)
        ]
        for order in (1, -1):
            shown = _shown(counts[::order], [len(first), len(second)][::order], delta)
            place = int(np.argmax(shown))
            if shown[place] > best:
                best, found = float(shown[place]), (float(thresholds[place]), sign, order)
    return found


def limits(count: NDArray[np.int64], draws: int) -> tuple[Vector, Vector]:
    """Return lower and upper limits of probabilities (Clopper and Pearson), jointly to 1e-5."""
    tail = (1.0 - CONFIDENCE) / 2
    seen, missed = np.maximum(count, 1), np.maximum(draws - count, 1)
    lower = np.where(count > 0, betaincinv(seen, draws - count + 1.0, tail), 0.0)
    upper = np.where(count < draws, betaincinv(count + 1.0, missed, 1.0 - tail), 1.0)
    return lower, upper


def _shown(counts: Sequence[Any], draws: Sequence[int], delta: float | None) -> Vector:
    """Return the loss that counts of events show: an epsilon at a delta, or a mu.

    The first count is that of the table where they are likelier. An event of probability p there
    and q on the other table shows mu >= Phi^-1(p) - Phi^-1(q).
    """
    likely, rare = limits(counts[0], draws[0])[0], limits(counts[1], draws[1])[1]
    if delta is None:
        quantiles: Vector = ndtri(likely) - ndtri(rare)
        return np.nan_to_num(quantiles, nan=0.0, neginf=0.0).clip(0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Vector = np.log((likely - delta).clip(0.0) / rare)
    return np.maximum(ratios, 0.0)
