"""Tables and views of databases: where they are, and how their cells are read.

A table is read once, in its first pass, by one SELECT of the columns in use, and kept in the spool.
SQLite's types are wishes: any cell may be a text. What is read is what the column declares, and any
other cell is missing; nothing is inferred from rows, here or elsewhere.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, TypeGuard

import pyarrow as pa
from attrs import evolve, frozen

from nolook._language import parameter_name, usage_hint
from nolook._validation import require
from nolook.errors import ParameterError, TableError
from nolook.tables.source import LONGEST_CELL, Column, attempt, in_words
from nolook.tables.spool import Spooled

__all__ = ["DATABASES", "Database", "is_address"]

#: How the address of each kind of database is written.
DATABASES = ("duckdb:FILE", "sqlite:FILE", "postgresql://HOST/NAME")
# Object storage is no database. The last two are mistaken for addresses, and may hold a password.
_KIND = "(duckdb|sqlite|postgresql|postgres)"
_ADDRESS = re.compile(
    rf"(?!s3:|gs:)[^/]*://|{_KIND}:|\s*{_KIND}:?/+[^/]*:[^/]*@|\s*\w+\s*=.*\bpassword\s*=",
    re.IGNORECASE,
)
# Schemas that tables are in if nothing else is said.
_USUAL = frozenset(("main", "public"))
#: Rows of a batch.
_ROWS = 32_768


class Database:
    """A table or view of a database, for :func:`nolook.read_table`.

    The guarantee is for the rows of this table or view. A view can define the rows, by a join or a
    sum; its author is then responsible for the number of rows that one person can change.

    Parameters
    ----------
    uri : str
        ``duckdb:FILE`` or ``sqlite:FILE``, optionally with the table as in ``duckdb:FILE#table``,
        or ``postgresql://USER@HOST:PORT/NAME``; PostgreSQL's own variables and files
        (``PGPASSWORD``, ``~/.pgpass``) supply the rest. It is never shown or written.
    table : str
        The exact name of a table or view, or ``schema.name``. Optional if the address names it.

    Raises
    ------
    ParameterError
        If the kind of address is not known, or no table is named.

    Examples
    --------
    >>> Database("postgresql://server/hospital", table="visits")
    Database(postgresql, table='visits')
    """

    def __init__(self, uri: str, table: str | None = None) -> None:
        kind, colon, place = str(uri).partition(":")
        if kind not in _READERS or not colon:
            raise ParameterError(
                "the address of the database has an unknown kind; expected "
                f"{', '.join(DATABASES[:-1])} or {DATABASES[-1]}"
            )
        if "#" in place and table is None and not place.startswith("//"):
            place, _, table = place.rpartition("#")
        if table is None or not str(table).strip():
            example = f"nolook.Database('{kind}:...', table='patients')"
            raise ParameterError(
                f"{parameter_name('table')} is {'not given' if table is None else 'empty'}; "
                "expected the name of a table or view (for example "
                f"{usage_hint('table', 'patients', example)})"
            )
        self.kind, self.table = kind, str(table)
        self._uri, self._place = f"{kind}:{place}", place

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind}, table={self.table!r})"

    def __str__(self) -> str:
        return self.table

    @property
    def path(self) -> Path | None:
        """The file of the database; None if a server holds it."""
        return Path(self._place) if issubclass(_READERS[self.kind], _OfFile) else None

    def open(self) -> Spooled:
        """Find the table and its columns; rows are read later, once."""
        reader = _READERS[self.kind](self._uri, self._place)
        refused = (
            "the database cannot be opened, or refuses access (check its "
            "address and how you sign in; its own words are not shown, as they may quote cells)"
        )
        require(reader.package, f"databases of kind {self.kind}", "databases")
        found = attempt(refused, _Found.of, reader, self.table)
        if found is None:
            raise TableError(
                f"the database has no table or view {self.table!r} that can be read; expected the "
                "name of one (as it is stored; schema.name if it is in another schema)"
            )
        label = found.table if found.schema in _USUAL else f"{found.schema}.{found.table}"
        name = f"the table {label!r}"
        return Spooled(name, found.columns, found.read, label=label)


def is_address(source: object) -> TypeGuard[str]:
    """Tell whether a text is a database's address, or another that is neither file nor bucket.

    Such a text may hold a password, so no message may show it.
    """
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def _quoted(name: str) -> str:
    """Return a name as an identifier of SQL, whatever letters it holds."""
    return '"' + name.replace('"', '""') + '"'


@frozen
class _Cells:
    """The expression that reads a column: no cell may make it an error."""

    name: str
    sql: str | None  # None for what is neither numbers nor texts
    declared: str  # the type as the database says it
    nullable: bool = True
    type: Any = None  # the pyarrow.DataType, if it is not to be asked for


@frozen
class _Found:
    """A table or view, its columns, and how its rows are read."""

    reader: _Reader
    schema: str
    table: str
    cells: Mapping[str, str | None]
    columns: tuple[Column, ...] = ()

    @classmethod
    def of(cls, reader: _Reader, table: str) -> Self | None:
        """Return the table or view of a name, perhaps ``schema.name``."""
        with reader.connect() as connection:
            if (named := reader.names(connection, table)) is None:
                return None
            schema, name, cells = named
            found = cls(reader, schema, name, {each.name: each.sql for each in cells})
            kinds = {each.name: each.type for each in cells}
            asked = [each.name for each in cells if each.sql is not None and each.type is None]
            if asked:  # types are those that no row at all has
                empty = reader.types(connection, f"{found.select(asked)} WHERE 1 = 0")
                kinds |= dict(zip(asked, empty, strict=True))
        own = [(each, kinds[each.name]) for each in cells]
        columns = [
            Column(each.name, kind, in_words(kind) if kind else each.declared, each.nullable)
            for each, kind in own
        ]
        return evolve(found, columns=tuple(columns))

    def select(self, names: Sequence[str]) -> str:
        """Return the statement that reads some columns."""
        chosen = (f"{self.cells[name]} AS {_quoted(f'c{i}')}" for i, name in enumerate(names))
        place = f"{_quoted(self.schema)}.{_quoted(self.table)}"
        return f"SELECT {', '.join(chosen)} FROM {place}"  # noqa: S608 -- names are quoted

    def read(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        kinds = {column.name: column.type for column in self.columns}
        fields = pa.schema([(name, kinds[name]) for name in names])
        with self.reader.connect() as connection:
            for batch in self.reader.stream(connection, self.select(names), fields.types):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=fields)


class _OfFile:
    """A database that is one file."""

    def __init__(self, uri: str, place: str) -> None:  # noqa: ARG002
        # Absolute: ':memory:' or 'md:...' is a file's name here, and no order to its reader.
        self.path = Path(place).absolute()
        absent = f"{place!r} does not exist or is not a file; expected a database's file"
        if not attempt(absent, self.path.is_file):
            raise TableError(absent)


_NUMBER = "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'integer' THEN CAST({0} AS REAL) END"
_TEXT = (
    "CASE WHEN typeof({0}) = 'text' AND length(CAST({0} AS BLOB)) <= "
    f"{LONGEST_CELL} THEN {{0}} END"
)
# How SQLite's cells are read, by a part of the declared type's name, the first that is found.
_READ = (
    ("BOOL", "CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END", pa.bool_()),
    ("INT", "CASE WHEN typeof({0}) = 'integer' THEN {0} END", pa.int64()),
    *((part, _TEXT, pa.large_string()) for part in ("CHAR", "CLOB", "TEXT", "UUID", "GUID")),
    *((part, _NUMBER, pa.float64()) for part in ("REAL", "FLOA", "DOUB", "DEC", "NUM")),
    *((part, _TEXT, pa.large_string()) for part in ("DATE", "TIME")),
)


class _SQLite(_OfFile):
    package = "sqlite3"
    _CELLS = 1 << 16  # of a batch, which are objects before they are Arrow's
    _RELATIONS = """
    SELECT name FROM main.sqlite_schema
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name IN (?, ?)
    """

    def connect(self) -> AbstractContextManager[Any]:
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

    def names(self, connection: Any, table: str) -> tuple[str, str, Sequence[_Cells]] | None:  # noqa: ANN401
        asked = (table, table.removeprefix("main."))
        found = [each[0].decode() for each in connection.execute(self._RELATIONS, asked)]
        if not found:
            return None
        name = table if table in found else found[0]
        listed = connection.execute(f"PRAGMA main.table_xinfo({_quoted(name)})").fetchall()
        # Hidden columns of virtual tables are arguments.
        cells = [self._cells(each[1].decode(), each[2].decode()) for each in listed if each[6] != 1]
        return "main", name, cells

    def _cells(self, name: str, declared: str) -> _Cells:
        found = ((sql, arrow) for part, sql, arrow in _READ if part in declared.upper())
        sql, arrow = next(found, (None, None))
        words = declared.partition("(")[0].strip().lower() or "no declared type"
        return _Cells(name, None if sql is None else sql.format(_quoted(name)), words, type=arrow)

    def types(self, connection: Any, sql: str) -> Sequence[Any]:  # noqa: ANN401
        raise NotImplementedError  # all are known

    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Any]:  # noqa: ANN401
        cursor = connection.execute(sql)
        names = [str(i) for i in range(len(kinds))]
        while found := cursor.fetchmany(max(1, self._CELLS // len(kinds))):
            cells = zip(zip(*found, strict=True), kinds, strict=True)
            yield pa.RecordBatch.from_arrays([_array(*each) for each in cells], names=names)


def _array(cells: Any, kind: Any) -> Any:  # noqa: ANN401
    """Return SQLite's cells as an array."""
    if kind == pa.large_string():
        return pa.array(cells, pa.large_binary()).view(kind)
    return pa.array(cells, pa.int8()).cast(kind) if kind == pa.bool_() else pa.array(cells, kind)


