"""Exact sums over weighted rows, for one model after another: gradients, sizes, curvature, errors.

Rows are blocks of :class:`nolook.statistics.grid_models.RowBlock`, integer vectors
``u = (u_0, u_x)`` with ``|u|^2 <= squared_radius``, made by
:func:`nolook.kernels.weighted_rows.weighted_rows`; rho is a row's residual ``f (y - m)`` by a
:class:`nolook.statistics.grid_models.GridModel`, a function of the row.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook._numerics import logarithms
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.row_models import clipped_products, residual_products
from nolook.kernels.weights import integer_sums, weighted_sums
from nolook.statistics import Statistic, rounding_sensitivity
from nolook.statistics.design_moments import gram_sensitivity, product_sensitivity
from nolook.statistics.grid_models import BlockTotal, ClassModel, CountModel, GridModel, RowBlock

__all__ = [
    "CURVATURE_STEPS",
    "ERROR_UNIT",
    "LARGEST_DEVIANCE",
    "LARGEST_ERROR",
    "PRODUCT_UNIT",
    "RESIDUAL_UNIT",
    "SCORE_RADIUS",
    "SCORE_UNIT",
    "ClippedProducts",
    "ErrorSides",
    "ErrorSizes",
    "ModelCurvature",
    "ModelDeviances",
    "ModelErrors",
    "ProductSizes",
    "UnitProducts",
    "clipped_products_sensitivity",
    "clipped_scores",
    "curvature_sensitivity",
    "deviances_sensitivity",
    "errors_sensitivity",
    "unit_products_sensitivity",
    "unit_scores",
]

#: Residuals of clipped products are whole multiples of 1/PRODUCT_UNIT of the target's scale.
PRODUCT_UNIT = 2**12
#: Residuals that are at most 1 in size are whole multiples of 1/RESIDUAL_UNIT.
RESIDUAL_UNIT = 2**14
#: The slope of a mean is a whole multiple of the steepest over CURVATURE_STEPS.
CURVATURE_STEPS = 2**10
#: Errors are cut off at this many scales of the target ...
LARGEST_ERROR = 4
#: ... deviances at so many ...
LARGEST_DEVIANCE = LARGEST_ERROR**2
#: ... and errors are whole multiples of 1/ERROR_UNIT of a scale, deviances of its square.
ERROR_UNIT = 2**12

#: A row's clipped score is whole multiples of 1/SCORE_UNIT of the clip ...
SCORE_UNIT = 2**12
#: ... whose squares add up to less than this.
SCORE_RADIUS = 5 * SCORE_UNIT**2 // 4

# Room for the rounding of a norm, a quotient and products.
_ROOM = 1.0 - 2.0**-40
# Rows of a curvature at a time: their products add up to at most 2^12 2^10 2^30 < 2^53. With
# weights in parts of 5 bits each row's are larger by so many.
_PART_ROWS = 4096
_CURVATURE_BITS, _WEIGHTED_ROWS = 5, 256


class ProductSizes(Statistic):
    """Counts of rows by the smallest clip that leaves them whole: ``max(|u_x|, 2 u_0) |rho|``.

    In scales, between increasing edges. Without the constant, a clip for rows whose features are
    mostly 0 would hold it where it is. A row is in one bin: the sensitivity is that of a histogram
    of one column.
    """

    def __init__(self, model: GridModel, edges: Array) -> None:
        self._model, self._edges = model, edges
        self.value = np.zeros(edges.size + 1, dtype=np.int64)

    def update(self, *block: Any) -> Self:  # noqa: ANN401
        """Count a block's rows, each as often as its weight says."""
        own = RowBlock(*block)
        self.value += threshold_counts(self._sizes(own), self._edges, own.weights)
        return self

    def _sizes(self, block: RowBlock) -> Array:
        longest = np.maximum(block.squares, 4 * block.rows[0].astype(np.int32) ** 2)
        lengths: Array = np.sqrt(longest.astype(np.float64)) / self._model.unit
        return lengths * np.abs(self._model.residuals(block))

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value += other.value
        return self


class ErrorSizes(ProductSizes):
    """Counts of rows by the size of their error ``|y - m|``, before they were shortened.

    In scales of the target, between increasing edges, each of which belongs to the bin below it.
    """

    def _sizes(self, block: RowBlock) -> Array:
        return np.abs(self._model.residuals(block) / block.factors)


