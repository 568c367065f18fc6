"""Columns as they are in their file, for its holder: to stand beside what was made of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from nolook.errors import TableError
from nolook.tables.conversion import original
from nolook.tables.design import _Schema
from nolook.tables.table import Table

__all__ = ["KeptColumns"]


class KeptColumns:
    """Some columns of a table's source, all rows in order: of their types, in CSV as texts.

    Nothing of them is private: they are the cells. Raises TableError if a column is unknown or
    occurs twice.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        source = original(table._source)
        if not getattr(source, "ordered", True):
            raise TableError(
                f"{source.name} is a view, or divided, so its rows may come in another order in "
                "every pass; expected a table where --keep is given (make one of it)"
            )
        declared = _Schema(source)
        columns = [declared.find(name, "--keep") for name in names]
        self.schema = pa.schema([(column.name, column.type) for column in columns])
        self._changed = f"{source.name} was changed or removed while it was in use; start again"
        self._batches = source.batches(names)
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
