"""A table as rows of weighted least squares: how they are made, and where they are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._unit import Unit
from nolook.algorithms.scaling import Scaling
from nolook.kernels.bounded_rows import bounded_targets
from nolook.kernels.weighted_rows import weighted_rows
from nolook.privacy.mechanisms.gaussian import symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity
from nolook.statistics.weighted_rows import RowBlock
from nolook.tables import Table

__all__ = [
    "COPY_BYTES",
    "TARGET_LIMIT",
    "Blocks",
    "WeightedDesign",
    "choose_unit",
    "copy_room",
    "limit_for",
    "release_gram",
]

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
    """Return how many bytes of rows may be kept: none if all might take more than COPY_BYTES.

    Decided from the released number of rows, never from the true one. None where rows have weights:
    then units were counted, and nothing tells how many rows they have.
    """
    rows = scaling.rows.value + _SURELY * scaling.rows.error
    if unit.whole > 1:
        return 0
    return COPY_BYTES if rows * RowBlock.bytes_of_a_row(size) <= COPY_BYTES else 0


@frozen(eq=False)
class WeightedDesign:
    """How a table becomes weighted rows: all of it released before."""

    scaling: Scaling  # of the columns in use, the target last
    squared_radius: int  # bound on a row's squared norm, in squares of 1/unit
    unit: int  # grid units in a scale, a power of two

    @property
    def size(self) -> int:
        """Length of a row: the features and a constant."""
        return len(self.scaling.names)

    @property
    def norm(self) -> float:
        """B, in standardised units."""
        return math.sqrt(self.squared_radius) / self.unit

    def blocks(self, table: Table) -> Iterator[RowBlock]:
        """Make the weighted rows of a table of these features and the target, block by block."""
        scaling = self.scaling
        low, high = scaling.limits
        standard = scaling.center[:-1], scaling.scale[:-1], low[:-1], high[:-1]
        target = float(scaling.center[-1]), float(scaling.scale[-1]), TARGET_LIMIT
        for batch, weights in table.weighted_batches():
            rows, squares, factors = weighted_rows(
                batch[:-1], standard, self.squared_radius, self.unit
            )
            factors *= bounded_targets(batch[-1], *target)
            yield RowBlock(rows, squares, factors, weights)


@dataclass
class Blocks:
    """The blocks of a table: kept while they fit, made anew for every pass if they do not."""

    table: Table
    design: WeightedDesign
    room: int  # bytes
    kept: list[RowBlock] | None = field(default_factory=list)

    @property
    def whole(self) -> int:
        """What the rows of a unit weigh together; sums of weights are divided by it."""
        return self.table.unit.whole

    def first(self) -> Iterator[RowBlock]:
        """Make the blocks, and keep them while there is room."""
        for block in self.design.blocks(self.table):
            if self.kept is not None:
                self.room -= block.bytes
                if self.room >= 0:
                    self.kept.append(block)
                else:
                    self.kept = None
            yield block

    def again(self) -> Iterable[RowBlock]:
        """Return the same blocks."""
        return self.design.blocks(self.table) if self.kept is None else self.kept


def release_gram(
    blocks: Blocks, mu: float, source: ByteSource
) -> tuple[NDArray[np.float64], float]:
    """Release the sum of u u' over the rows, in one pass that may keep them.

    Guarantee: ``mu``-GDP when a row is added or removed. Returns it in standardised units, and its
    noise's deviation on the diagonal, which is smaller by sqrt(2) elsewhere.
    """
    design, whole = blocks.design, blocks.whole
    moments = DesignMoments(design.size, design.squared_radius, 0, whole)
    for block in blocks.first():
        for start in range(0, block.targets.size, _PART_ROWS):
            part = slice(start, start + _PART_ROWS)
            weights = None if block.weights is None else block.weights[part]
            moments.update(block.rows[:, part].astype(np.float64), weights=weights)
    sensitivity = gram_sensitivity(design.squared_radius, design.size, whole)
    noisy = symmetric_gaussian_release(moments.gram, sensitivity, mu, source)
    return noisy.astype(np.float64) / design.unit**2, sensitivity / mu / design.unit**2
