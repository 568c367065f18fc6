"""The range most values of one column lie in, found privately and without bounds.

Two histograms are released with Laplace noise on every bin: by sign and power of two over the
whole range of doubles, then in equal bins over what the first one found. They are read by rules
stated for normal noise; below is what stands for its standard deviation. The proof is
``range_search.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from nolook.kernels.histogram import (
    MAGNITUDE_BINS,
    linear_counts,
    magnitude_counts,
    magnitude_edges,
)
from nolook.privacy.guarantee import PureEvent, Relation
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.statistics import fold
from nolook.statistics.cell_counts import cell_counts_sensitivity
from nolook.statistics.histograms import Histograms

__all__ = ["find_range", "range_events"]

_BINS = 48
# With this many Laplace scales for a standard deviation, all empty bins together pass the
# thresholds for an occupied bin no more often than with normal noise.
_TAIL = 2.85
# A Laplace number's standard deviation, which is what matters in a sum of many.
_DEVIATION = math.sqrt(2.0)

_OUTSIDE = 0.005  # share of the rows left outside the range at either end, if the noise allows it
_FALSE_ALARM = 1e-4  # probability that noise makes any empty bin look occupied
_NEIGHBOUR = 3.0  # sigmas above which a bin beside an occupied one is occupied: few candidates

Counts = NDArray[np.float64]
Vector = NDArray[np.float64]


def range_events(epsilon: float) -> tuple[PureEvent, PureEvent]:
    """State what :func:`find_range` releases with `epsilon`, before any data are read."""
    return (
        PureEvent("values by magnitude", epsilon / 2),
        PureEvent("values over the range found", epsilon / 2),
    )


def find_range(
    batches: Callable[[], Iterable[Vector]],
    events: tuple[PureEvent, PureEvent],
    relation: Relation,
    source: ByteSource,
    announce: Callable[[str], None],
) -> tuple[float, float]:
    """Find the range (low, high) of a column without its outermost values.

    Guarantee: the two releases cost their events, of :func:`range_events`, under `relation`. No
    column raises; one without rows gets a range from the noise alone. ``high - low`` is above a
    128th of the larger of ``|low|`` and ``|high|``. `batches` gives the column's values, any
    doubles, as often as called.
    """
    magnitudes, places = events
    sensitivity = cell_counts_sensitivity(relation)

    def release(count: Callable[[Vector], NDArray[np.int64]], epsilon: float) -> Vector:
        exact = fold(Histograms(count), (batch[np.newaxis] for batch in batches())).value(1)
        return laplace_release(exact, sensitivity, epsilon, source).astype(np.float64)

    announce("magnitudes")
    scale = sensitivity / magnitudes.epsilon
    low, high, _ = occupied_range(release(magnitude_counts, magnitudes.epsilon), _TAIL * scale)
    announce("range")
    # One of the bins is left free at either end.
    width = (high - low) / (_BINS - 2)
    low = low - width
    count = partial(linear_counts, low=low, width=width, bins=_BINS)
    scale = sensitivity / places.epsilon
    low, high = trimmed_range(release(count, places.epsilon), _DEVIATION * scale, low, width)
    return float(low[0]), float(high[0])


def occupied_range(counts: Counts, sigma: float) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Range of the powers of two that hold rows, from noisy counts by magnitude; (columns, bins).

    A bin is occupied when it passes its threshold (:func:`_thresholds`); where none does, the one
    that comes closest, if within one sigma of it. The range then grows over neighbours that hold
    more than three sigmas. A column without any such bin gets the range from -1 to 1. Returns
    ``low < high`` and whether any bin passed its threshold, each of shape (columns,).
    """
    counts = counts.copy()
    counts[:, [0, -1]] = -np.inf  # out of range: counted, never followed
    each = np.arange(counts.shape[0])
    excess = counts - _thresholds(counts.shape[0]) * sigma
    occupied = excess > 0.0
    visible: NDArray[np.bool_] = np.asarray(occupied.any(axis=1))
    best = excess.argmax(axis=1)
    best[excess[each, best] < -sigma] = MAGNITUDE_BINS // 2  # the bin of zero
    occupied[each, best] = True
    first = occupied.argmax(axis=1)
    last = MAGNITUDE_BINS - 1 - occupied[:, ::-1].argmax(axis=1)
    near = counts > _NEIGHBOUR * sigma
    while True:
        # The end bins are never near, so the indices stay inside.
        down, up = near[each, first - 1], near[each, last + 1]
        if not (down.any() or up.any()):
            break
        first, last = first - down, last + up
    lower, upper = magnitude_edges()
    low, high = lower[first], upper[last]
    nothing_but_zero = low == high
    return np.where(nothing_but_zero, -1.0, low), np.where(nothing_but_zero, 1.0, high), visible


def _thresholds(columns: int) -> Vector:
    """Return the number of sigmas that make each bin occupied.

    Noise on all empty bins of all columns passes with probability at most 1e-4. That
    probability is shared out in favour of moderate sizes (falling by e for every 16 powers of two
    away from 1): a value of 1e300 needs more evidence than one of 1e3.
    """
    lower, upper = magnitude_edges()
    sizes = np.maximum(np.abs(lower), np.abs(upper))
    distance = np.abs(np.log2(np.where(sizes > 0.0, sizes, 1.0)))
    share = np.exp(-distance / 16.0)
    thresholds: Vector = -ndtri(_FALSE_ALARM / columns * share / share.sum())
    return thresholds


def trimmed_range(
    counts: Counts, sigma: float, low: Vector, width: Vector
) -> tuple[Vector, Vector]:
    """Range of the bins between the lower and the upper tail, from noisy counts in equal bins.

    A tail ends where its noisy count is surely above half a percent of all: by 1.5 standard
    deviations of the noise added up so far. `low` is where the first inner bin begins; beside the
    inner bins, `counts` has one for what lies outside at either end.
    """
    bins = counts.shape[1] - 2
    tail = np.maximum(_OUTSIDE * counts.sum(axis=1), 2 * sigma)[:, None]
    level = tail + 1.5 * sigma * np.sqrt(np.arange(1, bins + 3))
    first = _first_above(counts, level)
    last = bins + 1 - _first_above(counts[:, ::-1], level)
    first, last = np.minimum(first, last), np.maximum(first, last)
    first, last = first.clip(1, bins), last.clip(1, bins)
    return low + (first - 1) * width, low + last * width


def _first_above(counts: Counts, level: Counts) -> NDArray[np.intp]:
    above = counts.cumsum(axis=1) > level
    above[:, 0] |= ~above.any(axis=1)  # too few rows to trim anything
    first: NDArray[np.intp] = above.argmax(axis=1)
    return first
