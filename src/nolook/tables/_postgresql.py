"""Tables of PostgreSQL servers.

The first connection holds a snapshot for as long as the table is in use: every pass reads what it
shows over a connection of its own, whatever others write meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any
from weakref import finalize

from adbc_driver_postgresql import dbapi

from nolook.errors import TableError
from nolook.tables._database_table import Cells, DatabaseTable, Relation, runs_between
from nolook.tables._sql import Name, quoted
from nolook.tables.databases import Database

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Notices may quote cells, and the client prints them. The order of rows is that in which they lie,
# whatever columns are asked for: not that of an index, nor of whichever process is first.
_SETTINGS = (
    "SET LOCAL client_min_messages = error",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL TIME ZONE 'UTC'",
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
    # The connection that holds the snapshot does nothing else.
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
_IN_PLACE = (
    "SET LOCAL enable_indexscan = off",
    "SET LOCAL enable_indexonlyscan = off",
    "SET LOCAL enable_bitmapscan = off",
)
_SIZE, _BYTES = "adbc.postgresql.batch_size_hint_bytes", 1 << 22
_SECONDS = 20  # to wait for a connection
_BLOCKS_OF_A_RUN = 1 << 13  # of 8 kB

_RELATIONS = """
SELECT n.nspname, c.relname, c.oid::int8, c.relkind::text, c.relhassubclass,
  pg_relation_size(c.oid) / current_setting('block_size')::int8
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%'
  AND n.nspname <> 'information_schema'
  AND (($1 <> '' AND n.nspname = $1 AND c.relname = $2) OR ($1 = '' AND (
    (c.relname = $2 AND n.nspname = ANY (current_schemas(false)))
    OR ($3 AND n.nspname || '.' || c.relname = $2))))
ORDER BY c.relname = $2 DESC, array_position(current_schemas(false), n.nspname)
"""
# Whether a table, or one that its rows are divided among, lies on another server.
_ELSEWHERE = """
WITH RECURSIVE below(oid) AS (
  SELECT $1::int8::oid UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = below.oid)
SELECT 1 FROM below JOIN pg_class c ON c.oid = below.oid WHERE c.relkind = 'f' LIMIT 1
"""
# A domain is read as what it is made of.
_COLUMNS = """
SELECT a.attname, b.typname, b.typtype::text, NOT a.attnotnull,
  CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE a.attrelid = $1::int8::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_PLAIN = frozenset(("bool", "int2", "int4", "int8", "float4", "float8"))
_TEXTS = frozenset(("text", "varchar", "bpchar", "name", "uuid"))
_MOMENTS = frozenset(("date", "timestamp", "timestamptz"))
# What is too large for a double is infinite and what is too small is 0: a cast would refuse both.
_NUMERIC = (
    "CASE WHEN {0} = 'NaN' THEN NULL WHEN {0} > 1.797e308 THEN 'Infinity'::float8 "
    "WHEN {0} < -1.797e308 THEN '-Infinity'::float8 WHEN abs({0}) < 1e-300 THEN 0 "
    "ELSE {0}::float8 END"
)
_WHOLE = "CASE WHEN {0} <> 'NaN' THEN {0}::int8 END"
_WHOLE_DIGITS = 18  # that fit 64 bits


class _Held:
    """A connection that is closed when nobody uses it any more; other processes get none."""

    def __init__(self, connection: Any = None) -> None:  # noqa: ANN401
        if connection is not None:
            finalize(self, _close, connection)

    def __reduce__(self) -> tuple[type[_Held], tuple[()]]:
        return _Held, ()


