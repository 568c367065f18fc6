"""A draft of a schema, for the table's holder alone: guessed by looking at the first rows.

No release depends on it: a schema that still is a draft is refused. A draft has the columns' names
and words from the public lists below, and nothing else that was found in the table.
"""

from __future__ import annotations

import codecs
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from nolook._language import usage_hint
from nolook._validation import check_path
from nolook.errors import TableError
from nolook.tables.conversion import conversion
from nolook.tables.csv import CsvFile, Rows, uncompressed
from nolook.tables.files import Place, in_storage
from nolook.tables.folders import Listing, is_text, located
from nolook.tables.read import open_typed
from nolook.tables.schema import COMMENTS, DELIMITERS, SETTINGS, ColumnSchema, FileFormat
from nolook.tables.source import Column, Source, attempt, in_words, raw_texts
from nolook.tables.table import Table
from nolook.tables.words import plain_numbers, trimmed

__all__ = ["Draft", "column_hints", "draft_schema"]

#: The rows a guess is made from.
MOST_ROWS = 1000
_MOST_BYTES = 1 << 20
_SEPARATOR = f"[{re.escape(''.join(DELIMITERS))}]"
_APOSTROPHES = re.compile(rf"(?m)(?:^|{_SEPARATOR})'[^'\n]*'(?:{_SEPARATOR}|$)")
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

