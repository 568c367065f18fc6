"""Rows that one pass has read, kept for the next ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.tables.conversion import original
from nolook.tables.source import MemorySource, Source

__all__ = ["KEPT_BYTES", "Block", "Remembered"]

#: What may be kept of a table.
KEPT_BYTES = 256 * 2**20

#: Numbers of shape (columns, rows), and which rows have all they need.
Block: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_]]


class Remembered:
    """Blocks of a table's parts. Whoever is given some must leave their numbers as they are."""

    def __init__(self) -> None:
        self._parts: dict[int | None, list[Block]] = {}
        self._room = KEPT_BYTES

    @classmethod
    def of(cls, source: Source, columns: int) -> Remembered | None:
        """Return what keeps the rows of a source, if it tells that so many numbers each fit."""
        found = original(source)
        rows = getattr(found, "rows", None)
        if rows is None or isinstance(found, MemorySource) or rows * (8 * columns + 1) > KEPT_BYTES:
            return None
        return cls()

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        if part in self._parts:
            yield from self._parts[part]
            return
        taken = []
        for block in read:
            # A damaged file may have more rows than it tells, and parts be read as one, too.
            self._room -= sum(map(_bytes, block))
            if self._room >= 0:
                taken.append(block)
            else:
                taken.clear()
            yield block
        # One that is not read to its end is read again from its start.
        if self._room >= 0:
            self._parts[part] = taken


def _bytes(array: NDArray[Any]) -> int:
    """Return how many bytes an array keeps: those of all that it is a view of."""
    return (array if array.base is None else array.base).nbytes
