"""A table as whitened rows (1, x) of two classes, and how they are whitened and bounded.

Rows are shortened by x alone, in training and in prediction. What whitens them are moments of rows
that are shortened to what a row measures on average, before anything else is known of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.linear_design import Blocks, WeightedDesign, choose_unit, release_gram
from nolook.algorithms.norm_bound import likely_counts, smallest_bound, whitened_norm_counts
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.whitening import Spread, spread_of
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import whitened_rows
from nolook.privacy.noise import ByteSource
from nolook.statistics.weighted_rows import RowBlock
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = ["ClassDesign", "choose_design", "release_spread", "whitened_bound"]

# Share of the rows that may be shortened.
_MOST_SHORTENED = 0.5

Matrix = NDArray[np.float64]


@frozen(eq=False)
class ClassDesign(WeightedDesign):
    """How a table becomes whitened rows (1, x) of bounded norm: all of it released before."""

    def rows(self, batch: Matrix, weights: Weights) -> Iterator[RowBlock]:
        """Make the rows of a batch of these features and a target of 0 and 1."""
        bound = self.squared_radius - self.unit**2, self.unit
        rows, squares = whitened_rows(batch[:-1], self._standard, self.spread.whitening, *bound)
        yield RowBlock(rows, squares, (batch[-1] > 0.5).astype(np.float64), weights)


def release_spread(table: Table, scaling: Scaling, mu: float, source: ByteSource) -> Spread:
    """Release the rows' moments, and return what whitens them.

    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    size = table.n_columns
    unit = choose_unit(math.sqrt(size))
    design = ClassDesign(scaling, size * unit**2, unit, Spread.standard(size - 1))
    low, high = (end[:-1] for end in scaling.limits)
    # Rows are made anew: those that are kept are whitened.
    gram, sigma = release_gram(Blocks(table, design, 0), mu, source)
    return spread_of(gram, sigma, max(scaling.rows.value, 1.0), (low, high))


def whitened_bound(
    table: Table, scaling: Scaling, spread: Spread, few: float, mu: float, source: ByteSource
) -> int:
    """Choose a bound on the squared norm of whitened features, in squares of 1/UNIT.

    The noise grows with it, and rows beyond it, about `few`, are shortened or lose weight.
    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    counts, squares = whitened_norm_counts(table, scaling, spread.whitening, mu, source)
    usual = UNIT**2 * (table.n_columns - 0.5)
    counts = likely_counts(counts, squares, 1 / mu, scaling.rows.value, usual)
    return int(smallest_bound(counts, squares, few))


def choose_design(
    table: Table, scaling: Scaling, spread: Spread, few: float, mu: float, source: ByteSource
) -> ClassDesign:
    """Choose R, with about `few` rows beyond, which are shortened.

    Guarantee: ``mu``-GDP when a row is added or removed.
    """
    few = min(few, _MOST_SHORTENED * scaling.rows.value)
    squared = whitened_bound(table, scaling, spread, few, mu, source)
    unit = choose_unit(math.sqrt(1.0 + squared / UNIT**2))
    return ClassDesign(scaling, unit**2 + squared // (UNIT // unit) ** 2, unit, spread)
