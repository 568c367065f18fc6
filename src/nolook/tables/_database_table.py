"""What tables of all databases share: found by name, chosen from, read again on every pass."""

from __future__ import annotations

import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from nolook.errors import TableError
from nolook.tables._patience import answered, patient
from nolook.tables._sql import Name, Query, Written, condition_in, quoted
from nolook.tables.databases import Database
from nolook.tables.design import unknown_column
from nolook.tables.source import Column, attempt, guarded, in_words

_NAME = "the database"
#: Rows of a batch.
ROWS = 32_768
# Schemas that tables are in if nothing else is said.
_USUAL = frozenset(("main", "public"))
# A table of very many rows is read in runs of them.
_MOST_PARTS = 256


class Cells(NamedTuple):
    """How a column is read: no cell may make what is written here an error."""

    name: str
    sql: str | None  # None for what is neither numbers nor texts
    declared: str  # the type as the database says it
    nullable: bool = True
    type: Any = None  # the pyarrow.DataType, if it is not to be asked for


class Relation(NamedTuple):
    """A table or view that was found, and its columns."""

    schema: str
    table: str
    cells: tuple[Cells, ...]
    stored: bool  # rows lie in an order that is the same in every pass: a table, no view
    runs: tuple[str, ...] = ()  # conditions that divide its rows into runs, in that order


