"""Exact sums over rows of two classes: balance, weighted gradients of the likelihood, log-odds.

Rows are those of :class:`nolook.statistics.weighted_rows.RowBlock`: u is f times the whole row,
whose class y is 1 where its target is positive, else 0. A model is on the grid that
:func:`nolook.statistics.residual_products.grid_model` makes, so ``theta'u`` is exact, and the
probability p of the whole row, at log-odds ``theta'u / f``, depends on that row alone, to the last
bit.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.clipped_gradient import clipped_gradient, probabilities
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.weights import weighted_sums
from nolook.statistics import Statistic, WeightedTotal
from nolook.statistics.design_moments import gram_sensitivity, product_sensitivity
from nolook.statistics.weighted_rows import SCORE_UNIT, GridModel

__all__ = [
    "CURVATURE_UNIT",
    "PROBABILITY_UNIT",
    "ClassBalance",
    "ClassCurvature",
    "ClassGradient",
    "ScoreCounts",
    "balance_sensitivity",
    "class_curvature_sensitivity",
    "class_gradient_sensitivity",
    "class_scores",
]

Array = NDArray[np.float64]

#: A class less its probability is a whole multiple of 1/PROBABILITY_UNIT.
PROBABILITY_UNIT = 2**14
#: A row's p (1 - p) is a whole multiple of 1/CURVATURE_UNIT.
CURVATURE_UNIT = 2**12

# Rows of a curvature at a time: their products add up to at most 2^12 2^10 2^30 < 2^53. With
# weights in parts of 5 bits each row's are larger by so many.
_PART_ROWS = 4096
_WEIGHT_BITS, _WEIGHTED_ROWS = 5, 256
# Room for the rounding of a norm and of three products.
_ROOM = 1.0 - 2.0**-40


def _classes(targets: Array) -> Array:
    return (targets > 0.0).astype(np.float64)


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
        factors: Array,  # noqa: ARG002
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
    can be all but 1 away from its probability, and f is 1 at most. With weights, which need the
    `size` of a row, rounding adds its root.
    """
    return product_sensitivity(squared_radius, PROBABILITY_UNIT, size, whole)


class ClassGradient(WeightedTotal, Statistic):
    """The sum of ``u q``, q a row's ``f (y - p)``: the log-likelihood's gradient, weighted by f^2.

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
        factors: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows, whose sums stay within MOST_ROWS 2^15 PROBABILITY_UNIT < 2^53."""
        model, shrink = self._model, self._model.spacing / self._model.unit
        # A class is at most 1 away from its probability: nothing is clipped.
        grid = bound = PROBABILITY_UNIT
        self._total = self._total + clipped_gradient(
            rows, _classes(targets), model.whole, shrink, grid, bound, weights, factors
        )
        return self


def class_curvature_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> int:
    """Sensitivity of :class:`ClassCurvature` in the Frobenius norm under add-remove.

    A row adds ``c u u'`` with ``|u|^2 <= squared_radius`` and c at most a quarter. With weights,
    which need the `size` of a row, rounding adds it.
    """
    return gram_sensitivity(squared_radius * (CURVATURE_UNIT // 4), size, whole)


class ClassCurvature(WeightedTotal, Statistic):
    """The sum of ``c u u'``, c a row's p (1 - p): what the weighted likelihood curves downwards.

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
        factors: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add a block's rows."""
        p = probabilities(self._model.log_odds(rows, factors))
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


def class_scores(
    model: GridModel,
    squared_radius: int,
    rows: NDArray[np.int16],
    squares: NDArray[np.int32],  # noqa: ARG001 -- a part of a block
    targets: Array,
    factors: Array,
) -> Array:
    """Return ``u f (y - p)`` of every row, its part of the gradient.

    In units of ``B / SCORE_UNIT`` for rows of a norm up to B, truncated: whole numbers, shape
    (size, rows), whose squares add up to at most ``SCORE_UNIT^2`` a row.
    """
    apart = (_classes(targets) - probabilities(model.log_odds(rows, factors))) * factors
    scores = rows * (apart * (_ROOM * SCORE_UNIT / math.sqrt(squared_radius)))
    return np.trunc(scores, out=scores)


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
        factors: Array,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Count a block's rows."""
        found = self._model.log_odds(rows, factors)
        for place in (0, 1):
            part = slice(place * (self._edges.size + 1), (place + 1) * (self._edges.size + 1))
            own = (targets > 0) == place
            weighed = None if weights is None else weights[own]
            self.value[part] += threshold_counts(found[own], self._edges, weighed)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value += other.value
        return self
