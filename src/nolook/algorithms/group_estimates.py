"""The estimates of a tabulation for every group, with intervals: post-processing of its release.

The total interval covers the noise and that the rows may be a sample, the other the noise alone.
The proof is ``tabulation.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from attrs import astuple, evolve, frozen

from nolook._arrays import Flags, Numbers, Places, Vector
from nolook.algorithms.design_effects import design_effect, squares_ratio
from nolook.algorithms.margins import Dimensions, Margin, Margins
from nolook.algorithms.shared_shapes import ColumnValues
from nolook.algorithms.tabulation import ColumnSums, Released

__all__ = [
    "ALL",
    "Estimates",
    "Groups",
    "count_of",
    "estimate_of",
    "moments_of",
    "quantiles_of",
    "share_of",
]

#: The code of all rows, whatever their level.
ALL = -1

#: Deviations of its noise that a number of rows must exceed for anything else to be said.
_ENOUGH = 3.0
_LARGEST = np.finfo(np.float64).max

#: Noisy sums of squared survey weights and the variance of their noise, if there are any.
Squares = tuple[Vector, Vector] | None


@frozen(eq=False)
class Estimates:
    """A number for each group, NaN where noise hides it, and 95 % intervals.

    `low` and `high` are the ends of the total interval, NaN where there is none.
    """

    value: Numbers
    low: Numbers
    high: Numbers
    noise_low: Numbers
    noise_high: Numbers

    def __iter__(self) -> Iterator[Numbers]:
        return iter(astuple(self, recurse=False))

    def where(self, shown: Flags) -> Estimates:
        """Return the estimates of some groups only."""
        return Estimates(*(np.where(shown, each, np.nan) for each in self))

    def of_noise(self) -> Estimates:
        """Return the estimates without their total intervals."""
        return evolve(self, **dict.fromkeys(("low", "high"), np.full_like(self.value, np.nan)))

    def within(self, low: float, high: float) -> Estimates:
        """Return the estimates clipped to what is possible.

        An interval in which nothing is possible is moved with its estimate first: noise that makes
        a count negative leaves no certain 0.
        """
        value, ends = self.value.clip(low, high), []
        for start, end in ((self.low, self.high), (self.noise_low, self.noise_high)):
            moved = np.where((end < low) | (start > high), value - self.value, 0.0)
            ends += [(start + moved).clip(low, high), (end + moved).clip(low, high)]
        return Estimates(value, *ends)

    def tells_more(self, first: Estimates, third: Estimates) -> Flags:
        """Mark means, except where intervals meet those of quartiles and are wider than all."""
        apart = (self.low > third.high) | (self.high < first.low)
        return apart | ~(self.high - self.low > third.high - first.low)

    def times(self, factor: float) -> Estimates:
        """Return the estimates in another unit."""
        return Estimates(*((factor * each).clip(-_LARGEST, _LARGEST) for each in self))

    def roots(self, unit: float) -> Estimates:
        """Return the roots of squares in units."""
        return Estimates(*(unit * np.sqrt(np.maximum(each, 0.0)) for each in self))


@frozen(eq=False)
class Groups:
    """The groups of some margins, those of fewer dimensions first.

    Parameters
    ----------
    margins : tuple of tuple of int
    codes : ndarray of int, shape (groups, dimensions)
        The level of each group, :data:`ALL` where a margin does not have the dimension.
    """

    margins: tuple[Dimensions, ...]
    codes: Places

    @classmethod
    def of(cls, margins: Sequence[Dimensions], sizes: Sequence[int]) -> Groups:
        """Return all groups of margins over dimensions of some sizes."""
        codes: list[Places] = []
        for own in margins:
            places = list(product(*(range(sizes[d]) for d in own)))
            rows = np.full((len(places), len(sizes)), ALL, dtype=np.intp)
            rows[:, list(own)] = places
            codes.append(rows)
        return cls(tuple(margins), np.concatenate(codes))

    def of_each(self) -> Iterator[tuple[Dimensions, tuple[int, ...]]]:
        """Yield the margin and the place in it of every group."""
        for row in self.codes.tolist():
            own = tuple(d for d, code in enumerate(row) if code != ALL)
            yield own, tuple(row[d] for d in own)


def _around(
    value: Vector, noise: Vector, total: Vector, times: float, up: float = 0.0
) -> Estimates:
    total, noise = times * total, times * noise
    ends = value, value - total, value + total + up, value - noise, value + noise + up
    return Estimates(*(each.clip(-_LARGEST, _LARGEST) for each in ends))


def _flat(groups: Groups, margins: dict[Dimensions, Margin]) -> tuple[Vector, Vector]:
    """Return the numbers of all groups, and the variance of their noise."""
    found = [margins[own] for own in groups.margins]
    values = [each.values.reshape(-1, *each.values.shape[len(own) :])
              for own, each in zip(groups.margins, found, strict=True)]  # fmt: skip
    variances = [np.full(len(own), each.variance) for own, each in zip(values, found, strict=True)]
    return np.concatenate(values), np.concatenate(variances)


def count_of(groups: Groups, released: Released) -> Estimates:
    """Return the number of rows of each group.

    The total interval is that of the number to be expected in a sample of as many rows.
    """
    count, variance = _flat(groups, released.counts)
    squares = None if released.squares is None else _flat(groups, released.squares.counts)
    return _counted(count, variance, released, squares)


def estimate_of(groups: Groups, shrunk: Margins) -> Estimates:
    """Return the estimate of the number of rows of each group, which has no interval."""
    value, none = _flat(groups, shrunk)
    return Estimates(value, *[none] * 4)


def _counted(
    count: Vector, variance: Vector, released: Released, squares: Squares = None
) -> Estimates:
    """Return numbers of rows out of all, from the variance of their noise."""
    rows = released.rows.value
    near = count.clip(0.0, rows)
    sampled = released.alike * near * (1.0 - near / rows)
    if squares is not None and released.squares is not None:
        total, usual = released.squares.counts[()], _usual(released)
        own = squares_ratio(count, *squares, usual)
        rest = total.values - squares[0], total.variance + squares[1]
        sampled *= design_effect(near / rows, own, squares_ratio(rows - count, *rest, usual))
    # The weight that was cut is missing from every count.
    known = variance + (released.cut * near) ** 2
    return _around(count, np.sqrt(known), np.sqrt(known + sampled), released.deviations)


def _usual(released: Released) -> float:
    """Return the sum of squared survey weights over that of weights, of all rows."""
    if released.squares is None:
        return 1.0
    rows, squares = (float(each.counts[()].values) for each in (released, released.squares))
    return min(max(squares / max(rows, 1.0), 0.0), 1.0)


def share_of(groups: Groups, released: Released, column: int, value: int, known: int) -> Estimates:
    """Return the share of rows with a value of a column, of which `known` are levels.

    Only rows with a known value count. Groups of one level have no share.
    """
    found = []
    for own in groups.margins:
        margin = released.counts[own]
        if column in own:
            found.append(np.full((margin.values.size, 7), np.nan))
            continue
        *parts, variance, size = _split(released.counts, own, column, value, known)
        # The variance of all levels together, for each of them, and of one about their mean.
        together = margin.variance / size**2
        apart = (variance - together) * size / (size - 1.0)
        parts += [together - apart / size, apart]
        squares = released.counts if released.squares is None else released.squares.counts
        parts += _split(squares, own, column, value, known)[:3]
        found.append(np.column_stack(np.broadcast_arrays(*parts)))
    own, count, together, apart, *squared = np.concatenate(found).T
    with np.errstate(all="ignore"):
        share = own / count
        # Of the rows that have it less the share of those known: weights of levels, added up.
        noise = together * (1.0 - known * share) ** 2
        noise += apart * (1.0 - 2.0 * share + known * share**2)
        noise = noise / count**2
        # As if two more rows had it and two had not (Agresti and Coull 1998).
        effect = _share_effect(released, known, own, count, squared)
        near = ((own / effect + 2.0) / (count / effect + 4.0)).clip(0.0, 1.0)
        noise += (0.5 * released.cut) ** 2 * near * (1.0 - near)
        total = np.sqrt(noise + near * (1.0 - near) / (count / effect + 4.0))
        shown = count > _ENOUGH * np.sqrt(known * (known * together + apart))
        return _around(share, np.sqrt(noise), total, released.deviations).where(shown)


def _split(
    counts: Margins, own: Dimensions, column: int, value: int, known: int
) -> tuple[Any, ...]:
    """Return rows with a value of a column, with one of its known levels, by other dimensions.

    Then the variance of each level's number, and how many levels there are.
    """
    whole = tuple(sorted((*own, column)))
    values = np.moveaxis(counts[whole].values, whole.index(column), -1)
    rows = values.reshape(-1, values.shape[-1])
    return rows[:, value], rows[:, :known].sum(axis=1), counts[whole].variance, rows.shape[1]


def _share_effect(
    released: Released, known: int, own: Vector, count: Vector, squares: Sequence[Vector]
) -> Vector | float:
    """Return the design effect of shares by survey weights and rows that may be alike."""
    if released.squares is None:
        return released.alike
    first, both, variance = squares
    usual = squares_ratio(count, both, known * variance, _usual(released))
    others = squares_ratio(count - own, both - first, (known + 1) * variance, usual)
    ratio = squares_ratio(own, first, variance, usual)
    return released.alike * design_effect((own / count).clip(0.0, 1.0), ratio, others)


def moments_of(groups: Groups, released: Released, column: int) -> tuple[Estimates, ...]:
    """Return the numbers of values present and missing, mean, sum and standard deviation."""
    own: ColumnSums = released.sums[column]
    sums, variance = _flat(groups, own.moments)
    rows, first, second = sums.T
    factor, center, clip = released.deviations, own.center, own.clip
    counted, counts_variance = _flat(groups, released.counts)
    shown = (rows > _ENOUGH * 4.0 * np.sqrt(variance)) & (counted > np.sqrt(counts_variance))
    shown &= column not in released.unseen and math.isfinite(own.clipped)
    weighed = released.squares
    squared = (None, None) if weighed is None else _values(groups, weighed, column)
    pairs = zip(_values(groups, released, column), squared, strict=True)
    count, missing = (_counted(*one, released, square) for one, square in pairs)
    size = np.where(shown, rows, np.nan)
    place = first / size
    inside = place.clip(-1.0, 1.0)
    squares = second / size + 0.5 - inside**2  # the variance of the values, in squares of the clip
    error = (16.0 * (1.0 + (second / size) ** 2) + 4.0 * inside**2) * variance / size**2
    spread = _likely(squares, error, size)
    effect = _mean_effect(groups, released, column, inside, spread)
    # Clipping moves all groups alike, and each by which of its rows are far away.
    moved = (own.clipped / clip) ** 2 + effect * own.beyond / size
    noise = variance * (1.0 + 16.0 * inside**2) / size**2 + moved
    noise += (0.5 * released.cut) ** 2 * spread  # rows cut are half a deviation off
    total = clip * np.sqrt(noise + effect * spread / size)
    mean = _around(center + clip * place, clip * np.sqrt(noise), total, factor)
    summed = center * rows + clip * first
    noise = np.hypot(np.sqrt(variance) * math.hypot(clip, 4.0 * center), released.cut * summed)
    noise = np.hypot(noise, clip * size * np.sqrt(moved))
    # Of the values of a group, and 0 for every other row.
    share = (size / released.rows.value).clip(0.0, 1.0)
    sampled = size * (clip * clip * spread + (1.0 - share) * (center + clip * inside) ** 2)
    total_sum = _around(summed, noise, np.sqrt(noise**2 + effect * sampled), factor).where(shown)
    sampled = effect * (own.kurtosis - 1.0) * spread**2 / size
    square = _around(squares, np.sqrt(error), np.sqrt(error + sampled), factor, own.squared)
    # Where clipping may take twice what is surely left, too little is known.
    square = square.where(square.noise_low > own.squared / 2.0)
    return count, missing, mean, total_sum, square.roots(clip)


def _values(
    groups: Groups, released: Released, column: int
) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Return the numbers of values present, and missing, with the variances of their noise."""
    sums, variance = _flat(groups, released.sums[column].moments)
    counted, counts_variance = _flat(groups, released.counts)
    rows, variance = sums[:, 0], 16.0 * variance
    return (rows, variance), (counted - rows, counts_variance + variance)


