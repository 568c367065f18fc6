"""Cells of groups: how many rows a block has is the group's own, how they lie in it much as in all.

Each block of :data:`BLOCK` cells is counted with a third of the noise of a cell. Within a block a
group's counts are its rows there in the shape of all groups together, and depart from that as far
as its own noisy counts show that groups differ (empirical Bayes). The proof is ``tabulation.md``.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from nolook._arrays import Array, Places, Vector
from nolook.algorithms.cumulative_noise import ForestNoise, rising
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import Forest
from nolook.algorithms.margins import Dimensions, Margin, Margins
from nolook.algorithms.node_counts import NoisyForest
from nolook.statistics.group_totals import BLOCK_WEIGHT

__all__ = ["BLOCK", "ColumnValues", "GroupCells"]

#: Cells of a block.
BLOCK = 32


@frozen(eq=False)
class ShapeNoise(ForestNoise):
    """The noise of counts up to places, from those of blocks and what is left within them."""

    sums: Vector  # for each place, of the shares of blocks up to it
    squares: Vector  # the same of squared shares
    within: Vector  # variance of the rows of a block up to it, given the block's

    def between(self, first: Places, last: Places, shares: ArrayLike) -> Vector:  # noqa: ARG002
        """Return the variance of the rows up to `last`, less a share of all; `first` is 0."""
        shares, blocks = np.asarray(shares), self.sums[-1]
        own = self.squares[last] - 2.0 * shares * self.sums[last] + blocks * shares**2
        return np.asarray(self.block_variance * own + self.within[last])


@frozen(eq=False)
class GroupCells:
    """The noisy counts of one group's blocks, BLOCK_WEIGHT times each, and of its cells."""

    forest: Forest
    counts: Vector
    variance: float
    pool: Margin  # the same of all groups together

    @property
    def _block_variance(self) -> float:
        return self.variance / (BLOCK_WEIGHT**2 + 1.0 / BLOCK)

    def _parts(self, counts: Vector) -> tuple[Vector, Array]:
        """Return the least-squares counts of blocks, and of cells, which add up to these."""
        n = self.forest.padded // BLOCK
        cells = counts[n:].reshape(n, BLOCK)
        found = BLOCK_WEIGHT * counts[:n] + cells.sum(axis=1) / BLOCK
        blocks = found / (BLOCK_WEIGHT**2 + 1.0 / BLOCK)
        return blocks, cells + (blocks - cells.sum(axis=1))[:, np.newaxis] / BLOCK

    @cached_property
    def _own(self) -> tuple[Vector, Array]:
        return self._parts(self.counts)

    @property
    def rows(self) -> float:
        """The number of all rows."""
        return float(self._own[0].sum())

    @property
    def rows_variance(self) -> float:
        """Variance of the noise of `rows`."""
        return self._block_variance * self._own[0].size

    def _cells(self) -> tuple[Array, Array, Array]:
        """Return the counts of cells, the variance of each given its block, and the shape."""
        blocks, own = self._own
        usual = self._parts(self.pool.values)[1].clip(0.0) + 1e-9
        whole = usual.sum(axis=1, keepdims=True)
        shape, rows = usual / whole, blocks.clip(0.0)[:, np.newaxis]
        expected, noise = rows * shape, self.variance * (1.0 - 1.0 / BLOCK)
        off = own - expected
        differing = max(0.0, float((off**2 - noise).sum()) / max(float(expected.sum()), 1.0))
        trust = differing * expected / (differing * expected + noise)
        cells = expected + trust * off
        cells += (blocks - cells.sum(axis=1))[:, np.newaxis] * shape
        common = (rows / whole).clip(0.0, 1.0) ** 2 * self.pool.variance
        return cells, trust * noise + (1.0 - trust) ** 2 * common, shape

    def distribution(self, points: Vector) -> PrivateDistribution:
        """Return the distribution over thresholds, whose counts rise."""
        cells, left, shape = self._cells()
        possible = max(1.0, self.rows)
        counts = rising(np.cumsum(cells)[: self.forest.cells], possible)
        counts[-1] = possible
        part, sums = shape.cumsum(axis=1), left.cumsum(axis=1)
        before = np.arange(len(shape))[:, np.newaxis]
        within = (1.0 - part) ** 2 * sums + part**2 * (sums[:, -1:] - sums)
        places = (np.append(0.0, each) for each in (before + part, before + part**2, within))
        noise = ShapeNoise(self.forest, self._block_variance, self.rows_variance, *places)
        return PrivateDistribution(points, counts, possible, noise)


@frozen(eq=False)
class ColumnValues:
    """The values of one column, in cells of a grid, by group."""

    points: Vector  # the last one stands for infinity
    whole: bool  # whether all values are whole numbers
    forest: Forest
    blocks: Margins  # the last axis holds the counts of blocks

    shared: bool  # whether blocks are counted with less noise than cells, for a common shape

    def of(self, dimensions: Dimensions, place: tuple[int, ...]) -> NoisyForest:
        """Return the forest of one group of a margin."""
        margin = self.blocks[dimensions]
        return NoisyForest(self.forest, margin.values[place], margin.variance)

    def cells_of(self, dimensions: Dimensions, place: tuple[int, ...]) -> NoisyForest | GroupCells:
        """Return the counts of one group of a margin, by a common shape if there is one."""
        if not self.shared:
            return self.of(dimensions, place)
        margin = self.blocks[dimensions]
        return GroupCells(self.forest, margin.values[place], margin.variance, self.blocks[()])
