"""Sizes of a released model's errors, and the difference that cut errors make to effects.

All of it is post-processing of the counts of :mod:`nolook.algorithms.glm.error_sizes`.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve, frozen

from nolook._defaults import QUANTILE
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.glm.error_sizes import ERROR_EDGES
from nolook.algorithms.glm.estimate import Noisy
from nolook.algorithms.intervals import Measure
from nolook.algorithms.scale_search import ColumnHistogram
from nolook.algorithms.scaling import Scaling

__all__ = ["CutErrors", "cut_errors", "error_quantile", "share_beyond", "smearing"]


# Errors are cut on one side if so many times as many are as on the other, which noise and chance
# of so many deviations do not explain.
_ONE_SIDED, _SURELY = 2.0, 3.0


@frozen
class CutErrors:
    """Large errors are mostly on one side, and cut: effects are not those on the mean."""

    below: float  # noisy share of the rows that are far below their prediction
    above: float
    # By how much the effect on the mean of a deviation of a column on its own differs at most, in
    # units of the target: no error is taken to be more than twice as large as noise lets one see.
    effect: float
    positive: bool  # whether no value of the target stands out below 0


def error_quantile(known: PrivateDistribution, scale: float, share: float) -> Measure | None:
    """Return the size that a share of the errors stay within; None where no upper end is known.

    The interval ends at the outer ends of cells, since a cell may hold its rows anywhere.
    """
    known = evolve(known, points=scale * ERROR_EDGES)
    low, high = known.ppf_interval(share).tolist()
    if high == np.inf:
        return None
    inner = known.points[:-1]
    value = np.interp(share, np.append(0.0, known.cdf(inner)), np.append(0.0, inner))
    return Measure(float(value), max(low, 0.0), high)


def smearing(known: PrivateDistribution, scale: float) -> float | None:
    """Return the mean of the exponential of errors that are symmetric about 0 (Duan 1983).

    Errors count as no larger than those that stand out from the noise. None where it overflows.
    """
    shares = np.diff(known.cdf(ERROR_EDGES), prepend=0.0)
    middles = np.append(0.5 * (np.append(0.0, ERROR_EDGES[:-2]) + ERROR_EDGES[:-1]), np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(shares @ np.cosh(scale * np.minimum(middles, _farthest(known))))
    return mean if math.isfinite(mean) else None


def _farthest(known: PrivateDistribution) -> float:
    """Return the largest size of errors that stands out from the noise, in scales; 0 if none is."""
    stands_out = known.cdf(ERROR_EDGES) < 1.0 - QUANTILE * known.cdf_error(ERROR_EDGES)
    return float(ERROR_EDGES[:-1][stands_out[:-1]].max(initial=0.0))


def share_beyond(known: PrivateDistribution, size: float) -> float:
    """Return an upper bound on the share of errors above `size` scales of the target."""
    return 1.0 - (float(known.cdf(size)) - QUANTILE * float(known.cdf_error(size)))


def cut_errors(
    sides: Noisy, known: PrivateDistribution, scaling: Scaling, whole: float
) -> CutErrors | None:
    """Return the cut errors' shares and effect, if the large ones are mostly on one side.

    Errors up to `whole` scales of the target are never cut. Least squares differs from the model by
    the sum of u times what was cut off, times the inverse of the Gram matrix. By Cauchy and Schwarz
    that is at most the root of the sum of the squares of what was cut off, times the root of the
    inverse's entry, for any rows.
    """
    rows, scale = scaling.rows, float(scaling.scale[-1])
    (below, _, above), sigma = sides
    chance = _SURELY * math.sqrt(2.0 * sigma**2 + max(below, 0.0) + max(above, 0.0))
    if abs(above - below) < chance or max(below, above) < _ONE_SIDED * min(below, above):
        return None
    counts = np.diff(known.counts, prepend=0.0)
    largest = np.minimum(ERROR_EDGES, 2.0 * max(_farthest(known), whole))
    total = float(counts @ np.where(largest > whole, largest**2, 0.0))
    low, high = (float((each / rows.value).clip(0.0, 1.0)) for each in (below, above))
    effect, positive = scale * math.sqrt(total / rows.value), _positive(scaling.histograms[-1])
    return CutErrors(below=low, above=high, effect=effect, positive=positive)


def _positive(histogram: ColumnHistogram | None) -> bool:
    """Tell whether no value of a column stands out below 0."""
    if histogram is None:
        return False
    negative = histogram.counts[histogram.high <= 0.0]
    return bool(negative.sum() <= _SURELY * histogram.sigma * math.sqrt(negative.size))
