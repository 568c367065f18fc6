"""Models of weighted rows on a grid: what each family of outcomes expects of a row.

A row is u = f x, f the factor by which the whole row x was shortened, and y its target. For a model
theta on a grid that :func:`grid_model` makes, ``theta'u`` is exact, so a residual ``f (y - m)``, m
the mean at the whole row, depends on its own row alone, to the last bit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook.kernels.row_models import exponentials, probabilities, scores
from nolook.statistics import WeightedTotal

__all__ = [
    "LARGEST_MEAN",
    "MOST_ROWS",
    "BlockTotal",
    "ClassModel",
    "CountModel",
    "GridModel",
    "RowBlock",
    "ShortenedModel",
    "grid_model",
]

Rows = NDArray[np.int16]

#: Rows of a block. A clip is below 2^30, so a block's sums are exact.
MOST_ROWS = 2**17
#: Means of counts are cut at so many scales of the target.
LARGEST_MEAN = 50.0

# Exponents of a model's grid: its products with rows stay far inside the range of doubles.
_LEAST_EXPONENT = -500
_MOST_EXPONENT = 500


def grid_model(theta: Array, squared_radius: int) -> tuple[Array, float]:
    """Round a finite model to a grid so coarse that its product with any row is exact in float64.

    Returns whole numbers, whose norm times that of a row within `squared_radius` is at most 2^52,
    and the grid's spacing, a power of two: the rounded model is ``spacing * whole_model``.
    """
    theta = theta.clip(-(2.0**_MOST_EXPONENT), 2.0**_MOST_EXPONENT)
    # Entries up to 2^bits: norms up to sqrt(p) 2^bits.
    norm = math.isqrt(theta.size * squared_radius) + 1
    bits = 52 - norm.bit_length()
    exponent = max(math.frexp(float(np.abs(theta).max(initial=0.0)))[1], _LEAST_EXPONENT) - bits
    return np.rint(np.ldexp(theta, -exponent)), math.ldexp(1.0, exponent)


# A tuple: a total is updated with its parts.
class RowBlock(NamedTuple):
    """Some rows in few bytes."""

    rows: Rows  # shape (size, rows), at most MOST_ROWS of them
    squares: NDArray[np.int32]  # |u_x|^2
    targets: Array  # standardised; a class is positive or not
    factors: Array  # by which the row was shortened: above 0, at most 1
    weights: NDArray[np.int64] | None = None  # whole numbers up to 2^30; None: 1
    exposures: Array | None = None  # that means are in proportion to, above 0; None: 1

    def part(self, place: slice) -> RowBlock:
        """Return some of the rows."""
        rows = np.ascontiguousarray(self.rows[:, place])
        weights = None if self.weights is None else self.weights[place]
        exposures = None if self.exposures is None else self.exposures[place]
        numbers = self.squares[place], self.targets[place], self.factors[place]
        return RowBlock(rows, *numbers, weights, exposures)

    @staticmethod
    def bytes_of_a_row(size: int) -> int:
        """Return the memory of a row of `size` numbers without a weight."""
        return 2 * size + 4 + 8 + 8 + 8


class BlockTotal(WeightedTotal):
    """A sum over blocks of rows, each given by its parts."""

    def update(self, *block: Any) -> Self:  # noqa: ANN401
        """Add a block's rows."""
        self._total = self._total + self._of(RowBlock(*block))
        return self

    def _of(self, block: RowBlock) -> Any:  # noqa: ANN401 -- whole numbers
        """Return the sum over a block, without weights within 2^53."""
        raise NotImplementedError


@frozen(eq=False)
class GridModel:
    """A linear model of rows on a grid: ``spacing * whole`` in standardised units."""

    whole: Array  # whole numbers, shape (size,)
    spacing: float  # a power of two
    unit: int  # of the rows' grid, a power of two

    def scores(self, rows: Rows) -> Array:
        """Return ``theta'u`` of every row."""
        return scores(rows, self.whole, self.spacing / self.unit)

    def predictors(self, block: RowBlock) -> Array:
        """Return ``theta'x`` of every whole row."""
        return self.scores(block.rows) / block.factors

    def residuals(self, block: RowBlock) -> Array:
        """Return ``f (y - m)`` of every row."""
        return block.targets * block.factors - self.scores(block.rows)


@frozen(eq=False)
class ShortenedModel(GridModel):
    """A linear model of shortened rows, which it predicts."""

    def residuals(self, block: RowBlock) -> Array:
        """Return ``y - theta'u`` of every row."""
        return block.targets - self.scores(block.rows)


@frozen(eq=False)
class ClassModel(GridModel):
    """A logistic model: y is 1 where the target is positive, else 0, and m its probability."""

    steepest: float = 0.25  # what `slopes` are at most

    def residuals(self, block: RowBlock) -> Array:
        """Return ``f (y - p)`` of every row, at most 1 in size."""
        classes = (block.targets > 0.0).astype(np.float64)
        return (classes - probabilities(self.predictors(block))) * block.factors

    def slopes(self, block: RowBlock) -> Array:
        """Return ``p (1 - p)`` of every row."""
        p = probabilities(self.predictors(block))
        return p * (1.0 - p)


@frozen(eq=False)
class CountModel(GridModel):
    """A model of counts: m is the exposure times the exponential of ``theta'x``."""

    steepest: float = LARGEST_MEAN  # what `slopes` are cut at

    def means(self, block: RowBlock) -> Array:
        """Return the mean of every row, at most LARGEST_MEAN."""
        found = exponentials(self.predictors(block))
        if block.exposures is not None:
            found *= block.exposures
        return np.minimum(found, LARGEST_MEAN, out=found)

    def residuals(self, block: RowBlock) -> Array:
        """Return ``f (y - m)`` of every row."""
        return (block.targets - self.means(block)) * block.factors

    def slopes(self, block: RowBlock) -> Array:
        """Return the derivative of the mean by ``theta'x``: the mean itself, up to its cut."""
        return np.minimum(self.means(block), self.steepest)
