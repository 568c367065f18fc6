"""Figures read from a private distribution at no further cost, with their standard errors."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product
from typing import Self

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike

from nolook._arrays import Places, Vector
from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.design_effects import design_effect, squares_ratio
from nolook.algorithms.intervals import DEVIATIONS
from nolook.algorithms.scaling import NoisyCount

__all__ = ["PrivateDistribution"]

# What that choice adds to a variance: at most 1.3 was measured, in single cells that hold many rows
# between empty ones (`benchmarks/distribution_errors.py`).
_CHOSEN = 1.3
# Of a noisy count's deviation: what rising counts are off at the ends of their runs, at most, in
# simulations of 200 to 20,000 rows in 512 cells; intervals of quantiles hold 97.5 % on average.
_RISING = 0.9
# Deviations of the noise around a count, of which the inner two enclose a gap if most cells between
# the outer ones are between them. Chosen by simulation: of the medians of a column that is half 0,
# 13 % lay in the gap and 1 % do (2,000 rows at epsilon 0.3); those of others lose no precision.
_AROUND = (-4.5, -1.5, 1.5, 4.5)


@frozen
class PrivateDistribution:
    """Private counts up to public thresholds.

    It is a distribution on the thresholds: every value counts as the threshold at or above it.
    Standard errors add up the noise, which is known, and that of rows drawn at random from a
    population. They allow for counts that are equal since they were made to rise. Where each unit
    counts once, a share varies at most as if each had one row.
    """

    points: Vector  # the thresholds, increasing; the last one stands for infinity
    counts: Vector  # private numbers of rows up to each: from 0 up, none below the one before
    rows: float  # the private number of rows, at least 1: the last count
    noise: ForestNoise  # of the counts
    #: Rows of a unit, at most, that count in full and may be alike; 0 for errors of the noise only.
    sampled: int = field(default=1, kw_only=True)
    whole: bool = field(default=False, kw_only=True)  # whether all values are whole numbers
    #: Rows that are not in use, and the standard deviation of the noise, if they were counted.
    left_out: tuple[float, float] | None = field(default=None, kw_only=True)
    #: The same counts of rows with the squares of their survey weights, if they have any.
    squares: PrivateDistribution | None = field(default=None, kw_only=True)

    @property
    def noise_alone(self) -> Self:
        """The same distribution, whose standard errors are those of the noise."""
        return evolve(self, sampled=0)

    @property
    def counted(self) -> NoisyCount:
        """The number of rows with the standard deviation of its noise; 0 where it is public."""
        left_out, error = self.left_out or (None, None)
        noise = math.sqrt(self.noise.rows_variance)
        return NoisyCount(self.rows, noise, left_out, lost_error=error)

    @cached_property
    def _shares(self) -> Vector:
        return self.counts / self.rows

    def cdf(self, t: ArrayLike) -> Vector:
        """Return the share of values up to each t: that of the last threshold not above it."""
        return np.append(0.0, self._shares)[self._cells(t)[0]]

    def cdf_error(self, t: ArrayLike) -> Vector:
        """Return the standard error of :meth:`cdf`, of the shape of `t`."""
        place, cut = self._cells(t)
        return np.hypot(self._between(0 * place, place)[1], cut)

    def _cells(self, t: ArrayLike) -> tuple[Places, Vector]:
        """Return the number of cells up to each t, and the share of the cell that t divides.

        Errors include that share, which may be that of one value; it is 0 at a threshold.
        """
        t = np.asarray(t, dtype=np.float64)
        t = np.floor(t) if self.whole else t  # the largest value up to it
        place = np.searchsorted(self.points, t, side="right")
        cell = np.diff(self._shares, prepend=0.0, append=1.0)[place]
        return place, np.where(t > np.append(-np.inf, self.points)[place], cell, 0.0)

    def ppf(self, p: ArrayLike) -> Vector:
        """Return the quantiles (Algorithm 1): the first threshold whose share is at least p."""
        return self.points[np.searchsorted(self._shares, p)]

    def ppf_interval(self, p: ArrayLike, deviations: float = DEVIATIONS["laplace"]) -> Vector:
        """Return the ends of an interval for the quantile of each p, shape (..., 2).

        Values count as the threshold at or above them: an interval begins at the threshold before
        the first one that a test leaves (whole numbers, at least 1 above that), and it has no end
        where the first or the last threshold is left.
        """
        ends = [self._tested(each, deviations) for each in np.ravel(p)]
        return np.reshape(ends, (*np.shape(p), 2))

    def across_gaps(self, p: Vector) -> Vector:
        """Return the quantiles, none of them in a gap.

        A quantile is a value of some row. The cells that noise may have moved it through are a gap
        if they hold few rows for their number: it then becomes the nearer end, by cells, within its
        interval.
        """
        place = np.searchsorted(self._shares, p)
        off = np.sqrt(self.noise.between(0 * place, place + 1, p)) / self.rows
        least, low, high, most = np.searchsorted(self._shares[:-1], np.outer(_AROUND, off) + p)
        gap = (least > 0) & (most < len(self.points) - 1) & (2 * (high - low) > most - least)
        end = np.where(2 * place > low + high, high, low)
        return self.points[np.where(gap, end, place)].clip(*self.ppf_interval(p).T)

    def _tested(self, p: float, deviations: float) -> tuple[float, float]:
        """Return the interval that a test at each threshold leaves for the quantile at p.

        Less than p of the rows lie up to a threshold below the quantile. So thresholds whose share
        is `deviations` standard errors below p are too low, and all from the first one whose share
        is as many above p on are too high. Of counts made equal the last one is tested for the
        former and the first one for the latter: before they were made to rise, these were no
        nearer to p.
        """
        first, end = self._starts, len(self.points) - 1
        last = np.append(first[1:], end + 1)[: first.size] - 1
        shares = self._shares[first - 1]

        def errors(places: Places) -> Vector:
            none = 0 * places
            noise = _RISING**2 * self.noise.between(none, places, p)
            return deviations * np.sqrt(noise + self._sampling(none, places, p)) / self.rows

        below, above = last[shares < p - errors(last)], first[shares >= p + errors(first)] - 1
        low, high = (*below[-1:], 0)[0], (*above[:1], end)[0]
        low = np.searchsorted(self.points, self.points[low])  # of thresholds that are alike
        before = np.append(-np.inf, self.points)[low] + self.whole
        return float(before), float(np.inf if high == end else self.points[max(low, high)])

    def pdf(self, t: ArrayLike) -> tuple[Vector, Vector]:
        """Return the density (a cell's share by its width; 0 off the thresholds) and its error."""
        last = np.searchsorted(self.points, t)
        inside = (last > 0) & (last < len(self.points))
        last = np.where(inside, last + 1, 1)
        first = np.where(inside, last - 1, 1)
        masses, errors = self._between(first, last)
        # The widest cells overflow, and so does the density of the narrowest.
        with np.errstate(over="ignore"):
            width = np.where(inside, self.points[last - 1] - self.points[first - 1], 1.0)
            return masses / width, errors / width

    def masses(self, edges: ArrayLike) -> tuple[Vector, Vector]:
        """Return the share of values above each public edge, up to the next, and its error.

        The edges increase.
        """
        place, cut = self._cells(edges)
        masses, errors = self._between(place[:-1], place[1:])
        return masses, np.hypot(errors, np.hypot(cut[:-1], cut[1:]))

    def _between(self, first: Places, last: Places) -> tuple[Vector, Vector]:
        """Return the shares of the cells from one number of cells up to another."""
        shares = np.append(0.0, self._shares)
        masses = shares[last] - shares[first]
        error = np.sqrt(self._variance(first, last, masses)) / self.rows
        return masses, np.where(first == last, 0.0, error)

    @cached_property
    def _starts(self) -> Places:
        """The first of the places whose counts are the same, for each run of them but the last."""
        starts = np.flatnonzero(np.append(True, np.diff(self.counts[:-1]) != 0)) + 1
        return starts[: len(self.counts) - 1]

    @cached_property
    def _runs(self) -> tuple[Places, Places]:
        """The first and the last of the places around each whose counts are the same."""
        # No rows, and all of them, are counts of their own.
        starts = np.concatenate([[0], self._starts, [len(self.counts)]])
        lengths = np.diff(starts, append=len(self.counts) + 1)
        return np.repeat(starts, lengths), np.repeat(starts + lengths - 1, lengths)

    def _variance(self, first: Places, last: Places, shares: Vector) -> Vector:
        """Return the variance of the rows from a place to a later one, less a share of all rows.

        Isotonic regression replaces noisy counts by the mean of a run of them, and a mean varies at
        most as much as the one that varies most. So do the rows between two means: they lose what
        noise the two places had in common. For each run, its ends and its middle are tried. Where
        runs begin and end is chosen by the noise, in favour of rows between two of them.
        """
        starts, ends = self._runs
        first, last = np.asarray(first), np.asarray(last)
        largest = np.array(self.noise.between(first, last, shares))
        sampling = self._sampling(first, last, shares)
        pooled = starts[first] < starts[last]
        pooled &= (starts[first] < ends[first]) | (starts[last] < ends[last])
        if not pooled.any():
            return largest + sampling
        low, high = (
            (starts[place], (starts[place] + ends[place]) // 2, ends[place])
            for place in (first[pooled], last[pooled])
        )
        own = np.broadcast_to(shares, largest.shape)[pooled]
        for a, b in product(low, high):
            largest[pooled] = np.maximum(largest[pooled], self.noise.between(a, b, own))
        largest[pooled & (starts[first] < ends[first]) & (starts[last] < ends[last])] *= _CHOSEN
        return largest + sampling

    def _sampling(self, first: Places, last: Places, shares: Vector | float) -> Vector:
        """Return the variance by sampling of the same."""
        binomial = np.asarray(self.sampled * self.rows * np.maximum(shares * (1.0 - shares), 0.0))
        if self.squares is None:
            return binomial
        both = (np.append(0.0, each.counts) for each in (self, self.squares))
        own, squares = (each[last] - each[first] for each in both)
        usual = min(1.0, self.squares.rows / self.rows)
        inside, outside = (self.squares.noise.between(first, last, share) for share in (0.0, 1.0))
        inside = squares_ratio(own, squares, inside, usual)
        outside = squares_ratio(self.rows - own, self.squares.rows - squares, outside, usual)
        return binomial * design_effect(shares, inside, outside)

    def trimmed_mean(self, proportion: float) -> tuple[float, float]:
        """Return the mean without a share (from 0 to below 1/2) at either end, and its error."""
        shares, inside = self._inside(proportion)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(np.sum(self.points * inside))
            # A mean is the last point kept minus the steps, each times the share up to it.
            steps = np.append(np.diff(self.points), 0.0)
            weights = np.where(shares == self._shares, steps / (2 * proportion - 1.0), 0.0)
            # The squares of the widest steps would overflow.
            unit = float(np.max(np.abs(weights))) or 1.0
            weights /= unit
            variance = self.noise.weighted(weights, float(np.sum(weights * self._shares)))
            variance += self._sampling_of(weights)
            error = float(np.sqrt(variance)) * unit / self.rows
        return mean, error if np.isfinite(error) else np.inf

    def _sampling_of(self, weights: Vector) -> float:
        """Return the variance by sampling of the sum of weighted counts.

        A row in a cell adds the weights from there on.
        """
        each = np.cumsum(weights[::-1])[::-1]
        cells = np.diff(self._shares, prepend=0.0)
        variance = cells @ each**2 - (cells @ each) ** 2
        if self.squares is not None:
            squares = np.diff(self.squares.counts, prepend=0.0) / self.rows
            variance = squares @ (each - cells @ each) ** 2
        return self.sampled * self.rows * max(float(variance), 0.0)

    def mean_step(self, proportion: float) -> float:
        """Return by how much a trimmed mean is too high at most, since values count as thresholds.

        Infinite if values may lie below the first threshold.
        """
        _, inside = self._inside(proportion)
        used = inside != 0.0
        before = np.append(-np.inf, self.points[:-1] + self.whole)
        with np.errstate(over="ignore"):
            return float(inside[used] @ (self.points - before)[used])

    def _inside(self, proportion: float) -> tuple[Vector, Vector]:
        """Return the shares without one at either end, and those of each cell that are left."""
        shares = self._shares.clip(proportion, 1.0 - proportion) if proportion else self._shares
        return shares, np.diff(shares, prepend=proportion) / (1.0 - 2 * proportion)
