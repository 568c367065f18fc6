"""Parquet and Arrow files, read again on every pass in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nolook.errors import TableError
from nolook.tables.source import Column, attempt, guarded, sound

__all__ = ["ArrowFile", "File", "ParquetFile"]

# Rows decoded at a time, and bytes read ahead for each column. With buffered reads a row group is
# never in memory as a whole, so one of any length needs no more than a short one.
_ROWS = 32_768
_BUFFER = 1 << 16

_ARROW_FILE_MAGIC = b"ARROW1"


class File:
    """A regular file that must not change between passes.

    Parameters
    ----------
    path : path-like
    kind : str
        What messages call the format, such as "Parquet".

    Raises
    ------
    TableError
        If there is no such file, or it is no regular file.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        self.path = Path(path)
        self.label = repr(str(path))
        self.unreadable = f"{self.label} is not a readable {kind} file (damaged or cut short?)"
        absent = f"{self.label} does not exist or cannot be opened; expected a {kind} file"
        found = attempt(absent, self.path.stat)
        if not stat.S_ISREG(found.st_mode):
            what = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise TableError(f"{self.label} is {what}; expected one {kind} file")
        self._state = _state(found)

    def open(self) -> Any:  # noqa: ANN401 -- pyarrow has no types
        """Open it for reading; not mapped, as pages would count as this process's memory."""
        # As bytes: pyarrow takes texts in UTF-8 only, and a file's name may be any bytes.
        return attempt(self.unreadable, pa.OSFile, os.fsencode(self.path), "rb")

    def check_unchanged(self) -> None:
        """Refuse a file that was changed since it was opened, since passes must agree."""
        changed = f"{self.label} was changed or removed while it was in use; start again"
        if _state(attempt(changed, self.path.stat)) != self._state:
            raise TableError(changed)


class ParquetFile:
    """A Parquet file.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    TableError
        If it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = File(path, "Parquet")
        self.label = self._file.label
        self.columns = attempt(self._file.unreadable, self._declared)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        self._file.check_unchanged()
        with self._file.open() as file:
            reader = attempt(self._file.unreadable, self._reader, file)
            stream = reader.iter_batches(batch_size=_ROWS, columns=list(names))
            yield from guarded(stream, self._file.unreadable)
        self._file.check_unchanged()

    @staticmethod
    def _reader(file: Any) -> Any:  # noqa: ANN401 -- pyarrow has no types
        # Read ahead as a whole, a row group would be in memory at once.
        return pq.ParquetFile(
            file,
            pre_buffer=False,
            buffer_size=_BUFFER,
            page_checksum_verification=True,
        )

    def _declared(self) -> tuple[Column, ...]:
        with self._file.open() as file:
            return tuple(Column.from_field(field) for field in self._reader(file).schema_arrow)


class ArrowFile:
    """An Arrow IPC file (also Feather, version 2) or stream; one batch at a time is in memory.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    TableError
        If it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = File(path, "Arrow")
        self.label = self._file.label
        self.columns = attempt(self._file.unreadable, self._declared)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        self._file.check_unchanged()
        declared = [column.name for column in self.columns]
        fields = [declared.index(name) for name in names]
        yield from guarded(self._stream(fields), self._file.unreadable)
        self._file.check_unchanged()

    def _declared(self) -> tuple[Column, ...]:
        with self._file.open() as file:
            return tuple(Column.from_field(field) for field in self._reader(file, None).schema)

    def _stream(self, fields: list[int]) -> Iterator[Any]:
        with self._file.open() as file:
            reader = self._reader(file, pa.ipc.IpcReadOptions(included_fields=fields))
            batches: Iterable[Any] = reader
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                batches = map(reader.get_batch, range(reader.num_record_batches))
            for batch in batches:
                # The format has no checksums: an offset or index may lead out of its buffer.
                columns = [sound(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _reader(self, file: Any, options: Any) -> Any:  # noqa: ANN401
        magic = file.read(len(_ARROW_FILE_MAGIC))
        file.seek(0)
        opening: Callable[..., Any] = (
            pa.ipc.open_file if magic == _ARROW_FILE_MAGIC else pa.ipc.open_stream
        )
        return opening(file, options=options)


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns
