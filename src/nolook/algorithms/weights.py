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

# Parts of mu, whose squares, two of the first, add up to less than one; and of an epsilon.
_GAUSSIAN, _PURE = (0.15, 0.977), (0.04, 0.9199)
#: Of a mu, for a regression of weighted rows; of an epsilon, for the counts of a distribution.
GAUSSIAN_PART, PURE_PART = _GAUSSIAN[1], _PURE[1] * SQUARES_PARTS["laplace"][0]
_CALLED = ("histogram of the weights by magnitude", "histogram of the weights over the range found")
_BINS = 32
_SHOWS = 5.0  # deviations of its noise by which a bin surely has rows
_NEAR = 3.0  # by which the bin next to those does
_LONGEST = 6  # octaves that are looked at together
_USUAL = (2.0**-20, 2.0**30)  # where weights are looked for that do not stand out
_CUT = 0.01  # share of the weight that the bound may cut, one deviation of its noise up


def weighted(release: Any, weighting: Weighting) -> WeightedRelease:  # noqa: ANN401 -- any that has a mu
    """Return the release of weighted rows, at the cost of the one given; refuse a method without.

    A method takes weights if all its releases are Gaussian, or all pure, of sums that hold for rows
    of any weight up to 1. Its ``for_weights(part)`` returns the release at a part of its mu, or of
    its epsilon.
    """
    events, take = release.events(), getattr(release, "for_weights", None)
    pure = all(isinstance(event, PureEvent) for event in events)
    search, part = _PURE if pure else _GAUSSIAN
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
    cost = search * (math.fsum(costs) if pure else math.hypot(*costs))
    return WeightedRelease(rest, tuple(kind(name, cost) for name in _CALLED), weighting.column)


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
    """Return the smallest bound that cuts next to no weight, and what follows from the counts.

    `counts` are of equal bins up to `largest`, with one bin at either end. Weights beyond it, where
    they stand out, count as in the next octave.
    """
    beyond = float(counts[-1]) if counts[-1] > _NEAR * sigma else 0.0
    inner, far = np.maximum(0.0, counts[1:-1]), 1.5 * largest
    middle = (np.arange(_BINS) + 0.5) * (largest / _BINS)
    total = max(float(counts[1:-1] @ middle), sigma * largest) + beyond * far
    ends = (np.arange(_BINS) + 1.0) * (largest / _BINS)
    over = np.maximum(middle - ends[:, None], 0.0)
    cut = over @ counts[1:-1] + sigma * np.sqrt((over**2).sum(axis=1))  # one deviation up
    enough = cut <= _CUT * total
    # The last end cuts nothing of these bins.
    place = _BINS - 1 if beyond else int(np.argmax(enough))
    bound = float(ends[place])
    shares = np.minimum(middle / bound, 1.0)
    squares = float(inner @ shares**2) + beyond
    lost = min(max((float(cut[place]) + beyond * (far - bound)) / total, 0.0), 1.0)
    ratio = squares / max(float(inner @ shares) + beyond, sigma)
    return Weighting(column, bound, cut=lost, squares=min(max(ratio, 1.0 / _BINS), 1.0))
