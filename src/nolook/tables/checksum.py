"""What tells the rows of one pass from those of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.tables._hash import sum_of_rows

__all__ = ["Checksum"]


class Checksum:
    """How many rows a pass saw, and what they were, whatever their order: the same in each pass.

    It finds rows that changed, not rows that were changed to deceive it.
    """

    def __init__(self) -> None:
        self.rows = self.sum = 0

    def update(self, numbers: NDArray[np.float64]) -> None:
        """Add rows of shape (columns, rows)."""
        self._add(numbers.shape[1], int(sum_of_rows(numbers)))

    def merge(self, other: Checksum) -> None:
        """Add the rows another one has seen."""
        self._add(other.rows, other.sum)

    def _add(self, rows: int, added: int) -> None:
        self.rows += rows
        self.sum = (self.sum + added) % 2**64

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checksum) and (self.rows, self.sum) == (other.rows, other.sum)

    __hash__ = None  # type: ignore[assignment]
