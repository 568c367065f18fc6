"""The declared word that a cell is: one rule for classes, levels, missing values and conditions.

Words are compared by the column's type: numbers and booleans by value, texts without the white
space around them, as :meth:`str.strip` takes it off. A text that is none of the words stands for
the one word that differs from it in letter case only, or for the one number of the same value.
Cells never decide which rule applies.

Levels of a category are declared, public texts, which are never looked up.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from nolook._language import usage_hint as written
from nolook._unit import Unit
from nolook._validation import check_names, refusal
from nolook.tables.source import BYTES, TEXT, as_text, readable, written_out

__all__ = [
    "GAP",
    "OTHERS",
    "TRUTHS",
    "Categories",
    "Levels",
    "Vocabulary",
    "by_word",
    "check_categories",
    "check_pattern",
    "column_levels",
    "fits",
    "has_value",
    "is_identifier",
    "is_list",
    "is_number",
    "last_word",
    "listed",
    "named_levels",
    "number_of",
    "places",
    "plain_numbers",
    "same",
    "signed",
    "trimmed",
]

# What pyarrow reads as a number, infinite ones included; a test holds the two together.
_NUMBER = r"^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?))$"
# A negative number as accountants write it.
_BRACKETS = r"^\(([^()+-][^()]*)\)$"
# Common ways to write nothing: they change no answer, but save looking at every letter.
_NOTHING = ("", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "-", "?", ".")
#: The words of a column of booleans; letter case does not matter.
TRUTHS = {"true": "true", "1": "true", "false": "false", "0": "false"}

_MOST_LISTED = 8
#: Last words of names that numbers are given to tell things apart, not to count or measure.
_IDENTIFIER = re.compile(
    r"aktenzeichen|code|iban|identifier|ids?|key|matrikel|mobile|mrn|nr|phone|plz|postcode|seqn"
    r"|ssn|tel|telephone|uuid|zip|[a-z]*id(?:num|no|nr)|[a-z]*nummer|[a-z]{2,}nr"
    r"|(?:p|pat|pers|subj|case|hh|user|cust|emp|stud|resp|member|fam|firm|visit|rec|row|obs|u|patient|person"
    r"|subject|household|customer|employee|student|respondent|family|record)ids?"
)
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])")


def places(cells: Any, words: Sequence[str], numbers: Any = None) -> Any:  # noqa: ANN401
    """Return for each cell the place of the word it is, null if it is none of them.

    `numbers` reads texts as numbers, by default as :func:`plain_numbers` does. Never raises.
    """
    kind = cells.type
    if pt.is_dictionary(kind):
        return by_word(lambda each: places(each, words, numbers), cells)
    if is_number(kind):
        values = [number_of(word) for word in words]
        whole = pt.is_integer(kind) and kind != pa.uint64()  # an identifier may have 18 digits
        if whole and not any(isinstance(value, float) for value in values):
            return _index(cells.cast(pa.int64()), values)
        doubles = [None if value is None else float(value) for value in values]
        return _index(pc.add(cells.cast(pa.float64(), safe=False), 0.0), doubles, pa.float64())
    if pt.is_boolean(kind):
        words = [TRUTHS.get(str(word).lower(), word) for word in words]
    firsts = {word: i for i, word in reversed([*enumerate(words)])}
    once = [word if firsts[word] == i else None for i, word in enumerate(words)]
    cells, declared = trimmed(cells), pa.array(once, TEXT)
    found = _index(cells, once)
    if found.null_count > cells.null_count:
        small = pc.utf8_lower(cells)
        found = pc.coalesce(found, _index(small, pc.utf8_lower(declared).to_pylist()))
    if found.null_count > cells.null_count and any(number_of(word) is not None for word in words):
        numbers = numbers or plain_numbers
        alike = [None if n is None else n + 0.0 for n in numbers(declared).to_pylist()]
        found = pc.coalesce(found, _index(pc.add(numbers(cells), 0.0), alike, pa.float64()))
    return found


def _index(cells: Any, values: Sequence[Any], kind: Any = None) -> Any:  # noqa: ANN401
    """Return the place of each cell among values, null where it is none or two are alike."""
    often = Counter(values)
    once = [value if often[value] == 1 else None for value in values]
    return pc.index_in(cells, value_set=pa.array(once, kind or cells.type), skip_nulls=True)


def by_word(convert: Callable[[Any], Any], cells: Any) -> Any:  # noqa: ANN401
    """Convert cells, where they are codes of words each word once."""
    if pt.is_dictionary(cells.type):
        return convert(written_out(cells.dictionary)).take(cells.indices)
    return convert(cells)


def same(word: str, *others: str) -> bool:
    """Tell whether a cell of one word is one of other words, each by itself."""
    return any(places(pa.array([word], TEXT), [other])[0].is_valid for other in others)


def fits(word: str, kind: str) -> bool:
    """Tell whether a cell of a type, given in words, may be a word."""
    if kind == "boolean":
        return word.lower() in TRUTHS
    return kind not in {"integer", "number"} or number_of(word) is not None


def is_number(kind: Any) -> bool:  # noqa: ANN401
    """Tell whether an Arrow type holds numbers; booleans are none."""
    tests = (pt.is_integer, pt.is_floating, pt.is_decimal)
    return kind is not None and any(test(kind) for test in tests)


def has_value(cells: Any) -> Any:  # noqa: ANN401
    """Mark the cells that hold a value: neither null nor, for numbers, NaN or infinite."""
    finite = pc.is_finite(cells) if pt.is_floating(cells.type) else cells.is_valid()
    return pc.fill_null(finite, False)


def number_of(value: object) -> int | float | None:
    """Return a word as a finite number, an integer if 64 bits hold it; None if it is not one."""
    with suppress(ValueError):
        if abs(whole := int(str(value))) < 2**63:
            return whole
    with suppress(ValueError):
        number = float(str(value))
        if abs(number) < 2**63 and number.is_integer():
            return int(number)
        return number if math.isfinite(number) else None
    return None


def trimmed(cells: Any) -> Any:  # noqa: ANN401
    """Return texts without the white space around them, as :meth:`str.strip` does, large strings.

    One that is not UTF-8 is null.
    """
    return pc.utf8_trim_whitespace(readable(cells.cast(TEXT)))


def plain_numbers(cells: Any) -> Any:  # noqa: ANN401
    """Return large texts as float64, null where one is not a number. Never raises."""
    with suppress(pa.ArrowInvalid):
        return cells.cast(pa.float64())
    cells = trimmed(cells)
    nothing = pc.is_in(cells, value_set=pa.array(_NOTHING, TEXT))
    with suppress(pa.ArrowInvalid):
        return pc.if_else(nothing, None, cells).cast(pa.float64())
    cells = signed(cells)
    valid = pc.match_substring_regex(cells, pattern=_NUMBER)
    return pc.if_else(valid, cells, None).view(TEXT).cast(pa.float64())


def signed(cells: Any) -> Any:  # noqa: ANN401
    """Return texts as bytes, with a minus sign where a number is in brackets."""
    return pc.replace_substring_regex(cells.view(BYTES), pattern=_BRACKETS, replacement=r"-\1")


def is_identifier(name: str) -> bool:
    """Tell by its name whether a column's numbers identify things, such as patients."""
    return bool(_IDENTIFIER.fullmatch(last_word(name))) or Unit(name).protected != "unit"


