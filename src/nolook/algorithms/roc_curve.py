"""The ROC curve from the private distributions of two classes' scores, at no further cost.

A row is called positive at a threshold if its score is above it. Intervals are those of
``intervals.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, TypeAlias

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook.algorithms._simulation import Generator, simulation_generator
from nolook.algorithms.cumulative_noise import ForestNoise, rising, settled
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.intervals import NORMAL_95, Measure, Pair, ratio_interval, simulated_interval
from nolook.algorithms.node_counts import NoisyForest

__all__ = ["ClassScores", "RocCurve", "RocIntervals", "area", "area_error", "fitted"]

_REPEATS = 200  # of the smoothed curve, which takes longest, and at least of all else
_MOST_REPEATS = 1000
_WORK = 2**17  # thresholds times repeats
_BAND_POINTS = 201

#: Thresholds, noisy counts up to each, and their noise.
Counted: TypeAlias = tuple[Vector, Vector, ForestNoise]
#: The number of rows left out and the deviation of its noise, if they were counted.
LeftOut: TypeAlias = tuple[float, float] | None


@frozen
class ClassScores(PrivateDistribution):
    """The distribution of one class's scores, with the counts before any smoothing."""

    noisy: Vector  # the last one is the number of rows before the counts were fitted


@frozen
class RocIntervals:
    """95 % intervals, of noise and of rows drawn at random from a population.

    Different values in one cell of the grid may be in any order: half of them widens the area's.
    """

    area: Measure
    area_noise: Measure  # for the area of the exact curve of these rows on this grid
    average_precision: Measure
    band: Vector  # of shape (3, 201): false positive rates, and the ends of the true positive rate
    precision_band: Vector  # the same of recalls and the precision
    base_rate: Measure  # the share of positive rows


def fitted(noisy: Pair, *, rows_known: bool) -> Pair:
    """Return the counts of both classes that follow from noisy ones; the last ones are at least 1.

    The number of a class's rows is smoothed too: where it has none of the highest scores, the
    counts before them tell it as well. If the number of all rows is public, the noisy numbers add
    up to it, and so do the fitted ones: counts of positive rows, and then all rows less those of
    negative ones from the last to the first, are one rising sequence.
    """
    if not rows_known:
        counts = [rising(each) for each in noisy]
        ends = [max(1.0, each[-1]) for each in counts]
    else:
        positive, negative = noisy
        size = len(positive)
        rows = max(2.0, positive[-1] + negative[-1])  # 1 each, of a single row too
        path = np.append(positive, rows - negative[-2::-1])
        path = rising(path, rows, 1.0 + (np.arange(len(path)) == size - 1))
        counts = [path[:size], (rows - path[size - 1 :])[::-1]]
        number = float(np.clip(counts[0][-1], 1.0, rows - 1.0))
        ends = [number, rows - number]
    first, second = (
        np.append(np.minimum(each[:-1], end), end) for each, end in zip(counts, ends, strict=True)
    )
    return first, second


def area(fpr: Vector, tpr: Vector) -> float:
    """Return the area under a curve by trapezoids: ties within a cell count half."""
    return float(np.clip(np.trapezoid(tpr, fpr), 0.0, 1.0))