class PostgreSQLTable(DatabaseTable):
    """A table or view of a server, all passes over which see one snapshot of it."""

    _settings: tuple[str, ...] = _SETTINGS
    _snapshot = ""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        if self.ordered:
            self._settings = (*_SETTINGS, *_IN_PLACE)

    def _connect(self) -> Any:  # noqa: ANN401
        uri = self._database._uri
        if "connect_timeout" not in uri:
            uri += f"{'&' if '?' in uri else '?'}connect_timeout={_SECONDS}"
        return dbapi.connect(uri, autocommit=True)

    def _relations(self, schema: str | None, table: str, *, exact: bool) -> list[Relation]:
        connection = self._connect()
        self._held = _Held(connection)
        for statement in (_BEGIN, *_SETTINGS):
            _rows(connection, statement)
        ((self._snapshot,),) = _rows(connection, "SELECT pg_export_snapshot()")
        found = _rows(connection, _RELATIONS, schema or "", table, exact)[:1]
        return [_relation(connection, *each) for each in found]

    def _find(self, asked: Any) -> Relation:  # noqa: ANN401
        found = super()._find(asked)
        if not found.cells:
            raise TableError(
                f"{asked.table.text!r} lies on another server, or a part of it does, whose rows "
                "may change between passes; expected a table of this one (make a materialized view)"
            )
        return found

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Give a connection that sees the snapshot."""
        with closing(self._connect()) as connection:
            # It is made of digits, letters and hyphens, as the server sent it.
            name = re.sub(r"[^0-9A-Za-z-]", "", self._snapshot)
            snapshot = f"SET TRANSACTION SNAPSHOT '{name}'"
            for statement in (_BEGIN, snapshot, *self._settings):
                _rows(connection, statement)
            yield connection

    def _schema(self, sql: str) -> Any:  # noqa: ANN401
        with self._session() as connection, closing(connection.cursor()) as cursor:
            cursor.execute(sql)
            return cursor.fetch_record_batch().schema

    def _stream(self, sql: str, kinds: Any) -> Iterator[Any]:  # noqa: ANN401, ARG002
        with self._session() as connection, closing(connection.cursor()) as cursor:
            cursor.adbc_statement.set_options(**{_SIZE: str(_BYTES)})
            cursor.execute(sql)
            with cursor.fetch_record_batch() as reader:
                yield from reader

    @staticmethod
    def _folded(name: Name) -> str:
        return name.text if name.quoted else name.text.lower()

    @staticmethod
    def _same(name: Name, stored: str) -> bool:
        return PostgreSQLTable._folded(name) == stored


def _rows(connection: Any, sql: str, *parameters: object) -> list[tuple[Any, ...]]:  # noqa: ANN401
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql, parameters or None)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return found


def _close(connection: Any) -> None:  # noqa: ANN401
    """Close a connection, perhaps after its server is gone."""
    with suppress(Exception):
        connection.close()


def _relation(
    connection: Any,  # noqa: ANN401
    schema: str,
    table: str,
    number: int,
    kind: str,
    divided: bool,
    blocks: int,
) -> Relation:
    """Return what is known of a table or view; without columns if it lies elsewhere."""
    if _rows(connection, _ELSEWHERE, number):
        return Relation(schema, table, (), stored=False)
    # Until the snapshot is given up, nobody can alter or empty what it has looked at.
    _rows(connection, f"SELECT 1 FROM {quoted(schema)}.{quoted(table)} LIMIT 0")
    listed = _rows(connection, _COLUMNS, number)
    # Partitions may be attached while others are read.
    stored = kind in {"r", "m"} and not divided
    ends = runs_between(0, blocks, _BLOCKS_OF_A_RUN) if stored else []
    runs = [f"ctid >= '({first},0)'::tid AND ctid < '({end},0)'::tid" for first, end in ends]
    if runs:
        # Rows may lie beyond the last block that was counted.
        runs[-1] = f"ctid >= '({ends[-1][0]},0)'::tid"
    return Relation(schema, table, tuple(_cells(*each) for each in listed), stored, tuple(runs))


def _cells(name: str, kind: str, category: str, nullable: bool, modifier: int) -> Cells:
    """Return how a column is read, by its declared type."""
    column, sql = quoted(name), None
    if kind in _PLAIN:
        sql = column
    elif kind in _TEXTS or category == "e":
        sql = f"{column}::text"
    elif kind in _MOMENTS:
        sql, nullable = f"CASE WHEN isfinite({column}) THEN {column} END", True
    elif kind == "numeric":
        digits, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        whole = modifier >= 4 and scale == 0 and digits <= _WHOLE_DIGITS
        sql = _WHOLE if whole else _NUMERIC
        sql, nullable = sql.format(column), True
    return Cells(name, sql, kind, nullable)