def _mean_effect(
    groups: Groups, released: Released, column: int, mean: Vector, spread: Vector
) -> Vector | float:
    """Return the design effect of means, given in clips with their variances, as that of shares."""
    if released.squares is None:
        return released.alike
    rows = _flat(groups, released.sums[column].moments)[0][:, 0]
    sums, variance = _flat(groups, released.squares.sums[column].moments)
    zeroth, first, second = sums.T
    # The squared distances from the mean, and the noise of their sum.
    far = second + zeroth * (0.5 + mean**2) - 2.0 * mean * first
    error = variance * (16.0 * (1.0 + (0.5 + mean**2) ** 2) + 4.0 * mean**2)
    usual = squares_ratio(rows, zeroth, 16.0 * variance, _usual(released))
    return released.alike * squares_ratio(rows, far / spread, error / spread**2, usual)


def _likely(own: Vector, error: Vector, size: Vector) -> Vector:
    """Return the variances of the groups' values, from noisy ones with these squared errors.

    Where noise hides a group's own it is near that of all groups (empirical Bayes).
    """
    known = np.isfinite(own)
    if not known.any():
        return own
    usual = np.average(own[known], weights=size[known] ** 2)
    least = max(usual, 1e-4) / 50.0
    between = np.average((own[known] - usual) ** 2 - error[known], weights=size[known]).clip(0.0)
    return np.maximum(usual + between / (between + error) * (own - usual), least)