# How numbers may be written, the likelier before those that say as much.
_NUMBERS = tuple(
    {"decimal": decimal, "thousands": thousands}
    for decimal, thousands in (
        (".", None), (".", ","), (",", None), (",", "."), (".", "\u2019"), (",", "\u2019"),
        (".", " "), (",", " "), (".", "_"),
    )
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
# Words for a missing value, with or without capitals.
_NOTHING = (
    "", "-", "--", "?", ".", "NA", "N/A", "n.a.", "#N/A", "<NA>", "NaN", "null", "none", "missing",
    "unknown", "not known", "not available", "k. A.", "k.A.", "keine Angabe", "keine Angaben",
    "unbekannt", "nicht bekannt", "fehlend", "fehlt", "inconnu", "inconnue", "manquant",
    "non disponible", "non renseigné", "sconosciuto", "mancante", "non disponibile", "n.d.",
    "desconocido", "sin datos", "no disponible", "desconhecido", "sem dados", "onbekend",
    "ontbreekt", "okänd", "saknas", "ukjent", "ukendt", "nieznany", "brak", "brak danych",
)  # fmt: skip
_MISSING = pa.array(
    {each for word in _NOTHING for each in (word, word.lower(), word.upper(), word.capitalize())},
    pa.large_string(),
)
# Of the cells, which fit a type; a third word of a boolean may be a category's.
_LEAST_SHARE, _LEAST_BOOLEAN = 0.8, 0.95
_MOST_LEVELS, _FEW_ROWS, _FEW_LINES, _MOST_NAMES = 50, 200, 100, 8

#: Last words of names that numbers are given to tell things apart, not to count or measure.
_IDENTIFIERS = (
    "code", "iban", "id", "ids", "key", "mobile", "mrn", "nr", "phone", "plz", "postcode", "ssn",
    "tel", "telephone", "uuid", "zip",
)  # fmt: skip
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")

_HEAD = """\
draft = true

# A draft for the holder of the table alone, guessed by looking at its first rows. Nobody else
# should see it, and nolook refuses it, until the holder has read and corrected every line: type
# and signs of each column, the levels of categories (nolook schema TABLE --levels shows what was
# found), and what rows further down may hold. Then delete the line draft = true. Give the column
# to explain use = "target", and columns that are no features use = "nothing", which need nothing
# else. Words for a missing value, but for an empty cell: missing = ["NA"].
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
    if not isinstance(source, Listing):
        return _typed(open_typed(source), {})
    told = {key: raw_texts([values[key] for values, _ in source.files]) for key in source.keys}
    if not is_text(source):
        return _typed(open_typed(source), told)
    _, place = source.files[0]
    expected = f"{place.name} does not exist or is no regular file; expected a CSV file"
    attempt(expected, place.state)
    return _written(place, told)


def _typed(source: Source, told: dict[str, Any]) -> Draft:
    """Guess from the types of columns, some of which names of folders tell."""
    settings = {each.name: _identifier(each.name) or _by_type(each.type) for each in source.columns}
    few = [name for name, found in settings.items() if found["type"] == "category"]
    first = next(iter(source.batches(few)), None) if few else None
    cells = {} if first is None else {name: first.column(name)[:MOST_ROWS] for name in few}
    return _draft({}, settings, cells | told)


def _written(place: Place, told: dict[str, Any]) -> Draft:
    """Guess from the first rows of a file of text, and from what names of folders tell."""
    refused = f"{place.name} is not a readable CSV file (damaged, or not text?)"
    file, names, rows = attempt(refused, first_rows, place)
    # A first line that may be one of cells: a draft must not have these.
    if (
        "" in names
        or len({*names}) < len(names)
        or plain_numbers(_texts(names)).is_valid().true_count
    ):
        raise TableError(
            f"the first line of {place.name} has a name that is empty, a number or there twice; "
            "expected the columns' names (write a schema by hand, with header = false if the "
            "first line is a row)"
        )
    columns = {name: trimmed(cells) for name, cells in zip(names, rows, strict=True)}
    few = [cells[:_FEW_ROWS] for cells in columns.values()]
    form = max(_NUMBERS, key=lambda form: _numbers_in(few, form))
    settings = {
        name: _identifier(name) or _settings(cells, form) for name, cells in columns.items()
    }
    settings |= {key: {"type": "category", "levels": []} for key in told}
    return _draft(file | form, settings, columns | told)


def first_rows(place: Place) -> tuple[dict[str, str | None], list[str], list[Any]]:
    """Guess how a file is written; return that, its first line and the columns of texts below."""
    with uncompressed(place) as stream:
        raw = stream.read(_MOST_BYTES)
    encoding = _encoding(raw)
    lines = raw.decode(encoding, "replace").removeprefix("\ufeff").encode().splitlines()
    lines = [line for line in (lines[:-1] if len(raw) == _MOST_BYTES else lines) if line]
    form = _signs(lines[:_FEW_LINES])
    names, columns = _read(lines[: MOST_ROWS + 1], form)
    kept = {"delimiter": form.delimiter, "quote": form.quote, "comment": form.comment}
    return {**kept, "encoding": encoding}, names, columns


def _encoding(raw: bytes) -> str:
    if raw[:2] in _BYTE_ORDER_MARKS:
        return _BYTE_ORDER_MARKS[raw[:2]]
    zeros = [raw[place::2].count(0) for place in (0, 1)]
    if max(zeros) > len(raw) // 8:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw)  # which may end within a letter
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _signs(lines: Sequence[bytes]) -> FileFormat:
    """Return the signs with which most lines have the header's number of cells."""
    text = b"\n".join(lines).decode()
    quote = "'" if '"' not in text and _APOSTROPHES.search(text) else '"'
    comments = [None, *(sign for sign in COMMENTS if text.startswith(sign))]

    def score(form: FileFormat) -> tuple[int, int]:
        names, columns = _read(lines, form)
        fitting = len(columns[0]) - columns[0].null_count if len(names) > 1 else 0
        return fitting, len(names)

    signs = itertools.product(DELIMITERS, comments)
    return max((FileFormat(sign, quote, comment=comment) for sign, comment in signs), key=score)


def _read(lines: Sequence[bytes], form: FileFormat) -> tuple[list[str], list[Any]]:
    """Return the header and the columns below it."""
    rows = Rows(iter([b"\n".join(lines)]), form)
    names = [cell.decode().strip() for cell in rows.header]
    blocks = list(rows.columns(range(len(names)))) if names else []
    columns = [pa.concat_arrays(parts) for parts in zip(*blocks, strict=True)]
    return names, columns or [pa.array([], pa.string()) for _ in names]


def _identifier(name: str) -> dict[str, Any] | None:
    """Return the settings of a column that its name calls an identifier."""
    return {"type": "identifier"} if is_identifier(name) else None


def _by_type(kind: Any) -> dict[str, Any]:  # noqa: ANN401 -- pyarrow has no types
    """Return the settings of a column that has a type."""
    words = in_words(kind)
    found = {"text": "category", "date and time": "datetime"}.get(words, words)
    if found == "category":
        return {"type": found, "levels": []}
    return {"type": found if found in SETTINGS else "text"}


def _share(cells: Any, settings: Mapping[str, Any]) -> float:  # noqa: ANN401
    """Return the share of cells that are what is declared, of those that say anything."""
    present = cells.filter(pc.invert(_is_nothing(cells))).drop_null()
    found = conversion(Column("", pa.string(), ""), ColumnSchema(**settings))[1](present)
    return (len(found) - found.null_count) / len(present) if len(present) else 0.0


def _texts(words: Sequence[str | None]) -> Any:  # noqa: ANN401
    return pa.array(words, pa.large_string())


def _is_nothing(cells: Any) -> Any:  # noqa: ANN401
    return pc.is_in(cells, value_set=_MISSING)


def _numbers_in(columns: Sequence[Any], form: Mapping[str, str | None]) -> float:
    """Return the sum of the shares of cells that are numbers so written."""
    settings = {"type": "number", "currency": _CURRENCIES, **form}
    return sum(_share(cells, settings) for cells in columns)


def _settings(cells: Any, form: dict[str, str | None]) -> dict[str, Any]:  # noqa: ANN401
    """Return the settings of a column of texts: what fits most cells, the likelier of several."""
    words = pc.unique(cells).drop_null()
    words = words.filter(pc.invert(_is_nothing(words)))
    if not len(words):
        return {"type": "text"}
    best: dict[str, Any] = {}
    most = 0.0
    for settings in _candidates(words, form):
        if (share := _share(cells, settings)) > most:
            best, most = settings, share
        if share == 1.0:
            break
    if most >= (_LEAST_BOOLEAN if best.get("type") == "boolean" else _LEAST_SHARE):
        best |= {"missing": _repeated_nothing(cells)}
        # What the file declares for all columns is left out.
        return {name: each for name, each in best.items() if each and form.get(name) != each}
    if len(words) <= min(_MOST_LEVELS, len(cells) // 4):
        return {"type": "category", "levels": []}
    spaced = pc.match_substring(words.view(pa.large_binary()), pattern=b" ")
    return {"type": "text" if pc.any(spaced).as_py() else "identifier"}


def _repeated_nothing(cells: Any) -> list[str]:  # noqa: ANN401
    """Return the public words for a missing value, but for an empty cell, that occur repeatedly."""
    found = pc.value_counts(cells.filter(_is_nothing(cells))).to_pylist()
    return sorted(each["values"] for each in found if each["values"] and each["counts"] > 1)


def _candidates(words: Any, form: dict[str, str | None]) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield what a column may be, the likelier and the plainer first."""

    def found(sign: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(raw, pattern=sign)).as_py())

    raw = words.view(pa.large_binary())
    signs = [sign for sign in _CURRENCIES if found(re.escape(sign))]
    more: tuple[dict[str, Any], ...] = ({}, {"currency": signs}, {"percent": found("%")})
    if not found(r"^0\d"):  # a number with a zero before it is a code
        for each in (form, *_NUMBERS):
            plain = {"type": "number", **each}
            yield from (plain | one for one in more if not one or any(one.values()))
    yield from ({"type": "boolean", "true": [yes], "false": [no]} for yes, no in _PAIRS)
    yield from ({"type": "date", "pattern": pattern} for pattern in _DATES)
    yield from ({"type": "datetime", "pattern": pattern} for pattern in _TIMES)


def _words(cells: Any) -> list[str]:  # noqa: ANN401
    """Return the different texts of a column if they are few, in order."""
    if pt.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    found = pc.unique(trimmed(cells)).view(pa.large_binary()).to_pylist()
    texts = sorted(word.decode("utf-8", "replace") for word in found if word)
    return texts if len(texts) <= _MOST_LEVELS else []


def _draft(
    file: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    cells: Mapping[str, Any],
) -> Draft:
    """Write a draft; comments say what to check."""
    lines = [_HEAD]
    if file:
        lines += ["[file]", *_lines(file), "# the words of all columns: missing = []", ""]
    for name, settings in columns.items():
        note = _NOTES.get(settings["type"].removesuffix("time"))
        lines += [f"[columns.{_quoted(name)}]" + (f"  # {note}" if note else "")]
        lines += [*_lines(settings), ""]
    few = [name for name, settings in columns.items() if settings["type"] == "category"]
    return Draft("\n".join(lines), {name: _words(cells[name]) for name in few if name in cells})


def _lines(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_quoted(value)}" for name, value in settings.items() if value is not None]


def _quoted(value: Any) -> str:  # noqa: ANN401 -- a text, a flag or a list of texts
    """Return a value as TOML, which takes JSON's texts but for one sign."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def column_hints(table: Table, *, by_default: bool) -> list[str]:
    """Say, by names and declared types, which columns may be used otherwise than is meant.

    That is those nobody asked to leave out, if the features are the usual ones; numbers that are
    called as identifiers are, unless a schema declares them; and what may say whose a row is.
    """
    schema = table._design.schema
    declared = {} if schema is None else schema.columns
    made = {each for name, column in declared.items() for each in column.features(name)}
    known = {*table._design.source_names, *declared, *made}
    unused = [column for column in table._source.columns if column.name not in known]
    numbers = [
        feature.name
        for feature in table._design.features
        if feature.levels is None and feature.name not in declared and is_identifier(feature.name)
    ]
    units = [name for name, column in declared.items() if column.type == "identifier"]
    units += [column.name for column in unused if is_identifier(column.name)]
    text = getattr(table._source.original, "kind", None) == CsvFile.kind
    hints = []
    if unused and by_default:
        shown = [each.name if text else f"{each.name} ({each.declared})" for each in unused]
        hints.append(f"Not used: {_listed(shown)}.")
    alone = table.unit.column is None
    if numbers:
        leave_out = usage_hint("exclude", numbers[:_MOST_NAMES], "features=[...]")
        together = (
            ", and protect all rows of each together if one says whose they are "
            f"({usage_hint('unit', numbers[0])})"
        )
        hints.append(
            f"Used as numbers: {_listed(numbers)}. By their names these may be identifiers: if so, "
            f"leave them out ({leave_out}){together if alone else ''}."
        )
    if units and alone:
        hints.append(
            f"Every row is protected by itself. If one of {_listed(units)} says whose row it is, "
            "and somebody may have several, protect all of them together "
            f"({usage_hint('unit', 'NAME')})."
        )
    return hints


def is_identifier(name: str) -> bool:
    """Tell by its name whether a column's numbers tell things apart."""
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in _IDENTIFIERS


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
