"""Parquet and Arrow files, read again on every pass in bounded memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nolook.errors import TableError
from nolook.tables._patience import answered, patient
from nolook.tables.places import LocalFile, Place
from nolook.tables.source import Column, attempt, guarded, sound

__all__ = ["MOST_PARTS", "TYPED_FILES", "ArrowFile", "File", "ParquetFile"]

# Rows decoded at a time, and bytes read ahead for each column. With buffered reads a row group is
# never in memory as a whole, so a long one needs no more than a short one.
_ROWS = 32_768
_BUFFER = 1 << 16

#: A file of very many pieces is read in so many runs of them.
MOST_PARTS = 256

_ARROW_FILE_MAGIC = b"ARROW1"


class File(ABC):
    """A regular file that is read again on every pass and must not change between them.

    Raises TableError if there is no such file, it is not a regular file, or it cannot be opened.
    """

    kind: str  # what messages call the format
    _pieces = 1  # that can be read apart, as opening it tells
    _run_of: range | None = None  # the pieces to be read, if not all
    rows: int | None = None  # of the whole, if opening it tells; as confidential as the table

    def __init__(self, place: str | os.PathLike[str] | Place) -> None:
        self.place = LocalFile(place) if isinstance(place, str | os.PathLike) else place
        self.name, self.label = self.place.name, self.place.label
        why = "damaged or cut short?" if self.place.near else "damaged, or no answer?"
        self._unreadable = f"{self.name} is not a readable {self.kind} file ({why})"
        absent = f"{self.name} does not exist or cannot be opened; expected a {self.kind} file"
        what, self._state = attempt(absent, self.place.look)
        if what != "a file":
            raise TableError(f"{self.name} is {what}; expected one {self.kind} file")
        # A file nearby is opened at once, without a thread of its own.
        self.columns = (
            attempt(self._unreadable, self._declared)
            if self.place.near
            else attempt(self._unreadable, answered, self.name, self._declared)
        )

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        self._check_unchanged()
        batches = guarded(self._stream(list(names)), self._unreadable)
        yield from batches if self.place.near else patient(batches, self.name)
        self._check_unchanged()

    def parts(self, most: int = MOST_PARTS) -> Sequence[File]:
        """Return runs of row groups of a Parquet file, or of record batches of an Arrow one."""
        count = min(self._pieces, most)
        if count < 2:
            return (self,)
        ends = [self._pieces * i // count for i in range(count + 1)]
        return [self._run(range(*between)) for between in pairwise(ends)]

    def _run(self, pieces: range) -> File:
        part = copy(self)
        part._run_of, part._pieces = pieces, 1
        return part

    @abstractmethod
    def _declared(self) -> tuple[Column, ...]:
        """Open the file once, and return its columns."""

    @abstractmethod
    def _stream(self, names: list[str]) -> Iterator[Any]:
        """Yield record batches; what goes wrong is turned into one message."""

    def _check_unchanged(self) -> None:
        changed = f"{self.name} was changed or removed while it was in use; start again"
        if attempt(changed, self.place.look)[1] != self._state:
            raise TableError(changed)


class ParquetFile(File):
    """A Parquet file."""

    kind = "Parquet"

    def _declared(self) -> tuple[Column, ...]:
        with self.place.open() as file:
            opened = _parquet(file, ahead=False)
            self._pieces, self.rows = opened.num_row_groups, opened.metadata.num_rows
            return tuple(Column.from_field(field) for field in opened.schema_arrow)

    def _stream(self, names: list[str]) -> Iterator[Any]:
        near = self.place.near
        with self.place.open() as file:
            opened = _parquet(file, ahead=not near)
            pieces = self._run_of or range(opened.num_row_groups)
            # What is far away is fetched ahead: one row group at a time, which bounds the memory.
            for groups in [pieces] if near else [[piece] for piece in pieces]:
                # Parts are read by several threads already.
                yield from opened.iter_batches(
                    batch_size=_ROWS,
                    columns=names,
                    row_groups=groups,
                    use_threads=self._run_of is None,
                )


class ArrowFile(File):
    """An Arrow IPC file (also Feather, version 2) or stream; one batch at a time is in memory."""

    kind = "Arrow"

    def _declared(self) -> tuple[Column, ...]:
        with self.place.open() as file:
            opened = _arrow(file, None)
            self._pieces = getattr(opened, "num_record_batches", 1)  # a stream has no index
            return tuple(Column.from_field(field) for field in opened.schema)

    def _stream(self, names: list[str]) -> Iterator[Any]:
        declared = [column.name for column in self.columns]
        fields = [declared.index(name) for name in names]
        with self.place.open() as file:
            reader = _arrow(file, pa.ipc.IpcReadOptions(included_fields=fields))
            batches: Iterable[Any] = reader
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                pieces = self._run_of or range(reader.num_record_batches)
                batches = map(reader.get_batch, pieces)
            for batch in batches:
                # The format has no checksums: an offset or index may lead out of its buffer.
                columns = [sound(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


#: How the names of files that declare types end, and what reads them.
TYPED_FILES: dict[str, type[ParquetFile | ArrowFile]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".arrow": ArrowFile,
    ".arrows": ArrowFile,
    ".feather": ArrowFile,
    ".ipc": ArrowFile,
}


def _parquet(file: Any, *, ahead: bool) -> Any:  # noqa: ANN401 -- pyarrow has no types
    # Read ahead as a whole, a row group is in memory at once.
    return pq.ParquetFile(
        file,
        pre_buffer=ahead,
        buffer_size=0 if ahead else _BUFFER,
        page_checksum_verification=True,
    )


def _arrow(file: Any, options: Any) -> Any:  # noqa: ANN401
    magic = file.read(len(_ARROW_FILE_MAGIC))
    file.seek(0)
    is_file = magic == _ARROW_FILE_MAGIC
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)
