"""From cells as they are written to what a schema declares: each by itself, and never an error.

A cell that is not what its column is declared to be is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial, reduce
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import evolve

from nolook._arrays import Flags, Integers, Vector
from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError, TableError
from nolook.tables.derived import OF_DATES, Derivation, derive, in_order
from nolook.tables.design import Columns, codes_of, numbers_of
from nolook.tables.schema import FALSE, TRUE, USUAL, ColumnSchema, FileFormat
from nolook.tables.source import BYTES, TEXT, Column, Source, changed, in_words, movable
from nolook.tables.words import (
    OTHERS,
    Levels,
    by_word,
    fits,
    has_value,
    is_number,
    named_levels,
    number_of,
    places,
    plain_numbers,
    same,
    signed,
    trimmed,
)

__all__ = [
    "DeclaredSource",
    "conversion",
    "days_of",
    "two_classes",
]

#: Turns Arrow arrays into another of equal length.
Conversion: TypeAlias = Callable[..., Any]

SECONDS_A_DAY = 86_400

# Spaces that some programs write between thousands.
_SPACES = (" ", "\u00a0", "\u202f")
_APOSTROPHES = ("'", "\u2019")
_MINUS = "\u2212"
# Steps a second of Arrow's times.
_STEPS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# The digits of a pattern's signs; years before 1 or after 9999 are none.
_DIGITS = {"Y": r"\d{4}", "S": r"\d{1,2}(?:\.\d{1,9})?"}
_OFFSET = r"(?:Z|(?P<hours>[+-]\d{2})(?::?(?P<minutes>\d{2}))?)"


class DeclaredSource:
    """The columns and rows of another source that are declared: converted, and chosen one by one.

    Columns of which nothing is declared stay as they are, and without conditions all rows are used.

    Parameters
    ----------
    original : Source
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
        self,
        original: Source,
        columns: Mapping[str, ColumnSchema] = MappingProxyType({}),
        form: FileFormat = USUAL,
    ) -> None:
        self.name, self.original = original.name, original
        self.declared = {name: each.within(form) for name, each in columns.items()}
        # By name: which columns of the source a column is made of, and how.
        self._made: dict[str, tuple[tuple[str, ...], Conversion]] = {}
        made: list[Column] = []
        for column in original.columns:
            declared, own, convert = self.declared.get(column.name), column, _as_they_are
            if declared is not None and declared.derived is not None:
                raise TableError(
                    f"{original.name} has a column {column.name!r}, but the schema derives "
                    "one of that name from others (choose another name there)"
                )
            if declared is not None:
                kind, convert = conversion(column, declared)
                own = Column(column.name, kind, declared.type)
            made.append(own)
            self._made[column.name] = (column.name,), convert
        self.columns = tuple(made)
        #: Why derived columns are not there: an error when they are used.
        self.lacking: dict[str, TableError] = {}
        derived = {name: each.derived for name, each in columns.items() if each.derived}
        for name, derivation in in_order(derived).items():
            try:
                self._derive(name, derivation, columns)
            except TableError as error:
                self.lacking[name] = error
        #: The conditions of the rows in use, and what marks the cells of a column that meet one.
        self.where: str | None = None
        self.tests: Sequence[tuple[str, Conversion]] = ()

    def _derive(self, name: str, derived: Derivation, declared: Mapping[str, ColumnSchema]) -> None:
        """Add a derived column; raises an error if a column it needs is unknown or not a number."""
        known, read, marks = Columns(self), [], derived.function == "product_of"
        for each in derived.of:
            base, _, level = each.rpartition("=")
            levels = (base in declared and declared[base].all_levels) or ()
            is_level = each not in self._made and (None if level == OTHERS else level) in levels
            column = known.find(base if is_level else each, derived.function)
            if not (is_level or is_number(column.type) or pt.is_boolean(column.type)):
                raise ParameterError(
                    f"{derived.function} of {name!r} names {each!r}, which is of type "
                    f"{column.declared}; expected a number, a boolean or declared levels "
                    f"({usage_hint('categories', {each: ['A', 'B']})}; in a schema '{each}=A')"
                )
            marks &= is_level or pt.is_boolean(column.type)
            to_numbers = partial(_level, levels=levels, level=level) if is_level else numbers_of
            if column.declared in {"date", "datetime"} and derived.function in OF_DATES:
                to_numbers = partial(_since_1970, origin=_days(declared[each].origin))
            elif OF_DATES.get(derived.function):
                raise ParameterError(
                    f"{derived.function} of {name!r} names {each!r}, which is not declared to be "
                    f'a date ({each} = "date" in a schema)'
                )
            read.append((*self._made[column.name], to_numbers))
        marks |= derived.function == "missing_of"
        kind = TEXT if derived.levels else pa.bool_() if marks else pa.float64()
        of = tuple(each for bases, *_ in read for each in bases)
        self._made[name] = of, partial(_derived, derived=derived, read=read, kind=kind)
        self.columns += (Column(name, kind),)

    def needed(self, names: Iterable[str]) -> list[str]:
        """Return the columns of the original that some columns, and the choice of rows, need."""
        tested = (name for name, _ in self.tests)
        return list(dict.fromkeys(of for name in (*names, *tested) for of in self.made_of(name)))

    def made_of(self, name: str) -> tuple[str, ...]:
        """Return the columns of the original that a column is converted or derived from."""
        return self._made[name][0]

    def batches(self, names: Sequence[str], beside: Sequence[str] = ()) -> Iterator[Any]:
        """Yield record batches of the named columns, and those `beside` them as they were."""
        read = list(dict.fromkeys((*self.needed(names), *beside)))
        for batch in self.original.batches(read):
            cells = [self.column(batch, name) for name in names]
            cells += map(batch.column, beside)
            if self.tests:
                marks = (test(self.column(batch, name)) for name, test in self.tests)
                met = reduce(pc.and_, marks)
                cells = [movable(each).filter(met) for each in cells]
            yield pa.RecordBatch.from_arrays(cells, names=[*names, *beside])

    def column(self, batch: Any, name: str) -> Any:  # noqa: ANN401 -- pyarrow has no types
        """Return a column as declared, all rows of a batch of the original."""
        of, convert = self._made[name]
        return convert(*map(batch.column, of))

    def parts(self) -> list[DeclaredSource]:
        """Return the source's parts, declared alike."""
        return list(map(self.of, self.original.parts()))

    def of(self, other: Source | None) -> DeclaredSource:
        """Return another source of the same columns, declared alike; without rows if it is None."""
        return changed(self, original=other)  # None is replaced before it is read


