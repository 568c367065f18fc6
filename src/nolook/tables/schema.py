"""What a holder declares of a table: how its file is written, and what each column is.

A schema is read from parameters or a TOML file and never from cells. `cells.py` turns cells into
what it declares, one by one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, TypeVar

from attrs import asdict, evolve, fields_dict, frozen

from nolook._validation import check_choice, check_names, check_path
from nolook.errors import ParameterError
from nolook.tables.declarations import NEVER_NUMBERS, SETTINGS, ColumnSchema, FileFormat, shown
from nolook.tables.levels import OTHERS

__all__ = ["Schema"]

_MOST_BYTES = 1 << 22

_Made = TypeVar("_Made")


@frozen(init=False)
class Schema:
    """What is declared of a table: how its file is written, and what each column is.

    Cells are read by what is declared and never by looking at other cells; one that is not as
    declared is a missing value. A model keeps the declarations of its features.

    Parameters
    ----------
    columns : mapping
        From a column's name to its type or to a mapping of its settings:

        * "type": "number", "integer", "boolean", "category", "date" or "datetime" (days since
          `origin`), "identifier" or "text" (both of no further use).
        * "use": "feature", "target", "unit" (an identifier or text that says whose row it is: see
          :func:`nolook.read_table`) or "nothing"; by default "feature", and "nothing" for
          identifiers and text.
        * Numbers: "decimal" ("." or ","), "thousands" (a sign between them), "currency" (a list of
          signs), "percent" (true: 12 % is 0.12).
        * Booleans: "true" and "false", lists of words.
        * Categories: "levels", the first the one others are compared with, "..." for all others.
        * Dates: "pattern" such as "%d.%m.%Y", "origin" (1970-01-01 by default), or "parts"
          ("year", "month", "weekday") to make categories of them, with "years", the list of them.
        * All: "missing", a list of words for a missing value. Numbers, booleans and dates:
          "indicator" (true: a feature "NAME=missing" tells where a value is missing).
    **file
        How a text file is written: `delimiter`, `quote`, `encoding`, `header`, `comment`, and
        `decimal`, `thousands` and `missing` for columns that declare no others.

    Raises
    ------
    ParameterError
        If anything is not as described.

    Examples
    --------
    >>> schema = Schema(
    ...     {"cost": {"type": "number", "thousands": ","}, "smoker": {"type": "boolean"}},
    ...     delimiter=";",
    ... )
    >>> schema.columns["cost"].thousands
    ','
    """

    columns: dict[str, ColumnSchema]
    file: FileFormat

    def __init__(self, columns: Mapping[str, Any] | None = None, **file: Any) -> None:  # noqa: ANN401
        declared = {} if columns is None else columns
        if not isinstance(declared, Mapping):
            raise ParameterError(
                f"columns is {shown(declared)}; expected a mapping from names to types or settings"
            )
        names = check_names(list(declared), "columns") if declared else ()
        read = {name: _located(f"column {name!r}", _column, declared[name]) for name in names}
        form = _located("file", _file, file)
        for name, column in read.items():
            _located(f"column {name!r}", column.within, form)
        for use in ("target", "unit"):
            several = [name for name, column in read.items() if column.use == use]
            if len(several) > 1:
                raise ParameterError(
                    f"columns {several[0]!r} and {several[1]!r} are both the {use}; expected one"
                )
        if not form.header and not read:
            raise ParameterError("header is False; expected the schema to declare all columns")
        self.__attrs_init__(read, form)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a schema from a TOML file: tables ``[file]`` and ``[columns]``.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Schema

        Raises
        ------
        ParameterError
            If there is no such file, it is still a draft, or anything in it is not as described.
        """
        place = check_path(path, "people.toml")
        name = repr(str(place))
        try:
            text = _start_of(place)
            content = tomllib.loads(text.decode("utf-8")) if len(text) <= _MOST_BYTES else None
        except OSError:
            raise ParameterError(
                f"{name} does not exist or cannot be opened; expected a schema in TOML (nolook "
                "schema drafts one)"
            ) from None
        except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a huge number
            where = re.search(r"at line \d+, column \d+", str(error))
            raise ParameterError(
                f"{name} is not TOML{f' ({where[0]})' if where else ''}; expected a schema (see "
                "nolook schema)"
            ) from None
        if content is None:
            raise ParameterError(f"{name} has more than {_MOST_BYTES} bytes; expected a schema")
        if content.pop("draft", False) is not False:
            raise ParameterError(
                f"{name} is still a draft; expected a schema that was read by the table's holder "
                "(check every line, then delete the line draft = true)"
            )
        return _located(name, cls.from_dict, content)

    @classmethod
    def from_dict(cls, content: object) -> Self:
        """Read what :meth:`to_dict` wrote; anything else is a ParameterError."""
        plain = _settings(content, ("file", "columns"))
        file = _settings(plain.get("file", {}), tuple(fields_dict(FileFormat)))
        return cls(plain.get("columns", {}), **file)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data, fit for JSON: only what is not the default."""
        columns = {name: _plain(column) for name, column in self.columns.items()}
        file = _plain(self.file)
        return {key: part for key, part in (("file", file), ("columns", columns)) if part}

    @property
    def digest(self) -> str:
        """SHA-256 of the schema, in hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def used_as(self, use: str) -> tuple[str, ...]:
        """Return the columns of a use, in the schema's order."""
        return tuple(name for name, column in self.columns.items() if column.use == use)

    @property
    def indicated(self) -> set[str]:
        """The columns of which another tells where they are missing."""
        return {name for name, column in self.columns.items() if column.indicator}

    def without(self, names: Iterable[str]) -> Schema:
        """Return the schema with some columns, declared or not, of no use; its unit stays one."""
        plain = self.to_dict()
        columns = plain.get("columns", {})
        names = [name for name in names if name not in self.used_as("unit")]
        left_out = {name: {"type": "text"} | columns.get(name, {}) for name in names}
        for settings in left_out.values():
            settings["use"] = "nothing"
        return Schema.from_dict(plain | {"columns": columns | left_out})

    def indicating(self, names: Iterable[str]) -> Schema:
        """Return the schema with indicators of where some columns, declared or not, are missing."""
        plain = self.to_dict()
        columns = plain.get("columns", {})
        more = {n: {"type": "number"} | columns.get(n, {}) | {"indicator": True} for n in names}
        return Schema.from_dict(plain | {"columns": columns | more}) if more else self

    def only(self, names: Iterable[str]) -> Schema:
        """Return the schema with some of its columns as features, for the file of a model.

        A unit among them stays one. Without a header the others keep their places, as texts of no
        use.
        """
        kept = set(names)
        columns: dict[str, Any] = {}
        for name, column in self.columns.items():
            if {name, *(f"{name}.{part}" for part in column.parts)} & kept:
                plain = column.use == "feature" or column.type in NEVER_NUMBERS
                given = None if plain else "feature"
                if column.use == "unit":
                    given = "unit"
                columns[name] = _plain(evolve(column, given_use=given))
            elif not self.file.header:
                columns[name] = "text"
        return Schema(columns, **_plain(self.file))


