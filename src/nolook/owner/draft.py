"""A draft of a schema, for the data owner only: guessed by looking at some of the rows.

No release depends on it: a schema that still is a draft is refused. A draft has the columns' names
and words from the public lists below, and nothing else that was found in the table.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook._validation import check_path
from nolook.errors import TableError
from nolook.owner.first_rows import (
    DATES,
    LEAST_ROWS,
    TIMES,
    Sample,
    converted,
    is_nothing,
    look,
    share,
)
from nolook.tables.csv import uncompressed
from nolook.tables.databases import Database
from nolook.tables.files import Place, in_storage
from nolook.tables.folders import Folder, Listing, is_text, kind_of, located
from nolook.tables.office import SheetFile
from nolook.tables.read import open_typed
from nolook.tables.schema import COMMENTS, DELIMITERS, SETTINGS, FileFormat
from nolook.tables.source import BYTES, TEXT, Source, attempt, in_words, raw_texts, written_out
from nolook.tables.words import is_identifier, listed, plain_numbers, trimmed

__all__ = ["Draft", "as_toml", "draft_schema"]

#: The rows a guess is made from; those of the first batches, or of several parts of a file.
MOST_ROWS = 1000
_MOST_BATCHES = 12
_MOST_BYTES = 1 << 20
_SEPARATOR = f"[{re.escape(''.join(DELIMITERS))}]"
_APOSTROPHES = re.compile(rf"(?m)(?:^|{_SEPARATOR})'[^'\n]*'(?:{_SEPARATOR}|$)")
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

# How numbers may be written, the likelier before those that say as much.
_NUMBERS = tuple(
    {"decimal": signs[0], "thousands": signs[1:] or None}
    for signs in (".", ".,", ",", ",.", ".\u2019", ",\u2019", ". ", ", ", "._")
)
_CURRENCIES = ("€", "$", "£", "¥", "EUR", "USD", "GBP", "CHF", "JPY", "Fr")
_PAIRS = (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("ja", "nein"), ("oui", "non"),
    ("sí", "no"), ("sì", "no"), ("on", "off"),
)  # fmt: skip
# Numbers that often stand for a missing value.
_CODES = np.array([-9, -8, -7, 9, *(sign * int(n * digit) for sign in (-1, 1) for digit in "987"
                         for n in (2, 3, 4))])  # fmt: skip
# Of the cells, which fit a type; a third word of a boolean may be a category's.
_LEAST_SHARE, _LEAST_BOOLEAN = 0.8, 0.95
_MOST_LEVELS, _FEW_ROWS, _FEW_LINES, _MOST_TITLES = 50, 200, 100, 20

_HEAD = """\
draft = true

