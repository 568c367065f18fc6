"""Numbers in words, the same on a page and on a terminal; `_strength.py` has the guarantees."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from nolook._defaults import LEVEL

if TYPE_CHECKING:
    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.estimators.result import Ends
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = [
    "CONFIDENCE",
    "HIDDEN",
    "INTERVAL",
    "NOT_ESTIMATED",
    "NOT_KNOWN",
    "count",
    "day",
    "estimated",
    "grid_in_words",
    "loss_in_words",
    "number",
    "p_value",
    "percent",
    "rows_in_words",
    "span",
    "with_ends",
    "with_error",
]

#: The level of all intervals, as text.
CONFIDENCE = f"{100 * LEVEL:.0f} %"
#: What an interval of that level is called.
INTERVAL = f"{CONFIDENCE} interval"
#: Stands where a number would, if the method does not estimate it.
NOT_ESTIMATED = "not estimated by this method"
#: Stands where a number would that noise hides.
HIDDEN = "not distinguishable from noise"
#: Stands where an interval would, if nothing is known of this one.
NOT_KNOWN = "not known"

_HUGE = 1e12  # from here on digits are harder to read than an exponent
_TINY = 1e-4  # below, too
_SMALLEST = 1e-307  # below, nothing but an end of a cell next to 0
_FREE_DIGITS = 6  # of a number that nothing says to be less exact
_MORE = 3  # digits at most, to tell an end from 0
_TWO_DIGITS = 3.5  # of a width that begins with more one digit is enough


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, if the method estimates it.

    Examples
    --------
    >>> number(1234567.0), number(1e12), number(-5e-324), number(None)
    ('1,235,000', '1e+12', '0', 'not estimated by this method')
    """
    if value is None:
        return NOT_ESTIMATED
    short = float(f"{value + 0.0:.{digits}g}") if abs(value) > _SMALLEST else 0.0
    return f"{short:,.12g}" if 1.0 <= abs(short) < _HUGE else f"{short:.{digits}g}"


def p_value(value: float | None, least: float = 0.0001) -> str:
    """Return a p-value; small ones are not told apart."""
    if value is None:
        return NOT_KNOWN
    return f"{least:g} or less" if value <= least else number(value, 2)