def last_word(name: str) -> str:
    """Return the last word of a column's name that is not a number, in small letters."""
    return "".join(_WORD.findall(name)[-1:]).lower()


def listed(names: Sequence[str]) -> str:
    """Return names in one line, the first few if they are many."""
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


_LONGEST_PATTERN = 60  # of a date
_SURROGATE = re.compile(r"[\ud800-\udfff]")

Categories: TypeAlias = Mapping[str, Sequence[str | int | bool | None]]
#: Declared levels as text, the first the one compared with; None stands for all other values.
Levels: TypeAlias = tuple[str | None, ...]
#: What names the number of all values that are not declared, here and on the command line.
OTHERS = "..."
#: What names the values that are missing, where they have a number of their own.
GAP = "missing"


class Vocabulary:
    """All values of a column that occur, in the order of the rows: as confidential as these."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._lock = Lock()

    def including(self, texts: Iterable[str | None] = ()) -> list[str]:
        """Return all values, new ones last; an empty cell has none."""
        with self._lock:
            self._known |= dict.fromkeys(text for text in texts if text)
            return list(self._known)


def check_categories(categories: object) -> dict[str, Levels]:
    """Return declared categories with every level as text: 3 as "3", True as "true"."""
    if categories is None:
        return {}
    if not isinstance(categories, Mapping):
        expected = "a mapping from columns to levels"
        raise refusal("categories", categories, expected, "for example {'city': ['A', 'B']}")
    names = check_names(list(categories), "categories") if categories else ()
    return {
        name: _levels(
            categories[name], f"categories of {name!r}", written("categories", {name: ["A", "B"]})
        )
        for name in names
    }


def named_levels(levels: Levels) -> list[str]:
    """Return the levels that are declared by name."""
    return [level for level in levels if level is not None]


def _levels(levels: object, name: str, example: str) -> Levels:
    """Return levels as text, the first the one compared with; a single one with all others.

    None alone names no level: a tabulation is to find them.
    """
    listed = levels.tolist() if isinstance(levels, np.ndarray) and levels.ndim == 1 else levels
    texts = list(map(_level, listed)) if is_list(listed) else []
    if not is_list(listed) or texts.count(None) > listed.count(None):
        raise refusal(name, levels, "a list of strings or numbers", f"for example {example}")
    check_names([OTHERS if text is None else text for text in texts], name, example)
    return tuple(texts) if None in texts or len(texts) > 1 else (None, *texts)


def _level(level: object) -> str | None:
    """Return a level as text, None if no cell could have it."""
    text = as_text(level)
    # A lone surrogate is in no text that can be stored in a file, and cells are trimmed.
    return None if text is None or _SURROGATE.search(text) else text.strip()


def column_levels(levels: object, name: str) -> Levels:
    """Return levels where "..." stands for all that are not declared; there may be none."""
    if is_list(levels):
        levels = [None if level == OTHERS else level for level in levels]
        if not levels:
            return ()
    return _levels(levels, name, f'{name} = ["A", "B"]')


def check_pattern(pattern: object, name: str = "pattern") -> str:
    """Return a pattern of a date if it has year, month and day, each sign once."""
    if isinstance(pattern, str) and len(pattern) <= _LONGEST_PATTERN:
        signs = re.findall(r"%(.?)", pattern)
        if {*"Ymd"} <= {*signs} <= {*"YmdHMSz"} and len({*signs}) == len(signs):
            return pattern
    expected = "a string with %Y, %m and %d, and %H, %M, %S and %z for times"
    raise refusal(name, pattern, expected, "for example '%d.%m.%Y'")


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a list, not a text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
