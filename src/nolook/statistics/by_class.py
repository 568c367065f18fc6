"""Scores with classes, as statistics of both take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.tables.folding import Mapped, S
from nolook.tables.table import Table, Weights

__all__ = ["ByClass"]

MarkedScores: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_], Weights]


@frozen
class ByClass:
    """The scores of a table that `with_class` made, their classes, and what each weighs."""

    table: Table

    def fold(self, statistic: S) -> S:
        """Feed a statistic scores, whether each is a positive's, and what each weighs."""
        self.table.fold(Mapped(statistic, _beside_classes))
        return statistic


def _beside_classes(numbers: NDArray[np.float64], weights: Weights) -> Iterator[MarkedScores]:
    scores, targets = numbers
    yield scores, targets == 1.0, weights
