"""From cells as they are written to what a schema declares: each by itself, and never an error.

A cell that is not what its column is declared to be is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import date
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import evolve
from numpy.typing import NDArray

from nolook.errors import TableError
from nolook.tables.filter import Filtered
from nolook.tables.schema import PARTS, ColumnSchema, FileFormat
from nolook.tables.source import Column, Source, in_words

__all__ = [
    "DeclaredSource",
    "conversion",
    "in_place_of",
    "needed",
    "original",
    "trimmed",
    "unfiltered",
]

#: Turns an Arrow array into another of equal length.
Conversion: TypeAlias = Callable[[Any], Any]

SECONDS_A_DAY = 86_400

_TEXT, _BYTES = pa.large_string(), pa.large_binary()
# What pyarrow reads as a number, infinite ones included; a test holds the two together.
_NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?))$"
# Common ways to write nothing: they change no answer, but save looking at every letter.
_NOTHING = ("", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "-", "?", ".")
# Spaces that some programs write between thousands.
_SPACES = (" ", "\u00a0", "\u202f")
_APOSTROPHES = ("'", "\u2019")
_MINUS = "\u2212"
# Steps a second of Arrow's times.
_STEPS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# The digits of a pattern's signs; years before 1 or after 9999 are none.
_DIGITS = {"Y": r"\d{4}", "S": r"\d{1,2}(?:\.\d{1,9})?"}

Vector = NDArray[np.float64]


class DeclaredSource:
    """A source's columns as declared; those that are not declared stay as they are.

    Parameters
    ----------
    source : Source
    columns : mapping of str to ColumnSchema
        What each column is declared to be. Those that the source does not have are left out.
    form : FileFormat
        What numbers and missing values look like where a column does not say.

    Raises
    ------
    TableError
        If a column's type cannot be what is declared.
    """

    def __init__(
        self, source: Source, columns: Mapping[str, ColumnSchema], form: FileFormat
    ) -> None:
        self.name, self._source = source.name, source
        # By name: which column of the source a column is made of, and how if not as it is.
        self._made: dict[str, tuple[str, Conversion | None]] = {}
        made: list[Column] = []
        for column in source.columns:
            declared = columns.get(column.name)
            if declared is None:
                made.append(column)
                self._made[column.name] = column.name, None
                continue
            full = declared.within(form)
            for name, part in zip(full.features(column.name), full.parts or (None,), strict=True):
                kind, convert = conversion(column, full, part)
                made.append(Column(name, kind, part or full.type))
                self._made[name] = column.name, convert
        self.columns = tuple(made)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches holding the named columns."""
        wanted = [self._made[name] for name in names]
        for batch in self._source.batches(needed(self, names)):
            arrays = [
                batch.column(of) if convert is None else convert(batch.column(of))
                for of, convert in wanted
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    def parts(self) -> list[DeclaredSource]:
        """Return the source's parts, their columns as declared."""
        return [self._of(part) for part in self._source.parts()]

    def _of(self, part: Source | None) -> DeclaredSource:
        declared = copy(self)
        declared._source = cast("Source", part)  # None is replaced before it is read
        return declared


def unfiltered(source: Source) -> Source:
    """Return the source with all its rows."""
    return source._source if isinstance(source, Filtered) else source


def original(source: Source) -> Source:
    """Return the source with all its rows, and its columns as they are."""
    source = unfiltered(source)
    return source._source if isinstance(source, DeclaredSource) else source


def in_place_of(source: Source, other: Source | None) -> Source | None:
    """Return another source with the columns made of this one's, and its rows chosen likewise."""
    if isinstance(source, Filtered):
        return source._of(in_place_of(source._source, other))
    return source._of(other) if isinstance(source, DeclaredSource) else other


def needed(source: Source, names: Sequence[str]) -> list[str]:
    """Return the columns of the source as it is that some of its columns and rows follow from."""
    if isinstance(source, Filtered):
        return needed(source._source, list(dict.fromkeys((*names, *source.names))))
    if not isinstance(source, DeclaredSource):
        return list(names)
    return list(dict.fromkeys(source._made[name][0] for name in names))


def conversion(
    column: Column, declared: ColumnSchema, part: str | None = None
) -> tuple[Any, Conversion]:
    """Return the type of a declared column, or of a part of its dates, and what makes it.

    Raises TableError if the column's own type cannot be what was declared.
    """
    kind, wanted, words = column.type, declared.type, in_words(column.type)
    if kind is not None and pt.is_dictionary(kind):
        made, convert = conversion(evolve(column, type=kind.value_type), declared, part)
        return made, lambda cells: convert(cells.dictionary).take(cells.indices)
    if wanted in _AS_THEY_ARE.get(words, _NEVER_READ):
        return kind, lambda cells: cells
    made, way, possible = _WAYS[wanted]
    if words not in possible:
        raise TableError(
            f"the schema says that {column.name!r} is of type {wanted}, but the table has {words} "
            "there; expected another type in the schema (or turn the column into text)"
        )
    if part is not None:
        return _TEXT, partial(_to_part, declared=declared, part=part)
    return made, partial(way, declared=declared)


def trimmed(cells: Any) -> Any:  # noqa: ANN401
    """Return texts without the white space around them, as large strings."""
    return pc.ascii_trim_whitespace(cells.cast(_TEXT))


def _is_one_of(cells: Any, words: Sequence[str]) -> Any:  # noqa: ANN401
    return pc.is_in(cells, value_set=pa.array(words, _TEXT))


def _without(cells: Any, words: Sequence[str]) -> Any:  # noqa: ANN401
    """Return texts with null for those that are one of the words."""
    return pc.if_else(_is_one_of(cells, words), pa.scalar(None, _TEXT), cells) if words else cells


def plain_numbers(cells: Any, missing: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """Return large texts as float64, null where one is not a number or missing. Never raises."""
    if not missing:
        with suppress(pa.ArrowInvalid):
            return cells.cast(pa.float64())
    cells = _without(trimmed(cells), missing)
    with suppress(pa.ArrowInvalid):
        return _without(cells, _NOTHING).cast(pa.float64())
    cells = cells.view(_BYTES)
    return _floats(cells, pc.match_substring_regex(cells, pattern=_NUMBER))


def _floats(cells: Any, valid: Any) -> Any:  # noqa: ANN401
    """Return the numbers in cells of bytes, null in those that are not valid."""
    return pc.if_else(valid, cells, pa.scalar(None, _BYTES)).view(_TEXT).cast(pa.float64())


def _to_numbers(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    if in_words(cells.type) == "text":
        return _written_numbers(cells.cast(_TEXT), declared)
    numbers = cells.cast(pa.float64(), safe=False)
    if declared.type == "number" or pt.is_integer(cells.type):
        return numbers
    values = numbers.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        return pa.array(values, pa.float64(), mask=~(values == np.trunc(values)))


def _written_numbers(cells: Any, declared: ColumnSchema) -> Any:  # noqa: ANN401
    signs = (*declared.currency, *_alike(declared.thousands))
    if not (signs or declared.percent) and (declared.type, declared.decimal or ".") == (
        "number",
        ".",
    ):
        return plain_numbers(cells, declared.missing)
    cells = _without(trimmed(cells), declared.missing).view(_BYTES)
    valid = pc.match_substring_regex(cells, pattern=_number_form(declared))
    plain = dict.fromkeys((*signs, *_SPACES, "%"), b"")
    for sign, instead in (plain | {declared.decimal or ".": b".", _MINUS: b"-"}).items():
        cells = pc.replace_substring(cells, pattern=sign.encode(), replacement=instead)
    if declared.percent:
        # As part of the number, lest a quotient be rounded once more.
        cells = pc.binary_join_element_wise(cells, *(pa.scalar(x, _BYTES) for x in (b"e-2", b"")))
    return _floats(cells, valid)


def _number_form(declared: ColumnSchema) -> str:
    """Return the expression of a number, for bytes."""
    digits = r"\d+"
    if declared.thousands is not None:
        between = _any_of(_alike(declared.thousands))
        digits = rf"(?:\d{{1,3}}(?:{between}\d{{2,3}})*{between}\d{{3}}|\d+)"
    point, percent = _escaped(declared.decimal or "."), "%?" if declared.percent else ""
    whole = declared.type == "integer"
    number = digits if whole else rf"(?:{digits}(?:{point}\d*)?|{point}\d+)"
    if not (whole or percent):
        number += r"(?:[eE][+-]?\d+)?"
    sign, blank = rf"(?:[+-]|{_escaped(_MINUS)})", rf"{_any_of(_SPACES)}*"
    before, after = rf"{sign}?", ""
    if declared.currency:
        unit = _any_of(declared.currency)
        before = rf"(?:{sign}?(?:{unit}{blank})?|{unit}{blank}{sign})"
        after = rf"(?:{blank}{unit})?"
    return rf"^{before}{number}{after}{blank}{percent}$"


def _alike(thousands: str | None) -> tuple[str, ...]:
    """Return the signs that stand between thousands where one was declared."""
    if thousands is None:
        return ()
    return next((group for group in (_SPACES, _APOSTROPHES) if thousands in group), (thousands,))


def _any_of(words: Sequence[str]) -> str:
    return "(?:" + "|".join(map(_escaped, words)) + ")"


def _escaped(text: str) -> str:
    """Escape a text for an expression that matches bytes."""
    return "".join(f"\\x{{{byte:02x}}}" for byte in text.encode("utf-8"))


def _to_text(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    words = trimmed(cells)
    return _without(words, ("", *declared.missing)) if declared.use == "unit" else words


def _to_booleans(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    words = _without(trimmed(cells), ("", *declared.missing))
    true = _is_one_of(words, declared.true)
    if declared.false is None:
        known = words.is_valid()
    else:
        known = pc.or_(true, _is_one_of(words, declared.false))
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def _to_levels(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    return _without(trimmed(cells), declared.missing)


def _to_days(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    seconds, present = _seconds(cells, declared)
    days = seconds / SECONDS_A_DAY - (date.fromisoformat(declared.origin) - date(1970, 1, 1)).days
    days = np.floor(days) if declared.type == "date" else days
    return pa.array(days, pa.float64(), mask=~present)


def _to_part(cells: Any, *, declared: ColumnSchema, part: str) -> Any:  # noqa: ANN401
    seconds, present = _seconds(cells, declared)
    days = np.floor(seconds.clip(-1e15, 1e15) / SECONDS_A_DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64)
    if part == "weekday":
        places = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        return pa.array(np.array(PARTS[part], dtype=object)[places], _TEXT, mask=~present)
    numbers = months % 12 + 1 if part == "month" else months // 12 + 1970
    return pa.array(numbers, pa.int64(), mask=~present).cast(_TEXT)


def _seconds(cells: Any, declared: ColumnSchema) -> tuple[Vector, NDArray[np.bool_]]:  # noqa: ANN401
    """Return the seconds since 1970 that dates mean, and which cells are dates."""
    if in_words(cells.type) == "text":
        words = _without(trimmed(cells), declared.missing)
        return parse_times(words.view(_BYTES), declared.pattern)
    if pt.is_date(cells.type):
        cells = cells.cast(pa.timestamp("ms"))
    present = cells.is_valid().to_numpy(zero_copy_only=False)
    counts = cells.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return counts / _STEPS[cells.type.unit], present


def _expression(pattern: str) -> str:
    """Return the expression of a date, for bytes; groups are called after the pattern's signs."""
    texts = [
        f"(?P<{part}>{_DIGITS.get(part, '[0-9]{1,2}')})" if i % 2 else _escaped(part)
        for i, part in enumerate(re.split(r"%(.)", pattern))
    ]
    return f"^{''.join(texts)}$"


def parse_times(cells: Any, pattern: str) -> tuple[Vector, NDArray[np.bool_]]:  # noqa: ANN401
    """Return the seconds since 1970 that cells of bytes mean, and which cells are such times."""
    found = pc.extract_regex(cells, pattern=_expression(pattern))
    present = found.is_valid()
    numbers: dict[str, Vector] = {
        field.name: pc.if_else(present, found.field(field.name), b"0")
        .cast(pa.string())
        .cast(pa.float64())
        .to_numpy(zero_copy_only=False)
        for field in found.type
    }
    days, valid = civil_days(*(numbers[sign].astype(np.int64) for sign in "Ymd"))
    hour, minute, second = (numbers.get(sign, np.zeros(1)) for sign in "HMS")
    valid &= (hour < 24) & (minute < 60) & (second < 60)
    valid &= present.to_numpy(zero_copy_only=False)
    seconds: Vector = days * float(SECONDS_A_DAY) + hour * 3600.0 + minute * 60.0 + second
    return seconds, valid


def civil_days(
    year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the days since 1970-01-01 of dates, and which dates exist."""
    valid = (year >= 1) & (month >= 1) & (month <= 12)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    after = (months + 1).astype("datetime64[D]").astype(np.int64)
    valid &= (day >= 1) & (day <= after - first)
    return first + day - 1, valid


# What cells become by their declared type: the type they have then, how, and from which types.
_DATES = (pa.float64(), _to_days, ("text", "date", "date and time"))
_NUMBERS = (pa.float64(), _to_numbers, ("text", "integer", "number"))
_WAYS: dict[str, tuple[Any, Callable[..., Any], tuple[str, ...]]] = {
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "boolean": (pa.bool_(), _to_booleans, ("text", "integer")),
    "category": (_TEXT, _to_levels, ("text", "integer", "boolean")),
    "date": _DATES,
    "datetime": _DATES,
    "identifier": (_TEXT, _to_text, ("text",)),
    "text": (_TEXT, _to_text, ("text",)),
}
# Declared types that change nothing in columns of a type: booleans are numbers known to be 0 or 1.
_NEVER_READ = ("identifier", "text")
_AS_THEY_ARE = {"text": (), "boolean": (*_NEVER_READ, "number", "integer", "boolean")}
