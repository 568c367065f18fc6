"""Peeling against the canonical Lipschitz mechanism: the gap between scores that each needs.

From a crowd: k of d scores are equal and a gap above all others, which are equal too. The chance
that the k best are chosen is then known in closed form or by one integral. From a neighbour: only
the (k + 1)-th score is near the k-th. Gaps are in units of the scores' sensitivity over epsilon.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from nolook.algorithms.screening import TopK

__all__ = ["chance_of_the_best", "gap_for_half", "gap_from_neighbour"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)


def chance_of_the_best(d: int, k: int, gap: float, mechanism: TopK) -> float:
    """Return the chance of choosing the k best of d; `gap` is in sensitivities over epsilon."""
    if mechanism == "canonical-lipschitz":
        # All other sets lose the same, a quarter of the gap, and have noise of their own.
        share = math.exp(-gap / 4.0)
        better = math.exp(math.log(math.comb(d, k)) - gap / 4.0)  # expected sets ahead
        if better < 1e-12:
            return 1.0
        return -math.expm1(better / share * math.log1p(-share)) / better
    chance = 1.0
    for left in range(k, 0, -1):
        chance *= _first(left, d - k, math.exp(-gap / (2.0 * k)))
    return chance


def _first(best: int, others: int, share: float) -> float:
    """Return the chance that one of the best has the largest score with exponential noise."""
    # exp(-noise) is uniform; nodes lie close where the smallest of the best may be.
    s = ((_NODES + 1.0) / 2.0) ** 4
    width = 2.0 * ((_NODES + 1.0) / 2.0) ** 3 * _WEIGHTS
    density = best * (1.0 - s) ** (best - 1) * (1.0 - s * share) ** others
    return float(np.sum(density * width))


def gap_for_half(d: int, k: int, mechanism: TopK) -> float:
    """Return the gap at which the k best of d are chosen half of the time."""
    found = brentq(
        lambda gap: chance_of_the_best(d, k, gap, mechanism) - 0.5, 1e-3, 8.0 * k * math.log(d)
    )
    return float(found)


def gap_from_neighbour(k: int, mechanism: TopK) -> float:
    """Return the gap at which the k-th is chosen before the next in nine of ten cases.

    Either mechanism adds exponential noise to two scores, and errs with half of exp(-difference).
    """
    scale = 4.0 if mechanism == "canonical-lipschitz" else 2.0 * k
    return scale * math.log(5.0)
