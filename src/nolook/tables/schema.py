"""The data owner's declaration of a table: the format of its file, and each column.

A schema is read from parameters or a TOML file and never from cells: `conversion.py` reads these.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from typing import Any, Self, TypeVar

from attrs import NOTHING, Factory, asdict, evolve, field, fields_dict, frozen

from nolook._language import parameter_name
from nolook._validation import check_choice, check_names, check_path, refusal, shown
from nolook.errors import ParameterError
from nolook.tables.derived import Derivation, in_order
from nolook.tables.words import GAP, OTHERS, Levels, check_pattern, column_levels, is_list

__all__ = ["Schema"]

_MOST_BYTES = 1 << 22

#: The types of columns, and the settings that only some of them have.
SETTINGS: dict[str, tuple[str, ...]] = {
    "number": ("decimal", "thousands", "currency", "percent"),
    "integer": ("thousands",),
    "boolean": ("true", "false"),
    "category": ("levels", "merge", "undeclared"),
    "date": ("pattern", "origin"),
    "datetime": ("pattern", "origin"),
    "identifier": (),
    "text": (),
}
_NEVER_NUMBERS = ("identifier", "text")
_DECIMALS = (".", ",")
_THOUSANDS = (",", ".", " ", "'", "\u2019", "_")
DELIMITERS = (",", ";", "\t", "|", ":", "^", "~")
COMMENTS = ("#", "%", "!", "*")
TRUE, FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
# Few and short: they are part of an expression.
_CURRENCY = re.compile(r"[^0-9+\-.,%]{1,20}")
_MOST_SKIPPED = 100
# One byte or pair of bytes a letter, or UTF-8: a line means the same whatever lines are before it.
_ENCODINGS = {
    *("utf-8", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman"),
    *(f"iso8859-{i}" for i in range(1, 17) if i != 12),
    *(f"cp{i}" for i in (437, 850, 852, 866, *range(1250, 1259))),
}

_Made = TypeVar("_Made")


def _encoding(encoding: object, name: str) -> str:
    """Return the canonical name of an encoding whose lines can be read one by one."""
    with suppress(LookupError, ValueError):
        if isinstance(encoding, str) and (found := codecs.lookup(encoding).name) in _ENCODINGS:
            return found
    expected = "an encoding such as 'utf-8', 'latin-1', 'cp1252' or 'utf-16-le'"
    raise refusal(name, encoding, expected, "or save the file as UTF-8")


def _words(words: object, name: str) -> tuple[str, ...]:
    if is_list(words) and all(isinstance(word, str) for word in words):
        return tuple(dict.fromkeys(word.strip() for word in words))
    raise refusal(name, words, "a list of strings", f'for example {name} = ["yes"]')


def _merged(words: object, name: str) -> dict[str, tuple[str, ...]]:
    """Return further words of levels."""
    if isinstance(words, Mapping):
        return {str(level): _words(each, name) for level, each in words.items()}
    raise refusal(name, words, "lists of words by level", 'for example {north = ["N", "Nord"]}')


def _currency(signs: object, name: str) -> tuple[str, ...]:
    words = _words(signs, name)
    if len(words) > 100 or not all(map(_CURRENCY.fullmatch, words)):
        expected = "short symbols that could not be part of a number"
        raise refusal(name, signs, expected, 'for example ["€", "EUR"]')
    return words


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise refusal(name, value, "true or false", "without quotes")
    return value


def _day(day: object, name: str) -> str:
    if isinstance(day, str | date):  # TOML has dates of its own
        with suppress(ValueError):
            return date.fromisoformat(str(day)).isoformat()
    raise refusal(name, day, "a day", "for example '2020-01-01'")


def _lines(count: object, name: str) -> int:
    if type(count) is not int or not 0 <= count <= _MOST_SKIPPED:
        raise refusal(name, count, f"a whole number from 0 to {_MOST_SKIPPED}", "for example 1")
    return count


def _setting(
    name: str,
    check: Callable[[object, str], object] | tuple[str, ...],
    default: object = NOTHING,
) -> Any:  # noqa: ANN401 -- a field of whatever type the check gives
    """Declare a setting, checked by a function or one of some choices; or none, where that is."""

    def checked(value: object) -> object:
        if value is None and (default is None or name == "quote"):
            return None
        return check_choice(name, value, check) if isinstance(check, tuple) else check(value, name)

    return field(default=default, converter=checked)


@frozen
class FileFormat:
    """The format of a text file; files with types of their own do not need it.

    Parameters
    ----------
    delimiter : str or None
        What separates cells: ``, ; | : ^ ~`` or a tab. None: a tab in .tsv files, else a comma.
    quote : str or None
        What encloses cells that may hold a delimiter; None for nothing.
    encoding : str
        UTF-8, UTF-16 or an encoding of one byte a letter, such as ``cp1252``.
    header : bool
        Whether the first line names the columns; without one the schema declares all.
    skip : int
        Lines above the header, or the first row, that are not part of the table; blank lines and
        comments do not count.
    comment : str or None
        Lines that begin with this sign are not rows.
    multiline : bool
        Whether a line break in quotes is part of its cell. By default every line is a row, so that
        a quote that is never closed spoils no other row.
    decimal : str
        The decimal sign, where a column declares no other.
    thousands : str or None
        What separates thousands, where a column declares no other.
    missing : tuple of str
        Words for a missing value, besides an empty cell.
    """

    delimiter: str | None = _setting("delimiter", DELIMITERS, None)
    quote: str | None = _setting("quote", ('"', "'"), '"')
    encoding: str = _setting("encoding", _encoding, "utf-8")
    header: bool = _setting("header", _flag, True)
    skip: int = _setting("skip", _lines, 0)
    comment: str | None = _setting("comment", COMMENTS, None)
    multiline: bool = _setting("multiline", _flag, False)
    decimal: str = _setting("decimal", _DECIMALS, ".")
    thousands: str | None = _setting("thousands", _THOUSANDS, None)
    missing: tuple[str, ...] = _setting("missing", _words, ())

    def __attrs_post_init__(self) -> None:
        _check_signs(self.decimal, self.thousands)


@frozen
class ColumnSchema:
    """The declaration of a column: its type, its format and its use; see `Schema`."""

    type: str = _setting("type", tuple(SETTINGS))
    levels: tuple[str | None, ...] = _setting("levels", column_levels, ())
    merge: Mapping[str, tuple[str, ...]] = _setting("merge", _merged, Factory(dict))
    use: str = _setting(
        "use",
        ("feature", "target", "unit", "weights", "nothing"),
        Factory(lambda it: _usual_use(it.type, it.levels), takes_self=True),
    )
    decimal: str | None = _setting("decimal", _DECIMALS, None)
    thousands: str | None = _setting("thousands", _THOUSANDS, None)
    currency: tuple[str, ...] = _setting("currency", _currency, ())
    percent: bool = _setting("percent", _flag, False)
    true: tuple[str, ...] = _setting("true", _words, TRUE)
    false: tuple[str, ...] = _setting("false", _words, FALSE)
    undeclared: str = _setting("undeclared", ("other", "missing"), "other")
    pattern: str = _setting("pattern", check_pattern, "%Y-%m-%d")
    origin: str = _setting("origin", _day, "1970-01-01")
    missing: tuple[str, ...] = _setting("missing", _words, ())
    optional: bool = _setting("optional", _flag, False)
    label: str | None = _setting("label", lambda label, _: check_names((label,), "label")[0], None)
    derived: Derivation | None = None

    def __attrs_post_init__(self) -> None:
        use = self.use
        if self.type == "number":
            _check_signs(self.decimal, self.thousands)
        known = [*filter(None, self.levels), *(w for own in self.merge.values() for w in own)]
        refused = {
            f"use is {use!r} for a column of type {self.type}; expected 'nothing' or 'unit'": (
                self.type in _NEVER_NUMBERS and use not in {"nothing", "unit"}
            ),
            "merge names a level that levels does not, or has a word twice": (
                not self.merge.keys() <= {*self.levels} or len({*known}) < len(known)
            ),
            f"use is {use!r} for categories; expected a number, a boolean or a date": (
                use in {"target", "weights"} and self.type == "category"
            ),
            "true and false have a word in common; expected each word in one of them": (
                not set(self.true).isdisjoint(self.false)
            ),
            "true or false is empty; expected words": not (self.true and self.false),
            'only one of true and false is given, but one alone is not enough (false = ["..."] '
            "for all other words)": (self.true == TRUE) != (self.false == FALSE),
        }
        if wrong := [words for words, is_so in refused.items() if is_so]:
            raise ParameterError(wrong[0])

    @property
    def spellings(self) -> dict[str, str]:
        """The level of each word that a category declares."""
        own = {each: (each, *self.merge.get(each, ())) for each in self.levels if each is not None}
        return {word: level for level, each in own.items() for word in each}

    @property
    def all_levels(self) -> Levels | None:
        """The levels, with one for all other values if they have one; None for a number."""
        others = self.levels and None not in self.levels and self.undeclared == "other"
        return (*self.levels, *[None] * bool(others)) if self.type == "category" else None

    def within(self, form: FileFormat) -> ColumnSchema:
        """Return the column with what its file declares where it declares nothing itself.

        A column whose decimal sign is the file's sign of thousands has none of these; whole numbers
        may have the file's decimal sign between thousands.
        """
        decimal = self.decimal or form.decimal
        thousands = self.thousands or (None if form.thousands == decimal else form.thousands)
        if self.type == "integer" and thousands == decimal:
            decimal = "." if decimal == "," else ","
        missing = self.missing or form.missing
        return evolve(self, decimal=decimal, thousands=thousands, missing=missing)


def _usual_use(kind: str, levels: Levels) -> str:
    is_feature = levels if kind == "category" else kind not in _NEVER_NUMBERS
    return "feature" if is_feature else "nothing"


def _check_signs(decimal: str | None, thousands: str | None) -> None:
    if decimal == thousands is not None:
        raise ParameterError(f"decimal and thousands are both {decimal!r}; give different signs")


USUAL = FileFormat()  # where nothing is declared of a file


@frozen(init=False)
class Schema:
    """Declaration of a table: the format of its file, and its columns.

    Each cell is read by its declaration, independently of other cells; a cell that does not fit is
    a missing value. A model keeps the declarations of its features.

    Parameters
    ----------
    columns : mapping
        Names of columns, and the type of each or a mapping of its settings:

        * "type": "number", "integer", "boolean", "category", "date" or "datetime" (days since
          `origin`), "identifier" or "text" (neither can be a feature).
        * "use": "feature", "target", "unit" (an identifier or text that identifies the unit of a
          row: see :func:`nolook.read_table`), "weights" (survey weights) or "nothing", which needs
          no type; by default "feature", and "nothing" for identifiers, text and categories without
          levels.
        * Numbers: "decimal" ("." or ","), "thousands" (the separator), "currency" (a list of
          symbols), "percent" (true: 12 % is 0.12).
        * Booleans: "true" and "false", lists of strings, or ["..."] for all that are not true;
          other strings are missing.
        * Categories: "levels", the first of which is the reference, "..." for all others; optional
          if the column is not a feature; "merge", further words of levels: {"north": ["N"]};
          "undeclared" for other values: "other" (a level of their own, "NAME=...") or "missing".
        * Dates: "pattern" such as "%d.%m.%Y" (%z for an offset: times are then those of UTC),
          "origin" (1970-01-01 by default).
        * Derived columns have one of these settings instead of a type: "log_of", "log1p_of",
          "asinh_of" or "square_of" a column (with "around", a public number, the square of the
          distance from it), "product_of" a list of columns or levels such as "sex=F",
          "difference_of" a list of two (days for dates), "bins_of" a column with "borders", the
          list of them. A logarithm that is not defined is missing.
          For a date: "year_of", a number, and the categories "month_of" and "weekday_of".
          "missing_of" a column is 1 where it is missing, and 0 elsewhere.
        * All: "missing", a list of strings for a missing value.
        * All: "optional" (true: files of a folder may lack the column, whose values are missing
          there), "label" (what pages and summaries call the column; frames and files do not).
    **file
        Format of a text file: `delimiter`, `quote`, `encoding`, `header`, `skip` (lines above the
        header that are not part of the table), `comment`, `multiline` (a line break in quotes is
        part of its cell; by default every line is a row, so a quote that is not closed does not
        affect other rows), and `decimal`, `thousands` and `missing` for columns that do not declare
        their own.

    Raises
    ------
    ParameterError
        If a declaration is not valid.

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
        columns = {} if columns is None else columns
        if not isinstance(columns, Mapping):
            raise refusal("columns", columns, "a mapping from names to types", "or to settings")
        names = check_names(list(columns), "columns") if columns else ()
        read = {name: _located(f"column {name!r}", _column, columns[name]) for name in names}
        known = tuple(fields_dict(FileFormat))
        form = _located("file", lambda given: FileFormat(**_settings(given, known)), file)
        for name, column in read.items():
            _located(f"column {name!r}", column.within, form)
        self.__attrs_init__(read, form)
        _ = self.derived  # which refuses a circle
        check_names([self.labels.get(name, name) for name in read] or ["none"], "label")
        for use in ("target", "unit", "weights"):
            if len(several := self.used_as(use)) > 1:
                one, other, *_ = several
                raise ParameterError(f"columns {one!r} and {other!r} are both the {use} (keep one)")
        if not form.header and not read:
            raise ParameterError("header is False; expected the schema to declare all columns")

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
        schema, is_draft = cls.read_draft(path)
        if is_draft:
            raise ParameterError(
                f"{str(path)!r} is still a draft: check every line, then delete the line "
                "draft = true"
            )
        return schema

    @classmethod
    def read_draft(cls, path: str | os.PathLike[str]) -> tuple[Self, bool]:
        """Read a schema as :meth:`read` does; also return whether it still is a draft."""
        place = check_path(path, "people.toml")
        name = repr(str(place))
        try:
            if not place.is_file() or place.stat().st_size > _MOST_BYTES:
                raise FileNotFoundError
            content = tomllib.loads(place.read_text("utf-8"))
        except OSError:
            raise ParameterError(
                f"{name} does not exist, cannot be opened or is larger than "
                f"{_MOST_BYTES:,} bytes; expected a schema in TOML (nolook schema drafts "
                "one)"
            ) from None
        except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a huge number
            where = re.search(r"at line \d+, column \d+", str(error))
            raise ParameterError(
                f"{name} is not TOML{f' ({where[0]})' if where else ''}; expected a schema (see "
                "nolook schema)"
            ) from None
        is_draft = content.pop("draft", False) is not False
        return _located(name, cls.from_dict, content), is_draft

    @classmethod
    def from_dict(cls, content: object) -> Self:
        """Read the output of :meth:`to_dict`; anything else is a ParameterError."""
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

    def features(
        self, names: Iterable[str], categories: Mapping[str, Levels]
    ) -> dict[str, Levels | None]:
        """Return the features of columns: levels, those given first, or None for a number.

        Raises ParameterError if a category has no levels.
        """
        known = {name: each.all_levels for name, each in self.columns.items()}
        features = {name: categories.get(name, known.get(name)) for name in names}
        for name, levels in features.items():
            if levels == ():
                raise ParameterError(
                    f'levels of {name!r} is empty (for example levels = ["A", "B"]; levels are '
                    "declared, never looked up)"
                )
        return features

    def chosen(self, use: str, given: Any) -> Any:  # noqa: ANN401 -- not checked yet
        """Return the column of a use: the one that is given, or else the one declared.

        False stands for none, whatever is declared.
        """
        if given is False:
            return None
        (declared,) = self.used_as(use) or (None,)
        if given is not None and check_names((given,), use) != (declared or given,):
            raise ParameterError(
                f"{parameter_name(use)} is {shown(given)}, but the schema's is {declared!r} "
                f"(leave this one out, or change which column has the use {use!r} there)"
            )
        return declared if given is None else given

    @property
    def derived(self) -> dict[str, Derivation]:
        """The derived columns, each after those it is derived from."""
        return in_order({name: each.derived for name, each in self.columns.items() if each.derived})

    @property
    def labels(self) -> dict[str, str]:
        """The labels of columns that have one."""
        return {name: each.label for name, each in self.columns.items() if each.label}

    @property
    def closed(self) -> set[str]:
        """The categories without a level for values that are not declared."""
        return {name for name, each in self.columns.items() if each.undeclared != "other"}

    def without(self, names: Iterable[str]) -> Schema:
        """Return the schema with some columns, declared or not, of no use; its unit stays one."""
        unused = {
            name: evolve(self.columns.get(name) or ColumnSchema("text"), use="nothing")
            for name in names
            if name not in self.used_as("unit")
        }
        return Schema(self.columns | unused, **asdict(self.file))

    def indicating(self, names: Iterable[str]) -> Schema:
        """Return the schema with features "NAME=missing" that tell where columns are missing."""
        made = {f"{name}={GAP}": {"missing_of": name} for name in names}
        return Schema(self.columns | made, **asdict(self.file))

    def only(self, names: Iterable[str | None]) -> Schema:
        """Return the schema with some of its columns as features, for the file of a model.

        A unit among them stays one. Without a header the others keep their places, as strings of no
        use.
        """
        kept, needed = set(names), set[str]()
        for name, derived in reversed(self.derived.items()):
            if name in kept | needed:
                needed |= {*derived.of, *(each.rpartition("=")[0] for each in derived.of)}
        columns: dict[str, ColumnSchema] = {}
        for name, column in self.columns.items():
            if name in kept:
                usual = _usual_use(column.type, column.levels)
                columns[name] = evolve(column, use="unit" if column.use == "unit" else usual)
            elif name in needed:
                columns[name] = evolve(column, use="nothing")
            elif not self.file.header and column.derived is None:
                columns[name] = ColumnSchema("text")
        return Schema(columns, **asdict(self.file))


