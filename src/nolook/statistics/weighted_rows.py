"""Rows of weighted least squares, kept in few bytes or made anew, and exact sums over them.

A row is an integer vector ``u = (u_0, u_x)`` of 16-bit numbers with ``|u|^2 <= squared_radius``,
made by :func:`nolook.kernels.weighted_rows.weighted_rows`, f the factor that made it of the whole
row, and y its target. For a model theta on a grid that
:func:`nolook.statistics.residual_products.grid_model` makes, ``theta'u`` is exact, so the residual
``rho = f y - theta'u`` depends on its own row alone, to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import scores
from nolook.kernels.clipped_products import clipped_products
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.weights import weight_parts
from nolook.statistics import Statistic, WeightedTotal, rounding_sensitivity

__all__ = [
    "ERROR_UNIT",
    "LARGEST_ERROR",
    "MOST_ROWS",
    "PRODUCT_UNIT",
    "SCORE_RADIUS",
    "SCORE_UNIT",
    "ClippedProducts",
    "GridModel",
    "ModelErrors",
    "ProductSizes",
    "RowBlock",
    "clipped_products_sensitivity",
    "clipped_scores",
    "errors_sensitivity",
]

Array = NDArray[np.float64]

#: Residuals of clipped products are whole multiples of 1/PRODUCT_UNIT of the target's scale.
PRODUCT_UNIT = 2**12
#: Errors are cut off at this many scales of the target ...
LARGEST_ERROR = 4
#: ... and are whole multiples of 1/ERROR_UNIT of a scale.
ERROR_UNIT = 2**12

#: A row's clipped score is whole multiples of 1/SCORE_UNIT of the clip ...
SCORE_UNIT = 2**12
#: ... whose squares add up to less than this.
SCORE_RADIUS = 5 * SCORE_UNIT**2 // 4

#: Rows of a block. A clip is below 2^30, so a block's sums are exact.
MOST_ROWS = 2**17

# Room for the rounding of a norm, a quotient and a product.
_ROOM = 1.0 - 2.0**-40
# Of weights at a time; sums are of 64 bits.
_WEIGHT_BITS = 10


class RowBlock(NamedTuple):
    """Some rows in few bytes."""

    rows: NDArray[np.int16]  # shape (size, rows), at most MOST_ROWS of them
    squares: NDArray[np.int32]  # |u_x|^2
    targets: Array  # standardised; a class is positive or not
    factors: Array  # by which the row was shortened: above 0, at most 1
    weights: NDArray[np.int64] | None = None  # whole numbers up to 2^30; None: 1

    @property
    def bytes(self) -> int:
        """What the block takes in memory."""
        return sum(part.nbytes for part in self if part is not None)

    @staticmethod
    def bytes_of_a_row(size: int) -> int:
        """Return what a row of `size` numbers takes without a weight."""
        return 2 * size + 4 + 8 + 8


class GridModel(NamedTuple):
    """A linear model of rows on a grid: ``spacing * whole`` in standardised units."""

    whole: Array  # whole numbers, shape (size,)
    spacing: float  # a power of two
    unit: int  # of the rows' grid, a power of two

    def scores(self, rows: NDArray[np.int16]) -> Array:
        """Return ``theta'u`` of every row."""
        return scores(rows, self.whole, self.spacing / self.unit)

    def log_odds(self, rows: NDArray[np.int16], factors: Array) -> Array:
        """Return ``theta'u / f`` of every row: that of the whole row."""
        return self.scores(rows) / factors

    def residuals(self, rows: NDArray[np.int16], targets: Array, factors: Array) -> Array:
        """Return ``f y - theta'u`` of every row."""
        return targets * factors - self.scores(rows)


class ProductSizes(Statistic):
    """Counts of rows by the smallest clip that leaves them whole: ``max(|u_x|, 2 u_0) |rho|``.

    In scales, between increasing edges. Without the constant, a clip for rows whose features are
    mostly 0 would hold it where it is. A row is in one bin: the sensitivity is that of a histogram
    of one column.
    """

    def __init__(self, model: GridModel, edges: Array) -> None:
        self._model, self._edges = model, edges
        self.value = np.zeros(edges.size + 1, dtype=np.int64)

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],
        targets: Array,
        factors: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Count a block's rows, each as often as its weight says."""
        longest = np.maximum(squares, 4 * rows[0].astype(np.int32) ** 2)
        sizes = np.sqrt(longest.astype(np.float64))
        sizes /= self._model.unit
        sizes *= np.abs(self._model.residuals(rows, targets, factors))
        self.value += threshold_counts(sizes, self._edges, weights)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value += other.value
        return self