# A draft for the data owner only, guessed from a sample of the rows: show it to no one else.
# Review every line, and think of values that later rows may have:
# - the type of each column, and how its numbers and dates are written;
# - the levels of categories (nolook schema TABLE --levels shows those found);
# - use = "target" for the column to explain, use = "unit" for the patient or household,
#   use = "weights" for survey weights, and use = "nothing" for columns that are not features,
#   which need no type;
# - strings that stand for a missing value, in addition to the empty cell: missing = ["NA"]
#   of a column, or in [file] for all columns.
# Then delete the line draft = true; until then nolook refuses the file.
"""
_FILE = ("delimiter", "quote", "comment", "skip", "multiline", "encoding")
_READABLE = ("boolean", "integer", "number", "text", "date", "date and time")
_NOTES = {
    "number": "a value in another format is missing",
    "integer": "whole in all sampled rows; any other number is missing",
    "boolean": "other values are missing",
    "category": 'a feature once it has levels; other values are "..."; undeclared = "missing" '
    "does without this level",
    "date": "days since 1970-01-01",
    "identifier": 'not a feature; use = "unit" for a patient or household, not for a line number',
    "text": "not a feature",
}


@frozen
class Draft:
    """A draft of a schema, the levels found in it, which it does not have, and what to check."""

    content: dict[str, Any]
    levels: dict[str, list[str]]
    found: list[str]

    @property
    def text(self) -> str:
        """The draft as TOML, with comments that say what to check."""
        return f"{_HEAD}\n{as_toml(self.content, _NOTES)}"


def draft_schema(path: str | os.PathLike[str] | Database, target: str | None = None) -> Draft:
    """Guess a schema by looking at some of the rows of a table.

    Parameters
    ----------
    path : path-like
        A file of text, a sheet, or a file that has types of its own. Or a folder or pattern of
        such files, or their address in storage.
    target : str, optional
        The column to explain. Columns that seem to follow from it are drafted as no features.

    Returns
    -------
    Draft
        TOML that :meth:`nolook.Schema.read` refuses until its first line is deleted, the texts
        found in columns of few different ones, and sentences about the rows. All are for
        the data owner only.

    Raises
    ------
    TableError
        If the file cannot be read, or its first line has no names.
    ParameterError
        If the table has no such target.
    """
    kept = isinstance(path, Database) or in_storage(path)
    source = located(path if kept else str(check_path(path, "people.csv")))
    if not isinstance(source, Listing):
        return _typed(open_typed(source), {}, target)
    by_folder = {key: raw_texts([values[key] for values, _ in source.files]) for key in source.keys}
    if not is_text(source):
        return _typed(open_typed(source, None), by_folder, target)
    _, place = source.files[0]
    expected = f"{place.name} does not exist or is not a regular file; expected a CSV file"
    attempt(expected, place.state)
    return _written(place, by_folder, target)


def _typed(source: Source, by_folder: dict[str, Any], target: str | None) -> Draft:
    """Guess from the types of columns, some of which names of folders tell."""
    settings = {each.name: _by_type(each.name, each.type) for each in source.columns}
    usable = [each.name for each in source.columns if in_words(each.type) in _READABLE]
    cells = _sample(source, usable)
    found = []
    if isinstance(source, Folder):
        for name in source.added:
            settings[name]["optional"] = True
        if source.added:
            found.append(f"Not in every file: {listed(sorted(source.added))} (optional = true).")
        for name, own in source.settings.items():
            settings[name] |= {
                key: each
                for key, each in own.items()
                if key == "label" or len(each) <= _MOST_LEVELS
            }
    return _draft({}, settings, cells | by_folder, found, target)


def _sample(source: Source, names: Sequence[str]) -> dict[str, Any]:
    """Return the cells of evenly spaced rows, of the first, a middle and the last part of files."""
    parts = source.parts() if isinstance(source, Folder) else (source,)
    chosen = sorted({0, len(parts) // 2, len(parts) - 1}) if names else ()
    most = _MOST_BATCHES // max(1, len(chosen))
    found = [each for place in chosen for each in islice(parts[place].batches(names), most)]
    if not found:
        return {}
    rows = sum(each.num_rows for each in found)
    chosen_rows = pa.array(range(0, rows, -(-rows // MOST_ROWS) or 1))
    columns = ([written_out(each.column(name)) for each in found] for name in names)
    sample = [pa.chunked_array(each).take(chosen_rows).combine_chunks() for each in columns]
    return dict(zip(names, sample, strict=True))


def _written(place: Place, by_folder: dict[str, Any], target: str | None) -> Draft:
    """Guess from some rows of a file of text, and from what names of folders tell."""
    kind = kind_of(place)
    is_sheet = kind is SheetFile
    refused = f"{place.name} is not a readable {kind.kind} file (damaged, or not text?)"
    form = attempt(refused, _sheet_form if is_sheet else _text_form, place)
    opened = kind(place, form)
    names = [column.name for column in opened.columns]
    named = [*filter(None, names)]
    # A first line that may be one of cells: a draft must not have these.
    if not named or not _are_names(names):
        raise TableError(
            f"the first line of {place.name} has a name that is empty, a number or a duplicate; "
            "expected the columns' names (header = false in a schema by hand if it is a row)"
        )
    cells = _sample(opened, named)
    columns = {name: trimmed(cells.get(name, pa.array([], TEXT))) for name in named}
    few = [cells[:_FEW_ROWS] for cells in columns.values()]
    number = {"type": "number", "currency": _CURRENCIES}
    signs = max(_NUMBERS, key=lambda signs: sum(share(each, number | signs) for each in few))
    settings = {name: _settings(name, cells, signs) for name, cells in columns.items()}
    settings |= {key: {"type": "category", "levels": []} for key in by_folder}
    said = {
        f"A title stands above the header: skip = {form.skip}.": form.skip,
        "Cells hold line breaks: multiline = true.": form.multiline,
        "The first column has no name, as a row number has none: it is left out.": not names[0],
    }
    found = [words for words, is_so in said.items() if is_so]
    rows = min(map(len, columns.values()))
    unsure = [name for name in named if settings[name]["type"] == "category"]
    if rows < LEAST_ROWS and unsure:
        found.append(
            f"The table has {rows} rows, too few to distinguish categories from identifiers: check "
            f"{listed(unsure)} (drafted as categories)."
        )
    file = {name: getattr(form, name) for name in (["skip"] if is_sheet else _FILE)} | signs
    return _draft(file, settings, columns | by_folder, found, target)


def _text_form(place: Place) -> FileFormat:
    """Guess how a file of text is written."""
    with uncompressed(place) as stream:
        raw = stream.read(_MOST_BYTES)
    encoding = _encoding(raw)
    text = raw.decode(encoding, "replace").removeprefix("\ufeff")
    lines = [*filter(None, text.splitlines())][: _FEW_LINES + 1]
    return evolve(_signs("\n".join(lines[:-1] or lines)), encoding=encoding)


def _sheet_form(place: Place) -> FileFormat:
    """Guess how many rows of a sheet stand above its header."""
    sheet = SheetFile(place, FileFormat(header=False))
    return FileFormat(skip=_titles([*islice(sheet.cells(), 2 * _MOST_TITLES)]))


def _titles(rows: Sequence[Sequence[str | None]]) -> int:
    """Return the number of titles above the header: rows of few cells, the first one filled."""
    usual = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    for skip, row in enumerate(rows[:_MOST_TITLES]):
        filled = sum(1 for cell in row if cell and cell.strip())
        if filled > 1 and 2 * filled > usual and usual - len(row) in {0, 1}:
            if _are_names([(cell or "").strip() for cell in row]):
                return skip
            if len(row) == usual:
                return 0
        if not row or not row[0]:
            return 0
    return 0


def _are_names(row: Sequence[str]) -> bool:
    """Tell whether texts may name columns: the first and the last may be empty."""
    named = [*filter(None, row)]
    numbers = plain_numbers(pa.array(named, TEXT)).is_valid().true_count
    return all(row[1:-1]) and len({*named}) == len(named) and not numbers


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


def _signs(text: str) -> FileFormat:
    """Return the signs with which most lines have one number of cells, and the titles above."""
    quote = "'" if '"' not in text and _APOSTROPHES.search(text) else '"'
    comments = [None, *(sign for sign in COMMENTS if text.startswith(sign))]

    def score(form: FileFormat) -> tuple[int, int]:
        rows = [*map(len, _split(text, form))]
        ((width, fitting),) = Counter(n for n in rows if n > 1).most_common(1) or [(1, 0)]
        return 2 * fitting - len(rows), width  # the rest of a cell with a line break fits nothing

    signs = product(DELIMITERS, comments, (False, True))
    forms = (FileFormat(sign, quote, comment=c, multiline=long) for sign, c, long in signs)
    best = max(forms, key=score)
    return evolve(best, skip=_titles(_split(text, best)))


def _split(text: str, form: FileFormat) -> list[list[str]]:
    """Return the cells of each row, roughly."""
    lines = [
        line for line in text.split("\n") if not (form.comment and line.startswith(form.comment))
    ]
    how: dict[str, Any] = {"delimiter": form.delimiter, "quotechar": form.quote}
    parts = [lines] if form.multiline else [[line] for line in lines]
    return [row for part in parts for row in csv.reader(part, skipinitialspace=True, **how)]


def _by_type(name: str, kind: Any) -> dict[str, Any]:  # noqa: ANN401 -- pyarrow has no types
    """Return the settings of a column that has a type."""
    words = "identifier" if is_identifier(name) else in_words(kind)
    found = {"text": "category", "date and time": "datetime"}.get(words, words)
    if found == "category":
        return {"type": found, "levels": []}
    return {"type": found if found in SETTINGS else "text"}


def _settings(name: str, cells: Any, form: dict[str, str | None]) -> dict[str, Any]:  # noqa: ANN401
    """Return the settings of a column of texts: what fits most cells, the likelier of several."""
    if is_identifier(name):
        return {"type": "identifier"}
    words = pc.unique(cells).drop_null()
    words = words.filter(pc.invert(is_nothing(words)))
    if not len(words):
        return {"type": "text"}
    best: dict[str, Any] = {}
    most = 0.0
    for settings in _candidates(words, form):
        if (found := share(cells, settings)) > most:
            best, most = settings, found
        if found == 1.0:
            break
    if most >= (_LEAST_BOOLEAN if best.get("type") == "boolean" else _LEAST_SHARE):
        best |= {"missing": _repeated_nothing(cells)}
        # What the file declares for all columns is left out.
        return {name: each for name, each in best.items() if each and form.get(name) != each}
    if len(cells) < LEAST_ROWS or len(words) <= min(_MOST_LEVELS, len(cells) // 4):
        # Other words, such as "unknown", may be levels.
        missing = {"missing": ["?"]} if "?" in _repeated_nothing(cells) else {}
        return {"type": "category", "levels": [], **missing}
    spaced = pc.match_substring(words.view(BYTES), pattern=b" ")
    return {"type": "text" if pc.any(spaced).as_py() else "identifier"}


def _repeated_nothing(cells: Any) -> list[str]:  # noqa: ANN401
    """Return the public words for a missing value, except the empty cell, that occur repeatedly."""
    found = pc.value_counts(cells.filter(is_nothing(cells))).to_pylist()
    return sorted(each["values"] for each in found if each["values"] and each["counts"] > 1)


def _codes(values: Vector) -> list[int]:
    """Return the numbers that occur repeatedly, far from all others, as codes for missing ones."""
    others = values[~np.isin(values, _CODES) & np.isfinite(values)]
    if not others.size or others.min() < 0:
        return []
    codes = [code for code in _CODES.tolist() if code < 0 or 2 * others.max() < code]
    return [code for code in codes if (values == code).sum() > 1]


def _candidates(words: Any, form: dict[str, str | None]) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield settings that a column may have, the likelier and the plainer first."""

    def found(sign: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(raw, pattern=sign)).as_py())

    raw = words.view(BYTES)
    signs = [sign for sign in _CURRENCIES if found(re.escape(sign))]
    more: tuple[dict[str, Any], ...] = ({}, {"currency": signs}, {"percent": found("%")})
    if not found(r"^0\d"):  # a number with a zero before it is a code
        for each in (form, *_NUMBERS):
            plain = {"type": "number", **each}
            yield from (plain | one for one in more if not one or any(one.values()))
    yield from ({"type": "boolean", "true": [yes], "false": [no]} for yes, no in _PAIRS)
    if found(r"^\d"):
        yield from ({"type": "date", "pattern": pattern} for pattern in DATES)
        yield from ({"type": "datetime", "pattern": pattern} for pattern in TIMES)