def _start_of(path: Path) -> bytes:
    """Return as many bytes as a schema may have, and one more; only of a regular file."""
    if not path.is_file():
        raise FileNotFoundError
    with path.open("rb") as stream:
        return stream.read(_MOST_BYTES + 1)


def _located(where: str, read: Callable[[Any], _Made], content: object) -> _Made:
    try:
        return read(content)
    except ParameterError as error:
        raise ParameterError(f"in {where}, {error}") from None


def _file(settings: object) -> FileFormat:
    return FileFormat(**_settings(settings, tuple(fields_dict(FileFormat))))


def _column(settings: object) -> ColumnSchema:
    if isinstance(settings, str):
        settings = {"type": settings}
    kind = settings.get("type") if isinstance(settings, Mapping) else None
    own = SETTINGS[check_choice("type", kind, SETTINGS)] if isinstance(settings, Mapping) else ()
    given = _settings(settings, ("type", "use", "missing", *own))
    return ColumnSchema(given_use=given.pop("use", None), **given)


def _settings(given: object, known: tuple[str, ...]) -> dict[str, Any]:
    """Return settings by name; refuse others than those known."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"expected settings by name instead of {shown(given)}")
    for name in given:
        if name not in known:
            close = get_close_matches(str(name), known, 1)
            hint = f"; do you mean {close[0]}?" if close else ""
            raise ParameterError(
                f"{shown(name)} is no setting; expected one of {', '.join(known)}{hint}"
            )
    return dict(given)


def _plain(declared: ColumnSchema | FileFormat) -> dict[str, Any]:
    """Return settings that are not the default, fit for JSON."""
    kinds = fields_dict(type(declared))
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(declared).items()
        if value != kinds[name].default
    }
    if "given_use" in settings:
        settings["use"] = settings.pop("given_use")
    if "levels" in settings:
        settings["levels"] = [OTHERS if each is None else each for each in settings["levels"]]
    return settings
