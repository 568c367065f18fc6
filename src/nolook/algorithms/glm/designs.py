"""A table as rows of weighted least squares: how they are made, and where they are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from nolook._arrays import Vector
from nolook._unit import Unit
from nolook.algorithms.glm.estimate import Noisy
from nolook.algorithms.kept_batches import KeptBatches
from nolook.algorithms.norm_bound import likely_counts, norm_counts, smallest_bound
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.whitening import Spread, spread_of
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import bounded_targets, weighted_rows
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.statistics import WeightedTotal
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity
from nolook.statistics.grid_models import RowBlock, grid_model
from nolook.tables import Table
from nolook.tables.folding import Batches, Foldable, Mapped, S, Together
from nolook.tables.table import Weights

__all__ = [
    "COPY_BYTES",
    "TARGET_LIMIT",
    "Blocks",
    "RowScores",
    "WeightedDesign",
    "choose_unit",
    "copy_room",
    "exact_gram",
    "limit_for",
    "release_gram",
    "release_score_moments",
    "release_spread",
    "released",
    "whitened_bound",
]

#: Gives the scores, shape (size, rows), of a block's rows.
RowScores: TypeAlias = Callable[[RowBlock], Vector]

#: The weighted rows are kept in memory if they surely take no more.
COPY_BYTES = 256 * 2**20

#: Targets are clipped to this many scales on either side of the centre.
TARGET_LIMIT = 50.0

# Features are clipped to L scales.
_LEAST_LIMIT, _MOST_LIMIT = 5.0, 20.0
# Rows of the Gram matrix at a time.
_PART_ROWS = 4096
_MOST_UNIT = 2**14
_LARGEST_ENTRY = 2**15 - 1
# Deviations of the released number of rows within which the true one surely is.
_SURELY = 6.0


def limit_for(rows: float, mu: float) -> float:
    """L: the more rows and budget, the farther features reach; in whole sixteenths."""
    limit = _LEAST_LIMIT * math.sqrt(rows * mu / 5000.0)
    return math.floor(16.0 * min(max(limit, _LEAST_LIMIT), _MOST_LIMIT)) / 16.0


def choose_unit(norm: float) -> int:
    """Return U, the largest power of two up to 2^14 with which rows of a norm fit 16 bits."""
    unit = _MOST_UNIT
    while unit > 1 and unit * norm > _LARGEST_ENTRY:
        unit //= 2
    return unit


def copy_room(scaling: Scaling, size: int, unit: Unit) -> int:
    """Return the bytes of rows that may be kept: 0 if all might take more than COPY_BYTES.

    Decided from the released number of rows, never from the true one. None where rows have weights:
    then units were counted, and nothing tells how many rows they have.
    """
    rows = scaling.rows.value + _SURELY * scaling.rows.error
    if unit.weight_scale > 1:
        return 0
    return COPY_BYTES if rows * RowBlock.bytes_of_a_row(size) <= COPY_BYTES else 0


@frozen(eq=False)
class WeightedDesign:
    """The design that turns a table into weighted rows: all of it released before."""

    scaling: Scaling  # of the columns in use, the target last
    squared_radius: int  # bound on a row's squared norm, in squares of 1/unit
    unit: int  # grid units in a scale, a power of two
    spread: Spread  # what rows are whitened by
    #: First entries of the model at which gradients begin; the others are 0.
    start: Vector = field(factory=lambda: np.zeros(0))
    #: Share of the gradients' mu^2 that is left for them.
    rest: float = 1.0
    #: Which column of a batch has exposures, if one has; the design leaves it out.
    exposed: int | None = field(default=None, kw_only=True)
    #: The usual exposure, the least and the most.
    exposures: tuple[float, float, float] = field(default=(1.0, 1.0, 1.0), kw_only=True)

    @property
    def size(self) -> int:
        """Length of a row: the features and a constant."""
        return self.scaling.features.size + 1

    @property
    def norm(self) -> float:
        """B, in standardised units."""
        return math.sqrt(self.squared_radius) / self.unit

    def on_grid(self, theta: Vector) -> tuple[Vector, float, int]:
        """Round a model to a grid on which its products with rows are exact."""
        return *grid_model(theta, self.squared_radius), self.unit

    def rows(self, batch: Vector, weights: Weights) -> Iterator[RowBlock]:
        """Make the weighted rows of a batch; one whose exposure is not above 0 has no weight."""
        own = None
        if self.exposed is not None:
            own, batch = batch[self.exposed], np.delete(batch, self.exposed, axis=0)
        center, scale = self.scaling.center[-1], self.scaling.scale[-1]
        standard = self.scaling.features
        bound = self.squared_radius, self.unit
        rows, squares, factors = weighted_rows(batch[:-1], standard, self.spread.whitening, *bound)
        targets = bounded_targets(batch[-1], float(center), float(scale), TARGET_LIMIT)
        if own is not None:
            usual, least, most = self.exposures
            absent = ~(own > 0.0)
            rows[:, absent], squares[absent], targets[absent] = 0, 0, 0.0
            own = own.clip(least, most) / usual
        yield RowBlock(rows, squares, targets, factors, weights, own)


class Blocks:
    """The blocks of a table: kept while they fit, computed again in every pass if they do not.

    They have rows in them, so none is kept here of rows that an engine reads where they are.
    """

    def __init__(self, table: Table, design: WeightedDesign, room: int) -> None:
        self.design = design
        self.room: float = room if table.engine is None else 0  # bytes
        self._table = table
        self._kept: list[tuple[Any, ...]] | None = None

    @property
    def whole(self) -> int:
        """Total weight of the rows of a unit; sums of weights are divided by it."""
        return self._table.unit.weight_scale

    def squared(self) -> Blocks:
        """Return the rows with the squares of their survey weights, if they have any."""
        weighting = self._table.unit.weighting
        if weighting is None:
            return self
        return Blocks(self._table.weighted(weighting, power=2), self.design, 0)

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all blocks, and return it.

        The first pass keeps them while there is room.
        """
        if self._kept is not None:
            return Batches(self._kept, self._table.threads).fold(statistic)
        kept = KeptBatches(self.room)
        fed: Foldable = Together(kept, statistic) if self.room else statistic
        self._table.fold(Mapped(fed, self.design.rows))
        if self.room:
            self._kept, self.room = kept.batches, 0
        return statistic

    def release(
        self, total: WeightedTotal, sensitivity: float, unit: float, mu: float, source: ByteSource
    ) -> Noisy:
        """Release the total of all rows, as :func:`released`."""
        return released(self.fold(total).value, sensitivity, unit, mu, source)