def conversion(column: Column, declared: ColumnSchema) -> tuple[Any, Conversion]:
    """Return the type of a declared column, and what makes it.

    Raises TableError if the column's own type cannot be what was declared.
    """
    kind, wanted, words = column.type, declared.type, in_words(column.type)
    if kind is not None and pt.is_dictionary(kind):
        made, convert = conversion(evolve(column, type=kind.value_type), declared)
        return made, partial(by_word, convert)
    # Booleans have two values by type, whatever words are declared for texts.
    own = wanted == "boolean" and not any(fits(word, wanted) for word in declared.true)
    mixed = column.declared == "object" and (own or wanted in _AS_THEY_ARE["boolean"])
    own &= words == wanted and OTHERS not in declared.false
    if own or wanted in _AS_THEY_ARE.get(words, _NEVER_READ):
        return kind, _as_they_are
    made, way, possible = _WAYS[wanted]
    if words not in possible:
        raise TableError(
            f"{column.name!r} is declared to be of type {wanted}, but the table has {words} there; "
            "declare another type (or turn the column into text)"
        )
    _check_words(column, declared)
    convert = partial(way, declared=declared)
    return made, partial(_of_objects, convert=convert) if mixed else convert


def _derived(*cells: Any, derived: Derivation, read: Sequence[Any], kind: Any) -> Any:  # noqa: ANN401
    left = iter(cells)
    columns = (to_numbers(convert(*islice(left, len(of)))) for of, convert, to_numbers in read)
    return derive(derived, *(np.asarray(each, np.float64) for each in columns)).cast(kind)