@frozen
class RocCurve:
    """A private ROC curve: the distributions of either class's scores on the same thresholds.

    Parameters
    ----------
    positive, negative : ClassScores
    rows_known : bool
        Whether the number of all rows is public, so that those of the classes are off by the same.
    """

    positive: ClassScores
    negative: ClassScores
    rows_known: bool = False

    @classmethod
    def of(
        cls,
        counted: Sequence[Counted],
        left_out: LeftOut,
        *,
        rows_known: bool,
        whole: bool = False,
    ) -> Self:
        """Return the curve that follows from noisy counts of positives, and of negatives."""
        first, second = counted
        both = zip(counted, fitted((first[1], second[1]), rows_known=rows_known), strict=True)
        positive, negative = (
            ClassScores(
                points, counts, float(counts[-1]), noise, noisy, left_out=left_out, whole=whole
            )
            for (points, noisy, noise), counts in both
        )
        return cls(positive, negative, rows_known)

    @classmethod
    def of_forests(
        cls,
        points: Vector,
        forests: Sequence[NoisyForest],
        left_out: LeftOut,
        known: float | None,
        *,
        whole: bool = False,
    ) -> Self:
        """Return the curve that follows from the noisy blocks of positives, and of negatives.

        `known` is the number of rows of both classes together where that is public.
        """
        numbers, variance = [each.rows for each in forests], forests[0].rows_variance
        if known is not None:
            # Both classes together have a public number of rows: they are off by the same.
            off = (known - sum(numbers)) / 2
            numbers, variance = [each + off for each in numbers], variance / 2
        noise = ForestNoise(forests[0].forest, forests[0].variance, variance)
        counted = [
            (points, settled(each.cells, each.forest, number), noise)
            for each, number in zip(forests, numbers, strict=True)
        ]
        return cls.of(counted, left_out, rows_known=known is not None, whole=whole)

    def sampled(self, alike: int) -> Self:
        """Return the curve of units with at most some rows that count in full and may be alike."""
        first, second = (evolve(each, sampled=alike) for each in (self.positive, self.negative))
        return type(self)(first, second, self.rows_known)

    @property
    def scores(self) -> PrivateDistribution:
        """The distribution of the scores of both classes, which have independent noise."""
        one, counts = self.positive, self.positive.counts + self.negative.counts
        noise = evolve(
            one.noise,
            block_variance=2 * one.noise.block_variance,
            rows_variance=0.0 if self.rows_known else 2 * one.noise.rows_variance,
        )
        rows = float(counts[-1])
        return PrivateDistribution(one.points, counts, rows, noise, left_out=one.left_out)

    @property
    def thresholds(self) -> Vector:
        """From infinity, where the curve is at (0, 0), down to minus infinity, at (1, 1)."""
        inner = self.positive.points[:-1]
        return np.concatenate([[np.inf], inner[::-1], [-np.inf]])

    @property
    def rates(self) -> tuple[Vector, Vector]:
        """False and true positive rates at the thresholds."""
        return _rates(self.negative.counts), _rates(self.positive.counts)

    @property
    def precision(self) -> Vector:
        """Share of positives among the rows above each threshold; 1 where there are none."""
        return _precision(*self._counts)

    @property
    def average_precision(self) -> float:
        """Mean precision over the positive rows, as scikit-learn defines it."""
        gained, rows = _precision_terms(self._counts)
        return float(np.clip(gained / rows, 0.0, 1.0))

    @property
    def tied(self) -> float:
        """Share of the pairs of a positive and a negative row that are in one cell together."""
        return self._tied(np.ones(len(self.positive.points)))

    @property
    def _mixed(self) -> float:
        """The same in cells that may hold several values: whole numbers may have one each."""
        alone = self.positive.whole & (np.diff(self.positive.points[:-1], prepend=-np.inf) <= 1.0)
        return self._tied(np.append(~alone, True))

    def _tied(self, cells: Vector) -> float:
        positive, negative = (np.diff(each, prepend=0.0) for each in self._counts)
        pairs = self.positive.counts[-1] * self.negative.counts[-1]
        return float(np.clip((cells * positive) @ negative / pairs, 0.0, 1.0))

    def partial_area(self, max_fpr: float) -> Measure:
        """Return the standardised area up to a false positive rate, as scikit-learn does.

        0.5 for a curve that is the diagonal, 1 for a perfect one (McClish 1989). `max_fpr` is above
        0 and at most 1.
        """
        pairs, every = _area_terms(self._counts, max_fpr)
        found = Measure.of(float(pairs / every), self._area_interval(self._again(), max_fpr))
        least = max_fpr**2 / 2
        return found.moved(lambda part: 0.5 * (1.0 + (part - least) / (max_fpr - least)))

    def intervals(self) -> RocIntervals:
        """Return the intervals of the area, of the average precision and around the curve."""
        again = self._again()
        # Before smoothing, terms are off by little else than noise of mean 0.
        found, exact, repeated = map(_precision_terms, (self._noisy, self._counts, again))
        precision = Measure.of(self.average_precision, simulated_interval(found, exact, repeated))
        smoothed = [
            fitted((positive, negative), rows_known=self.rows_known)
            for positive, negative in zip(*(each[:_REPEATS] for each in again), strict=True)
        ]
        band, others = (self._band(terms, smoothed) for terms in (_heights, _found))
        total, noise = self.areas(again)
        ties = self._mixed / 2
        area = Measure(total.value, max(total.low - ties, 0.0), min(total.high + ties, 1.0))
        return RocIntervals(area, noise, precision, band, others, self._base_rate())

    def areas(self, again: Pair | None = None) -> tuple[Measure, Measure]:
        """Return the area, a tie counting half, with its total interval and that of the noise.

        The total one is no narrower than few rows allow. `again` are releases of rows drawn again.
        """
        again = self._again() if again is None else again
        ends = self._area_interval(again, 1.0)
        noise = self._area_interval(self._again(sampled=False), 1.0)
        alone = Measure.of(area(*self.rates), noise)
        rows = (each.rows / each.sampled for each in (self.positive, self.negative))
        room = NORMAL_95 * area_error(alone.value, *rows)
        low = min(float(ends[0]), alone.value - np.hypot(alone.value - alone.low, room))
        high = max(float(ends[1]), alone.value + np.hypot(alone.high - alone.value, room))
        return Measure(alone.value, max(low, 0.0), min(high, 1.0)), alone

    @property
    def _counts(self) -> Pair:
        return self.positive.counts, self.negative.counts

    @property
    def _noisy(self) -> Pair:
        return self.positive.noisy, self.negative.noisy

    def _area_interval(self, again: Pair, max_fpr: float) -> tuple[Vector, Vector]:
        pairs = self._noisy, self._counts, again
        found, exact, repeated = (_area_terms(each, max_fpr) for each in pairs)
        return simulated_interval(found, exact, repeated, max_fpr)

    def _base_rate(self) -> Measure:
        positives, rows = self.positive.rows, self.positive.rows + self.negative.rows
        own, other = (each.noise.rows_variance for each in (self.positive, self.negative))
        squares = (own, 0.0, 0.0) if self.rows_known else (own, own, own + other)
        # The number of rows is taken as it is.
        drawn = self.positive.sampled * positives * self.negative.rows / rows
        squares = (squares[0] + drawn, *squares[1:])
        released = self.positive.noisy[-1], self.positive.noisy[-1] + self.negative.noisy[-1]
        return Measure.of(positives / rows, ratio_interval(*released, squares))

    def _band(self, terms: Callable[[Pair, Vector], Pair], again: Sequence[Pair]) -> Vector:
        """Return intervals of a ratio at places, from that of repeated releases."""
        places = np.linspace(0.0, 1.0, _BAND_POINTS)
        exact = terms(self._counts, places)
        above, below = np.array([terms(pair, places) for pair in again]).swapaxes(0, 1)
        return np.stack([places, *simulated_interval(exact, exact, (above, below))])

    def _again(self, *, sampled: bool = True) -> Pair:
        """Return the counts with new noise of the same size many times, from one fixed seed.

        Rows are drawn again, too, unless not `sampled`.
        """
        generator = simulation_generator()
        scale = np.sqrt(self.positive.noise.rows_variance / 2)
        # Without the sampling nothing else hides that a variance is found from few repeats.
        more = 1 if sampled else 4
        repeats = np.clip(more * _WORK // len(self.positive.points), _REPEATS, more * _MOST_REPEATS)
        moved = generator.laplace(scale=scale, size=(2, int(repeats)))
        if self.rows_known:
            moved[1] = -moved[0]
        positive, negative = (
            each.counts + each.noise.draws(own, generator)
            for each, own in zip((self.positive, self.negative), moved, strict=True)
        )
        if sampled:
            positive += _drawn_again(self.positive, len(positive), generator)
            negative += _drawn_again(self.negative, len(negative), generator)
        return positive, negative


def area_error(auc: float, positive: float, negative: float) -> float:
    """Return the standard error of an area by its size alone (Hanley and McNeil 1982).

    Half a pair is added on the wrong side: where few rows are in perfect order, they may be so by
    chance.
    """
    pairs = positive * negative
    auc = (max(auc, 1.0 - auc) * pairs + 0.5) / (pairs + 1.0)
    same_positive, same_negative = auc / (2.0 - auc), 2.0 * auc**2 / (1.0 + auc)
    variance = auc * (1.0 - auc)
    variance += (positive - 1.0) * (same_positive - auc**2)
    variance += (negative - 1.0) * (same_negative - auc**2)
    return float(np.sqrt(max(variance, 0.0) / pairs))


def _drawn_again(scores: ClassScores, repeats: int, generator: Generator) -> Vector:
    """Return by how much the counts up to each threshold of rows drawn again differ."""
    # A file may claim more rows than can be drawn.
    cells = np.diff(scores.counts.clip(None, 2.0**53), prepend=0.0)
    units = cells / scores.sampled
    drawn = generator.poisson(units, (repeats, len(cells))) - units
    return np.asarray(scores.sampled * drawn.cumsum(axis=1))


def _above(counts: Vector) -> Vector:
    """Return the number of rows above each threshold, the highest first."""
    none = np.zeros_like(counts[..., :1])
    return np.concatenate([none, counts[..., -1:] - counts[..., -2::-1], counts[..., -1:]], axis=-1)


def _rates(counts: Vector) -> Vector:
    return np.asarray((_above(counts) / counts[-1]).clip(0.0, 1.0))


def _precision(positive: Vector, negative: Vector) -> Vector:
    true, false = (np.maximum(_above(each), 0.0) for each in (positive, negative))
    rows = true + false
    return np.asarray(np.divide(true, rows, out=np.ones_like(rows), where=rows > 0.0))


def _precision_terms(pair: Pair) -> tuple[Vector, Vector]:
    """Return the sum over the positive rows of the precision at each, and their number."""
    gained = np.diff(_above(pair[0])) * _precision(*pair)[..., 1:]
    return np.asarray(gained.sum(axis=-1)), pair[0][..., -1]


def _area_terms(pair: Pair, max_fpr: float) -> tuple[Vector, Vector]:
    """Return the pairs of a positive and a negative row in order, up to a rate, and all pairs.

    That is the area under a path, which may go back, where it is left of the rate.
    """
    up, across = map(_above, pair)
    most = max_fpr * across[..., -1:]
    start, end = across[..., :-1], across[..., 1:]
    width = end - start
    slope = np.divide(np.diff(up), width, out=np.zeros_like(width), where=width != 0.0)
    first, last = np.minimum(start, most), np.minimum(end, most)
    # In the middle of what is left of the place.
    middle = up[..., :-1] + slope * ((first + last) / 2 - start)
    return np.sum((last - first) * middle, axis=-1), up[..., -1] * across[..., -1]


def _heights(pair: Pair, places: Vector) -> tuple[Vector, Vector]:
    """Return the numbers of positive rows found at false positive rates, and of all of them."""
    positive, negative = pair
    heights = np.interp(places, _rates(negative), _rates(positive))
    return positive[-1] * heights, np.full(len(places), positive[-1])


def _found(pair: Pair, recalls: Vector) -> tuple[Vector, Vector]:
    """Return the numbers of positive rows found at recalls, and of all rows found with them.

    Between two thresholds the negative rows are spread evenly among the positive ones.
    """
    true, false = map(_above, pair)
    wanted = recalls * true[-1]
    return wanted, wanted + np.interp(wanted, true, false)
