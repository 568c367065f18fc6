"""How dates are written: a pattern of digits, and the days since another day that a cell means."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from nolook.errors import ParameterError

__all__ = ["SECONDS_A_DAY", "check_pattern", "civil_days", "escaped", "parse_times"]

SECONDS_A_DAY = 86_400

# What each sign stands for, and its digits; years before 1 or after 9999 are none.
_FIELDS = {
    "Y": ("year", r"\d{4}"),
    "m": ("month", r"\d{1,2}"),
    "d": ("day", r"\d{1,2}"),
    "H": ("hour", r"\d{1,2}"),
    "M": ("minute", r"\d{1,2}"),
    "S": ("second", r"\d{1,2}(?:\.\d{1,9})?"),
}
_DATE = ("year", "month", "day")
_LONGEST = 60

Vector = NDArray[np.float64]


def check_pattern(pattern: object) -> str:
    """Return a pattern of a date if it has year, month and day, each sign once."""
    if isinstance(pattern, str) and len(pattern) <= _LONGEST:
        signs = re.findall(r"%(.?)", pattern)
        known = all(sign in _FIELDS for sign in signs)
        if known and len(set(signs)) == len(signs) and {"Y", "m", "d"} <= set(signs):
            return pattern
    raise ParameterError(
        f"pattern is {pattern!r}; expected a text with %Y, %m and %d, and %H, %M and %S for times "
        "(for example '%d.%m.%Y')"
        if isinstance(pattern, str) and len(pattern) <= _LONGEST
        else f"pattern is a value of type {type(pattern).__name__}; expected a short text with %Y, "
        "%m and %d (for example '%d.%m.%Y')"
    )


@lru_cache(maxsize=64)
def _expression(pattern: str) -> str:
    parts = re.split(r"%(.)", pattern)
    texts = [
        f"(?P<{_FIELDS[part][0]}>{_FIELDS[part][1]})" if i % 2 else escaped(part)
        for i, part in enumerate(parts)
    ]
    return f"^{''.join(texts)}$"


def escaped(text: str) -> str:
    """Escape a text for an expression that matches bytes."""
    return "".join(f"\\x{{{byte:02x}}}" for byte in text.encode("utf-8"))


def parse_times(cells: Any, pattern: str) -> tuple[Vector, NDArray[np.bool_]]:  # noqa: ANN401
    """Return the seconds since 1970 that cells of bytes mean, and which cells are such times."""
    found = pc.extract_regex(cells, pattern=_expression(pattern))
    present = found.is_valid().to_numpy(zero_copy_only=False)
    names = [field.name for field in found.type]
    numbers = {name: _numbers(found.field(name), present) for name in names}
    days, valid = civil_days(*(numbers[name].astype(np.int64) for name in _DATE))
    hour, minute, second = (
        numbers.get(name, np.zeros(len(days))) for name in ("hour", "minute", "second")
    )
    valid &= (hour < 24) & (minute < 60) & (second < 60)
    seconds: Vector = days * float(SECONDS_A_DAY) + hour * 3600.0 + minute * 60.0 + second
    return seconds, valid & present


def _numbers(digits: Any, present: NDArray[np.bool_]) -> Vector:  # noqa: ANN401
    texts = pc.if_else(present, digits, b"0").cast("string")
    values: Vector = texts.cast("float64").to_numpy(zero_copy_only=False)
    return values


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
