"""The range most values of one column lie in, found privately and without bounds.

Two histograms are released with Laplace noise on every bin: by sign and power of two over the
whole range of doubles, then in equal bins over what the first one found. Both are read by the
likelihood of all their counts, as the search for scales does. The proof is ``range_search.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.algorithms.histogram_fit import MagnitudeFit, fit_magnitudes, read_linear
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.node_counts import noisy_bins
from nolook.kernels.histogram import linear_counts, magnitude_counts, magnitude_edges
from nolook.privacy.guarantee import PureEvent, Relation
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import cell_counts_sensitivity
from nolook.statistics.histograms import Count, Histograms
from nolook.tables.folding import Rows

__all__ = [
    "BINS",
    "LONGEST",
    "SHOWS",
    "FirstLook",
    "FoundRange",
    "find_range",
    "first_look",
    "range_events",
    "second_look",
]

#: Bins of the second histogram, without those at either end.
BINS = 48
_MAGNITUDES = 2 / 3  # share of the first histogram: what it misses, the second cannot find
_ROOM = 0.25  # on either side of a range, in its width, within the range of the first histogram
_STEP = math.sqrt(2.0)  # between the numbers of rows that are tried in the end
#: Deviations of noise by which a column's values surely stand out, of so many bins together.
SHOWS, LONGEST = 5.0, 6


@frozen
class FoundRange:
    """A range without a column's outermost values, and roughly how many rows it has."""

    low: float
    high: float
    rows: float
    center: float  # near the mean
    scale: float  # near the standard deviation; positive
    alike: float  # by which share of the rows the fullest of equal bins exceeds all others


@frozen
class FirstLook:
    """The bins of the second histogram, and roughly how many rows there are."""

    low: float
    width: float
    rows: float
    found: bool  # whether values stand out from the noise at all


def range_events(epsilon: float) -> tuple[PureEvent, PureEvent]:
    """State what :func:`find_range` releases with `epsilon`, before any data are read."""
    first = epsilon * _MAGNITUDES
    return (
        PureEvent("values by magnitude", first),
        PureEvent("values over the range found", epsilon - first),
    )


def find_range(
    rows: Rows,
    events: tuple[PureEvent, ...],
    relation: Relation,
    source: ByteSource,
    progress: Callable[[str], None],
    whole: int = 1,
) -> FoundRange:
    """Find the range of a column without its outermost values.

    Guarantee: the two releases cost their events, of :func:`range_events`, under `relation`. No
    column raises; one without rows gets a range from the noise alone. ``high - low`` is above a
    128th of the larger of ``|low|`` and ``|high|``. It is the first column of the batches that
    `rows` has, any doubles, with what each row weighs; those of a unit weigh `whole` together at
    most.
    """
    magnitudes, places = events
    changes = cell_counts_sensitivity(relation)

    def release(count: Count, event: PureEvent) -> tuple[Vector, BinNoise]:
        exact = rows.fold(Histograms(count, [0])).value(1)[0]
        return noisy_bins(exact, event, changes, source, whole)

    progress("magnitudes")
    first = first_look(*release(magnitude_counts, magnitudes))
    progress("range")
    low, width = np.array([first.low]), np.array([first.width])
    count = partial(linear_counts, low=low, width=width, bins=BINS)
    return second_look(*release(count, places), first)


def first_look(counts: Vector, noise: BinNoise) -> FirstLook:
    """Read the noisy counts of one column by magnitude."""
    fit, rows = _most_plausible(counts, noise)
    # One of the bins is left free at either end.
    width = (fit.high - fit.low) / (BINS - 2)
    low, high = magnitude_edges()
    within = np.where((low >= fit.low) & (high <= fit.high), counts, 0.0)
    found = noise.farthest(within, SHOWS, LONGEST) is not None
    return FirstLook(float((fit.low - width)[0]), float(width[0]), rows, found)


def second_look(counts: Vector, noise: BinNoise, first: FirstLook) -> FoundRange:
    """Read the noisy counts of one column in equal bins."""
    found = read_linear(counts[np.newaxis], noise, np.array([first.rows]))
    # Tails the noise hides may matter most, and a few more cells cost little.
    room = _ROOM * (found.high - found.low)
    low = np.maximum(found.low - room, np.minimum(found.low, 1.0))
    high = np.minimum(found.high + room, np.maximum(found.high, BINS - 1.0))
    places = np.concatenate([low, high, found.mean]) * first.width + first.low
    start, end, center = places.tolist()
    second, fullest = np.sort(counts)[-2:].tolist()
    scale, alike = float(found.deviation[0]) * first.width, (fullest - second) / first.rows
    return FoundRange(start, end, first.rows, center, scale, alike)


def _most_plausible(counts: Vector, noise: BinNoise) -> tuple[MagnitudeFit, float]:
    """Return the best shape of a column of any number of rows, and that number."""
    sigma = noise.deviation
    most = max(float(np.abs(counts).sum()), 4 * sigma)

    def fitted(rows: float) -> tuple[MagnitudeFit, float]:
        return fit_magnitudes(counts[np.newaxis], noise, rows), rows

    tries = [fitted(sigma * 2.0**power) for power in range(1, math.frexp(most / sigma)[1])]
    nearest = max(tries, key=_gain)
    return max(nearest, *(fitted(nearest[1] * step) for step in (_STEP, 1 / _STEP)), key=_gain)


def _gain(fit: tuple[MagnitudeFit, float]) -> float:
    return float(fit[0].gain[0])
