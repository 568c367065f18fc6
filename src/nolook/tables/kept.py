"""Columns as they are in their file, for its holder: to stand beside what was made of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pyarrow as pa

from nolook.errors import TableError
from nolook.tables.by_unit import Held
from nolook.tables.conversion import in_place_of, needed, original, unfiltered
from nolook.tables.design import Columns
from nolook.tables.filter import Filtered
from nolook.tables.source import Source
from nolook.tables.spool import Spooled
from nolook.tables.table import Table

__all__ = ["KeptColumns"]


class KeptColumns:
    """Some columns of a table's source, all rows in order: of their types, in CSV as texts.

    Nothing of them is private: they are the cells. Raises TableError if a column is unknown or
    occurs twice.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        source = original(table._source)
        declared = Columns(source)
        columns = [declared.find(name, "--keep") for name in names]
        self.schema = pa.schema([(column.name, column.type) for column in columns])
        self._changed = f"{source.name} was changed or removed while it was in use; start again"
        if isinstance(source, Spooled):
            source.use(names)
        self._batches = _cells(table._source, names)
        self._left = pa.RecordBatch.from_pylist([], schema=self.schema)

    def take(self, rows: int) -> Any:  # noqa: ANN401 -- pyarrow has no types
        """Return the next rows, which there are as many of as the table has."""
        parts = []
        while rows:
            part = self._left.slice(0, rows)
            parts.append(part.select(self.schema.names))
            self._left = self._left.slice(part.num_rows)
            rows -= part.num_rows
            if rows:
                batch = next(self._batches, None)
                if batch is None:
                    raise TableError(self._changed)
                self._left = batch
        return pa.Table.from_batches(parts, self.schema)


def _cells(source: Source, names: Sequence[str]) -> Iterator[Any]:
    """Yield columns as they are, of the rows in use."""
    if not isinstance(source, Filtered):
        yield from original(source).batches(names)
        return
    judged = needed(source, ())
    for batch in original(source).batches(list(dict.fromkeys((*names, *judged)))):
        held = cast("Source", in_place_of(unfiltered(source), Held(batch)))
        (declared,) = held.batches(source.names)
        yield batch.select(list(names)).filter(source.met(declared))
