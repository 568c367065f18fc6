"""CSV files: a header, and rows of texts, whatever bytes they hold.

A CSV file declares no types and any bytes may follow its header, so no cell, line or encoding is
ever an error. A line with too few or too many cells, a quote that is never closed or a cell far too
long is a row of missing values. Blank lines and comments are not rows. Cells follow RFC 4180
(commas, double quotes) unless other signs are declared; blanks before a text in quotes are ignored.
A line is a row, and means the same whatever lines are before it, unless quoted line breaks are
declared: then a quote that is not closed takes in the lines below.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import IncrementalNewlineDecoder
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve

from nolook._language import usage_hint
from nolook.errors import TableError
from nolook.tables.files import File, Place
from nolook.tables.schema import FileFormat
from nolook.tables.source import LONGEST_CELL as _LONGEST_CELL
from nolook.tables.source import Column

__all__ = ["CsvFile", "decoded", "uncompressed"]

_BLOCK = 1 << 21
# The longest line, and the most bytes of one row's lines with quoted line breaks.
_LONGEST = 1 << 26
_TOO_LONG = b"x" * (_LONGEST_CELL + 1)  # a line that is always malformed
# Blanks before a text in quotes are no part of its cell; Q stands for a quote, D for a delimiter.
_QUOTED = rb"(^|\D) *(Q[^Q]*(?:QQ[^Q]*)*(?:Q|\Z))"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What to do about bytes that are no text in their encoding: two cells that differ, such as the
# identifiers of two persons, stay different.
_KEPT = "nolook.kept"


def _kept(error: UnicodeError) -> tuple[str, int]:
    """Return a lone surrogate for each byte that could not be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(0xDC00 + byte) for byte in bad), error.end


codecs.register_error(_KEPT, _kept)


def decoded(raw: bytes, encoding: str) -> bytes:
    """Return a text as UTF-8; two that differ stay different."""
    return (
        raw if encoding == "utf-8" else raw.decode(encoding, _KEPT).encode("utf-8", "surrogatepass")
    )


class CsvFile(File):
    """A CSV file, perhaps compressed, read again on every pass; every column is text.

    Cells are as they are written, white space around them included.

    Parameters
    ----------
    place : Place
    form : FileFormat
        How it is written.
    names : sequence of str
        The columns' names if there is no header.

    Raises
    ------
    TableError
        If it cannot be opened or has no header line.
    """

    kind, is_text = "CSV", True
    endings = tuple(f".{end}{way}" for end in ("csv", "tsv", "txt") for way in ("", ".gz", ".zst"))

    def _declared(self) -> tuple[Column, ...]:
        with self._rows() as rows:
            header = rows.header
        where = f"in a schema ({usage_hint('schema', 'FILE.toml')})"
        if not header:
            raise TableError(
                f"{self.name} has a quote in its header that is not closed; set multiline = true "
                f"{where}"
            )
        try:
            names = [cell.decode().strip() for cell in header]
        except UnicodeDecodeError:
            raise TableError(
                f"{self.name} has a header that is not in the encoding {self._form.encoding}; try "
                f"'cp1252', {where}"
            ) from None
        return tuple(Column(name, pa.string(), "text") for name in names)

    def _stream(self, names: list[str]) -> Iterator[Any]:
        declared = [column.name for column in self.columns]
        wanted = list(map(declared.index, names))
        with self._rows() as rows:
            for columns in rows.columns(wanted):
                yield pa.RecordBatch.from_arrays(columns, names=names)

    @contextmanager
    def _rows(self) -> Iterator[Rows]:
        header = None if self._form.header else [name.encode() for name in self._names]
        usual = "\t" if ".tsv" in Path(self.label.lower()).suffixes else ","
        form = evolve(self._form, delimiter=self._form.delimiter or usual)
        with uncompressed(self.place) as stream:
            chunks = iter(partial(stream.read, _BLOCK), b"")
            yield Rows(_with_newlines(chunks, form.encoding), form, header)


@contextmanager
def uncompressed(place: Place) -> Iterator[Any]:
    """Open a file as the bytes it holds when it is not compressed, which its name tells.

    Either format's reader raises where the file ends within a compressed stream or frame, so that
    a file cut short never is a shorter table.
    """
    name = place.label.lower()
    with place.stream() as stream:
        if name.endswith(".gz"):
            yield gzip.GzipFile(fileobj=stream)
        elif name.endswith(".zst"):
            yield pa.CompressedInputStream(stream, "zstd")
        else:
            yield stream


