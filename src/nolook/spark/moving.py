"""All rows of a unit in one place: how an engine moves them, and which of them it keeps.

A row's place follows from a keyed hash of its identifier, as the table compares identifiers, so
rows of one unit meet wherever they were read. The key is sent to those who read, and forgotten
with the table.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from tempfile import SpooledTemporaryFile
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nolook.errors import TableError
from nolook.tables.source import Column, Source, written_out
from nolook.tables.units import hashes_of, kept_cells, named_rows, new_key

__all__ = ["ByUnit", "Identify", "Pieces"]

#: Returns the identifiers of the units in a batch of a source's columns.
Identify: TypeAlias = Callable[[Any], Any]

# Numbers that are cut into pieces at a time, 32 MB: few make pieces small, and mostly headers.
_NUMBERS = 1 << 22
# Bytes of a place that stay in memory.
_SPOOLED = 1 << 24


class ByUnit:
    """Cuts the rows of a part into pieces, one for each place.

    Parameters
    ----------
    unit : callable
        Returns the identifiers of a batch.
    names : sequence of str
        The part's columns that move.
    """

    def __init__(self, unit: Identify, names: Sequence[str]) -> None:
        self._unit, self._names = unit, tuple(names)
        self._key = new_key()

    def pieces(self, part: Source, places: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield pieces with their places, and first an empty one for each, so that it is known."""
        yield [(place, b"") for place in range(places)]
        batches = (batch.select(list(self._names)) for batch in part.batches(self._names))
        for batch in _joined(batches, _NUMBERS):
            yield self._cut(batch, places)

    def _cut(self, batch: Any, places: int) -> list[tuple[int, bytes]]:  # noqa: ANN401
        place = self._places(batch, places)
        order = np.argsort(place, kind="stable")
        columns = list(map(written_out, batch.columns))
        ends = np.cumsum(np.bincount(place, minlength=places))
        pieces = []
        for at, (start, stop) in enumerate(pairwise([0, *ends.tolist()])):
            if stop > start:  # copies: a slice takes along all it is cut from
                cells = [each.take(pa.array(order[start:stop])) for each in columns]
                pieces.append((at, pickle.dumps(pa.RecordBatch.from_arrays(cells, self._names))))
        return pieces

    def _places(self, batch: Any, places: int) -> NDArray[np.int64]:  # noqa: ANN401
        """Return the place of each row; 0 where there is no identifier."""
        cells, out = self._unit(batch), np.zeros(batch.num_rows, dtype=np.int64)
        known = named_rows(cells)
        hashes = hashes_of(kept_cells(cells, known), self._key)
        out[known] = hashes[:, 0] % np.uint64(places)
        return out


class Pieces:
    """The rows of one place: a source that can be read again, in a file without a name."""

    name = "the rows of a place"
    columns: tuple[Column, ...] = ()

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_SPOOLED)  # noqa: SIM115 -- as long as the rows

    def add(self, piece: bytes) -> None:
        """Add what :meth:`ByUnit.pieces` cut for this place, or words that refuse it."""
        self._file.write(piece)

    def close(self) -> None:
        """Let go of the rows."""
        self._file.close()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield the pieces; raises TableError where a part was refused."""
        self._file.seek(0)
        with suppress(EOFError):
            while True:
                piece = pickle.load(self._file)  # noqa: S301 -- of the engine, as states are
                if isinstance(piece, str):
                    raise TableError(piece)
                yield piece.select(list(names))

    def parts(self) -> Sequence[Source]:
        """Return the source."""
        return (self,)


def _joined(batches: Iterable[Any], numbers: int) -> Iterator[Any]:
    """Yield the rows of batches in batches of about `numbers` numbers."""
    held: list[Any] = []
    for batch in chain(batches, (None,)):
        if batch is not None:
            held.append(batch)
        if held and (batch is None or sum(map(_numbers, held)) >= numbers):
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held = []


def _numbers(batch: Any) -> int:  # noqa: ANN401
    return batch.num_rows * batch.num_columns  # type: ignore[no-any-return]
