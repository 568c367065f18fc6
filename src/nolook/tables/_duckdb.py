"""Tables in files of DuckDB."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from nolook.tables._database_table import ROWS, Cells, FileTable, Relation, runs_between
from nolook.tables._sql import quoted

# Nothing but the file is read: no other file, address, extension or variable of this program,
# whatever a view or a table's name says. One thread: rows come as a stream.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "preserve_insertion_order": "true",
    "python_enable_replacements": "false",
    "threads": "1",
}
_ROWS_OF_A_RUN = 1 << 20
# MiB of a file that are kept after they were read. Beside them a stream holds two blocks of each
# column, of 256 KiB. A view may have to sort or join.
_ROOM, _ROOM_OF_A_VIEW = 64, 256
# All that read a file share one limit: columns being read, by file.
_being_read: Counter[Path] = Counter()
_counting = threading.Lock()

_RELATIONS = """
SELECT schema_name, table_name, TRUE FROM duckdb_tables() WHERE database_name = current_database()
UNION ALL SELECT schema_name, view_name, FALSE FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal
"""
_COLUMNS = """
SELECT column_name, data_type, is_nullable FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ?
ORDER BY column_index
"""
_PLAIN = frozenset(
    (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT"),
        *("UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "VARCHAR"),
    )
)
_CAST = {"HUGEINT": "DOUBLE", "UHUGEINT": "DOUBLE", "UUID": "VARCHAR"}
_MOMENTS = frozenset(("DATE", "TIMESTAMP"))


class DuckDBTable(FileTable):
    """A table or view in a file of DuckDB, read over a connection of its own in every pass."""

    _beside = (".wal",)

    def _connect(self) -> Any:  # noqa: ANN401
        connection = duckdb.connect(str(self.path), read_only=True, config=_SETTINGS)
        # It is printed, and tells how many rows there are.
        connection.execute("SET enable_progress_bar = false")
        return closing(connection)

    def _relations(self, schema: str | None, table: str, *, exact: bool) -> list[Relation]:
        with self._connect() as connection:
            found = [
                each
                for each in connection.execute(_RELATIONS).fetchall()
                if _is(each, schema, table, exact=exact)
            ]
            found.sort(key=lambda each: (each[0] != "main", each[1] != table))
            return [self._relation(connection, *each) for each in found[:1]]

    @staticmethod
    def _relation(connection: Any, schema: str, table: str, stored: bool) -> Relation:  # noqa: ANN401
        cells = tuple(
            _cells(*each) for each in connection.execute(_COLUMNS, [schema, table]).fetchall()
        )
        runs: tuple[str, ...] = ()
        if stored and "rowid" not in {each.name.lower() for each in cells}:
            last = f"SELECT max(rowid) FROM {quoted(schema)}.{quoted(table)}"
            ((end,),) = connection.execute(last).fetchall()
            ends = runs_between(0, 0 if end is None else end + 1, _ROWS_OF_A_RUN)
            runs = tuple(f"rowid >= {first} AND rowid < {last}" for first, last in ends)
        return Relation(schema, table, cells, stored, runs)

    def _schema(self, sql: str) -> Any:  # noqa: ANN401
        with self._connect() as connection:
            return connection.sql(sql).to_arrow_reader(ROWS).schema

    def _stream(self, sql: str, kinds: Any) -> Iterator[Any]:  # noqa: ANN401
        with self._connect() as connection, self._room_for(connection, len(kinds)):
            # By `execute` the whole result would be in memory before its first batch.
            yield from connection.sql(sql).to_arrow_reader(ROWS)

    @contextmanager
    def _room_for(self, connection: Any, columns: int) -> Iterator[None]:  # noqa: ANN401
        """Allow as much memory as reading so many columns takes, beside what is being read."""
        base = _ROOM if self.ordered else _ROOM_OF_A_VIEW
        try:
            with _counting:
                _being_read[self.path] += columns
                connection.execute(f"SET memory_limit = '{base + _being_read[self.path] // 2} MiB'")
            yield
        finally:
            with _counting:
                _being_read[self.path] -= columns


def _is(found: tuple[str, str, bool], schema: str | None, table: str, *, exact: bool) -> bool:
    """Tell whether a table is of a name."""
    there, name = found[:2]
    if not exact:
        there, name = there.lower(), name.lower()
        schema, table = None if schema is None else schema.lower(), table.lower()
    if schema is None:
        return table == name or (exact and table == f"{there}.{name}")
    return (schema, table) == (there, name)


def _cells(name: str, declared: str, nullable: bool) -> Cells:
    """Return how a column is read, by its declared type."""
    column, kind = quoted(name), declared.upper()
    if kind in _PLAIN or kind.startswith("DECIMAL"):
        sql: str | None = column
    elif kind in _CAST or kind.startswith("ENUM"):
        sql = f"CAST({column} AS {_CAST.get(kind, 'VARCHAR')})"
    elif kind in _MOMENTS:
        sql, nullable = f"CASE WHEN isfinite({column}) THEN {column} END", True
    else:
        sql = None
    return Cells(name, sql, kind.partition("(")[0].lower(), nullable)
