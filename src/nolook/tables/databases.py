"""Tables and views of databases: where they are, and how their cells are read.

A table is read once, in its first pass, by one SELECT of the columns in use, and kept in the spool.
SQLite's types are wishes: any cell may be a text. What is read is what the column declares, and any
other cell is missing; nothing is inferred from rows, here or elsewhere.
"""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeGuard

import pyarrow as pa

from nolook._language import parameter_name, usage_hint
from nolook._validation import require
from nolook.errors import ParameterError, TableError
from nolook.tables.source import BYTES, LONGEST_CELL, TEXT, Column, attempt
from nolook.tables.spool import ROWS, Spooled

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
        label, place, columns = attempt(refused, reader.find, self.table)
        start = partial(reader.read, place, columns)
        return Spooled(f"the table {label!r}", [column for column, _ in columns], start, label)


def is_address(source: object) -> TypeGuard[str]:
    """Tell whether a text is a database's address, or another that is neither file nor bucket.

    Such a text may hold a password, so no message may show it.
    """
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def _quoted(name: str) -> str:
    """Return a name as an identifier of SQL, whatever letters it holds."""
    return '"' + name.replace('"', '""') + '"'


#: Columns, and the SQL that reads a cell of each.
_Columns: TypeAlias = Sequence[tuple[Column, str]]


