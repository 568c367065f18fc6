"""CSV files: a header, and rows of texts.

A CSV file declares no types and any bytes may follow its header, so no cell, line or encoding is
ever an error. What a line means does not depend on the lines before it, unless quoted line breaks
are asked for.
"""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa

from nolook._language import given
from nolook.errors import TableError
from nolook.tables._rows import Bytes, Rows, Signs
from nolook.tables._zstd import check_whole
from nolook.tables.databases import is_address
from nolook.tables.declarations import FileFormat
from nolook.tables.files import File, Place
from nolook.tables.source import Column

__all__ = ["TEXT_FILES", "CsvFile", "is_text_file", "uncompressed"]

#: How the names of text files end; each may be compressed.
TEXT_FILES = (".csv", ".csv.gz", ".csv.zst")


def is_text_file(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether what holds a table is a path whose name is that of a file of text."""
    if not isinstance(source, str | os.PathLike) or is_address(source):
        return False
    return Path(source).name.lower().endswith(TEXT_FILES)


class CsvFile(File):
    """A CSV file, perhaps compressed, read again on every pass; every column is text.

    Cells are as they are written, white space around them included.

    Parameters
    ----------
    place : path-like or Place
    form : FileFormat
        Its delimiter, quote, encoding, header and comments.
    names : sequence of str
        The columns' names if there is no header.
    multiline : bool
        Whether a line break in quotes is part of its cell.

    Raises
    ------
    TableError
        If it cannot be opened or has no header line.
    """

    kind = "CSV"

    def __init__(
        self,
        place: str | os.PathLike[str] | Place,
        form: FileFormat,
        names: Sequence[str] = (),
        *,
        multiline: bool = False,
    ) -> None:
        self._form, self._names, self._multiline = form, names, multiline
        self._decoded = True
        self._signs = Signs.of(form.delimiter, form.quote, form.comment)
        super().__init__(place)
        if not self._decoded:
            encoding = given("encoding", "latin-1", "schema=nolook.Schema(encoding='latin-1')")
            raise TableError(
                f"the header of {self.name} is no text in the encoding {form.encoding}; expected "
                f"another encoding (for example {encoding})"
            )
        if not self.columns:
            raise TableError(
                f"{self.name} has a quote in its header that is not closed; expected it closed (or "
                f"ask for quoted line breaks: {given('multiline', True)})"
            )

    def _declared(self) -> tuple[Column, ...]:
        if self.label.lower().endswith(".zst"):
            with self.place.open() as stream:
                check_whole(stream)
        with self._rows() as rows:
            header = rows.header
        try:
            names = [cell.decode("utf-8").strip() for cell in header]
        except UnicodeDecodeError:
            self._decoded = False
            return ()
        return tuple(Column(name, pa.string(), "text") for name in names)

    def _stream(self, names: list[str]) -> Iterator[Any]:
        declared = [column.name for column in self.columns]
        wanted = [declared.index(name) for name in names]
        with self._rows() as rows:
            for columns in rows.columns(wanted):
                yield pa.RecordBatch.from_arrays(columns, names=names)

    @contextmanager
    def _rows(self) -> Iterator[Rows]:
        header = None if self._form.header else [name.encode() for name in self._names]
        with self._bytes() as stream:
            yield Rows(stream, self._signs, header, multiline=self._multiline)

    @contextmanager
    def _bytes(self) -> Iterator[Bytes]:
        """Open the file as bytes of UTF-8."""
        with uncompressed(self.place) as plain:
            yield plain if self._form.encoding == "utf-8" else _Decoded(plain, self._form.encoding)


@contextmanager
def uncompressed(place: Place) -> Iterator[Bytes]:
    """Open a file as the bytes it holds when it is not compressed, which its name tells."""
    name = place.label.lower()
    with place.stream() as stream:
        plain: Any = stream
        if name.endswith(".gz"):
            plain = gzip.GzipFile(fileobj=stream)
        elif name.endswith(".zst"):
            plain = pa.CompressedInputStream(stream, "zstd")
        yield plain


class _Decoded:
    """A stream of text in another encoding, as UTF-8; what is no text there becomes U+FFFD."""

    def __init__(self, stream: Bytes, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int) -> bytes:
        """Return about so many bytes, none at the end only."""
        while raw := self._stream.read(size):
            if text := self._decoder.decode(raw):
                return text.encode("utf-8", "replace")
        return self._decoder.decode(b"", final=True).encode("utf-8", "replace")
