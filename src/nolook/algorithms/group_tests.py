"""Tests of whether groups differ, by the noisy forests of their values: post-processing.

P-values compare a statistic with those of simulated releases under the null hypothesis, with their
noise, so that a test holds its level at every budget. The proof is ``tabulation.md``.

==========  =========================================================================
name here   meaning
==========  =========================================================================
ranks       Kruskal and Wallis 1952, of two groups Mann and Whitney 1947: the sum over
            the groups of n (mean rank - 1/2)^2, ranks from 0 to 1, ties in the middle
distance    Kolmogorov's: the largest difference of two distribution functions
==========  =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Array
from nolook.algorithms._simulation import Generator, simulation_generator
from nolook.algorithms.cumulative_noise import ForestNoise, settled
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.intervals import Measure
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.roc_curve import RocCurve

__all__ = ["Forests", "PValues", "p_value", "too_few"]

_REPEATS = 999
#: Deviations of its noise that a group's number of rows must exceed.
ENOUGH = 3.0
# How often the variance of sampling that of the noise may be in a test, and the cells it is of at
# least: fewer, where the noise hides the range, would have less of it.
_MOST_NOISE, _CELLS = 2.5, 16


@frozen
class PValues:
    """P-values of the rank test and of the distance."""

    ranks: float
    distance: float


@frozen(eq=False)
class Forests:
    """The values of groups: a noisy forest each over the same cells, which end at `points`."""

    points: Array
    groups: tuple[NoisyForest, ...]

    def of_units(self, most: int) -> Forests:
        """Return the counts divided by the rows in full of a unit, at most.

        A unit then adds up to 1 at most, so sampling varies as much at most as that of independent
        rows (`design_effects.py`). Shares and ranks stay as they are.
        """
        return evolve(self, groups=tuple(
            evolve(each, blocks=each.blocks / most, variance=each.variance / most**2)
            for each in self.groups
        ))  # fmt: skip

    def enough(self, place: int) -> bool:
        """Return True if a group's number of values stands out from its noise."""
        rows, error = self.groups[place].counted
        return rows > ENOUGH * error

    def distribution(self, place: int) -> PrivateDistribution:
        """Return the distribution of a group's values."""
        return self.groups[place].distribution(self.points)

    def exceeds(self, place: int, other: int) -> Measure:
        """Return the probability that a value of a group exceeds one of another; ties count half.

        With its total interval.
        """
        pair = self.groups[place], self.groups[other]
        return RocCurve.of_forests(self.points, pair, None, None).areas()[0]

    def distance(self, place: int, other: int) -> float:
        """Return the largest difference of the distribution functions of two groups."""
        counts = [self.distribution(each).counts for each in (place, other)]
        return float(_distance(np.array(counts)))

    def differ(self, places: Sequence[int]) -> PValues | None:
        """Test whether some groups have one distribution; None if any has too few rows."""
        groups = [self.groups[place] for place in places]
        if any(map(too_few, groups)):
            return None
        found = np.array([settled(each.cells, each.forest, each.rows) for each in groups])
        noisy = _under_null(self.points, groups)
        return PValues(*(p_value(float(each(found)), each(noisy)) for each in (_ranks, _distance)))


def too_few(*forests: NoisyForest) -> bool:
    """Return True if a group has too few rows for a test: its noise would be most of the variance.

    A function of the released number of rows in the group's forests, and of the law of its noise:
    the mean rank of n rows, from 0 to 1, has variance ``1 / (12 n)``, and its noise v / n^2 times
    1/12 with v that of n.
    """
    rows = math.fsum(each.rows for each in forests)
    noise = math.fsum(each.rows_variance * max(1.0, _CELLS / each.forest.cells) for each in forests)
    return rows <= ENOUGH * math.sqrt(noise) or noise > _MOST_NOISE * rows


def p_value(found: float, simulated: Array) -> float:
    """Return the share of statistics at least as large as the one found, which counts as one."""
    return float((1 + np.count_nonzero(simulated >= found)) / (1 + simulated.size))


def forest_noise(group: NoisyForest, repeats: int, generator: Generator) -> Array:
    """Return the noise of counts up to each cell in repeated releases, shape (repeats, cells)."""
    noise = ForestNoise(group.forest, group.variance, group.rows_variance)
    rows = generator.laplace(scale=math.sqrt(group.rows_variance / 2.0), size=repeats)
    return noise.draws(rows, generator)


def _under_null(points: Array, groups: Sequence[NoisyForest]) -> Array:
    """Return noisy counts of groups drawn from their pooled distribution.

    Up to each cell, shape (groups, repeats, cells).
    """
    blocks = np.sum([each.blocks for each in groups], axis=0)
    all_groups = NoisyForest(groups[0].forest, blocks, groups[0].variance * len(groups))
    shares = np.diff(all_groups.distribution(points).counts, prepend=0.0)
    shares /= shares.sum()
    generator = simulation_generator()
    drawn = [
        generator.multinomial(max(1, round(each.rows)), shares, size=_REPEATS).cumsum(axis=1)
        for each in groups
    ]
    noise = [forest_noise(each, _REPEATS, generator) for each in groups]
    return np.array(drawn, dtype=np.float64) + np.array(noise)


def _ranks(counts: Array) -> Array:
    """Return the statistic of ranks for counts up to each cell, shape (groups, ..., cells)."""
    pooled = counts.sum(axis=0)
    middle = pooled - np.diff(pooled, prepend=0.0) / 2.0
    rows = np.maximum(counts[..., -1], 1.0)
    ranks = (np.diff(counts, prepend=0.0) * middle).sum(axis=-1)
    ranks /= rows * np.maximum(pooled[..., -1], 1.0)
    return np.asarray((rows * (ranks - 0.5) ** 2).sum(axis=0))


def _distance(counts: Array) -> Array:
    """Return the largest difference of the first group's distribution function from another's."""
    shares = counts / np.maximum(counts[..., -1:], 1.0)
    return np.asarray(np.abs(shares - shares[0]).max(axis=(0, -1)))
