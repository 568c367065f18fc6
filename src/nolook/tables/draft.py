"""A draft of a schema, for the table's holder alone: guessed by looking at the first rows.

No release depends on it: a schema that still is a draft is refused. A draft has the columns' names
and words from the public lists below, and nothing else that was found in the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from nolook._validation import check_path
from nolook.errors import TableError
from nolook.tables.advice import is_identifier
from nolook.tables.cells import conversion, trimmed
from nolook.tables.declarations import ColumnSchema
from nolook.tables.files import Place, in_storage, place_of
from nolook.tables.folders import Listing, is_text, located
from nolook.tables.guess import MOST_ROWS, first_rows
from nolook.tables.reading import open_typed
from nolook.tables.source import Column, Source, attempt

__all__ = ["Draft", "draft_schema"]

_Form: TypeAlias = tuple[str, str | None]
# How numbers may be written: decimal and thousands, the likelier before those that say as much.
_NUMBERS = (
    (".", None), (".", ","), (",", None), (",", "."), (".", "\u2019"), (",", "\u2019"),
    (".", " "), (",", " "), (".", "_"),
)  # fmt: skip
_CURRENCIES = ("€", "$", "£", "¥", "EUR", "USD", "GBP", "CHF", "JPY", "Fr")
_PAIRS = (
    ("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("Yes", "No"),
    ("YES", "NO"), ("y", "n"), ("Y", "N"), ("t", "f"), ("T", "F"), ("ja", "nein"), ("Ja", "Nein"),
    ("JA", "NEIN"), ("oui", "non"), ("Oui", "Non"), ("OUI", "NON"), ("sí", "no"), ("sì", "no"),
    ("on", "off"), ("ON", "OFF"),
)  # fmt: skip
_DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_TIMES = (
    *(f"%Y-%m-%d{between}%H:%M:%S{zone}" for between in " T" for zone in ("", "Z")),
    *(f"{day} %H:%M{seconds}" for day in _DATES for seconds in ("", ":%S")),
)
_NOTHING = ("", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "NaN", "nan", "-", "?", ".")
# Of the cells, which fit a type; a third word of a boolean may be a category's.
_LEAST_SHARE, _LEAST_BOOLEAN = 0.8, 0.95
_MOST_LEVELS, _FEW_ROWS = 50, 200

_HEAD = """\
draft = true

