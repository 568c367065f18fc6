"""What is declared of a file and of a column, checked setting by setting."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from attrs import NOTHING, evolve, field, frozen

from nolook._language import named
from nolook._validation import check_choice
from nolook.errors import ParameterError
from nolook.tables.levels import OTHERS, check_categories, recipe_levels
from nolook.tables.patterns import check_pattern

__all__ = [
    "COMMENTS",
    "DELIMITERS",
    "SETTINGS",
    "ColumnSchema",
    "FileFormat",
    "check_encoding",
    "shown",
]

#: The types of columns, and the settings that only some of them have.
SETTINGS: dict[str, tuple[str, ...]] = {
    "number": ("decimal", "thousands", "currency", "percent", "indicator"),
    "integer": ("thousands", "indicator"),
    "boolean": ("true", "false", "indicator"),
    "category": ("levels",),
    "date": ("pattern", "origin", "parts", "years", "indicator"),
    "datetime": ("pattern", "origin", "parts", "years", "indicator"),
    "identifier": (),
    "text": (),
}
#: The types that no release makes numbers of.
NEVER_NUMBERS = ("identifier", "text")
_USES = ("feature", "target", "unit", "nothing")
_PARTS = ("year", "month", "weekday")
_DECIMALS = (".", ",")
_THOUSANDS = (",", ".", " ", "'", "\u2019", "_")
DELIMITERS = (",", ";", "\t", "|", ":", "^", "~")
_QUOTES = ('"', "'")
COMMENTS = ("#", "%", "!", "*")
_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
_MOST_WORDS, _LONGEST_WORD = 10_000, 1000
_LONGEST_SHOWN = 60
# One byte or pair of bytes a letter, or UTF-8: a line means the same whatever lines are before it.
_ENCODINGS = (
    "utf-8",
    "utf-16-le",
    "utf-16-be",
    *(f"iso8859-{i}" for i in range(1, 17) if i != 12),
    *(f"cp{i}" for i in (437, 850, 852, 866, *range(1250, 1259))),
    "koi8-r",
    "koi8-u",
    "mac-roman",
)


def shown(value: object) -> str:
    """Return a value as a short text for a message."""
    text = repr(value) if value is None or isinstance(value, str | bool | int | float) else ""
    return text if 0 < len(text) <= _LONGEST_SHOWN else f"a value of type {type(value).__name__}"


def check_encoding(encoding: object, name: str) -> str:
    """Return the canonical name of an encoding whose lines can be read one by one."""
    with suppress(LookupError, ValueError):
        if isinstance(encoding, str):
            found = codecs.lookup(encoding).name
            if found in _ENCODINGS:
                return found
    raise ParameterError(
        f"{named(name)} is {shown(encoding)}; expected an encoding such as 'utf-8', 'latin-1', "
        "'cp1252' or 'utf-16-le' (or save the file as UTF-8)"
    )


def _check_words(value: object, name: str) -> tuple[str, ...]:
    words = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else None
    if words is None or not all(isinstance(word, str) for word in words):
        raise ParameterError(
            f'{name} is {shown(value)}; expected a list of texts (for example {name} = ["yes"])'
        )
    if len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD for word in words):
        raise ParameterError(
            f"{name} has more than {_MOST_WORDS} texts, or one of more than {_LONGEST_WORD} "
            "letters; expected fewer or shorter ones"
        )
    return tuple(dict.fromkeys(word.strip() for word in words))


def _check_signs_list(value: object, name: str) -> tuple[str, ...]:
    signs = _check_words(value, name)
    if any(not sign or set(sign) & set("0123456789+-.,%") for sign in signs):
        raise ParameterError(
            f"{name} has a text that is empty or could be part of a number; expected signs such as "
            '["€", "EUR"]'
        )
    return signs


def _check_flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {shown(value)}; expected true or false")
    return value


def _check_levels(levels: object, name: str) -> tuple[str | None, ...]:
    """Return levels as `read_table` takes them: "..." stands for all that are not declared."""
    if isinstance(levels, Sequence) and not isinstance(levels, str | bytes):
        if not levels:
            return ()
        levels = [None if level == OTHERS else level for level in levels]
    return tuple(recipe_levels(check_categories({name: levels})[name]))


def _check_day(day: object, name: str) -> str:
    if isinstance(day, str | date):  # TOML has dates of its own
        with suppress(ValueError):
            return date.fromisoformat(str(day)).isoformat()
    raise ParameterError(f"{name} is {shown(day)}; expected a day (for example '2020-01-01')")


def _check_years(years: object, name: str) -> tuple[int, ...]:
    listed = years if isinstance(years, Sequence) and not isinstance(years, str | bytes) else None
    if listed is None or not all(type(year) is int and 1 <= year <= 9999 for year in listed):
        raise ParameterError(
            f"{name} is {shown(years)}; expected a list of years (for example [2020, 2021])"
        )
    return tuple(dict.fromkeys(listed))


def _check_pattern(pattern: object, name: str) -> str:  # noqa: ARG001 -- its message has the name
    return check_pattern(pattern)


def _setting(
    name: str,
    check: Callable[[object, str], object] | tuple[str, ...],
    default: object = NOTHING,
    *,
    none: bool = False,
) -> Any:  # noqa: ANN401 -- a field of whatever type the check gives
    """Declare a setting, checked by a function or one of some choices; with `none`, or None."""

    def checked(value: object) -> object:
        if none and value is None:
            return None
        if isinstance(check, tuple):
            return check_choice(name, value, check)
        return check(value, name)

    return field(default=default, converter=checked)


@frozen
class FileFormat:
    """How a text file is written; files with types of their own have no use for it.

    Parameters
    ----------
    delimiter : str
        What stands between cells: one of ``, ; | : ^ ~`` or a tab.
    quote : str or None
        What encloses cells that may hold a delimiter; None for nothing.
    encoding : str
    header : bool
        Whether the first line names the columns; without one the schema declares all of them.
    comment : str or None
        Lines that begin with this sign are not rows.
    decimal, thousands : str
        Of numbers, where a column declares no other.
    missing : tuple of str
        Words for a missing value, besides an empty cell.
    """

    delimiter: str = _setting("delimiter", DELIMITERS, ",")
    quote: str | None = _setting("quote", _QUOTES, '"', none=True)
    encoding: str = _setting("encoding", check_encoding, "utf-8")
    header: bool = _setting("header", _check_flag, True)
    comment: str | None = _setting("comment", COMMENTS, None, none=True)
    decimal: str = _setting("decimal", _DECIMALS, ".")
    thousands: str | None = _setting("thousands", _THOUSANDS, None, none=True)
    missing: tuple[str, ...] = _setting("missing", _check_words, ())

    def __attrs_post_init__(self) -> None:
        _check_signs(self.decimal, self.thousands)


@frozen
class ColumnSchema:
    """What one column is, how it is written, and what becomes of it; see `Schema`."""

    type: str = _setting("type", tuple(SETTINGS))
    given_use: str | None = _setting("use", _USES, None, none=True)
    decimal: str | None = _setting("decimal", _DECIMALS, None, none=True)
    thousands: str | None = _setting("thousands", _THOUSANDS, None, none=True)
    currency: tuple[str, ...] = _setting("currency", _check_signs_list, ())
    percent: bool = _setting("percent", _check_flag, False)
    true: tuple[str, ...] = _setting("true", _check_words, _TRUE)
    #: None: all other words.
    false: tuple[str, ...] | None = _setting("false", _check_words, _FALSE, none=True)
    levels: tuple[str | None, ...] = _setting("levels", _check_levels, ())
    pattern: str = _setting("pattern", _check_pattern, "%Y-%m-%d")
    origin: str = _setting("origin", _check_day, "1970-01-01")
    parts: tuple[str, ...] = _setting("parts", _check_words, ())
    years: tuple[int, ...] = _setting("years", _check_years, ())
    missing: tuple[str, ...] = _setting("missing", _check_words, ())
    indicator: bool = _setting("indicator", _check_flag, False)

    @property
    def use(self) -> str:
        """What becomes of the column."""
        usual = "nothing" if self.type in NEVER_NUMBERS else "feature"
        return usual if self.given_use is None else self.given_use

    def within(self, form: FileFormat) -> ColumnSchema:
        """Return the column with what its file declares where it declares nothing itself."""
        return evolve(
            self,
            decimal=self.decimal or form.decimal,
            thousands=self.thousands or form.thousands,
            missing=self.missing or form.missing,
        )

    def __attrs_post_init__(self) -> None:
        if self.type == "number" and self.decimal is not None:
            _check_signs(self.decimal, self.thousands)
        if self.type in NEVER_NUMBERS and self.use in {"feature", "target"}:
            raise ParameterError(
                f"use is {self.use!r} for a column of type {self.type}; expected 'nothing' or "
                "'unit' (or declare another type)"
            )
        if self.use == "target" and (self.type == "category" or self.parts):
            raise ParameterError(
                "use is 'target' for categories; expected a number, a boolean or a date"
            )
        if self.false is not None and set(self.true) & set(self.false):
            raise ParameterError(
                "true and false have a word in common; expected each word in one of them"
            )
        if self.type == "category" and self.use == "feature" and not self.levels:
            raise ParameterError(
                "levels is empty; expected the levels to tell apart (for example levels = "
                '["A", "B"]; they are declared, never looked up)'
            )
        if self.indicator and (self.use != "feature" or self.parts):
            raise ParameterError(
                "indicator is true for a column that gives no number of its own as a feature; "
                "expected false (or leave parts or use out)"
            )
        for part in self.parts:
            check_choice("parts", part, _PARTS)
        if ("year" in self.parts) != bool(self.years):
            raise ParameterError(
                'only one of parts = ["year"] and years is given; expected both or neither (for '
                "example years = [2020, 2021])"
            )


def _check_signs(decimal: str, thousands: str | None) -> None:
    if thousands == decimal:
        raise ParameterError(
            f"{named('decimal')} and {named('thousands')} are both {thousands!r}; expected "
            "different signs (give both)"
        )