class _DuckDB(_OfFile):
    package = "duckdb"
    # Nothing but the file is read: no other file, address, extension or variable of this program,
    # whatever a view or a table's name says. One thread: rows come as a stream.
    _SETTINGS: ClassVar[dict[str, str | bool | int | float | list[str]]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
        "preserve_insertion_order": "true",
        "python_enable_replacements": "false",
        "threads": "1",
    }
    # MiB: what is kept of a file that was read, and what a view may need to sort or join. Beside
    # them a stream holds two blocks of each column, of 256 KiB. One text may need more, up to the
    # most, to be found too long.
    _ROOM, _MOST_ROOM = 256, 1 << 16
    _RELATIONS = """
    SELECT there, name FROM (
      SELECT schema_name AS there, table_name AS name FROM duckdb_tables()
      WHERE database_name = current_database()
      UNION ALL SELECT schema_name, view_name FROM duckdb_views()
      WHERE database_name = current_database() AND NOT internal)
    WHERE name = $1 OR there || '.' || name = $1 ORDER BY there <> 'main', name <> $1
    """
    _COLUMNS = """
    SELECT column_name, data_type, is_nullable FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name = ? AND table_name = ?
    ORDER BY column_index
    """
    # And all kinds of DECIMAL.
    _PLAIN = re.compile("BOOLEAN|U?(TINY|SMALL|BIG)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*")
    _CAST = {"HUGEINT": "DOUBLE", "UHUGEINT": "DOUBLE", "UUID": "VARCHAR"}  # noqa: RUF012

    def connect(self) -> AbstractContextManager[Any]:
        import duckdb

        connection = duckdb.connect(str(self.path), read_only=True, config=self._SETTINGS)
        # It is printed, and tells how many rows there are.
        connection.execute("SET enable_progress_bar = false")
        return closing(connection)

    def names(self, connection: Any, table: str) -> tuple[str, str, Sequence[_Cells]] | None:  # noqa: ANN401
        found = connection.execute(self._RELATIONS, [table]).fetchone()
        if found is None:
            return None
        columns = connection.execute(self._COLUMNS, [*found]).fetchall()
        return *found, [self._cells(*each) for each in columns]

    def _cells(self, name: str, declared: str, nullable: bool) -> _Cells:
        column, kind = _quoted(name), declared.upper()
        sql: str | None = None
        if kind == "VARCHAR":
            sql, nullable = f"CASE WHEN strlen({column}) <= {LONGEST_CELL} THEN {column} END", True
        elif self._PLAIN.fullmatch(kind):
            sql = column
        elif kind in self._CAST or kind.startswith("ENUM"):
            sql = f"CAST({column} AS {self._CAST.get(kind, 'VARCHAR')})"
        elif kind in {"DATE", "TIMESTAMP"}:
            sql, nullable = f"CASE WHEN isfinite({column}) THEN {column} END", True
        return _Cells(name, sql, kind.partition("(")[0].lower(), nullable)

    def types(self, connection: Any, sql: str) -> Sequence[Any]:  # noqa: ANN401
        return connection.sql(sql).to_arrow_reader(_ROWS).schema.types  # type: ignore[no-any-return]

    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Any]:  # noqa: ANN401
        room, given = self._ROOM + len(kinds) // 2, 0
        while True:
            connection.execute(f"SET memory_limit = '{room} MiB'")
            try:
                # By `execute` the whole result would be in memory before its first batch.
                for batch in islice(connection.sql(sql).to_arrow_reader(_ROWS), given, None):
                    given += 1
                    yield batch
            except Exception as error:  # whichever class the reader turns it into
                if "Out of Memory" not in str(error) or room > self._MOST_ROOM:
                    raise
                room *= 4
            else:
                return


