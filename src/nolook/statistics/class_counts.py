"""Exact counts of rows of two classes: their balance, and log-odds by class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nolook._arrays import Array
from nolook.kernels.histogram import threshold_counts
from nolook.statistics.grid_models import BlockTotal, ClassModel, RowBlock
from nolook.statistics.weighted_rows import ProductSizes

__all__ = ["ClassBalance", "ScoreCounts", "balance_sensitivity"]


def balance_sensitivity() -> int:
    """Sensitivity of :class:`ClassBalance` under add-remove: a row adds 1 or -1."""
    return 1


class ClassBalance(BlockTotal):
    """The number of rows of class 1, whose target is positive, less that of class 0.

    Or what they weigh.
    """

    def __init__(self) -> None:
        super().__init__(1)

    def _of(self, block: RowBlock) -> int:
        ahead = 2 * (block.targets > 0).astype(np.int64) - 1
        return int(ahead.sum() if block.weights is None else ahead @ block.weights)


class ScoreCounts(ProductSizes):
    """Counts of rows by class and by their log-odds between increasing edges, or what they weigh.

    Class 0 first, shape (2 (edges + 1),). A row is in one bin: the sensitivity is that of a
    histogram of one column.
    """

    def __init__(self, model: ClassModel, edges: Array) -> None:
        super().__init__(model, edges)
        self.value = np.zeros(2 * (edges.size + 1), dtype=np.int64)

    def update(self, *block: Any) -> Self:  # noqa: ANN401
        """Count a block's rows."""
        rows = RowBlock(*block)
        found = self._model.predictors(rows)
        for place in (0, 1):
            part = slice(place * (self._edges.size + 1), (place + 1) * (self._edges.size + 1))
            own = (rows.targets > 0) == place
            weighed = None if rows.weights is None else rows.weights[own]
            self.value[part] += threshold_counts(found[own], self._edges, weighed)
        return self
