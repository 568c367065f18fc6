"""From cells as they are written to what a schema declares: each by itself, and never an error.

A cell that is not what its column is declared to be is a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import evolve
from numpy.typing import NDArray

from nolook.errors import TableError
from nolook.tables.patterns import SECONDS_A_DAY, escaped, parse_times
from nolook.tables.source import in_words

if TYPE_CHECKING:
    from nolook.tables.declarations import ColumnSchema
    from nolook.tables.source import Column

__all__ = ["PARTS", "conversion", "part_conversion", "plain_numbers", "trimmed"]

#: Turns an Arrow array into another of equal length.
Conversion: TypeAlias = Callable[[Any], Any]

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: The levels of parts of a date that need no declaration.
PARTS = {"month": tuple(str(i) for i in range(1, 13)), "weekday": _WEEKDAYS}

# What pyarrow reads as a number, infinite ones included; a test holds the two together.
_NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?))$"
# Common ways to write nothing: they change no answer, but save looking at every letter.
_NOTHING = pa.array(
    ["", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "-", "?", "."], pa.large_string()
)
# Spaces that some programs write between thousands.
_SPACES = (" ", "\u00a0", "\u202f")
_APOSTROPHES = ("'", "\u2019")
_MINUS = "\u2212"
# Steps a second of Arrow's times.
_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

Vector = NDArray[np.float64]


def plain_numbers(cells: Any, missing: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """Return large texts as float64, null where one is not a number or missing. Never raises."""
    if not missing:
        with suppress(pa.ArrowInvalid):
            return cells.cast(pa.float64())
    cells = _without(trimmed(cells), missing)
    with suppress(pa.ArrowInvalid):
        nothing = pc.is_in(cells, value_set=_NOTHING)
        return pc.if_else(nothing, pa.scalar(None, cells.type), cells).cast(pa.float64())
    valid = pc.match_substring_regex(cells.view(pa.large_binary()), pattern=_NUMBER)
    return pc.if_else(valid, cells, pa.scalar(None, cells.type)).cast(pa.float64())


def conversion(column: Column, declared: ColumnSchema) -> tuple[Any, Conversion]:
    """Return the type a declared column has, and what turns its cells into that.

    Raises TableError if the column's own type cannot be what was declared.
    """
    kind, wanted = column.type, declared.type
    if kind is not None and pt.is_dictionary(kind):
        made, convert = conversion(evolve(column, type=kind.value_type), declared)
        return made, lambda cells: convert(cells.dictionary).take(cells.indices)
    text, logical = _is_text(kind), kind is not None and pt.is_boolean(kind)
    unread = wanted in {"identifier", "text"}
    if (unread and not text) or (logical and wanted in {"number", "integer", "boolean"}):
        return kind, lambda cells: cells  # booleans are numbers known to be 0 or 1
    if unread:
        identify = partial(_to_identifiers, declared=declared)
        return pa.large_string(), identify if declared.use == "unit" else trimmed
    whole = kind is not None and pt.is_integer(kind)
    number = text or whole or (kind is not None and (pt.is_floating(kind) or pt.is_decimal(kind)))
    time = text or (kind is not None and (pt.is_date(kind) or pt.is_timestamp(kind)))
    ways: dict[str, tuple[Any, Callable[..., Any], bool]] = {
        "number": (pa.float64(), _to_numbers, number),
        "integer": (pa.float64(), _to_numbers, number),
        "boolean": (pa.bool_(), _to_booleans, text or whole),
        "category": (pa.large_string(), _to_levels, text or whole or logical),
        "date": (pa.float64(), _to_days, time),
        "datetime": (pa.float64(), _to_days, time),
    }
    made, convert, possible = ways[wanted]
    if possible:
        return made, partial(convert, declared=declared)
    raise TableError(
        f"the schema says that {column.name!r} is of type {wanted}, but the table has "
        f"{in_words(kind)} there; expected another type in the schema (or turn the column into "
        "text)"
    )


def part_conversion(column: Column, declared: ColumnSchema, part: str) -> Conversion:
    """Return what turns a column of dates into a part of each, as text; see :func:`conversion`."""
    conversion(column, declared)
    return partial(_to_part, declared=declared, part=part)


def _is_text(kind: Any) -> bool:  # noqa: ANN401
    tests = (pt.is_string, pt.is_large_string, pt.is_string_view)
    return kind is not None and any(test(kind) for test in tests)


def trimmed(cells: Any) -> Any:  # noqa: ANN401
    """Return texts without the white space around them, as large strings."""
    return pc.ascii_trim_whitespace(cells.cast(pa.large_string()))


def _without(cells: Any, words: Sequence[str]) -> Any:  # noqa: ANN401
    """Return texts with null for those that are one of the words."""
    if not words:
        return cells
    missing = pc.is_in(cells, value_set=pa.array(words, pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), cells)


def _to_numbers(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    if _is_text(cells.type):
        return _written_numbers(cells.cast(pa.large_string()), declared)
    numbers = cells.cast(pa.float64(), safe=False)
    if declared.type == "number" or pt.is_integer(cells.type):
        return numbers
    values = numbers.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        return pa.array(values, pa.float64(), mask=~(values == np.trunc(values)))


def _written_numbers(cells: Any, declared: ColumnSchema) -> Any:  # noqa: ANN401
    decimal, thousands = declared.decimal or ".", declared.thousands
    whole = declared.type == "integer"
    if not (whole or thousands or declared.currency or declared.percent) and decimal == ".":
        return plain_numbers(cells, declared.missing)
    cells = _without(trimmed(cells), declared.missing).view(pa.large_binary())
    form = _number_form(decimal, thousands, declared.currency, declared.percent, whole)
    valid = pc.match_substring_regex(cells, pattern=form)
    for sign in (*declared.currency, *_SPACES, *_alike(thousands), "%"):
        cells = pc.replace_substring(cells, pattern=sign.encode(), replacement=b"")
    for sign, plain in ((decimal, b"."), (_MINUS, b"-")):
        cells = pc.replace_substring(cells, pattern=sign.encode(), replacement=plain)
    if declared.percent:
        # As part of the number, lest a quotient be rounded once more.
        cells = pc.binary_join_element_wise(
            cells, *(pa.scalar(x, cells.type) for x in (b"e-2", b""))
        )
    cells = pc.if_else(valid, cells, pa.scalar(None, pa.large_binary()))
    return cells.view(pa.large_string()).cast(pa.float64())


@lru_cache(maxsize=256)
def _number_form(
    decimal: str, thousands: str | None, currency: tuple[str, ...], percent: bool, whole: bool
) -> str:
    """Return the expression of a number, for bytes."""
    digits = r"\d+"
    if thousands is not None:
        between = _any_of(_alike(thousands))
        digits = rf"(?:\d{{1,3}}(?:{between}\d{{2,3}})*{between}\d{{3}}|\d+)"
    point = escaped(decimal)
    number = digits if whole else rf"(?:{digits}(?:{point}\d*)?|{point}\d+)"
    if not (whole or percent):
        number += r"(?:[eE][+-]?\d+)?"
    sign, blank = rf"(?:[+-]|{escaped(_MINUS)})", rf"(?:{_any_of(_SPACES)})*"
    if not currency:
        return rf"^{sign}?{number}{blank}{'%?' if percent else ''}$"
    unit = _any_of(currency)
    before = rf"(?:{sign}?(?:{unit}{blank})?|{unit}{blank}{sign})"
    return rf"^{before}{number}(?:{blank}{unit})?{blank}{'%?' if percent else ''}$"


def _alike(thousands: str | None) -> tuple[str, ...]:
    """Return the signs that stand between thousands where one was declared."""
    if thousands is None:
        return ()
    return next((group for group in (_SPACES, _APOSTROPHES) if thousands in group), (thousands,))


def _any_of(words: Sequence[str]) -> str:
    return "(?:" + "|".join(map(escaped, words)) + ")"


def _to_identifiers(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    return _without(trimmed(cells), ("", *declared.missing))


def _to_booleans(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    text = _is_text(cells.type)
    words = cells if text else cells.cast(pa.large_string())
    words = _without(trimmed(words), ("", *declared.missing))
    true = pc.is_in(words, value_set=pa.array(declared.true, pa.large_string()))
    if declared.false is None:
        known = words.is_valid()
    else:
        false = pc.is_in(words, value_set=pa.array(declared.false, pa.large_string()))
        known = pc.or_(true, false)
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def _to_levels(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    words = trimmed(cells) if _is_text(cells.type) else cells.cast(pa.large_string())
    return _without(words, declared.missing)


def _seconds(cells: Any, declared: ColumnSchema) -> tuple[Vector, NDArray[np.bool_]]:  # noqa: ANN401
    """Return the seconds since 1970 that dates mean, and which cells are dates."""
    if _is_text(cells.type):
        words = _without(trimmed(cells), declared.missing)
        return parse_times(words.view(pa.large_binary()), declared.pattern)
    units = _UNITS[cells.type.unit] if pt.is_timestamp(cells.type) else 1.0 / SECONDS_A_DAY
    if pt.is_date64(cells.type):
        units = 1e3
    width = pa.int32() if pt.is_date32(cells.type) else pa.int64()
    present = cells.is_valid().to_numpy(zero_copy_only=False)
    counts = cells.view(width).fill_null(0).to_numpy(zero_copy_only=False)
    return counts / units, present


def _to_days(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    seconds, present = _seconds(cells, declared)
    origin = date.fromisoformat(declared.origin) - date(1970, 1, 1)
    days = seconds / SECONDS_A_DAY - origin.days
    if declared.type == "date":
        days = np.floor(days)
    return pa.array(days, pa.float64(), mask=~present)


def _to_part(cells: Any, *, declared: ColumnSchema, part: str) -> Any:  # noqa: ANN401
    if pt.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    seconds, present = _seconds(cells, declared)
    days = np.floor(seconds.clip(-1e15, 1e15) / SECONDS_A_DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64)
    if part == "weekday":
        places = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        return pa.array(np.array(_WEEKDAYS, dtype=object)[places], pa.large_string(), mask=~present)
    numbers = months % 12 + 1 if part == "month" else months // 12 + 1970
    return pa.array(numbers, pa.int64(), mask=~present).cast(pa.large_string())