def _level(cells: Any, *, levels: Levels, level: str) -> Vector:  # noqa: ANN401
    """Return 1 where a cell is a level, 0 where it is another one, and NaN where it is missing."""
    codes, place = codes_of(cells, levels), [*named_levels(levels), OTHERS].index(level)
    return np.where(np.isnan(codes), np.nan, codes == place)


def _since_1970(days: Any, *, origin: int) -> Vector:  # noqa: ANN401
    return np.asarray(numbers_of(days) + origin)


def _check_words(column: Column, declared: ColumnSchema) -> None:
    """Refuse declared words that no cell of a column's type can be, or that are one value there."""
    kind, levels = in_words(column.type), declared.spellings
    groups = [("levels", (level,)) for level in levels]
    marks = [("true", declared.true), ("false", declared.false)]
    for name, words in marks if declared.type == "boolean" else groups:
        if not any(word == OTHERS or fits(word, kind) for word in words):
            raise ParameterError(
                f"{name} of {column.name!r} is {', '.join(words)}, which no cell can be, since the "
                f"column is of type {kind} in the table (declare words that it can have)"
            )
    if kind in {"integer", "number"} and len({*map(number_of, levels)}) < len(levels):
        raise ParameterError(f"levels of {column.name!r} has one number twice; expected each once")


def _as_they_are(cells: Any) -> Any:  # noqa: ANN401
    return cells


