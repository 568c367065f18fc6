"""Batches of a pass, kept in memory while they fit: as confidential as the table."""

from __future__ import annotations

import math
from typing import Any, Self

from nolook.statistics import Statistic

__all__ = ["KeptBatches"]


class KeptBatches(Statistic):
    """The batches it was fed; None once they take more than `room` bytes."""

    def __init__(self, room: float = math.inf) -> None:
        self.batches: list[tuple[Any, ...]] | None = []
        self._room = room

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Keep a batch, or none from here on if it does not fit."""
        return self._keep([batch])

    def merge(self, other: Self) -> Self:
        """Keep the batches another one has kept; none if it has not all it saw."""
        return self._keep(other.batches)

    def _keep(self, batches: list[tuple[Any, ...]] | None) -> Self:
        parts = (part for batch in batches or () for part in batch if part is not None)
        self._room -= sum(part.nbytes for part in parts)
        if self.batches is None or batches is None or self._room < 0:
            self.batches = None
        else:
            self.batches += batches
        return self
