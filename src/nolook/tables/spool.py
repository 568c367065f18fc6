"""Rows that come once, or not surely the same twice: read once, and kept in a file without a name.

A stream has no second pass, and a lazy frame or a table of a database may give other rows, or
another order, each time. The file lies in the folder of temporary files, is never in memory as a
whole, and is gone with the table, whatever ends the process: on most systems it has no name that
could stay behind.
"""

from __future__ import annotations

import shutil
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from tempfile import TemporaryFile, gettempdir
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from nolook.errors import TableError
from nolook.tables.files import MOST_PARTS, in_runs
from nolook.tables.source import Column, attempt, changed, guarded, sound, written_out

__all__ = ["ROWS", "Spooled", "from_stream"]

#: Rows of a batch.
ROWS = 32_768
#: Bytes of the disk that are left to others: a stream may never end.
_LEFT_FREE = 1 << 30

#: Starts to give rows as Arrow record batches that have at least the named columns.
Start: TypeAlias = Callable[[Sequence[str]], Iterable[Any]]


def from_stream(source: Any) -> Spooled | None:  # noqa: ANN401 -- no library is needed
    """Take over a lazy frame of Polars, a relation of DuckDB, a dataset of pyarrow or a stream.

    Return None for anything else.

    Raises TableError if it does not tell its columns.
    """
    kind = type(source)
    message = f"source of type {kind.__name__} gives no readable Arrow stream of rows"
    start: Start
    if kind.__module__.startswith("polars") and kind.__name__ == "LazyFrame":
        if not hasattr(source, "collect_batches"):
            raise TableError(
                "this version of Polars cannot stream a lazy frame (call collect() first, "
                "or install a newer Polars)"
            )
        fields = attempt(message, lambda: source.collect_schema().to_frame().to_arrow().schema)
        name, start = "lazy frame", partial(_lazy_rows, source)
    elif kind.__name__ == "DuckDBPyRelation":
        fields = attempt(message, lambda: source.limit(0).to_arrow_reader(1)).schema
        name, start = "relation", lambda _: source.to_arrow_reader(ROWS)
    elif kind.__module__ == "pyarrow._dataset" and hasattr(source, "scanner"):
        name, fields, start = "dataset", source.schema, lambda _: source.scanner().to_reader()
    elif hasattr(source, "__arrow_c_stream__"):
        reader = attempt(message, pa.RecordBatchReader.from_stream, source)
        name, fields, start = "stream", reader.schema, lambda _: reader
    else:
        return None
    return Spooled(f"the {name}", map(Column.from_field, fields), start)


def _lazy_rows(frame: Any, _: Sequence[str]) -> Iterator[Any]:  # noqa: ANN401
    how = {"maintain_order": True, "lazy": True, "engine": "streaming"}
    for piece in frame.collect_batches(chunk_size=ROWS, **how):
        yield from piece.to_arrow().to_batches()


class Spooled:
    """A table whose rows are read once, in its first pass, and then kept on disk.

    Only the columns that were announced by :meth:`use` are kept; all, if none were. Nested ones
    never are: they can become neither numbers nor categories.

    Parameters
    ----------
    name : str
        What messages call it.
    columns : iterable of Column
    start : callable
        Gives its rows; called once.
    label : str, optional
        Its own name, for ledgers and files.
    """

    def __init__(
        self, name: str, columns: Iterable[Column], start: Start, label: str | None = None
    ) -> None:
        self.name, self.label = name, label
        self.columns = tuple(columns)
        self._start: Start | None = start
        self._in_use: dict[str, None] = {}
        self._lock = threading.Lock()  # shared with its parts, as the file is
        self._pieces: range | None = None  # the record batches to be read, once all are kept

    def use(self, names: Iterable[str]) -> None:
        """Announce columns that will be read; only before the first pass."""
        self._in_use |= dict.fromkeys(names)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        damaged = f"{self.name} cannot be read where it is kept while in use; start again"
        yield from guarded(self._read(names, self._keep()), damaged)

    def parts(self) -> Sequence[Spooled]:
        """Return runs of rows, for threads alone: its file cannot be opened by other processes."""
        return [changed(self, _pieces=run) for run in in_runs(self._keep(), MOST_PARTS)]

    def _read(self, names: Sequence[str], pieces: range) -> Iterator[Any]:
        wanted = map(self._schema.names.index, names)
        options = pa.ipc.IpcReadOptions(included_fields=sorted(wanted))
        with self._lock:
            reader = pa.ipc.open_file(pa.PythonFile(self._file, "r"), options=options)
        for piece in pieces:
            with self._lock:  # one place is read at a time
                batch = reader.get_batch(piece)
            yield batch.select(list(names))

    def _keep(self) -> range:
        """Read everything, the first time."""
        with self._lock:
            if self._pieces is None:
                start, self._start = self._start, None
                if start is None:
                    raise TableError(f"{self.name} could not be read to its end; start again")
                counts = Counter(column.name for column in self.columns)
                fields = [
                    pa.field(column.name, _flat(pa.nulls(0, column.type)).type)
                    for column in self.columns
                    if counts[column.name] == 1
                    and column.type is not None
                    and not pt.is_nested(column.type)
                    and (not self._in_use or column.name in self._in_use)
                ]
                self._schema = pa.schema(fields)
                self._file = TemporaryFile(prefix="nolook-")  # noqa: SIM115 -- closed with the lock
                weakref.finalize(self._lock, self._file.close)
                self._pieces = range(self._write(start))
            return self._pieces

    def _write(self, start: Start) -> int:
        """Write all rows; return how many record batches they are."""
        schema, folder = self._schema, gettempdir()
        stopped = f"{self.name} stopped giving rows that can be read; start again"
        full = (
            f"the rows need more than the {shutil.disk_usage(folder).free >> 30} GB that were free "
            f"on the disk of {folder!r}, 1 of which is not used (set TMPDIR to a larger one)"
        )
        batches = guarded(chain.from_iterable(map(start, [schema.names])), stopped)
        pieces = (each.slice(i, ROWS) for each in batches for i in range(0, each.num_rows, ROWS))
        count = 0
        with pa.ipc.new_file(pa.PythonFile(self._file, "w"), schema) as writer:
            for count, piece in enumerate(pieces, 1):  # noqa: B007
                if shutil.disk_usage(folder).free < _LEFT_FREE:
                    raise TableError(full)
                attempt(full, writer.write_batch, attempt(stopped, _plain, piece, schema))
        return count


def _flat(cells: Any) -> Any:  # noqa: ANN401
    """Return cells without a dictionary: a file of Arrow's has one, others many."""
    return written_out(cells) if pt.is_dictionary(cells.type) else cells


def _plain(rows: Any, schema: Any) -> Any:  # noqa: ANN401
    """Return the columns that are kept, safe to write."""
    columns = [_flat(sound(rows.column(name))) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