class _Reader(ABC):
    """A reader of the tables of one kind of database."""

    package: ClassVar[str]
    #: By an expression for declared types, the first that fits: the SQL that reads a cell, which
    #: makes no cell an error, and the type that this gives, perhaps of the expression's groups.
    cells: ClassVar[Sequence[tuple[str, str, Any]]]
    #: The query for the columns of what a name may mean, the likeliest first: a table's schema and
    #: name, then a column's name, declared type, and whether it may be null.
    listing: ClassVar[str]

    def __init__(self, uri: str, place: str) -> None:
        self._uri, self._place = uri, place

    @abstractmethod
    def connect(self) -> AbstractContextManager[Any]:
        """Open a connection that can only read."""

    @abstractmethod
    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Sequence[Any]]:  # noqa: ANN401
        """Yield the columns of batches of rows, of types that can be cast to these."""

    def find(self, table: str) -> tuple[str, str, _Columns]:
        """Return a table's name in words and in SQL, and its columns with what reads each.

        Raises TableError if there is no such table.
        """
        with self.connect() as connection:
            found = connection.execute(self.listing, (table,)).fetchall()
            if not found:
                raise TableError(
                    f"the database has no table or view {table!r} that can be read; expected the "
                    "name of one (as it is stored; schema.name if it is in another schema)"
                )
            schema, name, *_ = found[0]
            place = f"{_quoted(schema)}.{_quoted(name)}"
            made = [self._column(*each[2:]) for each in found if each[:2] == (schema, name)]
            if usable := [each for each in made if each[0].type is not None]:
                # Access may be refused, which shows without a row.
                deque(self._rows(connection, f"{place} WHERE 1 = 0", usable), maxlen=0)
        return name if schema in _USUAL else f"{schema}.{name}", place, made

    def _column(self, name: str, declared: str, nullable: bool) -> tuple[Column, str]:
        for pattern, sql, kind in self.cells:
            if found := re.fullmatch(pattern, declared, re.IGNORECASE | re.DOTALL):
                made = kind(*map(int, found.groups())) if callable(kind) else kind
                column = Column(name, made, nullable=nullable or "CASE" in sql)
                return column, sql.format(_quoted(name))
        words = declared.partition("(")[0].strip().lower() or "no declared type"
        return Column(name, None, words), ""

    def read(self, place: str, columns: _Columns, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        known = {each[0].name: each for each in columns}
        with self.connect() as connection:
            yield from self._rows(connection, place, [known[name] for name in names])

    def _rows(self, connection: Any, place: str, columns: _Columns) -> Iterator[Any]:  # noqa: ANN401
        fields = pa.schema([(column.name, column.type) for column, _ in columns])
        chosen = (f"{sql} AS {_quoted(f'c{i}')}" for i, (_, sql) in enumerate(columns))
        sql = f"SELECT {', '.join(chosen)} FROM {place}"  # noqa: S608 -- names are quoted
        for cells in self.stream(connection, sql, fields.types):
            made = [each.cast(kind) for each, kind in zip(cells, fields.types, strict=True)]
            yield pa.RecordBatch.from_arrays(made, schema=fields)


class _OfFile(_Reader):
    """A reader of a database that is one file."""

    def __init__(self, uri: str, place: str) -> None:
        super().__init__(uri, place)
        # Absolute: ':memory:' or 'md:...' is a file's name here, and no order to its reader.
        self.path = Path(place).absolute()
        absent = f"{place!r} does not exist or is not a file; expected a database's file"
        if not attempt(absent, self.path.is_file):
            raise TableError(absent)


_FINITE = "CASE WHEN isfinite({0}) THEN {0} END"
_NUMBER = "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'integer' THEN CAST({0} AS REAL) END"
_WHOLE = "CASE WHEN typeof({0}) = 'integer'{1} THEN {0} END"
_TEXT = (
    "CASE WHEN typeof({0}) = 'text' AND length(CAST({0} AS BLOB)) <= "
    f"{LONGEST_CELL} THEN {{0}} END"
)


class _SQLite(_OfFile):
    package = "sqlite3"
    # Of a declared type any part may tell.
    cells = (
        (".*BOOL.*", _WHOLE.format("{0}", " AND {0} IN (0, 1)"), pa.bool_()),
        (".*INT.*", _WHOLE.format("{0}", ""), pa.int64()),
        (".*(?:CHAR|CLOB|TEXT|UUID|GUID).*", _TEXT, TEXT),
        (".*(?:REAL|FLOA|DOUB|DEC|NUM).*", _NUMBER, pa.float64()),
        (".*(?:DATE|TIME).*", _TEXT, TEXT),
    )
    _CELLS = 1 << 16  # of a batch, which are objects before they are Arrow's
    # Hidden columns of virtual tables are arguments.
    listing = """
    SELECT 'main', t.name, c.name, c.type, TRUE
    FROM main.sqlite_schema t JOIN pragma_table_xinfo(t.name, 'main') c
    WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'
      AND ?1 IN (t.name, 'main.' || t.name) AND c.hidden <> 1
    ORDER BY t.name <> ?1, c.cid
    """

    def connect(self) -> AbstractContextManager[Any]:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        return closing(connection)

    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Sequence[Any]]:  # noqa: ANN401
        connection.text_factory = bytes  # which need not be UTF-8
        cursor = connection.execute(sql)
        while found := cursor.fetchmany(max(1, self._CELLS // len(kinds))):
            yield [
                pa.array(cells, BYTES).view(kind) if kind == TEXT else pa.array(cells)
                for cells, kind in zip(zip(*found, strict=True), kinds, strict=True)
            ]


class _DuckDB(_OfFile):
    package = "duckdb"
    cells = (
        ("BOOLEAN", "{0}", pa.bool_()),
        ("U?(?:TINY|SMALL)INT|U?INTEGER|BIGINT", "CAST({0} AS BIGINT)", pa.int64()),
        ("UBIGINT", "{0}", pa.uint64()),
        ("FLOAT|DOUBLE|U?HUGEINT", "CAST({0} AS DOUBLE)", pa.float64()),
        (r"DECIMAL\((\d+),(\d+)\)", "{0}", pa.decimal128),
        ("VARCHAR", f"CASE WHEN strlen({{0}}) <= {LONGEST_CELL} THEN {{0}} END", TEXT),
        ("UUID|ENUM.*", "CAST({0} AS VARCHAR)", TEXT),
        ("DATE", _FINITE, pa.date32()),
        ("TIMESTAMP", _FINITE, pa.timestamp("us")),
    )
    # Nothing but the file is read: no other file, address, extension or variable of this program,
    # whatever a view or a table's name says. One thread: rows come as a stream.
    _SETTINGS: ClassVar[dict[str, Any]] = {
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
    listing = """
    SELECT schema_name, table_name, column_name, data_type, is_nullable FROM duckdb_columns()
    WHERE database_name = current_database() AND NOT internal
      AND $1 IN (table_name, schema_name || '.' || table_name)
    ORDER BY schema_name <> 'main', table_name <> $1, schema_name, column_index
    """

    def connect(self) -> AbstractContextManager[Any]:
        import duckdb

        connection = duckdb.connect(str(self.path), read_only=True, config=self._SETTINGS)
        # It is printed, and tells how many rows there are.
        connection.execute("SET enable_progress_bar = false")
        return closing(connection)

    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Sequence[Any]]:  # noqa: ANN401
        room, given = self._ROOM + len(kinds) // 2, 0
        while True:
            connection.execute(f"SET memory_limit = '{room} MiB'")
            try:
                # By `execute` the whole result would be in memory before its first batch.
                for batch in islice(connection.sql(sql).to_arrow_reader(ROWS), given, None):
                    given += 1
                    yield batch.columns
            except Exception as error:  # whichever class the reader turns it into
                if "Out of Memory" not in str(error) or room > self._MOST_ROOM:
                    raise
                room *= 4
            else:
                return


# What is too large for a double is infinite, and what is too small is 0: a cast would refuse.
_NUMERIC = (
    "CASE WHEN {0} = 'NaN' THEN NULL WHEN {0} > 1.797e308 THEN 'Infinity'::float8 "
    "WHEN {0} < -1.797e308 THEN '-Infinity'::float8 WHEN abs({0}) < 1e-300 THEN 0 "
    "ELSE {0}::float8 END"
)
_SHORT = f"CASE WHEN octet_length({{0}}::text) <= {LONGEST_CELL} THEN {{0}}::text END"


class _PostgreSQL(_Reader):
    package = "adbc_driver_postgresql"
    cells = (
        ("bool", "{0}", pa.bool_()),
        ("int[248]", "{0}::int8", pa.int64()),
        ("float[48]", "{0}::float8", pa.float64()),
        ("text|varchar|bpchar|name|uuid|enum", _SHORT, TEXT),
        ("date", _FINITE, pa.date32()),
        ("timestamp", _FINITE, pa.timestamp("us")),
        ("timestamptz", _FINITE, pa.timestamp("us", "UTC")),
        ("numeric whole", "CASE WHEN {0} <> 'NaN' THEN {0}::int8 END", pa.int64()),
        ("numeric", _NUMERIC, pa.float64()),
    )
    # Notices may quote cells, and the client prints them.
    _SETTINGS = (
        "BEGIN READ ONLY",
        "SET LOCAL client_min_messages = error",
        "SET LOCAL client_encoding = 'UTF8'",
        "SET LOCAL standard_conforming_strings = on",
        "SET LOCAL TIME ZONE 'UTC'",
        # The address limits times; this, and the wait for a connection, is where it does not.
        "SELECT set_config('lock_timeout', '60s', TRUE) WHERE current_setting('lock_timeout')='0'",
    )
    _BYTES = 1 << 22  # of a batch
    # A domain is read as what it is made of; numbers of at most 18 digits fit 64 bits.
    listing = """
    SELECT n.nspname, c.relname, a.attname,
      CASE WHEN b.typtype = 'e' THEN 'enum' WHEN b.typname <> 'numeric' THEN b.typname
      WHEN format_type(b.oid, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)
        ~ '[(](\\d|1[0-8]),0[)]$' THEN 'numeric whole' ELSE 'numeric' END,
      NOT a.attnotnull
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%'
      AND n.nspname <> 'information_schema' AND a.attnum > 0 AND NOT a.attisdropped
      AND ((c.relname = $1 AND n.nspname = ANY (current_schemas(false)))
        OR n.nspname || '.' || c.relname = $1)
    ORDER BY c.relname = $1 DESC, array_position(current_schemas(false), n.nspname), a.attnum
    """

    def __init__(self, uri: str, place: str) -> None:
        usual = f"{'&' if '?' in uri else '?'}connect_timeout=20"
        super().__init__(uri if "connect_timeout" in uri else uri + usual, place)

    @contextmanager
    def connect(self) -> Iterator[Any]:
        from adbc_driver_postgresql import dbapi

        with (
            closing(dbapi.connect(self._uri, autocommit=True)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            for statement in self._SETTINGS:
                cursor.execute(statement)
            yield cursor

    def stream(self, connection: Any, sql: str, kinds: Sequence[Any]) -> Iterator[Sequence[Any]]:  # noqa: ANN401, ARG002
        size = {"adbc.postgresql.batch_size_hint_bytes": str(self._BYTES)}
        connection.adbc_statement.set_options(**size)
        with connection.execute(sql).fetch_record_batch() as reader:
            yield from (batch.columns for batch in reader)


_READERS: dict[str, type[_Reader]] = {
    "duckdb": _DuckDB,
    "sqlite": _SQLite,
    "postgresql": _PostgreSQL,
    "postgres": _PostgreSQL,
}
