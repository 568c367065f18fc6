"""Rows that one pass has read, kept for the next ones: of as many parts of a table as fit."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["KEPT_BYTES", "Block", "Remembered"]

#: What may be kept of a table's numbers.
KEPT_BYTES = 256 * 2**20

#: Numbers of shape (columns, rows), and which rows have all they need.
Block: TypeAlias = tuple[NDArray[np.float64], NDArray[np.bool_]]


class Remembered:
    """Blocks of those parts of a table that fit.

    Whoever is given blocks must leave their numbers as they are.

    Parameters
    ----------
    room : int
        Bytes that all of them may take.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._parts: dict[int | None, list[Block] | None] = {}  # None: was too long
        self._lock = Lock()  # parts are read by several threads

    def through(self, part: int | None, read: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks of a part: those that were kept, or else those that are read."""
        if part in self._parts:
            yield from self._parts[part] or read
            return
        taken: list[Block] = []
        fits = False
        try:
            for block in read:
                if part not in self._parts:
                    taken.append(block)
                    if not self._take(_bytes(block)):
                        self._parts[part] = None
                        self._take(-sum(map(_bytes, taken)))
                        taken.clear()
                yield block
            fits = part not in self._parts
        finally:
            if fits:
                self._parts[part] = taken
            else:
                # A part that was not read to its end is read again from its start.
                self._take(-sum(map(_bytes, taken)))

    def _take(self, more: int) -> bool:
        """Take so many bytes, and tell whether there was room for them."""
        with self._lock:
            self._room -= more
            return self._room >= 0


def _bytes(block: Block) -> int:
    return sum(array.nbytes for array in block)