# A draft for the holder of the table alone, guessed by looking at its first rows. Nobody else
# should see it, and nolook refuses it, until the holder has read and corrected every line: type
# and signs of each column, the levels of categories (nolook schema TABLE --levels shows what was
# found), and what rows further down may hold. Then delete the line draft = true. Give the column
# to explain use = "target", and columns that are no features use = "nothing". Words for a missing
# value, but for an empty cell: missing = ["NA"].
"""
_NOTES = {
    "number": "a cell that is not written so is missing",
    "boolean": "other words are missing",
    "category": 'name those to tell apart, the first to compare with; "..." for all others',
    "date": "days since 1970; with parts, categories",
    "identifier": 'no feature; if it says whose row it is, use = "unit" protects all their rows',
    "text": "no feature",
}


class Draft(NamedTuple):
    """A draft of a schema, and the levels found in it, which it does not have."""

    text: str
    levels: dict[str, list[str]]


def draft_schema(path: str | os.PathLike[str]) -> Draft:
    """Guess a schema by looking at the first rows of a table.

    Parameters
    ----------
    path : path-like
        A CSV, Parquet or Arrow file; the latter two have types of their own. Or a folder or
        pattern of such files, or their address in storage.

    Returns
    -------
    Draft
        TOML that :meth:`nolook.Schema.read` refuses until its first line is deleted, and the
        texts found in columns of few different ones. Both are for the table's holder alone.

    Raises
    ------
    TableError
        If the file cannot be read, or its first line has no names.
    """
    source = located(path if in_storage(path) else str(check_path(path, "people.csv")))
    told: dict[str, Any] = {}
    place: Place = place_of(path)
    if isinstance(source, Listing):
        place = source.places[0]
        cells = zip(*source.values, strict=True)
        told = {key: _texts(each) for key, each in zip(source.keys, cells, strict=False)}
    if not is_text(source):
        return _typed(open_typed(source), told)
    expected = f"{place.name} does not exist or is no regular file; expected a CSV file"
    attempt(expected, place.state)
    return _written(place, told)


def _typed(source: Source, told: dict[str, Any]) -> Draft:
    """Guess from the types of columns, some of which names of folders tell."""
    settings = {
        column.name: _identifier(column.name) or _by_type(column.type) for column in source.columns
    }
    categories = [name for name, found in settings.items() if found["type"] == "category"]
    first = next(iter(source.batches(categories)), None) if categories else None
    columns = {} if first is None else {name: first.column(name) for name in categories}
    cells = {name: column.slice(0, MOST_ROWS) for name, column in columns.items()} | told
    return Draft(
        _toml({}, settings), {name: _words(cells[name]) for name in categories if name in cells}
    )


def _written(place: Place, told: dict[str, Any]) -> Draft:
    """Guess from the first rows of a file of text, and from what names of folders tell."""
    refused = f"{place.name} is not a readable CSV file (damaged, or not text?)"
    sample = attempt(refused, first_rows, place)
    _check_names(sample.names, place.name)
    columns = {
        column: trimmed(cells) for column, cells in zip(sample.names, sample.columns, strict=True)
    }
    form = _usual_form([cells.slice(0, _FEW_ROWS) for cells in columns.values()])
    settings = {
        column: _identifier(column) or _settings(cells, form) for column, cells in columns.items()
    }
    settings |= {key: {"type": "category", "levels": []} for key in told}
    columns |= told
    file = {**sample.settings, "decimal": form[0], "thousands": form[1]}
    few = [column for column, found in settings.items() if found["type"] == "category"]
    return Draft(_toml(file, settings), {column: _words(columns[column]) for column in few})


def _check_names(names: Sequence[str], table: str) -> None:
    """Refuse a first line that may be one of cells, which a draft must not have."""
    numbers = conversion(Column("", pa.string(), ""), ColumnSchema("number"))[1](
        pa.array(names, pa.large_string())
    )
    if not all(names) or len(set(names)) < len(names) or numbers.null_count < len(names):
        raise TableError(
            f"the first line of {table} has a name that is empty, a number or there twice; "
            "expected the columns' names (write a schema by hand, with header = false if the "
            "first line is a row)"
        )


def _identifier(name: str) -> dict[str, Any] | None:
    """Return the settings of a column that its name calls an identifier."""
    return {"type": "identifier"} if is_identifier(name) else None


def _by_type(kind: Any) -> dict[str, Any]:  # noqa: ANN401 -- pyarrow has no types
    """Return the settings of a column that has a type."""
    if kind is not None and pt.is_dictionary(kind):
        kind = kind.value_type
    found = {
        "integer": (pt.is_integer,),
        "number": (pt.is_floating, pt.is_decimal),
        "boolean": (pt.is_boolean,),
        "date": (pt.is_date,),
        "datetime": (pt.is_timestamp,),
        "category": (pt.is_string, pt.is_large_string, pt.is_string_view),
    }
    for name, tests in found.items():
        if kind is not None and any(test(kind) for test in tests):
            return {"type": name, **({"levels": []} if name == "category" else {})}
    return {"type": "text"}


def _share(cells: Any, settings: Mapping[str, Any]) -> float:  # noqa: ANN401
    """Return the share of cells that are what is declared, of those that say anything."""
    nothing = pc.sum(pc.is_in(cells, value_set=_texts(_NOTHING))).as_py() or 0
    present = len(cells) - cells.null_count - nothing
    missing = ColumnSchema(missing=_NOTHING, **settings)
    found = conversion(Column("", pa.string(), ""), missing)[1](cells)
    return (len(found) - found.null_count) / present if present else 0.0


def _texts(words: Sequence[str | None]) -> Any:  # noqa: ANN401
    return pa.array(words, pa.large_string())


def _usual_form(columns: Sequence[Any]) -> _Form:
    """Return how most cells that are numbers write decimals and thousands."""

    def fitting(form: _Form) -> float:
        settings = {"type": "number", "decimal": form[0], "thousands": form[1]}
        return sum(_share(cells, {**settings, "currency": _CURRENCIES}) for cells in columns)

    return max(_NUMBERS, key=fitting)


def _settings(cells: Any, form: _Form) -> dict[str, Any]:  # noqa: ANN401
    """Return the settings of a column of texts."""
    words = pc.unique(cells).drop_null()
    words = words.filter(pc.invert(pc.is_in(words, value_set=_texts(_NOTHING))))
    if not len(words):
        return {"type": "text"}
    best, most = _best(cells, _candidates(cells, words, form))
    if most >= (_LEAST_BOOLEAN if best.get("type") == "boolean" else _LEAST_SHARE):
        return _without_usual(best, form)
    if len(words) <= min(_MOST_LEVELS, len(cells) // 4):
        return {"type": "category", "levels": []}
    spaced = pc.match_substring(words.view(pa.large_binary()), pattern=b" ")
    return {"type": "text" if pc.any(spaced).as_py() else "identifier"}


def _candidates(cells: Any, words: Any, form: _Form) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield what a column may be, the likelier first."""
    codes = pc.match_substring_regex(words.view(pa.large_binary()), pattern=r"^0\d")
    if not pc.any(codes).as_py():  # a number with a zero before it is a code
        for each in (form, *_NUMBERS):
            yield from _numbers(each, cells)
    yield from ({"type": "boolean", "true": [yes], "false": [no]} for yes, no in _PAIRS)
    yield from ({"type": "date", "pattern": pattern} for pattern in _DATES)
    yield from ({"type": "datetime", "pattern": pattern} for pattern in _TIMES)


