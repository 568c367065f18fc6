"""Filters of rows: conditions on single cells, all of which must hold.

Whether a row is used depends on that row alone, after its cells were converted as the schema says.
A missing value meets no condition, also not ``!=``.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import frozen

from nolook._language import parameter_name, usage_hint
from nolook._validation import refusal
from nolook.errors import ParameterError
from nolook.tables.conversion import days_of
from nolook.tables.design import Columns
from nolook.tables.schema import ColumnSchema
from nolook.tables.source import in_words
from nolook.tables.words import (
    OTHERS,
    by_word,
    has_value,
    is_list,
    is_number,
    named_levels,
    number_of,
    places,
    same,
)

if TYPE_CHECKING:
    from nolook.tables.schema import Schema

__all__ = [
    "Condition",
    "Where",
    "check_where",
    "read_condition",
    "test_of",
]

Value: TypeAlias = str | int | float | bool | dt.date
#: Conditions as :func:`nolook.read_table` takes them.
Where: TypeAlias = str | Sequence[str | tuple[str, str, Value | Sequence[Value]]]

_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_SIGNS = ("=", "!=", *_ORDERS, "in", "not in")
_SAME = {"==": "=", "<>": "!="}
_WRITTEN = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<plain>[^<>=!"]+?))\s*
    (?P<sign><=|>=|<>|!=|==|=|<|>|\bnot\s+in\b|\bin\b)\s*(?P<value>.*?)\s*""",
    re.VERBOSE | re.DOTALL,
)
_EXPECTED = "COLUMN SIGN VALUE, where SIGN is one of =, !=, <, <=, >, >=, in and not in"
_FEW, _MANY = 200, 1000


@frozen
class Condition:
    """One condition: a column, a sign, and what its cells are compared with."""

    column: str
    sign: str
    values: tuple[Value, ...]  # one, but for "in" and "not in"

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {', '.join(map(str, self.values))}"


def check_where(where: object) -> tuple[Condition, ...]:
    """Return conditions; raises ParameterError for anything that is none."""
    if where is None:
        return ()
    where = [where] if isinstance(where, str) else where
    if not is_list(where) or len(where) > _FEW:
        raise refusal("where", where, f"a list of at most {_FEW} conditions", _example())
    return tuple(map(_checked, where))


def _refused(what: str) -> ParameterError:
    return ParameterError(f"{parameter_name('where')} {what}")


def _example() -> str:
    return f"for example {usage_hint('where', 'age >= 18')}"


def _checked(condition: object) -> Condition:
    condition = read_condition(condition) if isinstance(condition, str) else condition
    is_one = is_list(condition) and len(condition) == 3
    column, sign, value = cast("Sequence[Any]", condition if is_one else [None] * 3)
    sign = _SAME.get(str(sign), sign)
    if not isinstance(column, str) or sign not in _SIGNS:
        raise _refused(
            "has a condition that is not a column, a sign and a value; expected "
            f"{_EXPECTED} ({_example()})"
        )
    several = "in" in sign
    values = value.tolist() if isinstance(value, np.ndarray) else value
    if several != (is_list(values) or isinstance(values, set)):
        found = "one value; expected a list" if several else "a list; expected one value (or 'in')"
        raise _refused(f"compares {column!r} by {sign!r} with {found}")
    listed = [*map(_plain, values if several else (values,))]
    known = tuple(each for each in listed if each is not None)
    if not 0 < len(known) <= _MANY or len(known) < len(listed):
        raise _refused(
            f"compares {column!r} with a missing value, none, or more than {_MANY}; expected "
            "numbers, strings, dates or booleans"
        )
    return Condition(column, sign, known)


