"""Tables in files of SQLite.

SQLite's types are wishes: any cell of a column may be a text. What is read is therefore what the
column declares, and any other cell is missing; nothing is inferred from rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa

from nolook.tables._database_table import Cells, FileTable, Relation, runs_between
from nolook.tables._sql import quoted
from nolook.tables.databases import Database

# Cells of a batch, which are objects before they are Arrow's.
_CELLS = 1 << 16
_ROWS_OF_A_RUN = 1 << 20
_ROWIDS = ("_rowid_", "rowid", "oid")
_RELATIONS = """
SELECT name, type = 'table' AND sql NOT LIKE 'create virtual%' FROM main.sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
"""
_NUMBER = "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'integer' THEN CAST({0} AS REAL) END"
_WHOLE = "CASE WHEN typeof({0}) = 'integer' THEN {0} END"
_TEXT = "CASE WHEN typeof({0}) = 'text' THEN {0} END"
_TRUTH = "CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END"
# By a part of the declared type's name, the first that is found.
_READ = (
    ("BOOL", _TRUTH, pa.bool_()),
    ("INT", _WHOLE, pa.int64()),
    *((part, _TEXT, pa.string()) for part in ("CHAR", "CLOB", "TEXT", "UUID", "GUID")),
    *((part, _NUMBER, pa.float64()) for part in ("REAL", "FLOA", "DOUB", "DEC", "NUM")),
    *((part, _TEXT, pa.string()) for part in ("DATE", "TIME")),
)


class SQLiteTable(FileTable):
    """A table or view in a file of SQLite, read over a connection of its own in every pass."""

    _beside = ("-wal", "-journal")

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        if self.ordered:
            # Not by an index that covers some columns: rows come in one order whatever is chosen.
            self._suffix = " NOT INDEXED"

    def _connect(self) -> Any:  # noqa: ANN401
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = bytes  # which need not be UTF-8
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        return closing(connection)

    def _relations(self, schema: str | None, table: str, *, exact: bool) -> list[Relation]:
        if schema not in {None, "main"}:
            return []
        with self._connect() as connection:
            found = [
                (name.decode(), bool(stored))
                for name, stored in connection.execute(_RELATIONS)
                if name.decode() in {table, table.removeprefix("main.")}
                or (not exact and name.decode().lower() == table.lower())
            ]
            return [self._relation(connection, *each) for each in found[:1]]

    def _relation(self, connection: Any, table: str, stored: bool) -> Relation:  # noqa: ANN401
        listed = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
        # Hidden columns of virtual tables are arguments.
        cells = tuple(_cells(each[1].decode(), each[2].decode()) for each in listed if each[6] != 1)
        return Relation("main", table, cells, stored, _runs(connection, table) if stored else ())

    def _stream(self, sql: str, kinds: Any) -> Iterator[Any]:  # noqa: ANN401
        rows = max(1, _CELLS // len(kinds))
        names = [str(i) for i in range(len(kinds))]
        with self._connect() as connection:
            cursor = connection.execute(sql)
            while found := cursor.fetchmany(rows):
                cells = zip(zip(*found, strict=True), kinds, strict=True)
                arrays = [_array(column, kind) for column, kind in cells]
                yield pa.RecordBatch.from_arrays(arrays, names=names)


def _runs(connection: Any, table: str) -> tuple[str, ...]:  # noqa: ANN401
    """Return runs of row numbers, if rows have any under a name that is no column's."""
    for name in _ROWIDS:
        listed = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
        if name in {each[1].decode().lower() for each in listed}:
            continue
        try:
            # Asked for together, they would be looked for in every row.
            ends = (f"SELECT {end}({name}) FROM main.{quoted(table)}" for end in ("min", "max"))
            first, last = (connection.execute(end).fetchone()[0] for end in ends)
        except sqlite3.OperationalError:  # a table without them
            return ()
        if first is None:
            return ()
        runs = runs_between(first, last + 1, _ROWS_OF_A_RUN)
        return tuple(f"{name} BETWEEN {start} AND {end - 1}" for start, end in runs)
    return ()


def _array(cells: Any, kind: Any) -> Any:  # noqa: ANN401
    """Return cells as an array."""
    if kind == pa.string():
        return pa.array(cells, pa.binary()).view(kind)
    if kind == pa.bool_():
        return pa.array(cells, pa.int8()).cast(kind)
    return pa.array(cells, kind)


def _cells(name: str, declared: str) -> Cells:
    """Return how a column is read, by its declared type."""
    kind = declared.upper()
    found = ((sql, arrow) for part, sql, arrow in _READ if part in kind)
    sql, arrow = next(found, (None, None))
    words = declared.partition("(")[0].strip().lower() or "no declared type"
    return Cells(name, None if sql is None else sql.format(quoted(name)), words, type=arrow)