def _best(
    cells: Any,  # noqa: ANN401
    candidates: Iterator[dict[str, Any]],
) -> tuple[dict[str, Any], float]:
    """Return the first that fits most cells, and their share."""
    best: dict[str, Any] = {}
    most = 0.0
    for settings in candidates:
        share = _share(cells, settings)
        if share > most:
            best, most = settings, share
        if share == 1.0:
            break
    return best, most


def _numbers(form: _Form, cells: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return the ways a column may be numbers of that form, the plainest first."""
    plain = {"type": "number", "decimal": form[0], "thousands": form[1]}
    raw = cells.view(pa.large_binary())
    signs = [
        sign
        for sign in _CURRENCIES
        if pc.any(pc.match_substring(raw, pattern=sign.encode())).as_py()
    ]
    percent = pc.any(pc.match_substring(raw, pattern=b"%")).as_py()
    return [plain, *([plain | {"currency": signs}] if signs else []),
            *([plain | {"percent": True}] if percent else [])]  # fmt: skip


def _without_usual(settings: dict[str, Any], form: _Form) -> dict[str, Any]:
    """Leave out what the file declares for all columns."""
    if settings["type"] == "number" and (settings["decimal"], settings["thousands"]) == form:
        del settings["decimal"], settings["thousands"]
    return {name: value for name, value in settings.items() if value is not None}


def _words(cells: Any) -> list[str]:  # noqa: ANN401
    """Return the different texts of a column if they are few, in order."""
    if pt.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    found = pc.unique(trimmed(cells)).view(pa.large_binary()).to_pylist()
    texts = sorted(word.decode("utf-8", "replace") for word in found if word)
    return texts if len(texts) <= _MOST_LEVELS else []


def _toml(file: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a draft; comments say what to check."""
    lines = [_HEAD]
    if file:
        lines += ["[file]", *_lines(file), "# the words of all columns: missing = []", ""]
    for name, settings in columns.items():
        note = _NOTES.get(settings["type"].removesuffix("time"))
        lines += [f"[columns.{_quoted(name)}]" + (f"  # {note}" if note else "")]
        lines += [*_lines(settings), ""]
    return "\n".join(lines)


def _lines(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_quoted(value)}" for name, value in settings.items() if value is not None]


def _quoted(value: Any) -> str:  # noqa: ANN401 -- a text, a flag or a list of texts
    """Return a value as TOML, which takes JSON's texts but for one sign."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
