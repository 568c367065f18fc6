"""Centre and scale of every column, found privately and without bounds.

Three histograms of every column are released, each with noise on *every* bin: by sign and power of
two over the whole range of doubles, then by equal bins over the range the first one found, then
by equal bins over what the second one left. The rest is post-processing of the noisy counts. The
proof is ``scaling.md``.

=============  ==========================================================================
name here      meaning
=============  ==========================================================================
``mu``         mu-GDP parameter of all three together; each has ``mu / sqrt(3)``
``sigma``      standard deviation of the noise of one bin, ``sqrt(3 columns) / mu``
``counts``     noisy counts, shape (columns, bins)
=============  ==========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from attrs import Factory, evolve, field, frozen
from numpy.typing import NDArray
from scipy.special import ndtri

from nolook.kernels.histogram import (
    MAGNITUDE_BINS,
    linear_counts,
    magnitude_counts,
    magnitude_edges,
)
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.statistics import fold
from nolook.statistics.histograms import Histograms, histograms_sensitivity
from nolook.tables import Table

__all__ = ["LIMIT", "NoisyCount", "ScaleSearch", "Scaling", "release_histograms"]

#: Standardised values are clipped to this many scales on either side of the centre.
LIMIT = 5.0

_BINS = 48
_TAIL = 0.005  # share of the rows left outside the range at either end, if the noise allows it
_FALSE_ALARM = 1e-4  # probability that noise makes any empty bin of any column look occupied
_NEIGHBOUR = 3.0  # sigmas above which a bin beside an occupied one is occupied: few candidates
_VISIBLE = 2.0  # sigmas below which a bin does not count for centre and scale

Counts = NDArray[np.float64]
Vector = NDArray[np.float64]


@frozen
class NoisyCount:
    """A released number of rows."""

    value: float  # at least 1
    error: float  # standard deviation of its noise


@frozen(eq=False)
class Scaling:
    """Private centre and scale of every column, in its own units."""

    names: tuple[str, ...]
    center: Vector  # finite, below 2**1002 in size
    scale: Vector  # positive, finite, below 2**1002
    #: Whether values stood out from the noise; if not, centre and scale are guesses.
    visible: NDArray[np.bool_]
    limit: float = LIMIT  # columns are clipped this many scales from the centre; may be inf
    median: Vector | None = None  # middle of the bin that holds the median, where it is known
    rows: NoisyCount = NoisyCount(1.0, math.inf)  # of the table it was found in, if any
    #: Columns of 0 and 1 by type or declaration: clipped to that range, whatever the limit.
    binary: NDArray[np.bool_] = field(
        default=Factory(lambda self: np.zeros(len(self.names), dtype=np.bool_), takes_self=True)
    )

    @classmethod
    def public(cls, names: tuple[str, ...], scale: Vector | float, limit: float) -> Self:
        """Return a scaling that was not found in any table: centre 0, public positive scales."""
        scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (len(names),)).copy()
        seen = np.ones(len(names), dtype=np.bool_)
        return cls(names, np.zeros(len(names)), scales, seen, limit)

    def select(self, keep: NDArray[np.bool_]) -> Scaling:
        """Return the scaling of some features, and of the target."""
        places = np.append(np.flatnonzero(keep), len(self.names) - 1)
        return evolve(
            self,
            names=tuple(self.names[place] for place in places),
            center=self.center[places],
            scale=self.scale[places],
            visible=self.visible[places],
            median=None if self.median is None else self.median[places],
            binary=self.binary[places],
        )

    def original_units(self, theta: Vector) -> tuple[Vector, float]:
        """Return coefficients and intercept in the columns' units, finite whatever the scales.

        `theta` is a standardised model: the value at the centre, then slopes. The target is the
        last column.
        """
        center, scale = self.center, self.scale
        with np.errstate(over="ignore", invalid="ignore"):
            coef = np.nan_to_num(theta[1:] * (scale[-1] / scale[:-1]), nan=0.0)
            # A centre is at most some thousand scales from zero.
            at_origin = theta[0] - theta[1:] @ (center[:-1] / scale[:-1])
            intercept = np.nan_to_num(center[-1] + scale[-1] * at_origin, nan=0.0)
        return coef, float(intercept)

    @property
    def low(self) -> Vector:
        """Smallest value a column is clipped to, shape (columns,)."""
        return np.where(self.binary, 0.0, self.center - self.limit * self.scale)

    @property
    def high(self) -> Vector:
        """Largest value a column is clipped to, shape (columns,)."""
        return np.where(self.binary, 1.0, self.center + self.limit * self.scale)

    @property
    def limits(self) -> tuple[Vector, Vector]:
        """The same two in scales from the centre."""
        low = np.where(self.binary, (0.0 - self.center) / self.scale, -self.limit)
        return low, np.where(self.binary, (1.0 - self.center) / self.scale, self.limit)


@dataclass(frozen=True, slots=True)
class ScaleSearch:
    """The search for centre and scale of every column of a table.

    Guarantee: its three releases are together ``mu``-GDP when a row is added or removed. No table
    raises; a constant or empty column gets a usable scale from the noise alone.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    """

    mu: float

    @property
    def stages(self) -> int:
        """How often the table is read."""
        return len(self.events())

    def events(self) -> tuple[GaussianEvent, GaussianEvent, GaussianEvent]:
        """State everything that will be released."""
        share = self.mu / math.sqrt(3)
        return (
            GaussianEvent("column histograms by magnitude", share),
            GaussianEvent("column histograms over the range found", share),
            GaussianEvent("column histograms over the range kept", share),
        )

    def run(self, table: Table, source: ByteSource, announce: Announce) -> Scaling:
        """Find all columns' scaling, and count the rows."""
        first, second, third = self.events()
        columns = table.n_columns

        def sigma(event: GaussianEvent) -> float:
            return histograms_sensitivity(columns, "add-remove") / event.mu

        announce("magnitudes")
        counts = release_histograms(table, first.mu, source, magnitude_counts)
        low, high, visible = occupied_range(counts, sigma(first))
        announce("ranges")
        low, width = _with_margins(low, high)
        count = partial(linear_counts, low=low, width=width, bins=_BINS)
        counts = release_histograms(table, second.mu, source, count)
        low, high = trimmed_range(counts, sigma(second), low, width)
        announce("scales")
        low, width = _with_margins(low, high)
        count = partial(linear_counts, low=low, width=width, bins=_BINS)
        counts = release_histograms(table, third.mu, source, count)
        center, scale, median = center_and_scale(counts, sigma(third), low, width)
        rows = NoisyCount(
            max(1.0, float(counts.sum(axis=1).mean())),
            sigma(third) * math.sqrt((_BINS + 2) / columns),
        )
        return Scaling(table.column_names, center, scale, visible, LIMIT, median, rows)


