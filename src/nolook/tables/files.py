"""One file of a table, on this machine or in object storage, read repeatedly in bounded memory."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from pyarrow import fs

from nolook.errors import TableError
from nolook.tables.schema import USUAL, FileFormat
from nolook.tables.source import Column, attempt, changed, guarded, sound

__all__ = [
    "MOST_PARTS",
    "ArrowFile",
    "File",
    "ParquetFile",
    "Place",
    "Signs",
    "bare_path",
    "in_runs",
    "in_storage",
    "place_of",
]

# Rows decoded at a time, and bytes read ahead for each column. With buffered reads a row group is
# never in memory as a whole, so a long one needs no more than a short one.
_ROWS = 16_384
_BUFFER = 1 << 16
# Of gzip, which asks for little at a time.
_STREAM_BUFFER = 1 << 20

#: Declared columns, and decimal signs of their own.
Signs: TypeAlias = Mapping[str, str | None]
#: A file of very many pieces is read in at most this number of runs of them.
MOST_PARTS = 256

_ARROW_FILE_MAGIC = b"ARROW1"

_STORAGE = re.compile(r"(s3|gs)://", re.IGNORECASE)
_SECONDS = 60  # to try again


@frozen
class Place:
    """A file or folder of one of pyarrow's file systems."""

    system: Any  # pyarrow has no types
    path: str  # absolute: the program, or another one that reads a part, may change its folder
    name: str  # for messages

    @property
    def label(self) -> str:
        """Its own name, without folders."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def near(self) -> bool:
        """Whether it is on this machine, where reading a little at a time costs little."""
        return isinstance(self.system, fs.LocalFileSystem)

    def info(self) -> Any:  # noqa: ANN401
        """Return pyarrow's information about the file."""
        # As bytes: pyarrow takes texts in UTF-8 only, and a file's name may be any bytes.
        return self.system.get_file_info(os.fsencode(self.path))

    def same(self) -> Hashable:
        """Return a key that is equal for two names of one file."""
        if self.near:
            with suppress(OSError, ValueError):  # no such file, or a name that none can have
                found = Path(self.path).stat()
                return found.st_dev, found.st_ino
        return self.system.type_name, self.path

    def state(self) -> Hashable:
        """Return a stamp that changes with the file; raises FileNotFoundError if there is none."""
        found = self.info()
        if not found.is_file:
            raise FileNotFoundError
        if self.near:
            return found.size, found.mtime_ns, Path(self.path).stat().st_ino
        with self.open() as file:  # in a bucket, its tag too
            return found.size, found.mtime_ns, tuple(sorted(file.metadata().items()))

    def open(self) -> Any:  # noqa: ANN401
        """Open it for reading anywhere; not mapped, as pages would count as this process's."""
        return self.system.open_input_file(os.fsencode(self.path))

    def stream(self) -> Any:  # noqa: ANN401
        """Open it for reading from its beginning on."""
        # Not decompressed by its name: that is ours to do.
        return self.system.open_input_stream(os.fsencode(self.path), None, _STREAM_BUFFER)


def in_storage(source: object) -> TypeGuard[str]:
    """Tell whether a table's place is an address in object storage."""
    return isinstance(source, str) and _STORAGE.match(source) is not None


def bare_path(source: str | os.PathLike[str]) -> str:
    """Return a path as it is given, and of an address in storage only the bucket and the path."""
    if not in_storage(source):
        return Path(source).as_posix()
    holder, _, path = source.partition("?")[0].partition("://")[2].partition("/")
    return f"{holder.rpartition('@')[2]}/{path}".rstrip("/")


def place_of(source: str | os.PathLike[str]) -> Place:
    """Return the place that a path, or an address in storage, names.

    What messages call it leaves out a user, a password and settings behind a question mark.
    """
    if not in_storage(source):
        return Place(fs.LocalFileSystem(), Path(source).absolute().as_posix(), repr(str(source)))
    address, _, settings = source.partition("?")
    scheme, _, rest = address.partition("://")
    path = bare_path(source)
    name = repr(f"{scheme}://{path}")
    refused = (
        f"{name} cannot be reached; expected an address such as 's3://bucket/folder' (with its "
        "settings where needed: '?region=eu-central-1')"
    )
    if not path or path.startswith("/"):
        raise TableError(refused)
    if scheme.lower() == "gs" and "retry_limit_seconds" not in settings:
        # Without credentials it would look for some for a quarter of an hour.
        settings = "&".join(filter(None, (settings, f"retry_limit_seconds={_SECONDS}")))
    holder = rest.partition("/")[0]
    system, _ = attempt(refused, fs.FileSystem.from_uri, f"{scheme}://{holder}?{settings}")
    return Place(system, path, name)