class _PostgreSQL:
    package = "adbc_driver_postgresql"
    # Notices may quote cells, and the client prints them.
    _SETTINGS = (
        "BEGIN READ ONLY",
        "SET LOCAL client_min_messages = error",
        "SET LOCAL client_encoding = 'UTF8'",
        "SET LOCAL standard_conforming_strings = on",
        "SET LOCAL TIME ZONE 'UTC'",
        "SET LOCAL lock_timeout = '60s'",
    )
    _SECONDS = 20  # to wait for a connection, where the address says nothing else
    _BYTES = 1 << 22  # of a batch
    _RELATIONS = """
    SELECT n.nspname, c.relname, c.oid::int8
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%'
      AND n.nspname <> 'information_schema'
      AND ((c.relname = $1 AND n.nspname = ANY (current_schemas(false)))
        OR n.nspname || '.' || c.relname = $1)
    ORDER BY c.relname = $1 DESC, array_position(current_schemas(false), n.nspname) LIMIT 1
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
    # What is too large for a double is infinite, and what is too small is 0: a cast would refuse.
    _NUMERIC = (
        "CASE WHEN {0} = 'NaN' THEN NULL WHEN {0} > 1.797e308 THEN 'Infinity'::float8 "
        "WHEN {0} < -1.797e308 THEN '-Infinity'::float8 WHEN abs({0}) < 1e-300 THEN 0 "
        "ELSE {0}::float8 END"
    )
    _WHOLE = "CASE WHEN {0} <> 'NaN' THEN {0}::int8 END"
    _WHOLE_DIGITS = 18  # that fit 64 bits

    def __init__(self, uri: str, place: str) -> None:  # noqa: ARG002
        usual = f"{'&' if '?' in uri else '?'}connect_timeout={self._SECONDS}"
        self._uri = uri if "connect_timeout" in uri else uri + usual

    @contextmanager
    def connect(self) -> Iterator[Any]:
        from adbc_driver_postgresql import dbapi

        with closing(dbapi.connect(self._uri, autocommit=True)) as connection:
            for statement in self._SETTINGS:
                _asked(connection, statement)
            yield connection

    def names(self, connection: Any, table: str) -> tuple[str, str, Sequence[_Cells]] | None:  # noqa: ANN401
        found = _asked(connection, self._RELATIONS, table)
        if not found:
            return None
        ((schema, name, number),) = found
        columns = _asked(connection, self._COLUMNS, number)
        return schema, name, [self._cells(*each) for each in columns]

    def _cells(self, name: str, kind: str, category: str, nullable: bool, modifier: int) -> _Cells:
        column, sql = _quoted(name), None
        if kind in self._PLAIN:
            sql = column
        elif kind in self._TEXTS or category == "e":
            sql = (
                f"CASE WHEN octet_length({column}::text) <= {LONGEST_CELL} THEN {column}::text END"
            )
            nullable = True
        elif kind in self._MOMENTS:
            sql, nullable = f"CASE WHEN isfinite({column}) THEN {column} END", True
        elif kind == "numeric":
            digits, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
            whole = modifier >= 4 and scale == 0 and digits <= self._WHOLE_DIGITS
            sql = (self._WHOLE if whole else self._NUMERIC).format(column)
            nullable = True
        return _Cells(name, sql, kind, nullable)

    def types(self, connection: Any, sql: str) -> Sequence[Any]:  # noqa: ANN401
        with closing(connection.cursor()) as cursor:
            cursor.execute(sql)
            return cursor.fetch_record_batch().schema.types  # type: ignore[no-any-return]

    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Any]:  # noqa: ANN401, ARG002
        with closing(connection.cursor()) as cursor:
            size = {"adbc.postgresql.batch_size_hint_bytes": str(self._BYTES)}
            cursor.adbc_statement.set_options(**size)
            cursor.execute(sql)
            with cursor.fetch_record_batch() as reader:
                yield from reader


def _asked(connection: Any, sql: str, *parameters: object) -> list[tuple[Any, ...]]:  # noqa: ANN401
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql, parameters or None)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return found


#: A reader of the tables of one kind of database: it opens connections that can only read, finds a
#: table's schema, name and columns, tells the types of what a SELECT gives, and yields its rows as
#: record batches, whose columns should have these types.
_Reader: TypeAlias = _SQLite | _DuckDB | _PostgreSQL
_READERS: dict[str, type[_Reader]] = {
    "duckdb": _DuckDB,
    "sqlite": _SQLite,
    "postgresql": _PostgreSQL,
    "postgres": _PostgreSQL,
}