def _to_numbers(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    if in_words(cells.type) == "text":
        numbers = _written_numbers(cells.cast(TEXT), declared)
    else:
        numbers = cells.cast(pa.float64(), safe=False)
    if declared.type == "integer":
        numbers = pc.if_else(pc.equal(numbers, pc.trunc(numbers)), numbers, None)
    missing = _written_numbers(pa.array(declared.missing, TEXT), declared).drop_null()
    if not len(missing):
        return numbers
    return pc.if_else(pc.is_in(numbers, value_set=missing), None, numbers)


def _of_objects(cells: Any, *, convert: Conversion) -> Any:  # noqa: ANN401
    """Convert cells of objects; booleans among them are 1 and 0, as in a column of their own."""
    found = convert(cells)
    return pc.coalesce(places(cells, ("false", "true")).cast(found.type), found)


def _written_numbers(cells: Any, declared: ColumnSchema) -> Any:  # noqa: ANN401
    signs = (*declared.currency, *_alike(declared.thousands))
    if (declared.decimal or ".") == "." and not (signs or declared.percent):
        return plain_numbers(cells)
    cells = signed(trimmed(cells))
    valid = pc.match_substring_regex(cells, pattern=_number_form(declared))
    cells = pc.if_else(valid, cells, None)
    plain = dict.fromkeys((*signs, *_SPACES, "%"), b"")
    for sign, instead in (plain | {declared.decimal or ".": b".", _MINUS: b"-"}).items():
        cells = pc.replace_substring(cells, pattern=sign.encode(), replacement=instead)
    if declared.percent:
        # As part of the number, lest a quotient be rounded once more.
        cells = pc.binary_join_element_wise(cells, *(pa.scalar(x, BYTES) for x in (b"e-2", b"")))
    return cells.view(TEXT).cast(pa.float64())


def _number_form(declared: ColumnSchema) -> str:
    """Return the expression of a number, for bytes."""
    digits = r"\d+"
    if declared.thousands is not None:
        between = _any_of(_alike(declared.thousands))
        digits = rf"(?:\d{{1,3}}(?:{between}\d{{2,3}})*{between}\d{{3}}|\d+)"
    point, percent = _escaped(declared.decimal or "."), "%?" if declared.percent else ""
    exponent = "" if percent else r"(?:[eE][+-]?\d+)?"
    number = rf"(?:{digits}(?:{point}\d*)?|{point}\d+){exponent}"
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


def _among(cells: Any, words: Sequence[str], declared: ColumnSchema) -> tuple[Any, Any]:  # noqa: ANN401
    """Return the places of cells among words, null elsewhere, and which cells say another word."""
    cells = trimmed(cells) if in_words(cells.type) == "text" else cells
    wanted = *words, "", *declared.missing
    found = places(cells, wanted, partial(_written_numbers, declared=declared))
    other = pc.and_(has_value(cells), found.is_null())
    return pc.if_else(pc.less(found, len(words)), found, None), other


def _to_booleans(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    found, other = _among(cells, (*declared.true, *declared.false), declared)
    true = pc.less(found, len(declared.true))
    return pc.if_else(other, False, true) if OTHERS in declared.false else true


def _to_levels(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    """Return the declared level that each cell is, or else what it says."""
    if declared.use == "unit":  # as they are written: no two that differ become one person
        cells, nothing = cells.cast(TEXT), pa.array(("", *declared.missing), TEXT)
        return pc.if_else(pc.is_in(trimmed(cells), value_set=nothing), None, cells)
    if in_words(cells.type) == "text":  # each word once: many rows have few levels
        cells = cells.dictionary_encode()
    return by_word(partial(_leveled, declared=declared), cells)


def _leveled(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    words = declared.spellings
    found, other = _among(cells, [*words], declared)
    levels = pa.array(words.values(), TEXT)
    return pc.coalesce(levels.take(found), pc.if_else(other, trimmed(cells), None))


def _to_days(cells: Any, *, declared: ColumnSchema) -> Any:  # noqa: ANN401
    """Return dates as days since their origin; a word for a missing one is missing."""
    seconds, present = _times(cells, declared.pattern)
    missing, known = _times(pa.array(declared.missing, TEXT), declared.pattern)
    days = seconds / SECONDS_A_DAY - _days(declared.origin)
    days = np.floor(days) if declared.type == "date" else days
    return pa.array(days, pa.float64(), mask=~present | np.isin(seconds, missing[known]))


def days_of(times: Any, origin: str) -> Any:  # noqa: ANN401
    """Return dates and times of Arrow as days since an origin."""
    return _to_days(times, declared=ColumnSchema("datetime", origin=origin))


def _days(origin: str) -> int:
    return date.fromisoformat(origin).toordinal() - 719_163  # the number of 1970-01-01


def _times(cells: Any, pattern: str) -> tuple[Vector, Flags]:  # noqa: ANN401
    """Return the seconds since 1970 that dates mean, and which cells are dates."""
    if in_words(cells.type) == "text":
        return parse_times(trimmed(cells).view(BYTES), pattern)
    if pt.is_date(cells.type):
        cells = cells.cast(pa.timestamp("ms"))
    present = cells.is_valid().to_numpy(zero_copy_only=False)
    counts = cells.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return counts / _STEPS[cells.type.unit], present


def parse_times(cells: Any, pattern: str) -> tuple[Vector, Flags]:  # noqa: ANN401
    """Return the seconds since 1970 that cells of bytes mean, and which cells are such times."""
    # Of bytes; groups are called after the pattern's signs.
    texts = [
        f"(?P<{part}>{_DIGITS.get(part, '[0-9]{1,2}')})" if i % 2 else _escaped(part)
        for i, part in enumerate(re.split(r"%([^z])", pattern))
    ]
    expression = f"^{''.join(texts).replace(_escaped('%z'), _OFFSET)}$"
    found = pc.extract_regex(cells, pattern=expression)
    present = found.is_valid()
    numbers: dict[str, Vector] = {
        field.name: pc.if_else(pc.equal(cells := found.field(field.name), b""), b"0", cells)
        .fill_null(b"0")
        .cast(pa.string())
        .cast(pa.float64())
        .to_numpy(zero_copy_only=False)
        for field in found.type
    }
    days, valid = civil_days(*(numbers[sign].astype(np.int64) for sign in "Ymd"))
    signs = (*"HMS", "hours", "minutes")
    hour, minute, second, ahead, more = (numbers.get(sign, np.zeros(1)) for sign in signs)
    valid &= (hour < 24) & (minute < 60) & (second < 60) & (abs(ahead) < 24) & (more < 60)
    valid &= present.to_numpy(zero_copy_only=False)
    hour, minute = hour - ahead, minute - np.copysign(more, ahead)
    seconds: Vector = days * float(SECONDS_A_DAY) + hour * 3600.0 + minute * 60.0 + second
    return seconds, valid


def civil_days(year: Integers, month: Integers, day: Integers) -> tuple[Integers, Flags]:
    """Return the days since 1970-01-01 of dates, and which dates exist."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    valid = (year >= 1) & (month >= 1) & (month <= 12) & (days.astype("datetime64[M]") == months)
    return days.astype(np.int64), valid


# What cells become by their declared type: the type they have then, how, and from which types.
_WORDS = (TEXT, _to_levels, ("text",))
_DATES = (pa.float64(), _to_days, ("text", "date", "date and time"))
_NUMBERS = (pa.float64(), _to_numbers, ("text", "integer", "number"))
_WAYS: dict[str, tuple[Any, Callable[..., Any], tuple[str, ...]]] = {
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "boolean": (pa.bool_(), _to_booleans, ("text", "integer", "number", "boolean")),
    "category": (TEXT, _to_levels, ("text", "integer", "number", "boolean")),
    "date": _DATES,
    "datetime": _DATES,
    "identifier": _WORDS,
    "text": _WORDS,
}
# Declared types that change nothing in columns of a type: booleans are numbers known to be 0 or 1.
_NEVER_READ = ("identifier", "text")
_AS_THEY_ARE = {"text": (), "boolean": (*_NEVER_READ, "number", "integer")}


_POSSIBLE = ("text", "category", "identifier", "boolean", "integer", "number")
_EXAMPLES = {"positive": "yes", "negative": "no"}


def two_classes(
    column: Column, declared: ColumnSchema | None, positive: object, negative: object
) -> ColumnSchema:
    """Return the declaration of a target whose positive word, and perhaps the other one, is given.

    Raises ParameterError for a word that the declared type or words rule out, and if these do not
    tell the negative one where it is not given.
    """
    kind = in_words(column.type) if declared is None else declared.type
    own = declared or ColumnSchema(kind if kind == "boolean" else "text")
    if kind not in _POSSIBLE:
        raise ParameterError(
            f"{parameter_name('positive')} is given, but {column.name!r} is of type {kind}; "
            "expected a target of text, numbers or booleans"
        )
    levels = named_levels(own.levels)
    classes: list[tuple[str, ...]] = [(each, *own.merge.get(each, ())) for each in levels]
    if own.type == "boolean":
        classes = [own.true, own.false]
    elif negative is None and not classes and isinstance(positive, str):
        classes = [TRUE, FALSE] * same(positive, *TRUE, *FALSE)
    find = partial(_class, classes=classes, kind=kind, column=column.name)
    yes = find("positive", positive)
    if negative is None and len(classes) != 2:
        raise ParameterError(
            f"{parameter_name('negative')} is not given, but {column.name!r} may have several "
            f"values other than {positive!r}; expected the one that counts as 0 (for example "
            f"{usage_hint('negative', 'no')}, or {OTHERS!r} for all of them)"
        )
    no: tuple[str, ...] = (OTHERS,)
    if negative != OTHERS:
        no = classes[classes[0] == yes] if negative is None else find("negative", negative)
    if no != (OTHERS,) and any(same(word, *no) for word in yes):
        raise ParameterError(
            f"{parameter_name('positive')} and {parameter_name('negative')} are the same "
            f"value of {column.name!r}; give two different ones"
        )
    marked = ColumnSchema("boolean", true=yes, false=no)
    return evolve(marked, missing=own.missing, decimal=own.decimal, thousands=own.thousands)


def _class(
    name: str, word: object, classes: list[tuple[str, ...]], kind: str, column: str
) -> tuple[str, ...]:
    """Return the words of the class that one of them names."""
    if not isinstance(word, str) or not word.strip():
        raise ParameterError(
            f"{parameter_name(name)} is not a string; expected a value of the target (for example "
            f"{usage_hint(name, _EXAMPLES[name])})"
        )
    for each in classes:
        if each != (OTHERS,) and same(word, *each):
            return each
    if classes or not fits(word, kind):
        wanted = ", ".join(word for each in classes for word in each)
        raise ParameterError(
            f"{parameter_name(name)} is {word!r}, but {column!r} "
            f"{f'has the declared values {wanted}' if classes else f'is of type {kind}'}; expected "
            "a value that its cells can have"
        )
    return (word.strip(),)