def _words(cells: Any) -> list[str]:  # noqa: ANN401
    """Return the different texts of a column, the rarest first."""
    if in_words(cells.type) != "text":
        return []
    found = Counter(trimmed(cells).view(BYTES).drop_null().to_pylist())
    rising = sorted(found, key=found.__getitem__)
    return [word.decode("utf-8", "replace") for word in rising if word not in {b"", b"?"}]


def _draft(
    file: Mapping[str, Any],
    columns: dict[str, dict[str, Any]],
    cells: Mapping[str, Any],
    found: list[str],
    target: str | None,
) -> Draft:
    """Return a draft with what some rows show."""
    words = {name: _words(each) for name, each in cells.items()}
    signs = {name: file[name] for name in ("decimal", "thousands") if file.get(name)}
    numbers = {
        name: np.asarray(converted(cells[name], settings, **signs).cast(pa.float64(), safe=False))
        for name, settings in columns.items()
        if name in cells and settings["type"] in {"number", "integer", "boolean"}
    }
    for name, each in columns.items():
        if each.get("levels") and {*words.get(name, ())} <= {*each["levels"]}:
            each["undeclared"] = "missing"
    for name, values in numbers.items():
        if not columns[name].get("percent") and (codes := _codes(values)):
            columns[name].setdefault("missing", []).extend(map(str, codes))
            numbers[name] = np.where(np.isin(values, codes), np.nan, values)
    found = [*found, *look(Sample(columns, cells, words, numbers, target))]
    content = {"file": {n: each for n, each in file.items() if each}, "columns": columns}
    few = [n for n, each in columns.items() if each["type"] == "category" and n in words]
    # Words that differ in letter case only are one level, in its commonest spelling.
    once = {n: {word.lower(): word for word in words[n]} for n in few}
    shown = {n: sorted(own.values()) * (len(own) <= _MOST_LEVELS) for n, own in once.items()}
    return Draft(content, shown, found)


def as_toml(content: Mapping[str, Any], notes: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write a schema's plain data as `Schema.read` reads it, with notes on types of columns."""
    parts = {"file": content["file"]} if content.get("file") else {}
    parts |= {f"columns.{_quoted(name)}": own for name, own in content.get("columns", {}).items()}
    lines: list[str] = []
    for head, settings in parts.items():
        note = notes.get(settings.get("type", "").removesuffix("time"), "")
        lines += ["", f"[{head}]" + f"  # {note}" * bool(note)]
        lines += [f"{key} = {_quoted(each)}" for key, each in settings.items()]
    return "\n".join([*lines[1:], ""])


def _quoted(value: Any) -> str:  # noqa: ANN401 -- a text, a flag, texts, or these by level
    """Return a value as TOML, which takes JSON's strings except for one character."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_quoted(key)} = {_quoted(value[key])}' for key in value)}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