def released(
    exact: NDArray[np.object_], sensitivity: float, unit: float, mu: float, source: ByteSource
) -> Noisy:
    """Release a vector or a symmetric matrix in steps of 1/unit.

    Guarantee: ``mu``-GDP if the sensitivity is that of the exact one. A matrix's noise is smaller
    by sqrt(2) off the diagonal.
    """
    mechanism = gaussian_release if exact.ndim == 1 else symmetric_gaussian_release
    noisy = mechanism(exact, sensitivity, mu, source)
    return Noisy(noisy.astype(np.float64) / unit, sensitivity / unit / mu)


def exact_gram(blocks: Blocks) -> NDArray[np.object_]:
    """Return the sum of u u' over the rows, in one pass that may keep them."""
    design = blocks.design
    moments = DesignMoments(design.size, design.squared_radius, blocks.whole)
    blocks.fold(Mapped(moments, _rows_alone))
    return moments.value


def release_gram(blocks: Blocks, mu: float, source: ByteSource) -> Noisy:
    """Release the sum of u u' over the rows, in one pass that may keep them.

    Guarantee: ``mu``-GDP when a row is added or removed. Returns it in standardised units; its
    noise is smaller by sqrt(2) off the diagonal.
    """
    design = blocks.design
    sensitivity = gram_sensitivity(design.squared_radius, design.size, blocks.whole)
    return released(exact_gram(blocks), sensitivity, design.unit**2, mu, source)


def release_score_moments(
    blocks: Blocks, scored: RowScores, most: int, unit: float, mu: float, source: ByteSource
) -> Noisy:
    """Release the sum of s s' over the rows, s the row's part of a model's gradient.

    `scored` gives whole numbers in units of `unit`, no row's squares adding up to more than
    `most`. It is what the gradient varies by from sample to sample, whatever the
    residuals do; survey weights count by their squares. Guarantee: ``mu``-GDP when a row is added
    or removed. As :func:`release_gram`.
    """
    design, whole = blocks.design, blocks.whole
    moments = DesignMoments(design.size, most, whole)
    blocks.squared().fold(Mapped(moments, partial(_scores_in_parts, scored)))
    sensitivity = gram_sensitivity(most, design.size, whole)
    return released(moments.value, sensitivity, unit**-2, mu, source)


def release_spread(table: Table, scaling: Scaling, mu: float, source: ByteSource) -> Spread:
    """Release the rows' moments, and return what whitens them.

    Rows are shortened to what they measure on average, before anything else is known of them.
    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    size = scaling.features.size + 1
    unit = choose_unit(math.sqrt(size))
    design = WeightedDesign(scaling, size * unit**2, unit, Spread.standard(size - 1))
    # Rows are made anew: those that are kept are whitened.
    gram, sigma = release_gram(Blocks(table, design, 0), mu, source)
    return spread_of(gram, sigma, max(float(gram[0, 0]), 1.0), scaling.feature_limits)


def whitened_bound(
    table: Table, scaling: Scaling, spread: Spread, few: float, mu: float, source: ByteSource
) -> int:
    """Choose a bound on the squared norm of whitened features, in squares of 1/UNIT.

    The noise grows with it, and rows beyond it, about `few`, lose weight.
    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    counts, squares = norm_counts(table, scaling.features, spread.whitening, mu, source)
    usual = UNIT**2 * (len(spread.center) + 0.5)
    counts = likely_counts(counts, squares, 1 / mu, scaling.rows.value, usual)
    return int(smallest_bound(counts, squares, few))


def _rows_alone(*block: Any) -> Iterator[tuple[NDArray[np.int16], Weights]]:  # noqa: ANN401
    own = RowBlock(*block)
    yield own.rows, own.weights


def _scores_in_parts(
    scored: RowScores,
    *block: Any,  # noqa: ANN401
) -> Iterator[tuple[Vector, Weights]]:
    """Yield the rows' scores, few at a time."""
    own = RowBlock(*block)
    for start in range(0, own.rows.shape[1], _PART_ROWS):
        some = own.part(slice(start, start + _PART_ROWS))
        yield scored(some), some.weights
