"""A table of scores and labels, of which one is the positive one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.tables.table import Table

__all__ = ["ScoredRows", "ScoredTable"]

Marked: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_]]
#: Gives scores and whether each is a positive's, in batches, as often as called.
ScoredRows: TypeAlias = Callable[[], Iterable[Marked]]


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """A table of one feature, the score, and a target, the label.

    Parameters
    ----------
    table : Table
    positive : float
        The label of the positive class; every other one is negative.
    """

    table: Table
    positive: float

    def rows(self) -> Iterator[Marked]:
        """Yield scores and whether each is a positive's."""
        for scores, labels in self.table.batches():
            yield scores, labels == self.positive

    def recipe(self) -> dict[str, Any]:
        """Return how the table was read."""
        return self.table.recipe()

    def may_drop_rows(self) -> bool:
        """Tell from declared types whether rows may be left out."""
        return self.table.may_drop_rows()

    def check_complete(self) -> None:
        """Refuse missing values where they are an error."""
        self.table.check_complete()
