"""Tables kept in databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa

import nolook
from tests.tables.servers import postgresql

__all__ = ["DATABASES", "in_duckdb", "in_postgresql", "in_sqlite"]

_SQLITE_TYPES = {
    pa.float64(): "REAL",
    pa.int64(): "INTEGER",
    pa.string(): "TEXT",
    pa.bool_(): "BOOLEAN",
}


def in_duckdb(table: pa.Table, folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return f"duckdb:{folder / 't.duckdb'}#t"


def in_sqlite(table: pa.Table, folder: Path) -> str:
    fields = ", ".join(
        f'"{field.name}" {_SQLITE_TYPES.get(field.type, "NUMERIC")}' for field in table.schema
    )
    marks = ", ".join("?" * table.num_columns)
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        connection.execute(f"CREATE TABLE t ({fields})")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        connection.commit()
    return f"sqlite:{folder / 't.sqlite'}#t"


def in_postgresql(table: pa.Table, folder: Path) -> nolook.Database:
    server = postgresql()
    name = server.store(table)
    (folder / "database").write_text(name)
    return nolook.Database(server.uri(name), table="t")


#: How a table is kept.
DATABASES = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgresql": in_postgresql}