def release_histograms(
    table: Table,
    mu: float,
    source: ByteSource,
    count: Callable[[NDArray[np.float64]], NDArray[np.int64]],
) -> Counts:
    """Count a table's rows in one pass and release the counts, shape (histograms, bins).

    Guarantee: ``mu``-GDP when a row is added or removed, if `count` maps a batch to counts of that
    shape, each row in one bin of each histogram.
    """
    exact = fold(Histograms(count), table.batches()).value(table.n_columns)
    sensitivity = histograms_sensitivity(len(exact), "add-remove")
    return gaussian_release(exact, sensitivity, mu, source).astype(np.float64)


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


def _with_margins(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Widen a range by one of its bins at either end; return where it begins and its bin width."""
    width = (high - low) / (_BINS - 2)
    return low - width, width


def trimmed_range(
    counts: Counts, sigma: float, low: Vector, width: Vector
) -> tuple[Vector, Vector]:
    """Range of the bins between the lower and the upper tail, from noisy counts in equal bins.

    A tail ends where its noisy count is surely above half a percent of all: by 1.5 standard
    deviations of the noise added up so far. `low` is where the first inner bin begins; beside the
    inner bins, `counts` has one for what lies outside at either end.
    """
    bins = counts.shape[1] - 2
    tail = np.maximum(_TAIL * counts.sum(axis=1), 2 * sigma)[:, None]
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


def center_and_scale(
    counts: Counts, sigma: float, low: Vector, width: Vector
) -> tuple[Vector, Vector, Vector]:
    """Mean, deviation and median from noisy counts as for :func:`trimmed_range`, tails at the ends.

    Bins below two sigmas do not count. The scale is at least one bin, so that a column with a
    single value never gets a vanishing one.
    """
    bins = counts.shape[1] - 2
    place = np.concatenate([[0.0], np.arange(bins) + 0.5, [float(bins)]])
    weight = np.where(counts > _VISIBLE * sigma, counts, 0.0)
    weight[~weight.any(axis=1)] = 1.0  # nothing stands out: the middle of the range
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ place
    spread = np.sqrt((weight * (place - mean[:, None]) ** 2).sum(axis=1))
    middle = place[(weight.cumsum(axis=1) >= 0.5 - 1e-9).argmax(axis=1)]
    return low + mean * width, np.maximum(spread, 1.0) * width, low + middle * width