def as_schema(schema: Schema | Mapping[str, object] | str | os.PathLike[str] | None) -> Schema:
    """Return the schema that a parameter gives: itself, plain data, or the path of a file."""
    if schema is None or isinstance(schema, Schema):
        return schema or Schema()
    if isinstance(schema, str | os.PathLike):
        return Schema.read(schema)
    return Schema.from_dict(schema)


def _located(where: str, read: Callable[[Any], _Made], content: object) -> _Made:
    try:
        return read(content)
    except ParameterError as error:
        raise ParameterError(f"in {where}, {error}") from None


def _column(settings: object) -> ColumnSchema:
    if isinstance(settings, ColumnSchema):
        return settings
    if isinstance(settings, str):
        settings = {"type": settings}
    kinds: tuple[str, ...] = ()
    if isinstance(settings, Mapping):
        derived = Derivation.from_settings(settings)
        if derived is not None:
            given = _settings(settings, (*derived.settings, "use", "label"))
            own = {name: given[name] for name in ("use", "label") if name in given}
            return ColumnSchema(**derived.declared, **own, derived=derived)
        if settings.get("use") == "nothing":
            settings = {"type": "text", **settings}
        kinds = SETTINGS[check_choice("type", settings.get("type"), SETTINGS)]
    return ColumnSchema(
        **_settings(settings, ("type", "use", "missing", "optional", "label", *kinds))
    )


def _settings(given: object, known: tuple[str, ...]) -> dict[str, Any]:
    """Return settings by name; refuse others than those known."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"expected settings by name instead of {shown(given)}")
    for name in given:
        if name not in known:
            close = get_close_matches(str(name), known, 1)
            hint = f"; do you mean {close[0]}?" if close else ""
            raise ParameterError(
                f"{shown(name)} is not a setting; expected one of {', '.join(known)}{hint}"
            )
    return dict(given)


def _plain(declared: ColumnSchema | FileFormat) -> dict[str, Any]:
    """Return the type and settings that are not the usual ones, fit for JSON."""
    usual: ColumnSchema | FileFormat = USUAL
    if isinstance(declared, ColumnSchema):
        use = _usual_use(declared.type, declared.levels)
        usual = ColumnSchema(declared.type, use=use)
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(declared).items()
        if name == "type" or value != getattr(usual, name)
    }
    if isinstance(declared, ColumnSchema) and declared.derived is not None:
        own = {name: settings[name] for name in settings if name in {"use", "label"}}
        return declared.derived.to_settings() | own
    if "levels" in settings:
        settings["levels"] = [OTHERS if each is None else each for each in settings["levels"]]
    return settings
