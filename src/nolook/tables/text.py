"""CSV files: a header, and cells that are numbers, declared categories or missing.

A CSV file declares no types and any bytes may follow its header, so no cell, line or encoding is
ever an error: a cell that is not a number is a missing value, and a line with too few or too many
cells, a quote that is never closed or a cell far too long is a row of missing values. Blank lines
are not rows. Cells follow RFC 4180 (commas, double quotes); white space around a cell is ignored. A
line is a row, unless quoted line breaks are asked for: then a quote that is not closed takes in the
lines below.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nolook.errors import TableError
from nolook.tables.files import File
from nolook.tables.source import Column

__all__ = ["CsvFile"]

_BLOCK = 1 << 21
# The longest line, and the most bytes of one row's lines with quoted line breaks.
_LONGEST = 1 << 26
# The longest cell, without the blanks before it.
_LONGEST_CELL = 1 << 17
_TOO_LONG = b"x" * (_LONGEST_CELL + 1)  # a line that is always malformed
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# A cell may begin with a text in quotes, where two quotes mean one; any other is an ordinary byte.
_QUOTED = re.compile(rb'"((?:[^"]++|"")*+)"')
_CELL = rb' *+((?:"(?:[^"]++|"")*+"|(?!"))[^,]*+)'
_CELLS = re.compile(_CELL + b",")
_CLOSED_CELLS = re.compile(rb"(?:,%b)*+" % _CELL)

# What pyarrow reads as a finite number; a test holds the two together.
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Common ways to write nothing: they change no answer, but save going cell by cell.
_NOTHING = pa.array(["", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "-", "?", "."])


class CsvFile(File):
    """A CSV file in UTF-8 (cells may be anything), read again on every pass.

    Columns in `text` are read as text, all others as float64; with `multiline` a line break in
    quotes is part of its cell. Raises TableError if it cannot be opened or has no header line.
    """

    kind = "CSV"

    def __init__(
        self, path: str | os.PathLike[str], text: Collection[str], *, multiline: bool = False
    ) -> None:
        self._text = frozenset(text)
        self._multiline = multiline
        super().__init__(path)
        if not self.columns:
            raise TableError(
                f"{self.name} has a quote in its header that is not closed; close it, or ask for "
                "quoted line breaks (multiline)"
            )

    def _declared(self) -> tuple[Column, ...]:
        with self.path.open("rb") as stream:
            cells = _Rows(stream, multiline=self._multiline).header
        names = [cell.decode("utf-8").strip() for cell in cells]
        return tuple(
            Column(name, pa.string(), "text")
            if name in self._text
            else Column(name, pa.float64(), "number")
            for name in names
        )

    def as_text(self, names: Collection[str]) -> CsvFile:
        """Return the same file with these columns as texts."""
        other = copy(self)
        other._text = frozenset(names)
        other.columns = tuple(
            Column(one.name, pa.string(), "text") if one.name in names else one
            for one in self.columns
        )
        return other

    def _stream(self, names: list[str]) -> Iterator[Any]:
        declared = [column.name for column in self.columns]
        wanted = [declared.index(name) for name in names]
        with self.path.open("rb") as stream:
            rows = _Rows(stream, multiline=self._multiline)
            for columns in rows.columns(wanted):
                trimmed = map(pc.ascii_trim_whitespace, columns)
                arrays = [
                    cells if name in self._text else _numbers(cells)
                    for name, cells in zip(names, trimmed, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=names)


class _Rows:
    """The rows of a stream, a block at a time.

    A block without quotes is cut at commas and line ends all at once, one with quotes a row at a
    time. Both find the same cells in lines that have no quotes, so what a row gives does not depend
    on its neighbours. Cells are arrays of type string whose bytes need not be UTF-8: only byte-wise
    functions may touch them.
    """

    def __init__(self, stream: BinaryIO, *, multiline: bool) -> None:
        self._blocks = _blocks(stream)
        self._lines: deque[bytes] = deque()
        self._next_lines = self._drawn_lines()
        self._multiline = multiline
        row = b""
        while not row:
            row = self._row()
        cells = [] if _left_open(b"," + row) else _CELLS.findall(row + b",")
        self.header = [_unquoted(cell) for cell in cells]  # empty if a quote is not closed

    def columns(self, wanted: Sequence[int]) -> Iterator[list[Any]]:
        """Yield for each block the cells of the wanted columns; null in a malformed row."""
        block: bytes | None = b"".join(self._lines)  # what is left beside the header
        self._lines.clear()
        while block is not None:
            if b'"' in block:
                yield self._quoted(block, wanted)
            elif block:
                yield self._plain(block, wanted)
            block = next(self._blocks, None)

    def _drawn_lines(self) -> Iterator[bytes]:
        """Yield lines; a row with quoted line breaks may draw on the following block."""
        while True:
            if not self._lines:
                block = next(self._blocks, None)
                if block is None:
                    return
                self._lines.extend(block.splitlines(keepends=True))
            yield self._lines.popleft()

    def _quoted(self, block: bytes, wanted: Sequence[int]) -> list[Any]:
        self._lines.extend(block.splitlines(keepends=True))
        form, malformed = _form(len(self.header), frozenset(wanted)), (None,) * len(wanted)
        rows: list[Sequence[bytes | None]] = []
        while self._lines:
            if row := self._row():
                found = form.fullmatch(row) if _is_short(row) else None
                rows.append(found.groups() if found else malformed)
        columns = list(zip(*rows, strict=True)) or [()] * len(wanted)
        places = sorted(wanted)
        return [_as_text([c and _unquoted(c) for c in columns[places.index(i)]]) for i in wanted]

    def _row(self) -> bytes:
        """Return the next row without its line end; a blank line is empty."""
        line = next(self._next_lines)
        return (self._continued(line) if self._multiline else line)[:-1]

    def _continued(self, line: bytes) -> bytes:
        """Add the lines a quoted cell goes on with, until it is closed or far too long."""
        lines, drawn, length = [line], len(line), _length(_left_open(b"," + line))
        while 0 < length <= _LONGEST_CELL and drawn < _LONGEST:
            line = next(self._next_lines, b"")
            if not line:
                break
            lines.append(line)
            drawn += len(line)
            cell = _left_open(b',"' + line)
            length = _length(cell) + (length if len(cell) > len(line) else 0)
        return b"".join(lines)

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
        for i in np.flatnonzero(lengths > _LONGEST_CELL):
            if len(block[edges[2 * i] : edges[2 * i + 1]].lstrip(b" ")) > _LONGEST_CELL:
                right[np.searchsorted(last, i)] = False
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
            rest = _TOO_LONG + _line_end(rest[-1:], stream)
    if rest:
        lines = _lines_of(rest)
        yield lines if lines.endswith(b"\n") else lines + b"\n"


def _line_end(last: bytes, stream: BinaryIO) -> bytes:
    """Return the first line end and what was read after it; what comes before is left out."""
    more = last
    while more:
        ends = [place for place in (more.find(b"\n"), more.find(b"\r")) if place >= 0]
        if ends:
            return more[min(ends) :]
        more = stream.read(_BLOCK)
    return b""


def _lines_of(block: bytes) -> bytes:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if len(block) < _LONGEST:
        return block
    lines = block.split(b"\n")  # each is judged by its own length alone
    return b"\n".join(line if len(line) < _LONGEST else _TOO_LONG for line in lines)


def _form(columns: int, wanted: Collection[int]) -> re.Pattern[bytes]:
    """Return the pattern of a row of that many cells, with the wanted ones as its groups."""
    ungrouped = _CELL.replace(b"((?:", b"(?:(?:", 1)
    return re.compile(b",".join(_CELL if i in wanted else ungrouped for i in range(columns)))


def _is_short(row: bytes) -> bool:
    """Whether neither the row nor a cell is too long."""
    if len(row) <= _LONGEST_CELL:
        return len(row) < _LONGEST
    lengths = (len(_unquoted(cell)) for cell in _CELLS.findall(row + b","))
    return len(row) < _LONGEST and max(lengths, default=0) <= _LONGEST_CELL


def _unquoted(cell: bytes) -> bytes:
    """Return a cell's text; what follows a closing quote belongs to it."""
    quoted = _QUOTED.match(cell) if cell.startswith(b'"') else None
    return quoted[1].replace(b'""', b'"') + cell[quoted.end() :] if quoted else cell