def in_runs(pieces: Sequence[Any], most: int) -> list[Sequence[Any]]:
    """Divide pieces into at most `most` runs, which follow each other."""
    count = len(pieces)
    runs = max(1, min(count, most))
    return [pieces[count * i // runs : count * (i + 1) // runs] for i in range(runs)]


class File(ABC):
    """A regular file that is read again on every pass and must not change between them.

    One of text needs its format, and the names of its columns if it has no header. Raises
    TableError if there is no such file, it is not a regular file, or it cannot be opened.
    """

    kind: ClassVar[str]  # the format, for messages
    endings: ClassVar[tuple[str, ...]]  # of the names of such files
    is_text: ClassVar[bool] = False  # whether every cell is text, since no types are declared
    _pieces = range(1)  # to be read; of those that can be read apart, as opening it tells
    _alone = True  # whether this is all of a table, so that no thread reads another part
    rows: int | None = None  # of the whole, if opening it tells; as confidential as the table

    def __init__(self, place: Place, form: FileFormat = USUAL, names: Signs | None = None) -> None:
        self.place, self._form, self._names = place, form, names or {}
        self.name, self.label = place.name, place.label
        why = "damaged or cut short?" if place.near else "damaged, or no answer?"
        self.unreadable = f"{self.name} is not a readable {self.kind} file ({why})"
        an = "an" if self.kind[0] in "AEIOS" else "a"
        absent = f"{self.name} does not exist or cannot be opened; expected {an} {self.kind} file"
        self._state = attempt(absent, place.state)
        self.columns = attempt(self.unreadable, self._declared)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        self._check_unchanged()
        yield from guarded(self._stream(list(names)), self.unreadable)
        self._check_unchanged()

    def parts(self, most: int = MOST_PARTS) -> Sequence[File]:
        """Return runs of row groups of a Parquet file, or of record batches of an Arrow one."""
        runs = in_runs(self._pieces, most)
        if len(runs) == 1 or not self._alone:
            return (self,)
        return [changed(self, _pieces=run, _alone=False) for run in runs]

    @abstractmethod
    def _declared(self) -> tuple[Column, ...]:
        """Open the file once, and return its columns."""

    @abstractmethod
    def _stream(self, names: list[str]) -> Iterator[Any]:
        """Yield record batches; what goes wrong is turned into one message."""

    def _check_unchanged(self) -> None:
        changed = f"{self.name} was changed or removed while it was in use; start again"
        if attempt(changed, self.place.state) != self._state:
            raise TableError(changed)


class ParquetFile(File):
    """A Parquet file."""

    kind, endings = "Parquet", (".parquet", ".pq")

    def _declared(self) -> tuple[Column, ...]:
        with self.place.open() as file:
            opened = pq.ParquetFile(file)
            self._pieces, self.rows = range(opened.num_row_groups), opened.metadata.num_rows
            return tuple(map(Column.from_field, opened.schema_arrow))

    def _stream(self, names: list[str]) -> Iterator[Any]:
        near = self.place.near
        with self.place.open() as file:
            opened = pq.ParquetFile(
                file,
                # Read ahead as a whole, a row group is in memory at once.
                pre_buffer=not near,
                buffer_size=_BUFFER if near else 0,
                page_checksum_verification=True,
            )
            # What is far away is fetched ahead: one row group at a time, which bounds the memory.
            for groups in [self._pieces] if near else [[piece] for piece in self._pieces]:
                yield from opened.iter_batches(
                    batch_size=_ROWS, columns=names, row_groups=groups, use_threads=self._alone
                )


class ArrowFile(File):
    """An Arrow IPC file (also Feather, version 2) or stream; one batch at a time is in memory."""

    kind, endings = "Arrow", (".arrow", ".arrows", ".feather", ".ipc")

    def _declared(self) -> tuple[Column, ...]:
        with self.place.open() as file:
            opened = _arrow(file, None)
            self._pieces = range(getattr(opened, "num_record_batches", 1))  # a stream has no index
            return tuple(map(Column.from_field, opened.schema))

    def _stream(self, names: list[str]) -> Iterator[Any]:
        declared = [column.name for column in self.columns]
        fields = list(map(declared.index, names))
        with self.place.open() as file:
            reader = _arrow(file, pa.ipc.IpcReadOptions(included_fields=fields))
            batches: Iterable[Any] = reader
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                batches = map(reader.get_batch, self._pieces)
            for batch in batches:
                # The format has no checksums: an offset or index may lead out of its buffer.
                columns = [sound(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _arrow(file: Any, options: Any) -> Any:  # noqa: ANN401
    magic = file.read(len(_ARROW_FILE_MAGIC))
    file.seek(0)
    is_file = magic == _ARROW_FILE_MAGIC
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)
