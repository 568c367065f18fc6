"""Exact tail probabilities of the noise, and a chi-square test of draws against them."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
from scipy import stats

mpmath.mp.dps = 40


def geometric_tail(scale, k):
    """P(G >= k)."""
    return mpmath.exp(-max(k, 0) / mpmath.mpf(scale))


def laplace_tail(scale, k):
    """P(K >= k)."""
    if k <= 0:
        return 1 - laplace_tail(scale, 1 - k)
    ratio = mpmath.exp(-1 / mpmath.mpf(scale))
    return mpmath.exp(-k / mpmath.mpf(scale)) / (1 + ratio)


def gaussian_tail(sigma, k):
    """P(round(X) >= k)."""
    return mpmath.erfc((k - mpmath.mpf(0.5)) / (mpmath.mpf(sigma) * mpmath.sqrt(2))) / 2


def chi_square(observed, probabilities):
    """P-value of counts against probabilities that add up to 1."""
    expected = np.asarray(probabilities, dtype=float) * np.sum(observed)
    statistic = np.sum((np.asarray(observed) - expected) ** 2 / expected)
    return stats.chi2.sf(statistic, len(expected) - 1)


def p_value(draws, tail, scale):
    """P-value of integer draws against the distribution with these tail probabilities."""
    nonzero = float(1 - tail(scale, 0) + tail(scale, 1))
    if nonzero * len(draws) < 5.0:  # too few for a chi-square test
        return stats.binomtest(np.count_nonzero(draws), len(draws), nonzero).pvalue
    edges = {int(edge) for edge in np.round(scale * np.linspace(-12.0, 12.0, 97))}
    edges = sorted(edges | set(range(-4, 6)))
    tails = [mpmath.mpf(1), *(tail(scale, edge) for edge in edges), mpmath.mpf(0)]
    probabilities = [float(left - right) for left, right in pairwise(tails)]
    cells = np.searchsorted(np.array(edges), draws.astype(np.int64), side="right")
    observed = np.bincount(cells, minlength=len(probabilities))
    return chi_square(*_merged(observed, probabilities, len(draws)))


def _merged(observed, probabilities, n):
    """Join neighbouring cells until each expects at least five draws."""
    counts, masses = [0], [0.0]
    for count, mass in zip(observed, probabilities, strict=True):
        if masses[-1] * n >= 5.0:
            counts.append(0)
            masses.append(0.0)
        counts[-1] += count
        masses[-1] += mass
    if masses[-1] * n < 5.0:
        last, mass = counts.pop(), masses.pop()
        counts[-1] += last
        masses[-1] += mass
    return counts, masses
