"""Groups with a common shape: how many rows a block has is a group's own, how they lie in it all's.

A block holds about a :data:`BLOCKS`-th of all rows. Within it a group's rows lie as those of all
groups together, which are counted in much smaller cells. The proof is ``tabulation.md``.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from nolook._arrays import Array, Places, Vector
from nolook.algorithms.cumulative_noise import ForestNoise, rising
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import Forest
from nolook.algorithms.margins import Dimensions, Margins
from nolook.algorithms.node_counts import NoisyForest

__all__ = ["BLOCKS_OF_ROWS", "ColumnValues", "GroupCells", "Rank", "Shape"]

#: Blocks of a group.
BLOCKS_OF_ROWS = 32
# Deviations of noise by which a cell must exceed the mean to count alone, and halves must differ.
_ALONE, _SURE = 9.0, 3.0
_UNLIKE = 1.0  # of a block's rows up to a place and above, what a group may have more or less


@frozen(eq=False)
class Rank:
    """Places of groups up to which half of the rows lie, and the variance of the rows they are off.

    These are one group's or several groups'.
    """

    place: Places
    variance: float


@frozen(eq=False)
class Shape:
    """The share of each cell in its block's rows, shape (blocks, cells), of all groups together."""

    shares: Array
    noise: Array  # variance of the share

    @classmethod
    def of(cls, cells: Vector, variance: float) -> Shape:
        """Return the shape of noisy counts of cells.

        Cells that noise hardly explains count alone. In the rest, halves of a block, their halves
        and so on have equal rows where noise may hide which has more (Haar wavelets, thresholded).
        """
        own, error = cells.reshape(BLOCKS_OF_ROWS, -1), math.sqrt(variance)
        alone = own > own.mean(axis=1, keepdims=True).clip(0.0) + _ALONE * error
        usual = np.where(alone, 0.0, own).sum(axis=1) / (~alone).sum(axis=1).clip(1)
        rest = np.where(alone, usual[:, np.newaxis], own)
        found, size = rest.sum(axis=1, keepdims=True).clip(1.0), own.shape[1]
        while size > 1:
            halves = rest.reshape(BLOCKS_OF_ROWS, -1, 2, size // 2).sum(axis=-1)
            shown = np.abs(np.diff(halves)) > _SURE * error * math.sqrt(size)
            halves = halves.clip(0.0) + 1e-9
            shares = np.where(shown, halves / halves.sum(axis=-1, keepdims=True), 0.5)
            found = (found[..., np.newaxis] * shares).reshape(BLOCKS_OF_ROWS, -1)
            size //= 2
        found += np.where(alone, own - usual[:, np.newaxis].clip(0.0), 0.0)
        whole = found.sum(axis=1, keepdims=True)
        return cls(found / whole, np.where(alone, variance, 0.0) / whole**2)


@frozen(eq=False)
class ShapeNoise(ForestNoise):
    """The noise of counts up to places: that of blocks, and what is left within them.

    Counts follow from both and from the ranks (:meth:`moved`), as normal ones.
    """

    parts: Vector  # for each place, of the shares of blocks up to it
    within: Vector  # variance of what a block's cells up to it add, given the block's rows
    whole: Vector  # the same of all cells of a place's block
    tilt: Vector  # by how much a block's rows up to a place may exceed the shape's
    rank: Rank | None

    def between(self, first: Places, last: Places, shares: ArrayLike) -> Vector:  # noqa: ARG002
        """Return the variance of the rows up to `last`, less a share of all; `first` is 0."""
        shares = np.asarray(shares)
        variance = self._common(last, shares, last, shares)
        if self.rank is None:
            return variance
        known, gain = self._gain(last, shares)
        return np.asarray(np.maximum(variance - known * gain, 0.0))

    def moved(self, counts: Vector) -> Vector:
        """Return by how much a rank moves the counts up to all places, less half of all rows."""
        if self.rank is None:
            return np.zeros_like(counts)
        _, gain = self._gain(np.arange(counts.size), np.array(0.5))
        return np.asarray(gain * (counts[-1] / 2.0 - counts[self.rank.place]))

    def _gain(self, last: Places, shares: Vector) -> tuple[Vector, Vector]:
        """Return covariances with the rows up to a rank's place, and by how much it moves each."""
        rank, half = cast("Rank", self.rank), np.array(0.5)
        known = self._common(last, shares, rank.place, half)
        own = self._common(rank.place, half, rank.place, half)
        return known, known / (own + rank.variance)

    def _common(self, one: Places, share: Vector, other: Places, part: Vector) -> Vector:
        """Return the covariance of the rows up to two places, each less a share of all rows."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        size = self.parts.size // BLOCKS_OF_ROWS
        block, last = (np.maximum(each - 1, 0) // size for each in (low, high))
        same, a, b = block == last, self.parts[low] - block, self.parts[high] - block
        both = block + a * np.where(same, b, 1.0) + BLOCKS_OF_ROWS * share * part
        both -= part * self.parts[one] + share * self.parts[other]
        bridge = (1.0 - b) * self.within[low] + a * (b * self.whole[low] - self.within[high])
        bridge += self.tilt[low] * self.tilt[high]
        return np.asarray(self.block_variance * both + np.where(same, bridge, 0.0))


@frozen(eq=False)
class GroupCells:
    """The noisy counts of the blocks of one group, and the shape of all."""

    blocks: Vector
    variance: float
    shape: Shape
    rank: Rank | None = None

    @property
    def rows(self) -> float:
        """The number of all rows of one group."""
        return float(self.blocks.sum())

    @property
    def rows_variance(self) -> float:
        """Variance of the noise of `rows`."""
        return self.variance * BLOCKS_OF_ROWS

    @property
    def chosen(self) -> Places | None:
        """The place of the median, if that has less noise than counts have."""
        near = self.rank is not None and self.rank.variance < self.rows_variance / 4.0
        return cast("Rank", self.rank).place if near else None

    def distribution(self, points: Vector) -> PrivateDistribution:
        """Return the distribution over thresholds, whose counts rise.

        Where a median was chosen they are known better, and for shares of a half only.
        """
        shares, possible = self.shape.shares, max(1.0, self.rows)
        rows = self.blocks.clip(0.0)[:, np.newaxis]
        expected = rows * shares
        left = expected + rows**2 * self.shape.noise
        part, sums = shares.cumsum(axis=1), left.cumsum(axis=1)
        before = np.arange(BLOCKS_OF_ROWS)[:, np.newaxis]
        whole = np.broadcast_to(sums[:, -1:], sums.shape)
        tilt = _UNLIKE * rows * part * (1.0 - part)
        forest = Forest(points.size, (points.size // BLOCKS_OF_ROWS,))
        parts, *others = (np.append(0.0, each) for each in (before + part, sums, whole, tilt))
        errors = self.variance, self.rows_variance
        noise = ShapeNoise(forest, *errors, parts, others[0], others[1], others[2], self.rank)
        counts = np.append(0.0, np.cumsum(self.blocks[:, np.newaxis] * shares))
        counts = rising((counts + noise.moved(counts))[1:], possible)
        counts[-1] = possible
        return PrivateDistribution(points, counts, possible, noise)


@frozen(eq=False)
class ColumnValues:
    """The values of one column, in cells of a grid, by group."""

    points: Vector  # the last one stands for infinity
    whole: bool  # whether all values are whole numbers
    forest: Forest
    blocks: Margins  # the last axis holds the counts of blocks

    shape: Shape | None = None  # of all groups, within blocks
    ranks: dict[Dimensions, Rank] = field(factory=dict)  # of each margin's groups

    def of(self, dimensions: Dimensions, place: tuple[int, ...]) -> NoisyForest:
        """Return the forest of one group of a margin."""
        margin = self.blocks[dimensions]
        return NoisyForest(self.forest, margin.values[place], margin.variance)

    def cells_of(self, dimensions: Dimensions, place: tuple[int, ...]) -> NoisyForest | GroupCells:
        """Return the counts of one group of a margin, by a common shape if there is one."""
        if self.shape is None:
            return self.of(dimensions, place)
        margin, rank = self.blocks[dimensions], self.ranks.get(dimensions)
        if rank is not None:
            rank = Rank(rank.place[place], rank.variance)
        return GroupCells(margin.values[place], margin.variance, self.shape, rank)