def count(amount: int, noun: str) -> str:
    """Return a number of things, with the noun in the singular or plural."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def rows_in_words(rows: float, error: float, noun: str = "row") -> tuple[str, str]:
    """Return a noisy number of rows, rounded to what its standard error supports, and that.

    Where the noise may be all of it, only an upper end is known. `noun` is what is counted.

    Examples
    --------
    >>> rows_in_words(101_712.3, 58.1), rows_in_words(1.0, 42.0, "unit")
    (('about 101,700 rows', '58'), ('fewer than 90 units', '42'))
    >>> rows_in_words(4_001.0, 0.0)
    ('4,001 rows', '0, the number is public')
    """
    if not error:
        return f"{rows:,.0f} {noun}{'s' * (rows != 1.0)}", "0, the number is public"
    digits = number(float(f"{error:.2g}"))
    step = 10.0 ** math.floor(math.log10(max(2.0 * error, 1.0)))
    if rows < 2.0 * error:
        return f"fewer than {step * math.ceil((rows + 2.0 * error) / step):,.0f} {noun}s", digits
    about = step * round(rows / step)
    return f"about {about:,.0f} {noun}{'s' * (about != 1.0)}", digits


def loss_in_words(guarantee: PrivacyGuarantee | None) -> str:
    """State the cost of a release, if it is private."""
    if guarantee is None or not guarantee.private:
        return "not private"
    return f"epsilon {number(guarantee.epsilon)}, delta {number(guarantee.delta)}"


def estimated(
    value: float | None, ends: Ends | None, missing: str = NOT_ESTIMATED, origin: str | None = None
) -> tuple[str, str]:
    """Return an estimate and its interval, with the digits that the interval's width supports.

    Ends are rounded outwards, and one on this side of 0 is not shown as 0. With an `origin` they
    are days since then.

    Examples
    --------
    >>> estimated(992.1, (987.6, 1011.0)), estimated(0.81251, (0.75, 0.87501))
    (('992', '987 to 1,011'), ('0.81', '0.75 to 0.88'))
    >>> estimated(2.0, None)
    ('2', 'not estimated by this method')
    """
    if ends is None:
        return number(value), missing
    low, high = float(ends[0]), float(ends[1])
    if origin is not None and value is not None:
        shown, first, last = (day(each, origin) for each in (value, low, high))
        return shown, f"{first} to {last}"
    numbers = [low, high] if value is None else [low, high, value]
    decimals = _decimals((high - low) / 2, max(map(abs, numbers)))
    if decimals is None:
        return number(value), span((low, high))
    if not any(each % 1.0 for each in numbers):
        decimals = min(decimals, 0)
    for _ in range(_MORE):
        found = _rounded(low, decimals, ROUND_FLOOR), _rounded(high, decimals, ROUND_CEILING)
        decimals += 0.0 in found and (low > 0.0 or high < 0.0)
    shown = NOT_ESTIMATED if value is None else _written(value, decimals, ROUND_HALF_EVEN)
    least, most = _written(low, decimals, ROUND_FLOOR), _written(high, decimals, ROUND_CEILING)
    return shown, f"{least} to {most}"


def span(ends: Ends) -> str:
    """Return from where to where something lies, if that is not an estimate."""
    return f"{number(ends[0])} to {number(ends[1])}"


def with_error(value: float, error: float) -> tuple[str, str]:
    """Return a number and its standard error, with the digits that the error supports.

    Examples
    --------
    >>> with_error(5874.93, 7.059), with_error(171.141, 0.0)
    (('5,875', '8'), ('171.141', '0'))
    """
    decimals = _decimals(error, max(abs(value), error))
    if decimals is None:
        return number(value, _FREE_DIGITS), number(error, 2)
    return _written(value, decimals, ROUND_HALF_EVEN), _written(error, decimals, ROUND_CEILING)


def percent(share: float, ends: Ends | None) -> tuple[str, str]:
    """Return a share in percent, and its interval if there is one."""
    hundred = None if ends is None else (100.0 * float(ends[0]), 100.0 * float(ends[1]))
    shown, between = estimated(100.0 * share, hundred, "")
    return f"{shown} %", between and f"{between} %"


def _decimals(width: float, largest: float) -> int | None:
    """Return the number of decimals that show a width; None if they would mislead.

    They show two digits of a width up to 35, one of 36 to 99, and so on by powers of 10: the rule
    of the Particle Data Group.
    """
    if not (0.0 < width < math.inf and _TINY <= largest < _HUGE):
        return None
    # No more than six digits in all: beyond them a width is not what limits anybody.
    most = _FREE_DIGITS - 1 - math.floor(math.log10(largest))
    digits, _, power = f"{width:.1e}".partition("e")
    return min((float(digits) <= _TWO_DIGITS) - int(power), most)


def _rounded(value: float, decimals: int, way: str) -> float:
    # Twelve digits first, so that 0.1 + 0.2 is not rounded up from just above 0.3.
    exact = Decimal(f"{value:.12g}")
    return float(exact.quantize(Decimal(1).scaleb(-decimals), rounding=way)) + 0.0


def _written(value: float, decimals: int, way: str) -> str:
    return f"{_rounded(value, decimals, way):,.{max(decimals, 0)}f}"


def day(number_of_days: float, origin: str) -> str:
    """Return the day that is some days after `origin`; beyond the calendar their number.

    Examples
    --------
    >>> day(20_454.6, "1970-01-01"), day(1e9, "1970-01-01")
    ('2026-01-01', '1,000,000,000')
    """
    try:
        return str(date.fromisoformat(origin) + timedelta(math.floor(number_of_days)))
    except (OverflowError, ValueError):
        return number(number_of_days)


def with_ends(
    value: float | None,
    ends: Ends | None,
    *,
    share: bool = False,
    origin: str | None = None,
    missing: str = NOT_KNOWN,
) -> str:
    """Return a number, a share or a day (since `origin`) with its interval in brackets.

    Examples
    --------
    >>> with_ends(0.12345, (0.1, 0.15), share=True), with_ends(None, None)
    ('12.3 % (10.0 to 15.0 %)', 'not known')
    """
    if value is None or math.isnan(value):
        return missing
    shown = percent(value, ends) if share else estimated(value, ends, NOT_KNOWN, origin)
    return "{} ({})".format(*shown)


def grid_in_words(grid: LinearGrid | LogGrid | None, *, whole: bool = False) -> str:
    """Describe the public thresholds used."""
    if grid is None:
        least = "whole numbers: all up to 2048, then" if whole else "all numbers: from 7.6e-06"
        return f"{least} in steps of at most a 1024th to 7e+13, coarser beyond"
    kind = "relative steps" if type(grid).__name__ == "LogGrid" else "steps"
    ends = number(grid.low, _FREE_DIGITS), number(grid.high, _FREE_DIGITS)
    return f"from {ends[0]} to {ends[1]} in {kind} of {number(grid.step, _FREE_DIGITS)}"