def _left_open(cells: bytes) -> bytes:
    """Return a cell that is not closed, from its quote on; nothing if all are.

    A comma stands before every cell, the first one included.
    """
    return _CLOSED_CELLS.sub(b"", cells, count=1).lstrip(b", ")


def _length(cell: bytes) -> int:
    """Return the length of what follows a quote, where two more count as one."""
    return len(cell) - 1 - (cell.count(b'"') - 1) // 2 if cell else 0


def _as_text(cells: list[bytes | None]) -> Any:  # noqa: ANN401 -- pyarrow has no types
    """Return bytes as an array of type string without asking whether they are UTF-8."""
    array = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


def _numbers(cells: Any) -> Any:  # noqa: ANN401
    """Return trimmed cells as float64, null where a cell is not a number. Never raises."""
    with suppress(pa.ArrowInvalid):
        return cells.cast(pa.float64())
    with suppress(pa.ArrowInvalid):
        nothing = pc.is_in(cells, value_set=_NOTHING)
        return pc.if_else(nothing, pa.scalar(None, pa.string()), cells).cast(pa.float64())
    return pa.array([_number(cell) for cell in cells.cast(pa.binary()).to_pylist()], pa.float64())


def _number(cell: bytes | None) -> float | None:
    return float(cell) if cell is not None and _NUMBER.fullmatch(cell) else None