def clipped_products_sensitivity(most: int, size: int = 0, whole: int = 1) -> int:
    """L2 sensitivity of :class:`ClippedProducts` under add-remove, rounded up.

    A row adds ``(u_0 q_0, u_x q_x)``, whose parts have norms of at most ``most / 2`` and ``most``.
    With weights, which need the `size` of a row, rounding adds its root.
    """
    squared = 5 * most**2
    root = math.isqrt(squared)
    half = -(-(root + (root * root < squared)) // 2)
    return half + rounding_sensitivity(size, whole)


def clipped_scores(
    model: GridModel,
    clip: float,
    rows: NDArray[np.int16],
    squares: NDArray[np.int32],
    targets: Array,
    factors: Array,
) -> Array:
    """Return ``(u_0 q_0, u_x q_x)`` of every row in units of ``clip / SCORE_UNIT``, truncated.

    Whole numbers, shape (size, rows): of the features at most SCORE_UNIT long, the constant at most
    half of it. `clip`, above 0, is in scales, as is that of :class:`ClippedProducts`.
    """
    residuals = model.residuals(rows, targets, factors) / (clip * model.unit)
    sizes, most = np.abs(residuals), _ROOM * SCORE_UNIT
    longest = np.sqrt(np.maximum(squares, 1).astype(np.float64))
    scores = rows * (most * np.copysign(np.minimum(sizes, 1.0 / longest), residuals))
    twice = 2.0 * np.maximum(rows[0], 0.5)
    scores[0] = rows[0] * (most * np.copysign(np.minimum(sizes, 1.0 / twice), residuals))
    return np.trunc(scores, out=scores)


class ClippedProducts(WeightedTotal, Statistic):
    """The sum of ``(u_0 q_0, u_x q_x)``, q_0 and q_x a row's residual clipped for either part.

    ``|u_x q_x| <= most`` and ``|u_0 q_0| <= most / 2``, whole multiples of
    ``1 / (unit PRODUCT_UNIT)``.
    """

    def __init__(self, model: GridModel, most: int, whole: int = 1) -> None:
        super().__init__(model.whole.size, whole)
        self._model, self._most = model, most

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],
        targets: Array,
        factors: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows, whose sums stay within MOST_ROWS * most < 2^53 without weights."""
        shrink = self._model.spacing / self._model.unit
        self._total = self._total + clipped_products(
            rows,
            squares,
            targets,
            factors,
            self._model.whole,
            shrink,
            PRODUCT_UNIT,
            self._most,
            weights,
        )
        return self


def errors_sensitivity(whole: int = 1) -> int:
    """L2 sensitivity of :class:`ModelErrors` under add-remove, rounded up: both sums grow."""
    return math.isqrt(2 * (LARGEST_ERROR * ERROR_UNIT) ** 4) + 1 + rounding_sensitivity(2, whole)


class ModelErrors(WeightedTotal, Statistic):
    """Sums of ``min(|y - c|, 4)^2`` and ``min(|y - theta'x|, 4)^2``, in squares of 1/ERROR_UNIT.

    They are of the rows before they were shortened.
    """

    def __init__(self, model: GridModel, constant: float, whole: int = 1) -> None:
        super().__init__(2, whole)
        self._model, self._constant = model, constant

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],  # noqa: ARG002 -- a part of a block
        targets: Array,
        factors: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows."""
        constant = targets - self._constant
        errors = np.stack([constant, self._model.residuals(rows, targets, factors) / factors])
        np.abs(errors, out=errors)
        errors *= ERROR_UNIT
        squared = np.minimum(np.trunc(errors), LARGEST_ERROR * ERROR_UNIT).astype(np.int64) ** 2
        for factor, part in weight_parts(weights, _WEIGHT_BITS):
            # At most 2^17 rows of 2^28.
            sums = (squared if isinstance(part, float) else squared * part.astype(np.int64)).sum(1)
            self._total = self._total + factor * sums.astype(object)
        return self
