"""Rows of bounded norm by public scales, as papers presume them; nolook finds scales itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Flags, Matrix, Vector
from nolook.algorithms.glm.designs import Blocks, WeightedDesign
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.whitening import Spread
from nolook.kernels.weighted_rows import bounded_targets
from nolook.statistics.grid_models import RowBlock
from nolook.tables import Table
from nolook.tables.table import Weights
from papers.bounded_rows import bounded_rows

__all__ = ["PublicDesign", "public_design", "public_scaling"]


def public_scaling(names: tuple[str, ...], scale: Vector | float, limit: float) -> Scaling:
    """Return a scaling that was not found in any table: centre 0, public positive scales."""
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (len(names),)).copy()
    return Scaling(names, np.zeros(len(names)), scales, np.ones(len(names), dtype=np.bool_), limit)


@frozen(eq=False)
class PublicDesign(WeightedDesign):
    """Rows (1, x) that are shrunk to a norm, as published: their targets stay as they are."""

    def rows(self, batch: Matrix, weights: Weights) -> Iterator[RowBlock]:
        """Make the rows of a batch."""
        scaling, count = self.scaling, batch.shape[1]
        center, scale = scaling.center, scaling.scale
        low, high = (end[:-1] for end in scaling.limits)
        bound = self.squared_radius, self.unit
        rows = bounded_rows(batch[:-1], center[:-1], scale[:-1], low, high, *bound)
        targets = bounded_targets(batch[-1], float(center[-1]), float(scale[-1]), scaling.limit)
        squares = np.zeros(count, dtype=np.int32)  # nothing is clipped by them
        yield RowBlock(rows.astype(np.int16), squares, targets, np.ones(count), weights)


def public_design(
    table: Table, scale_x: float, scale_y: float, norm: float, unit: int
) -> tuple[Scaling, Flags, Blocks]:
    """Return the scaling, the features kept and the rows of a table by public scales and norm.

    The scales are those of every feature and of the target; columns of 0 and 1 by type stay in that
    range. `norm` is B_x, at least 1, and `unit` the grid of the rows, a power of two. Releases
    nothing.
    """
    scale = np.full(table.n_columns, scale_x)
    scale[-1] = scale_y
    scaling = evolve(public_scaling(table.column_names, scale, math.inf), binary=table.binary)
    squared, spread = math.floor((norm * unit) ** 2), Spread.standard(table.n_columns - 1)
    blocks = Blocks(table, PublicDesign(scaling, squared, unit, spread), 0)
    return scaling, scaling.detected[:-1], blocks