class ErrorSides(ProductSizes):
    """Counts of rows far below their prediction, near it, and far above: shape (3,).

    `far` is in scales of the target.
    """

    def __init__(self, model: GridModel, far: float) -> None:
        super().__init__(model, np.array([-far, far]))

    def _sizes(self, block: RowBlock) -> Array:
        return self._model.residuals(block) / block.factors


def clipped_products_sensitivity(most: int, size: int = 0, whole: int = 1) -> int:
    """L2 sensitivity of :class:`ClippedProducts` under add-remove, rounded up.

    A row adds ``(u_0 q_0, u_x q_x)``, whose parts have norms of at most ``most / 2`` and ``most``.
    With weights, which need the `size` of a row, rounding adds its root.
    """
    squared = 5 * most**2
    root = math.isqrt(squared)
    half = -(-(root + (root * root < squared)) // 2)
    return half + rounding_sensitivity(size, whole)


class ClippedProducts(BlockTotal):
    """The sum of ``(u_0 q_0, u_x q_x)``, q_0 and q_x a row's residual clipped for either part.

    ``|u_x q_x| <= most`` and ``|u_0 q_0| <= most / 2``, whole multiples of
    ``1 / (unit PRODUCT_UNIT)``.
    """

    def __init__(self, model: GridModel, most: int, whole: int = 1) -> None:
        super().__init__(model.whole.size, whole)
        self._model, self._most = model, most

    def _of(self, block: RowBlock) -> NDArray[np.object_]:
        """Return the sum over a block: within MOST_ROWS * most < 2^53 without weights."""
        own = block.rows, block.squares, self._model.residuals(block)
        return clipped_products(*own, PRODUCT_UNIT, self._most, block.weights)


def unit_products_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> int:
    """L2 sensitivity of :class:`UnitProducts` of classes under add-remove, rounded up.

    A row adds ``u q`` with ``|u|^2 <= squared_radius`` and ``|q| <= RESIDUAL_UNIT``. With weights,
    which need the `size` of a row, rounding adds its root.
    """
    return product_sensitivity(squared_radius, RESIDUAL_UNIT, size, whole)


class UnitProducts(BlockTotal):
    """The sum of ``u q``, q a row's residual clipped to ``most / RESIDUAL_UNIT`` in size.

    By default that is 1, which a residual of classes never exceeds. In whole multiples of
    ``1 / (unit RESIDUAL_UNIT)``; `most` is at most 2^20. The sensitivity is that of
    :func:`nolook.statistics.design_moments.product_sensitivity`.
    """

    def __init__(self, model: GridModel, whole: int = 1, most: int = RESIDUAL_UNIT) -> None:
        super().__init__(model.whole.size, whole)
        self._model, self._most = model, most

    def _of(self, block: RowBlock) -> NDArray[np.object_]:
        """Return the sum over a block: within MOST_ROWS 2^15 most <= 2^52 without weights."""
        own = block.rows, self._model.residuals(block)
        return residual_products(*own, RESIDUAL_UNIT, self._most, block.weights)


def clipped_scores(model: GridModel, clip: float, block: RowBlock) -> Array:
    """Return ``(u_0 q_0, u_x q_x)`` of every row in units of ``clip / SCORE_UNIT``, truncated.

    Whole numbers, shape (size, rows): of the features at most SCORE_UNIT long, the constant at most
    half of it. `clip`, above 0, is in scales, as is that of :class:`ClippedProducts`.
    """
    rows, residuals = block.rows, model.residuals(block) / (clip * model.unit)
    sizes, most = np.abs(residuals), _ROOM * SCORE_UNIT
    longest = np.sqrt(np.maximum(block.squares, 1).astype(np.float64))
    scores = rows * (most * np.copysign(np.minimum(sizes, 1.0 / longest), residuals))
    twice = 2.0 * np.maximum(rows[0], 0.5)
    scores[0] = rows[0] * (most * np.copysign(np.minimum(sizes, 1.0 / twice), residuals))
    return np.trunc(scores, out=scores)


def unit_scores(model: ClassModel, squared_radius: int, block: RowBlock) -> Array:
    """Return ``u rho`` of every row, its part of the gradient, where rho is at most 1 in size.

    In units of ``B / SCORE_UNIT`` for rows of a norm up to B, truncated: whole numbers, shape
    (size, rows), whose squares add up to at most ``SCORE_UNIT^2`` a row.
    """
    most = _ROOM * SCORE_UNIT / math.sqrt(squared_radius)
    scores = block.rows * (model.residuals(block) * most)
    return np.trunc(scores, out=scores)


def curvature_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> int:
    """Sensitivity of :class:`ModelCurvature` in the Frobenius norm under add-remove.

    A row adds ``c u u'`` with ``|u|^2 <= squared_radius`` and c from 0 to CURVATURE_STEPS. With
    weights, which need the `size` of a row, rounding adds it.
    """
    return gram_sensitivity(squared_radius * CURVATURE_STEPS, size, whole)


class ModelCurvature(BlockTotal):
    """The sum of ``c u u'``, c the slope of a row's mean: what the gradient falls by.

    In whole multiples of ``steepest / (unit^2 CURVATURE_STEPS)``, shape (size, size).
    """

    def __init__(self, model: ClassModel | CountModel, whole: int = 1) -> None:
        super().__init__((model.whole.size, model.whole.size), whole)
        self._model = model

    def _of(self, block: RowBlock) -> NDArray[np.object_]:
        curved = np.trunc(self._model.slopes(block) * (CURVATURE_STEPS / self._model.steepest))
        np.minimum(curved, CURVATURE_STEPS, out=curved)

        def products(place: slice, part: Array | float) -> NDArray[np.int64]:
            own = block.rows[:, place].astype(np.float64)
            sums: NDArray[np.int64] = ((curved[place] * part * own) @ own.T).astype(np.int64)
            return sums

        at_once = _PART_ROWS if block.weights is None else _WEIGHTED_ROWS
        size = self._total.shape, curved.size, at_once
        return weighted_sums(products, *size, block.weights, _CURVATURE_BITS)


def errors_sensitivity(whole: int = 1) -> int:
    """L2 sensitivity of :class:`ModelErrors` under add-remove, rounded up: both sums grow."""
    return math.isqrt(2 * (LARGEST_ERROR * ERROR_UNIT) ** 4) + 1 + rounding_sensitivity(2, whole)


class ModelErrors(BlockTotal):
    """Sums of ``min(|y - c|, 4)^2`` and ``min(|y - m|, 4)^2``, in squares of 1/ERROR_UNIT.

    They are of the rows before they were shortened.
    """

    def __init__(self, model: GridModel, constant: float, whole: int = 1) -> None:
        super().__init__(2, whole)
        self._model, self._constant = model, constant

    def _of(self, block: RowBlock) -> NDArray[np.object_]:
        own = self._model.residuals(block) / block.factors
        errors = np.abs(np.stack([block.targets - self._constant, own]))
        errors *= ERROR_UNIT
        squared = np.minimum(np.trunc(errors), LARGEST_ERROR * ERROR_UNIT).astype(np.int64) ** 2
        return integer_sums(squared, block.weights)


def deviances_sensitivity(whole: int = 1) -> int:
    """L2 sensitivity of :class:`ModelDeviances` under add-remove, rounded up: both sums grow."""
    most = LARGEST_DEVIANCE * ERROR_UNIT**2
    return math.isqrt(2 * most**2) + 1 + rounding_sensitivity(2, whole)


class ModelDeviances(BlockTotal):
    """Sums of ``min(d(y, e c), 16)`` and ``min(d(y, m), 16)``, in squares of 1/ERROR_UNIT.

    ``d(y, m) = 2 (y log(y / m) - (y - m))`` is what a count y deviates by from its mean, e a row's
    exposure and c above 0.
    """

    def __init__(self, model: CountModel, constant: float, whole: int = 1) -> None:
        super().__init__(2, whole)
        self._model, self._constant = model, constant

    def _of(self, block: RowBlock) -> NDArray[np.object_]:
        counts = np.maximum(block.targets, 0.0)
        constant = np.full(counts.shape, self._constant)
        if block.exposures is not None:
            constant *= block.exposures
        means = np.stack([constant, self._model.means(block)])
        means = np.maximum(means, 2.0**-60)
        found = 2.0 * (counts * logarithms(np.maximum(counts, 2.0**-60) / means) - counts + means)
        whole = np.trunc(found.clip(0.0, LARGEST_DEVIANCE) * ERROR_UNIT**2).astype(np.int64)
        return integer_sums(whole, block.weights)
