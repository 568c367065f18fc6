"""Survey weights: a bound found privately, and the release of the weighted rows.

A row's weight is clipped at the bound and divided by it, so that it is from 0 to 1, and multiplied
into what the row counts for: a unit weighs no more than without weights, and no sensitivity grows.
The bound follows from two noisy histograms of the weights. The proof is ``weights.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook._language import parameter_name
from nolook._unit import Weighting
from nolook.algorithms.forest import CountEvent
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.node_counts import SQUARES_PARTS, event_part, noisy_bins
from nolook.errors import ParameterError
from nolook.kernels.histogram import linear_counts, magnitude_counts, magnitude_edges
from nolook.privacy.guarantee import GaussianEvent, PureEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.cell_counts import cell_counts_sensitivity
from nolook.statistics.histograms import Histograms
from nolook.tables import Table

__all__ = ["GAUSSIAN_PART", "PURE_PART", "WeightedRelease", "weighted"]

# Parts of mu, whose squares add up to less than one; and of an epsilon. The last is the release's.
_GAUSSIAN, _PURE = (0.15, 0.25, 0.9565), (0.04, 0.08, 0.8799)
#: Of a mu, for a regression of weighted rows; of an epsilon, for the counts of a distribution.
GAUSSIAN_PART, PURE_PART = _GAUSSIAN[2], _PURE[2] * SQUARES_PARTS["laplace"][0]
_CALLED = ("histogram of the weights by magnitude", "histogram of the weights over the range found")
_BINS = 32
_SHOWS = 5.0  # deviations of its noise by which a bin surely has rows
_NEAR = 3.0  # by which the bin next to those does
_LONGEST = 6  # octaves that are looked at together
_USUAL = (2.0**-20, 2.0**30)  # where weights are looked for that do not stand out
_FAR = 2.0  # what larger weights count as: their mean where the tail is Pareto's, with exponent 2
_SURELY = 2.0  # deviations of the noise of what the bound may cut
# Deviations, of as many weights of the bound, that the noise of what follows is taken for.
_FOLLOWING = 4.0


def weighted(release: Any, weighting: Weighting) -> WeightedRelease:  # noqa: ANN401 -- any that has a mu
    """Return the release of weighted rows, at the cost of the one given; refuse a method without.

    A method takes weights if all its releases are Gaussian, or all pure, of sums that hold for rows
    of any weight up to 1. Its ``for_weights(part)`` returns the release at a part of its mu, or of
    its epsilon.
    """
    events, take = release.events(), getattr(release, "for_weights", None)
    pure = all(isinstance(event, PureEvent) for event in events)
    *searches, part = _PURE if pure else _GAUSSIAN
    rest = None if take is None else take(part)
    if rest is None:
        raise ParameterError(
            f"{parameter_name('weights')} is {weighting.column!r}, but this method takes no "
            "weights (a linear, logistic, Poisson or additive regression, a distribution, "
            "quantiles, a description, a comparison of groups, a survival curve, a table by "
            "declared levels do; leave it out here, and in the schema)"
        )
    kind: type[CountEvent] = PureEvent if pure else GaussianEvent
    costs = [event.epsilon if isinstance(event, PureEvent) else event.mu for event in events]
    cost = math.fsum(costs) if pure else math.hypot(*costs)
    events = map(kind, _CALLED, (own * cost for own in searches))
    return WeightedRelease(rest, tuple(events), weighting.column)


@frozen
class WeightedRelease:
    """A bound on the weights, then a release of the rows so weighted.

    Guarantee: costs its events when a row, or a unit with all its rows, is added or removed.
    """

    release: Any
    searches: tuple[CountEvent, ...]  # for each histogram
    column: str

    @property
    def progress_steps(self) -> int:
        """The number of progress steps of `run`."""
        return len(_CALLED) + int(self.release.progress_steps)

    def events(self) -> tuple[Any, ...]:
        """State everything that will be released."""
        return (*self.searches, *self.release.events())

    def for_rows_per_unit(self, most: int) -> Self:
        """Return the release that costs a unit of at most `most` rows what this one costs a row."""
        searches = tuple(event_part(each, 1.0, most=most) for each in self.searches)
        return evolve(self, release=self.release.for_rows_per_unit(most), searches=searches)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> tuple[Weighting, Any]:
        """Find the bound, and release what the weighted rows give."""
        alone = table.weights_alone(self.column)
        first, second = self.searches
        progress("weights")
        largest = _largest(*_histogram(alone, magnitude_counts, first, source))
        progress("bound")
        width = np.array([largest / _BINS])
        count = partial(linear_counts, low=np.zeros(1), width=width, bins=_BINS)
        counts, noise = _histogram(alone, count, second, source)
        found = _bound(self.column, counts, largest, noise.deviation)
        return found, self.release.run(table.weighted(found), source, progress)


def _histogram(
    alone: Table, count: Callable[..., Any], event: CountEvent, source: ByteSource
) -> tuple[Vector, BinNoise]:
    """Release how many weights are in each bin; each is in one."""
    exact = alone.fold(Histograms(count)).value(alone.n_columns)[0]
    changes = cell_counts_sensitivity("add-remove")
    return noisy_bins(exact, event, changes, source, alone.unit.weight_scale)


def _largest(counts: Vector, noise: BinNoise) -> float:
    """Return a power of two below which are all weights that stand out from the noise.

    Several octaves together may stand out where none of them does; next to these fewer weights are
    enough. Where nothing does, it is the end of the usual octaves that hold most.
    """
    _, high = magnitude_edges()
    counts, high = counts[high > 0.0], high[high > 0.0]
    last = noise.farthest(counts, _SHOWS, _LONGEST)
    if last is None:
        octaves = np.convolve(counts, np.ones(_LONGEST))[: counts.size]  # up to each
        usual = (high >= _USUAL[0]) & (high <= _USUAL[1])
        last = int(np.argmax(np.where(usual, octaves, -np.inf)))
    while last + 1 < counts.size and counts[last + 1] > _NEAR * noise.deviation:
        last += 1
    return float(high[last])


def _bound(column: str, counts: Vector, largest: float, sigma: float) -> Weighting:
    """Return the bound at which noise and what it may cut balance, and what the counts tell.

    `counts` are of equal bins up to `largest`, with one bin at either end. Weights beyond it, most
    of which noise may hide, count as twice as large. The share cut is an upper bound.
    """
    counts, ends = counts[1:], (np.arange(_BINS) + 1.0) / _BINS  # in the largest
    middle = np.append(ends - 0.5 / _BINS, _FAR)
    over = np.maximum(middle - ends[:, None], 0.0)
    cut = np.maximum(over @ counts, 0.0) + _SURELY * sigma * np.sqrt((over**2).sum(axis=1))
    place = int(np.argmin(np.hypot(cut, _FOLLOWING * sigma * ends)))
    shares = np.minimum(middle / ends[place], 1.0)
    inner = np.maximum(counts, 0.0)
    lost = min(float(cut[place]) / max(float(counts @ middle), sigma), 1.0)
    ratio = float(inner @ shares**2) / max(float(inner @ shares), sigma)
    return Weighting(column, float(ends[place]) * largest, lost, min(max(ratio, 1.0 / _BINS), 1.0))
