"""Tables and views of databases: where they are, and which of their columns and rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TypeGuard

from nolook._language import given, named
from nolook.errors import ParameterError
from nolook.tables._sql import Name, Query, parse_query
from nolook.tables.source import Source

__all__ = ["DATABASES", "Database", "is_address"]

# The dialect of SQL, module and class of each kind of database, by how its address begins.
_POSTGRESQL = ("postgres", "nolook.tables._postgresql", "PostgreSQLTable")
_KINDS = {
    "duckdb": ("duckdb", "nolook.tables._duckdb", "DuckDBTable"),
    "sqlite": ("sqlite", "nolook.tables._sqlite", "SQLiteTable"),
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
}
# Object storage is no database. The last two are mistaken for addresses, and may hold a password.
_KIND = f"({'|'.join(_KINDS)})"
_ADDRESS = re.compile(
    rf"(?!s3:|gs:)[^/]*://|{_KIND}:|\s*{_KIND}:?/+[^/]*:[^/]*@|\s*\w+\s*=.*\bpassword\s*=",
    re.IGNORECASE,
)
#: How the address of each kind of database is written.
DATABASES = ("duckdb:FILE", "sqlite:FILE", "postgresql://HOST/NAME")

_ONE = "expected one table, or a query of one table"


class Database:
    """A table of a database, or some of its columns and rows, for :func:`nolook.read_table`.

    The guarantee is for rows of the table or view that is named: make a view if what is a row must
    be decided first, by a join or a sum, and mind that its maker then answers for how many of its
    rows one person can change. A query chooses columns and rows of one table or view and nothing
    else. Its condition judges each row by itself: columns compared with constants or with columns
    of the same type, by ``=``, ``<>``, ``<``, ``<=``, ``>``, ``>=``, ``IN``, ``BETWEEN``, ``LIKE``
    and ``IS NULL``, joined by ``AND``, ``OR`` and ``NOT``. It must not be chosen by looking at the
    rows.

    Parameters
    ----------
    uri : str
        ``duckdb:FILE`` or ``sqlite:FILE``, perhaps with the table as in ``duckdb:FILE#table``, or
        ``postgresql://USER@HOST:PORT/NAME``, which PostgreSQL's own variables and files
        (``PGPASSWORD``, ``~/.pgpass``) complete. It is never shown or written.
    table : str, optional
        The name of a table or view as it is stored, or ``schema.name``.
    query : str, optional
        ``SELECT columns FROM table WHERE condition`` in place of `table`.

    Raises
    ------
    ParameterError
        If the address is of no known kind, or not exactly one of table and query is given.

    Examples
    --------
    >>> Database("duckdb:visits.duckdb", query="SELECT age, cost FROM visits WHERE age >= 18")
    Database(duckdb, query='SELECT age, cost FROM visits WHERE age >= 18')
    >>> Database("postgresql://server/hospital", table="visits")
    Database(postgresql, table='visits')
    """

    def __init__(self, uri: str, *, table: str | None = None, query: str | None = None) -> None:
        kind, colon, place = str(uri).partition(":")
        if kind not in _KINDS or not colon:
            raise ParameterError(
                f"the address of the database is of no known kind; expected {_listed(DATABASES)}"
            )
        if "#" in place and table is None and query is None and not place.startswith("//"):
            place, _, table = place.rpartition("#")
        for name, value in (("table", table), ("query", query)):
            if value is not None and not str(value).strip():
                raise ParameterError(f"{named(name)} is empty; {_ONE}")
        if (table is None) == (query is None):
            how = "neither is given" if table is None else "both are given"
            raise ParameterError(
                f"{named('table')} and {named('query')}: {how}; {_ONE} (for example "
                f"{given('table', 'patients', _in_python(kind))})"
            )
        self.kind, self.table, self.query = kind, table, query
        self._kind = _KINDS[kind]
        self._uri, self._place = f"{kind}:{place}", place

    def __repr__(self) -> str:
        what = f"table={self.table!r}" if self.query is None else f"query={self.query!r}"
        return f"{type(self).__name__}({self.kind}, {what})"

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """The table's name, as it was given."""
        asked = self.asked()
        return (
            asked.table.text if asked.schema is None else f"{asked.schema.text}.{asked.table.text}"
        )

    @property
    def path(self) -> Path | None:
        """The file of the database; None if a server holds it."""
        return None if self._kind == _POSTGRESQL else Path(self._place)

    def asked(self) -> Query:
        """Return what is asked for; raises ParameterError for a query that does more."""
        if self.query is None:
            return Query(None, Name(str(self.table), quoted=True), None, None)
        with self._needing_packages():
            return parse_query(self.query, self._kind[0])

    def open(self) -> Source:
        """Open the table."""
        _, module, name = self._kind
        with self._needing_packages():
            opened: Callable[[Database], Source] = getattr(import_module(module), name)
        return opened(self)

    @contextmanager
    def _needing_packages(self) -> Iterator[None]:
        try:
            yield
        except ImportError:
            raise ParameterError(
                f"databases of kind {self.kind} need packages that are not installed; expected "
                "them (pip install 'nolook[databases]')"
            ) from None


def is_address(source: object) -> TypeGuard[str]:
    """Tell whether a text is a database's address, or another that is neither file nor bucket.

    Such a text may hold a password, so no message may show it.
    """
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def _in_python(kind: str) -> str:
    return f"nolook.Database('{kind}:...', table='patients')"


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
