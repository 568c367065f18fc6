"""Exact sums over rows of two classes: balance, gradients of the likelihood, scores, dispersion.

Rows are those of :class:`nolook.statistics.weighted_rows.RowBlock`, made by
:func:`nolook.kernels.weighted_rows.whitened_rows`; their targets are 0 and 1. A model is on the
grid that :func:`nolook.statistics.residual_products.grid_model` makes, so ``theta'u`` is exact and
a row's probability depends on that row alone, to the last bit.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import clipped_gradient, probabilities
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.weights import weight_parts, weighted_sums
from nolook.statistics import Statistic, WeightedTotal, rounding_sensitivity
from nolook.statistics.design_moments import gram_sensitivity, product_sensitivity
from nolook.statistics.weighted_rows import GridModel

__all__ = [
    "CURVATURE_UNIT",
    "PROBABILITY_UNIT",
    "ClassBalance",
    "ClassCurvature",
    "ClassDispersion",
    "ClassGradient",
    "ScoreCounts",
    "balance_sensitivity",
    "class_curvature_sensitivity",
    "class_dispersion_sensitivity",
    "class_gradient_sensitivity",
]

Array = NDArray[np.float64]

#: A class less its probability is a whole multiple of 1/PROBABILITY_UNIT.
PROBABILITY_UNIT = 2**14
#: A row's p (1 - p), and its (y - p)^2 less that, are whole multiples of 1/CURVATURE_UNIT.
CURVATURE_UNIT = 2**12

# Rows of a curvature at a time: their products add up to at most 2^12 2^10 2^30 < 2^53. With
# weights in parts of 5 bits each row's are larger by so many.
_PART_ROWS = 4096
_WEIGHT_BITS, _WEIGHTED_ROWS = 5, 256
# Of a dispersion: 2^17 rows of at most 2^12 2^30 2^3 add up to less than 2^63.
_DISPERSION_BITS = 3


def balance_sensitivity() -> int:
    """Sensitivity of :class:`ClassBalance` under add-remove: a row adds 1 or -1."""
    return 1


class ClassBalance(Statistic):
    """The number of rows of class 1, less that of class 0, or what they weigh."""

    def __init__(self) -> None:
        self.value = np.zeros(1, dtype=object)

    def update(
        self,
        rows: NDArray[np.int16],  # noqa: ARG002 -- a part of a block
        squares: NDArray[np.int32],  # noqa: ARG002
        targets: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Count a block's rows."""
        ahead = 2 * (targets > 0).astype(np.int64) - 1
        self.value = self.value + int(ahead.sum() if weights is None else ahead @ weights)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value = self.value + other.value
        return self


def class_gradient_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> int:
    """L2 sensitivity of :class:`ClassGradient` under add-remove, rounded up.

    A row adds ``u q`` with ``|u|^2 <= squared_radius`` and ``|q| <= PROBABILITY_UNIT``: a class
    can be all but 1 away from its probability. With weights, which need the `size` of a row,
    rounding adds its root.
    """
    return product_sensitivity(squared_radius, PROBABILITY_UNIT, size, whole)


class ClassGradient(WeightedTotal, Statistic):
    """The sum of ``u q``, q the class less its probability: the log-likelihood's gradient.

    In whole multiples of ``1 / (unit PROBABILITY_UNIT)``.
    """

    def __init__(self, model: GridModel, whole: int = 1) -> None:
        super().__init__(model.whole.size, whole)
        self._model = model

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],  # noqa: ARG002 -- a part of a block
        targets: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows, whose sums stay within MOST_ROWS 2^15 PROBABILITY_UNIT < 2^53."""
        model, shrink = self._model, self._model.spacing / self._model.unit
        # A class is at most 1 away from its probability: nothing is clipped.
        grid = bound = PROBABILITY_UNIT
        self._total = self._total + clipped_gradient(
            rows, targets, model.whole, shrink, grid, bound, weights, logistic=True
        )
        return self


def class_curvature_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> int:
    """Sensitivity of :class:`ClassCurvature` in the Frobenius norm under add-remove.

    A row adds ``c u u'`` with ``|u|^2 <= squared_radius`` and c at most a quarter. With weights,
    which need the `size` of a row, rounding adds it.
    """
    return gram_sensitivity(squared_radius * (CURVATURE_UNIT // 4), size, whole)


class ClassCurvature(WeightedTotal, Statistic):
    """The sum of ``c u u'``, c a row's p (1 - p): what the log-likelihood curves downwards.

    In whole multiples of ``1 / (unit^2 CURVATURE_UNIT)``, shape (size, size).
    """

    def __init__(self, model: GridModel, whole: int = 1) -> None:
        super().__init__((model.whole.size, model.whole.size), whole)
        self._model = model

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],  # noqa: ARG002 -- a part of a block
        targets: Array,  # noqa: ARG002
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows."""
        p = probabilities(self._model.scores(rows))
        curved = np.trunc(p * (1.0 - p) * CURVATURE_UNIT)

        def products(place: slice, part: Array | float) -> NDArray[np.int64]:
            block = rows[:, place].astype(np.float64)
            sums: NDArray[np.int64] = ((curved[place] * part * block) @ block.T).astype(np.int64)
            return sums

        block_rows = _PART_ROWS if weights is None else _WEIGHTED_ROWS
        self._total = self._total + weighted_sums(
            products, self._total.shape, curved.size, block_rows, weights, _WEIGHT_BITS
        )
        return self


def class_dispersion_sensitivity(squared_radius: int, whole: int = 1) -> int:
    """Sensitivity of :class:`ClassDispersion` under add-remove.

    A row adds ``e |u|^2`` with ``|u|^2 <= squared_radius`` and e from -1/4 to 1.
    """
    return CURVATURE_UNIT * squared_radius + rounding_sensitivity(1, whole)


class ClassDispersion(WeightedTotal, Statistic):
    """The sum of ``((y - p)^2 - p (1 - p)) |u|^2``: how residuals vary beside what p expects.

    In whole multiples of ``1 / (unit^2 CURVATURE_UNIT)``, shape (1,). Its mean is 0 if p is the
    probability of every row's class, whatever the rows.
    """

    def __init__(self, model: GridModel, whole: int = 1) -> None:
        super().__init__(1, whole)
        self._model = model

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],
        targets: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows."""
        p = probabilities(self._model.scores(rows))
        apart = targets - p
        excess = np.trunc((apart * apart - p * (1.0 - p)) * CURVATURE_UNIT).astype(np.int64)
        products = excess * (squares + np.int64(self._model.unit**2))
        for factor, part in weight_parts(weights, _DISPERSION_BITS):
            sums = products if isinstance(part, float) else products * part.astype(np.int64)
            self._total = self._total + factor * int(sums.sum())
        return self


class ScoreCounts(Statistic):
    """Counts of rows by class and by their log-odds between increasing edges, or what they weigh.

    Class 0 first, shape (2 (edges + 1),). A row is in one bin: the sensitivity is that of a
    histogram of one column.
    """

    def __init__(self, model: GridModel, edges: Array) -> None:
        self._model, self._edges = model, edges
        self.value = np.zeros(2 * (edges.size + 1), dtype=np.int64)

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],  # noqa: ARG002 -- a part of a block
        targets: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Count a block's rows."""
        found = self._model.scores(rows)
        for place in (0, 1):
            part = slice(place * (self._edges.size + 1), (place + 1) * (self._edges.size + 1))
            own = targets == place
            weighed = None if weights is None else weights[own]
            self.value[part] += threshold_counts(found[own], self._edges, weighed)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value += other.value
        return self
