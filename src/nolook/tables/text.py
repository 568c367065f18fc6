"""CSV files: a header, and cells that are numbers, declared categories or missing.

A CSV file declares no types and any bytes may follow its header, so no cell, line or encoding is
ever an error: a cell that is no number is a missing value, and a line with too few or too many
cells, or one far too long, is a row of missing values. Blank lines are no rows. Cells follow RFC
4180 (commas, double quotes, quoted line breaks); white space around a cell is ignored.
"""

from __future__ import annotations

import csv
import os
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nolook.tables.files import File
from nolook.tables.source import Column, attempt, guarded

__all__ = ["CsvFile"]

_BLOCK = 1 << 21
# The longest line, and the most bytes of the lines of one record with quoted line breaks.
_LONGEST = 1 << 26
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What pyarrow reads as a finite number; a test holds the two together.
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Common ways to write nothing. Not needed for the answer, but far quicker than one cell at a time.
_NOTHING = pa.array(["", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "-", "?", "."])


class CsvFile:
    """A CSV file in UTF-8 (cells may be anything), read again on every pass.

    Parameters
    ----------
    path : path-like
    text : collection of str
        The columns to read as text; all others are read as float64.

    Raises
    ------
    TableError
        If it cannot be opened or has no header line.
    """

    def __init__(self, path: str | os.PathLike[str], text: Collection[str]) -> None:
        self._file = File(path, "CSV")
        self.label = self._file.label
        self._text = frozenset(text)
        self._names = attempt(self._file.unreadable, self._header)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns the header names."""
        return tuple(
            Column(name, pa.string(), "text")
            if name in self._text
            else Column(name, pa.float64(), "number")
            for name in self._names
        )

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        self._file.check_unchanged()
        yield from guarded(self._read(list(names)), self._file.unreadable)
        self._file.check_unchanged()

    def _header(self) -> list[str]:
        with self._file.path.open("rb") as stream:
            cells = _Records(stream).header
        return [cell.encode("latin-1").decode("utf-8").strip() for cell in cells]

    def _read(self, names: list[str]) -> Iterator[Any]:
        wanted = [self._names.index(name) for name in names]
        with self._file.path.open("rb") as stream:
            for columns in _Records(stream).columns(wanted):
                trimmed = map(pc.ascii_trim_whitespace, columns)
                arrays = [
                    cells if name in self._text else _numbers(cells)
                    for name, cells in zip(names, trimmed, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=names)


class _Records:
    """The records of a stream, a block at a time.

    A block without quotes is cut at commas and line ends all at once. One with quotes goes through
    the standard library's reader, which finds the same cells in lines that have none, so what
    a record gives does not depend on its neighbours.

    Cells are arrays of type string whose bytes need not be UTF-8: only byte-wise functions may
    touch them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._blocks = _blocks(stream)
        self._lines: deque[bytes] = deque()
        self._drawn = 0  # bytes, by the record that is being read
        self._reader = csv.reader(self._next_lines(), skipinitialspace=True)
        self.header = next(record for record in self._reader if record)

    def columns(self, wanted: Sequence[int]) -> Iterator[list[Any]]:
        """Yield for each block the cells of the wanted columns; null in a malformed record."""
        block: bytes | None = b"".join(self._lines)  # what is left beside the header
        self._lines.clear()
        while block is not None:
            if b'"' in block:
                yield self._quoted(block, wanted)
            elif block:
                yield self._plain(block, wanted)
            block = next(self._blocks, None)

    def _next_lines(self) -> Iterator[str]:
        """Yield lines; a record with quoted line breaks may draw on the following block."""
        while True:
            if not self._lines:
                block = next(self._blocks, None)
                if block is None:
                    return
                self._lines.extend(block.splitlines(keepends=True))
            line = self._lines.popleft()
            self._drawn += len(line)
            # A cell too long ends a record that would go on for ever.
            yield (line if self._drawn <= _LONGEST else _too_long()).decode("latin-1")

    def _quoted(self, block: bytes, wanted: Sequence[int]) -> list[Any]:
        self._lines.extend(block.splitlines(keepends=True))
        records: list[list[str] | None] = []
        while self._lines:
            record = self._record()
            if record is None or record:
                right = record is not None and len(record) == len(self.header)
                records.append(record if right else None)
        return [
            _as_text([None if cells is None else cells[i].encode("latin-1") for cells in records])
            for i in wanted
        ]

    def _record(self) -> list[str] | None:
        """Return the next record, empty for a blank line and None if a cell is too long."""
        self._drawn = 0
        with suppress(csv.Error):
            return next(self._reader)
        return None

    def _plain(self, block: bytes, wanted: Sequence[int]) -> list[Any]:
        raw = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero((raw == ord(",")) | (raw == ord("\n")))
        # Cells alternate with the separators behind them, so no byte needs to be copied yet.
        edges = np.zeros(2 * len(ends) + 1, dtype=np.int32)
        edges[1::2] = ends
        edges[2::2] = ends + 1
        cells = pa.Array.from_buffers(
            pa.string(), 2 * len(ends), [None, pa.py_buffer(edges), pa.py_buffer(block)]
        )
        lengths = edges[1::2] - edges[:-1:2]
        last = np.flatnonzero(raw[ends] == ord("\n"))
        first = np.concatenate(([0], last[:-1] + 1))
        right = last - first + 1 == len(self.header)
        too_long = np.flatnonzero(lengths > csv.field_size_limit())
        right[np.searchsorted(last, too_long)] = False
        rows = (last > first) | (lengths[first] > 0)
        first, wrong = first[rows], ~right[rows]
        return [cells.take(pa.array(2 * (first + i), mask=wrong)) for i in wanted]


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes in blocks that end with a line, every line with a newline alone."""
    start = stream.read(len(_BYTE_ORDER_MARK))
    rest = b"" if start == _BYTE_ORDER_MARK else start
    while more := stream.read(_BLOCK):
        rest += more
        # A carriage return at the very end may be the first half of a line end.
        end = 1 + max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, len(rest) - 1))
        if end:
            yield _lines_of(rest[:end])
            rest = rest[end:]
        elif len(rest) > _LONGEST:
            rest = _too_long() + _line_end(rest[-1:], stream)
    if rest:
        lines = _lines_of(rest)
        yield lines if lines.endswith(b"\n") else lines + b"\n"


def _line_end(last: bytes, stream: BinaryIO) -> bytes:
    """Return the first line end and what was read behind it; what stands before is left out."""
    more = last
    while more:
        ends = [place for place in (more.find(b"\n"), more.find(b"\r")) if place >= 0]
        if ends:
            return more[min(ends) :]
        more = stream.read(_BLOCK)
    return b""


def _too_long() -> bytes:
    """Return a line that is always malformed."""
    return b"x" * (csv.field_size_limit() + 1)


def _lines_of(block: bytes) -> bytes:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if len(block) < _LONGEST:
        return block
    lines = block.split(b"\n")  # each is judged by its own length, whatever stands beside it
    return b"\n".join(line if len(line) < _LONGEST else _too_long() for line in lines)


def _as_text(cells: list[bytes | None]) -> Any:  # noqa: ANN401 -- pyarrow has no types
    """Return bytes as an array of type string without asking whether they are UTF-8."""
    array = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


def _numbers(cells: Any) -> Any:  # noqa: ANN401
    """Return trimmed cells as float64, null where a cell is no number. Never raises."""
    with suppress(pa.ArrowInvalid):
        return cells.cast(pa.float64())
    with suppress(pa.ArrowInvalid):
        nothing = pc.is_in(cells, value_set=_NOTHING)
        return pc.if_else(nothing, pa.scalar(None, pa.string()), cells).cast(pa.float64())
    return pa.array([_number(cell) for cell in cells.cast(pa.binary()).to_pylist()], pa.float64())


def _number(cell: bytes | None) -> float | None:
    return float(cell) if cell is not None and _NUMBER.fullmatch(cell) else None