class Rows:
    """The rows of a file, a block at a time.

    A block without quotes is cut at delimiters and line ends all at once, one with quotes a row at
    a time, by the standard library. Both find the same cells in lines that have no quotes, so what
    a row gives does not depend on its neighbours. A cell may begin with a text in quotes, where two
    quotes mean one; any other quote is an ordinary byte. Without a quote there are no such texts.
    Cells are arrays of type string whose bytes need not be UTF-8: only byte-wise functions may
    touch them.

    Parameters
    ----------
    chunks : iterator of bytes
        What the file holds, as UTF-8: lines that end with a newline.
    form : FileFormat
    header : list of bytes, optional
        The columns' names; by default the first row has them.
    """

    def __init__(
        self, chunks: Iterator[bytes], form: FileFormat, header: list[bytes] | None = None
    ) -> None:
        self._delimiter, self._quote = (form.delimiter or ",").encode(), (form.quote or "").encode()
        self._comment, self._multiline = (form.comment or "").encode(), form.multiline
        self._quoted_text = _QUOTED.replace(b"Q", self._quote).replace(b"D", self._delimiter)
        self._blocks = _blocks(chunks)
        self._lines: deque[bytes] = deque()
        self._line, self._drawn = b"", 0  # the last line of the row being read, and all its bytes
        self._reader = csv.reader(
            self._lines_of_rows(),
            delimiter=form.delimiter or ",",
            quotechar=form.quote,
            quoting=csv.QUOTE_MINIMAL if form.quote else csv.QUOTE_NONE,
        )
        for _ in range(form.skip):
            self._filled()
        if header is None:  # empty if a quote is not closed
            header = [cell.encode("latin-1") for cell in self._filled() or ()]
        self.header = header

    def columns(self, wanted: Sequence[int]) -> Iterator[list[Any]]:
        """Yield for each block the cells of the wanted columns; null in a malformed row."""
        rest = b"".join(self._lines)  # what is left beside the header
        self._lines.clear()
        for block in chain([rest], self._blocks):
            if self._quote and self._quote in block:
                yield self._quoted(block, wanted)
            elif block:
                yield self._plain(block, wanted)

    def _lines_of_rows(self) -> Iterator[str]:
        """Yield lines to the reader, which asks for more within a row while a quote is open."""
        while True:
            goes_on = not self._drawn or (self._multiline and self._drawn < _LONGEST)
            if goes_on and not self._lines:  # also within a row with quoted line breaks
                self._lines.extend(next(self._blocks, b"").splitlines(keepends=True))
            self._line = self._lines.popleft() if goes_on and self._lines else b""
            if not (self._line or self._drawn):
                return
            if self._comment and not self._drawn and self._line.startswith(self._comment):
                self._line = b"\n"
            line = self._line or self._quote + b"\n"
            if self._quote and b" " + self._quote in line:
                # The next line of a row begins within a quote.
                within = self._quote * bool(self._drawn)
                line = re.sub(self._quoted_text, rb"\1\2", within + line).removeprefix(within)
            self._drawn += len(self._line) or 2 * _LONGEST  # a quote that is never closed
            yield line.decode("latin-1")

    def _row(self) -> list[str] | None:
        """Return the next row's cells: none of a blank line or comment, None of a malformed row."""
        self._drawn = 0
        if csv.field_size_limit() < _LONGEST_CELL:  # of the whole process: never lowered
            csv.field_size_limit(_LONGEST_CELL)
        try:
            cells = next(self._reader)
        except csv.Error:  # a cell is too long
            return None
        long = self._drawn > _LONGEST_CELL and max(map(len, cells), default=0) > _LONGEST_CELL
        return None if long or self._drawn > _LONGEST else cells

    def _filled(self) -> list[str] | None:
        """Return the next row that is neither blank nor a comment."""
        return next(cells for cells in iter(self._row, ...) if cells != [])

    def _quoted(self, block: bytes, wanted: Sequence[int]) -> list[Any]:
        self._lines.extend(block.splitlines(keepends=True))
        rows, width = [], len(self.header)
        while self._lines:
            cells = self._row()
            if cells != []:
                count = len(cells or ())
                # A delimiter at a line's end begins no cell.
                spare = count == width + 1 and self._line.endswith(self._delimiter + b"\n")
                known = cells if count == width or spare else None
                rows.append([known and known[i].encode("latin-1") for i in wanted])
        columns: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * len(wanted)
        # Never asked whether they are UTF-8.
        return [pa.array(cells, pa.binary()).view(pa.string()) for cells in columns]

    def _plain(self, block: bytes, wanted: Sequence[int]) -> list[Any]:
        raw = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero((raw == ord(self._delimiter)) | (raw == ord("\n")))
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
        # A delimiter at a line's end begins no cell.
        spare = (last - first == len(self.header)) & (lengths[last] == 0)
        right = (last - first + 1 == len(self.header)) | spare
        right[np.searchsorted(last, np.flatnonzero(lengths > _LONGEST_CELL))] = False
        rows = (last > first) | (lengths[first] > 0)
        if self._comment:
            rows &= raw[edges[2 * first]] != ord(self._comment)
        first, wrong = first[rows], ~right[rows]
        return [cells.take(pa.array(2 * (first + i), mask=wrong)) for i in wanted]


def _with_newlines(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield a text as UTF-8, every line with a newline alone, also the last one."""
    kept, written = ("surrogateescape",) * 2 if encoding == "utf-8" else (_KEPT, "surrogatepass")
    newlines = IncrementalNewlineDecoder(None, translate=True)
    text = "\n"
    for text in codecs.iterdecode(chunks, encoding, kept):
        yield newlines.decode(text).encode("utf-8", written)
    if not text.endswith("\n"):
        yield newlines.decode("\n").encode()


def _blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines in blocks, each line judged by its own length alone."""
    rest, mark = b"", _BYTE_ORDER_MARK
    for more in chunks:
        whole, newline, last = more.rpartition(b"\n")
        if newline:
            block = (rest + whole + newline).removeprefix(mark)
            if len(block) >= _LONGEST:
                lines = (line if len(line) < _LONGEST else _TOO_LONG for line in block.split(b"\n"))
                block = b"\n".join(lines)
            yield block
            rest, mark = last, b""
        elif len(rest) < _LONGEST:  # else the line is too long, whatever else it has
            rest += more