def _plain(value: object) -> Value | None:
    """Return a value as Python's own; None if it is not one to compare cells with."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | dt.date) else None


def read_condition(text: str) -> tuple[str, str, Value | list[Value]]:
    """Read a condition as it is written on the command line, such as ``age >= 18``."""
    found = _WRITTEN.fullmatch(text)
    if found is None or not found["value"]:
        raise refusal("where", text, _EXPECTED, _example())
    sign = " ".join(found["sign"].split())
    column = found["quoted"] or found["plain"]
    if sign.endswith("in"):
        return column, sign, [*map(_unquoted, found["value"].strip("()[]").split(","))]
    return column, sign, _unquoted(found["value"])


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def test_of(condition: Condition, columns: Columns, schema: Schema) -> Callable[[Any], Any]:
    """Return the mask of the cells of a column that meet a condition; no cell makes it fail.

    Raises TableError if the column is unknown or occurs twice, and ParameterError for a value that
    no cell of it could have.
    """
    column = columns.find(condition.column, "where")
    kind, own = in_words(column.type), schema.columns.get(column.name) or ColumnSchema("text")
    dates = own.type in _DATES or kind in {"date", "date and time"}
    if not dates and kind not in {"text", "boolean", "integer", "number"}:
        raise _refused(
            f"compares {column.name!r}, which has type {column.declared}; expected a column of "
            "numbers, strings, dates or booleans"
        )
    word_of, of = (_day, column.type) if dates else (_word, kind)
    words = [word_of(condition, value, of, own) for value in condition.values]
    if condition.sign in _ORDERS and not dates and kind in {"text", "boolean"}:
        raise _refused(
            f"is {str(condition)!r}; expected =, !=, in or not in, since the column holds strings "
            f"or booleans (for example {column.name} = {condition.values[0]})"
        )
    spellings = own.spellings.items()
    missing = ("", *schema.file.missing, *own.missing) if kind == "text" else ()
    said = (next((to for each, to in spellings if same(word, each)), word) for word in words)
    words = list(dict.fromkeys(said))
    others = [each for each in named_levels(own.levels) if each not in words]
    return partial(by_word, partial(_meets, condition.sign, words, others, missing))


def _meets(
    sign: str,
    words: Sequence[str],
    others: Sequence[str],
    missing: Sequence[str],
    cells: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Mark the cells that are one of the words, or are ordered to the one.

    Neither a missing or infinite cell nor a word for a missing one meets anything; `others` are
    further words that a cell may be.
    """
    if pt.is_date(cells.type) or pt.is_timestamp(cells.type):
        cells = cells.view(pa.int32() if pt.is_date32(cells.type) else pa.int64())
    # As integers, where doubles may be too few: an identifier may have 18 digits.
    if is_number(cells.type) and (not pt.is_integer(cells.type) or cells.type == pa.uint64()):
        cells = cells.cast(pa.float64(), safe=False)
    if sign in _ORDERS:
        number = number_of(words[0])
        whole = pt.is_integer(cells.type) and isinstance(number, int)
        kind, word = (pa.int64(), number) if whole else (pa.float64(), float(number or 0))
        met = _ORDERS[sign](cells.cast(kind, safe=False), pa.scalar(word, kind))
    else:
        place = places(cells, (*words, *others, *missing))
        met = pc.fill_null(pc.less(place, len(words)), False)
        if sign in {"!=", "not in"}:
            said = pc.fill_null(pc.less(place, len(words) + len(others)), True)
            met = pc.and_(pc.invert(met), said)
    return pc.fill_null(pc.and_(met, has_value(cells)), False)


def _word(condition: Condition, value: Value, kind: str, own: ColumnSchema) -> str:
    """Return a condition's value as a word that the cells of a column are compared with."""
    if kind in {"integer", "number"}:
        if (number := number_of(value)) is None:
            raise _unlike(condition, "a number", "18")
        return str(number)
    if kind == "boolean":
        usual = ColumnSchema("boolean")
        for each in (own if own.type == "boolean" else usual, usual):
            for truth, words in (("true", each.true), ("false", each.false)):
                if same(str(value), *words) or OTHERS in words:
                    return truth
        raise _unlike(condition, "true or false", "true")
    return str(value).strip()


def _day(condition: Condition, value: Value, kind: Any, own: ColumnSchema) -> str:  # noqa: ANN401
    """Return the number that a cell holds of a date: days since the origin if that is declared."""
    kind = kind.value_type if pt.is_dictionary(kind) else kind
    with suppress(ValueError, OverflowError):  # also pyarrow's own
        found = dt.datetime.fromisoformat(str(value))
        if found.tzinfo is None and own.type in _DATES:
            return repr(days_of(pa.array([found]), own.origin)[0].as_py())
        if found.tzinfo is None:
            return str(pa.scalar(found.date() if pt.is_date(kind) else found, kind).value)
    raise _unlike(condition, "a date that its column can hold", "2024-12-31")


def _unlike(condition: Condition, expected: str, example: str) -> ParameterError:
    hint = f"for example {condition.column} {condition.sign} {example}"
    return refusal("where", str(condition), expected, hint)


_DATES = {"date", "datetime"}  # declared types whose cells are days