class DatabaseTable(ABC):
    """Some columns and rows of a table or view, the same in every pass.

    Raises TableError if the database cannot be read or has no such table, and ParameterError for a
    query that does more than choose. No message holds an address or what a database says.

    Attributes
    ----------
    label : str
        The table's name, for ledgers.
    ordered : bool
        Whether rows come in the same order in every pass, which is not so for a view.
    filtered : bool
        Whether a condition leaves out rows.
    """

    _suffix = ""  # after the table's name
    _runs: tuple[str, ...] = ()
    _run = ""

    def __init__(self, database: Database) -> None:
        self._database = database
        asked = database.asked()
        found = self._find(asked)
        self.label = found.table if found.schema in _USUAL else f"{found.schema}.{found.table}"
        self.name = f"the table {self.label!r}"
        self._unreadable = (
            f"{self.name} cannot be read: its database refuses, or the connection was lost; "
            "start again"
        )
        self.ordered, self.filtered = found.stored, asked.condition is not None
        self._runs = found.runs
        self._from = f"{quoted(found.schema)}.{quoted(found.table)}"
        self._sql = {cells.name: cells.sql for cells in found.cells if cells.sql is not None}
        declared = self._typed(found.cells)
        self._condition = (
            condition_in(asked.condition, lambda name: self._written(name, declared))
            if asked.condition is not None
            else ""
        )
        chosen = asked.columns
        self.columns = (
            declared if chosen is None else tuple(self._named(each, declared) for each in chosen)
        )

    @abstractmethod
    def _relations(self, schema: str | None, table: str, *, exact: bool) -> list[Relation]:
        """Return the tables and views of a name, the one that is meant first.

        Without a schema the name may be ``schema.name``. If it is not exact, capital letters and
        small ones are the same where the database takes them to be.
        """

    @abstractmethod
    def _stream(self, sql: str, kinds: Any) -> Iterator[Any]:  # noqa: ANN401 -- pyarrow has no types
        """Yield what a SELECT gives as record batches, whose columns should have these types."""

    @staticmethod
    def _folded(name: Name) -> str:
        """Return a name as the database stores it, as far as the name tells."""
        return name.text

    @staticmethod
    def _same(name: Name, stored: str) -> bool:
        """Tell whether a name is that of a stored column."""
        return name.text.lower() == stored.lower()

    def _find(self, asked: Query) -> Relation:
        refused = (
            "the database cannot be opened, or refuses; expected one that can be read (check its "
            "address and how you sign in; its own words are not shown, as they may quote cells)"
        )
        schema = None if asked.schema is None else self._folded(asked.schema)
        exact = self._database.query is None
        name = self._folded(asked.table)
        found = attempt(refused, answered, _NAME, self._relations, schema, name, exact=exact)
        if not found:
            raise TableError(
                f"the database has no table or view {asked.table.text!r} that can be read; "
                "expected the name of one (as it is stored; schema.name if it is in another schema)"
            )
        return found[0]

    def _typed(self, found: Sequence[Cells]) -> tuple[Column, ...]:
        """Return the declared columns; their types are those that no row at all has."""
        asked = [cells.name for cells in found if cells.sql is not None and cells.type is None]
        kinds: dict[str, Any] = {cells.name: cells.type for cells in found}
        if asked:
            empty = self._select(asked, "1 = 0")
            schema = attempt(self._unreadable, answered, self.name, self._schema, empty)
            kinds |= dict(zip(asked, schema.types, strict=True))
        return tuple(
            Column(
                each.name,
                kinds[each.name],
                each.declared if kinds[each.name] is None else in_words(kinds[each.name]),
                each.nullable,
            )
            for each in found
        )

    def _schema(self, sql: str) -> Any:  # noqa: ANN401
        """Return the schema of what a SELECT gives."""
        raise NotImplementedError

    def _named(self, name: Name, columns: Sequence[Column]) -> Column:
        found = [column for column in columns if self._same(name, column.name)]
        if not found:
            known = [column.name for column in columns]
            raise unknown_column("query", name.text, self.name, known)
        return found[0]

    def _written(self, name: Name, columns: Sequence[Column]) -> Written:
        column = self._named(name, columns)
        sql = self._sql.get(column.name)
        return Written(quoted(column.name) if sql is None else sql, column.type)

    def _select(self, names: Sequence[str], *among: str) -> str:
        chosen = ", ".join(
            f"{self._sql[name]} AS {quoted(f'c{i}')}" for i, name in enumerate(names)
        )
        conditions = " AND ".join(f"({each})" for each in among if each)
        where = f" WHERE {conditions}" if conditions else ""
        return f"SELECT {chosen} FROM {self._from}{self._suffix}{where}"

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        declared = {column.name: column.type for column in self.columns}
        fields = pa.schema([(name, declared[name]) for name in names])
        sql = self._select(names, self._condition, self._run)
        return patient(guarded(self._checked(sql, fields), self._unreadable), self.name)

    def _checked(self, sql: str, fields: Any) -> Iterator[Any]:  # noqa: ANN401
        for batch in self._stream(sql, fields.types):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=fields)

    def parts(self) -> Sequence[DatabaseTable]:
        """Return runs of a table's rows; a view is its own only part."""
        if len(self._runs) < 2:
            return (self,)
        return [self._only(run) for run in self._runs]

    def _only(self, run: str) -> DatabaseTable:
        part = copy(self)
        part._run, part._runs = run, ()
        return part


def runs_between(first: int, end: int, size: int) -> list[tuple[int, int]]:
    """Return where runs of about so many numbers start and end, not too many of them."""
    step = max(size, -(-(end - first) // _MOST_PARTS))
    return [(i, min(i + step, end)) for i in range(first, end, step)]


class FileTable(DatabaseTable):
    """A table in a file that must not change while it is in use, nor what is kept beside it."""

    _beside: tuple[str, ...]  # how the names of files beside it end that hold rows

    def __init__(self, database: Database) -> None:
        # Absolute: ':memory:' or 'md:...' is a file's name here, and no order to its reader.
        self.path = Path(database.path or "").absolute()
        absent = f"{str(database.path)!r} does not exist or is no file; expected a database's file"
        if not attempt(absent, self.path.is_file):
            raise TableError(absent)
        self._state = attempt(absent, self._states)
        super().__init__(database)

    def _states(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_state(Path(f"{self.path}{end}")) for end in ("", *self._beside))

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        self._check_unchanged()
        yield from super().batches(names)
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        changed = f"{self.name} was changed or removed while it was in use; start again"
        if attempt(changed, self._states) != self._state:
            raise TableError(changed)


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file does; None for one that is not there or empty."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError("not a regular file")
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None