def quantiles_of(
    groups: Groups, released: Released, column: int, shares: Sequence[float]
) -> list[Estimates]:
    """Return quantiles of a column: ends of its cells, none in a gap."""
    own: ColumnValues = released.values[column]
    factor, at = released.deviations, np.array(shares)
    numbers = []
    for dimensions, place in groups.of_each():
        forest = own.cells_of(dimensions, place)
        if column in released.unseen or forest.rows <= _ENOUGH * math.sqrt(forest.rows_variance):
            numbers.append(np.full((5, at.size), np.nan))
            continue
        found = evolve(forest.distribution(own.points), sampled=released.alike, whole=own.whole)
        if released.squares is not None:
            weighed = released.squares.values[column].cells_of(dimensions, place)
            found = evolve(found, squares=weighed.distribution(own.points))
        value = found.across_gaps(at)
        value[np.isin(value, own.points[[0, -1]])] = np.nan  # or beyond
        ends = np.array([one.ppf_interval(at, factor) for one in (found, found.noise_alone)])
        ends[:, np.isnan(value)] = np.nan
        (low, high), (least, most) = np.moveaxis(ends.clip(*own.points[[0, -1]]), -1, 1)
        numbers.append(np.array([value, low, high, least, most]))
    return [Estimates(*each) for each in np.array(numbers).transpose(2, 1, 0)]
