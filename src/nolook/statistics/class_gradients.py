"""Exact sums over rows of two classes: their balance, gradients of the log-likelihood, scores.

Rows are those of :class:`nolook.statistics.weighted_rows.RowBlock`, made by
:func:`nolook.kernels.weighted_rows.shortened_rows`; their targets are 0 and 1. A model is on the
grid that :func:`nolook.statistics.residual_products.grid_model` makes, so ``theta'u`` is exact and
a row's probability depends on that row alone, to the last bit.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.class_gradient import add_class_products, probabilities, scores
from nolook.kernels.histogram import threshold_counts
from nolook.statistics import Statistic
from nolook.statistics.design_moments import product_sensitivity
from nolook.statistics.weighted_rows import GridModel

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
]

Array = NDArray[np.float64]

#: A class less its probability is a whole multiple of 1/PROBABILITY_UNIT.
PROBABILITY_UNIT = 2**14
#: A row's p (1 - p), at most a quarter, is a whole multiple of 1/CURVATURE_UNIT.
CURVATURE_UNIT = 2**12

# Rows of a curvature at a time: their products add up to at most 2^12 2^10 2^30 < 2^53.
_PART_ROWS = 4096


def balance_sensitivity() -> int:
    """Sensitivity of :class:`ClassBalance` under add-remove: a row adds 1 or -1."""
    return 1


class ClassBalance(Statistic):
    """The number of rows of class 1, less that of class 0."""

    def __init__(self) -> None:
        self.value = np.zeros(1, dtype=object)

    def update(
        self,
        rows: NDArray[np.int16],  # noqa: ARG002 -- a part of a block
        squares: NDArray[np.int32],  # noqa: ARG002
        targets: Array,
    ) -> Self:
        """Count a block's rows."""
        ones = int(np.count_nonzero(targets))
        self.value = self.value + (2 * ones - targets.size)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value = self.value + other.value
        return self


def class_gradient_sensitivity(squared_radius: int) -> int:
    """L2 sensitivity of :class:`ClassGradient` under add-remove, rounded up.

    A row adds ``u q`` with ``|u|^2 <= squared_radius`` and ``|q| <= PROBABILITY_UNIT``: a class
    can be all but 1 away from its probability.
    """
    return product_sensitivity(squared_radius, PROBABILITY_UNIT)


class ClassGradient(Statistic):
    """The sum of ``u q``, q the class less its probability: the log-likelihood's gradient.

    In whole multiples of ``1 / (unit PROBABILITY_UNIT)``.
    """

    def __init__(self, model: GridModel) -> None:
        self._model = model
        self.value = np.zeros(model.whole.size, dtype=object)

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],  # noqa: ARG002 -- a part of a block
        targets: Array,
    ) -> Self:
        """Add a block's rows, whose sums stay within MOST_ROWS 2^15 PROBABILITY_UNIT < 2^53."""
        out = np.zeros(self._model.whole.size)
        shrink = self._model.spacing / self._model.unit
        add_class_products(rows, targets, self._model.whole, shrink, PROBABILITY_UNIT, out)
        self.value = self.value + out.astype(np.int64).astype(object)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value = self.value + other.value
        return self


def class_curvature_sensitivity(squared_radius: int) -> int:
    """Sensitivity of :class:`ClassCurvature` in the Frobenius norm under add-remove.

    A row adds ``w u u'`` with ``|u|^2 <= squared_radius`` and w at most a quarter.
    """
    return squared_radius * (CURVATURE_UNIT // 4)


class ClassCurvature(Statistic):
    """The sum of ``w u u'``, w a row's p (1 - p): what the log-likelihood curves downwards.

    In whole multiples of ``1 / (unit^2 CURVATURE_UNIT)``, shape (size, size).
    """

    def __init__(self, model: GridModel) -> None:
        self._model = model
        self.value = np.zeros((model.whole.size, model.whole.size), dtype=object)

    def update(
        self,
        rows: NDArray[np.int16],
        squares: NDArray[np.int32],  # noqa: ARG002 -- a part of a block
        targets: Array,  # noqa: ARG002
    ) -> Self:
        """Add a block's rows."""
        p = probabilities(scores(rows, self._model.whole, self._model.spacing / self._model.unit))
        weights = np.trunc(p * (1.0 - p) * CURVATURE_UNIT)
        for start in range(0, weights.size, _PART_ROWS):
            part = rows[:, start : start + _PART_ROWS].astype(np.float64)
            products = (part * weights[start : start + _PART_ROWS]) @ part.T
            self.value = self.value + products.astype(np.int64).astype(object)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value = self.value + other.value
        return self


class ScoreCounts(Statistic):
    """Counts of rows by class and by their log-odds between increasing edges.

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
    ) -> Self:
        """Count a block's rows."""
        found = scores(rows, self._model.whole, self._model.spacing / self._model.unit)
        for place in (0, 1):
            part = slice(place * (self._edges.size + 1), (place + 1) * (self._edges.size + 1))
            self.value[part] += threshold_counts(found[targets == place], self._edges)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows another one has seen."""
        self.value += other.value
        return self
