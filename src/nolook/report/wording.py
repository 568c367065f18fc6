"""Numbers and guarantees in words, the same on a page and on a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from nolook.algorithms.moment_fit import LEVEL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nolook._unit import Unit
    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = [
    "CONFIDENCE",
    "NOT_ESTIMATED",
    "NOT_KNOWN",
    "Ends",
    "certainty_in_words",
    "count",
    "grid_in_words",
    "interval",
    "number",
    "rows_in_words",
    "units_in_words",
]

#: The level of all intervals, as text.
CONFIDENCE = f"{100 * LEVEL:.0f} %"
#: Stands where a number would, if the method does not estimate it.
NOT_ESTIMATED = "not estimated by this method"
#: Stands where an interval would, if nothing is known of this one.
NOT_KNOWN = "not known"

_HUGE = 1e9  # from here on digits are harder to read than an exponent
_HARDLY_PRIVATE = 99.9  # percent; more digits would only look like a protection

Ends: TypeAlias = tuple[float, float]


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, if the method estimates it.

    Examples
    --------
    >>> number(1234567.0), number(1e12), number(-0.0), number(None)
    ('1,235,000', '1e+12', '0', 'not estimated by this method')
    """
    if value is None:
        return NOT_ESTIMATED
    short = float(f"{value + 0.0:.{digits}g}")
    return f"{short:,.10g}" if 1000 <= abs(short) < _HUGE else f"{short:.{digits}g}"


def count(amount: int, noun: str) -> str:
    """Return a number of things, with the noun in the singular or plural."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def units_in_words(unit: Unit) -> tuple[str, ...]:
    """Say what the numbers of a release describe where it protects units of several rows."""
    if unit.column is None:
        return ()
    words = (
        "Everything here describes units: each counts once, and its rows share it equally, so that "
        "numbers of units need not be whole."
        if unit.whole > 1
        else f"Everything here describes rows: of each unit {unit.most_rows} were used at most, "
        "drawn at random."
    )
    return (words,)


def rows_in_words(rows: float, error: float, noun: str = "row") -> tuple[str, str]:
    """Return a noisy number of rows, rounded to what its standard error supports, and that.

    Where the noise may be all of it, only an upper end is known. `noun` is what is counted.

    Examples
    --------
    >>> rows_in_words(101_712.3, 58.1), rows_in_words(1.0, 42.0, "unit")
    (('about 101,700 rows', '58'), ('fewer than 90 units', '42'))
    """
    digits = number(float(f"{error:.2g}"))
    step = 10.0 ** math.floor(math.log10(max(2.0 * error, 1.0)))
    if rows < 2.0 * error:
        return f"fewer than {step * math.ceil((rows + 2.0 * error) / step):,.0f} {noun}s", digits
    about = step * round(rows / step)
    return f"about {about:,.0f} {noun}{'s' * (about != 1.0)}", digits


def interval(ends: Ends | NDArray[np.float64] | None, missing: str = NOT_ESTIMATED) -> str:
    """Return an interval as text, or what is said of a missing one."""
    if ends is None:
        return missing
    return f"{number(float(ends[0]))} to {number(float(ends[1]))}"


def grid_in_words(grid: LinearGrid | LogGrid | None) -> str:
    """Say which public thresholds were used."""
    if grid is None:
        return "all numbers: steps of at most a 1024th from 7.6e-06 to 7e+13, coarser beyond"
    kind = "relative steps" if type(grid).__name__ == "LogGrid" else "steps"
    return f"from {grid.low:g} to {grid.high:g} in {kind} of {grid.step:g}"


def certainty_in_words(guarantee: PrivacyGuarantee) -> str:
    """Explain epsilon and delta by an example, for someone who has not met them.

    By Bayes' rule even odds become odds of at most e^epsilon to 1.
    """
    one = guarantee.unit.protected
    question = {
        "add-remove": f"whether one {one} was in the table",
        "replace": f"which of two versions of a {one} was in the table",
    }[guarantee.relation]
    # Rounded up, so that the page never promises more than the release.
    percent = math.ceil(1000 / (1 + math.exp(-guarantee.epsilon)) - 1e-9) / 10
    sure = f"at most {percent:.1f} % sure" if percent < _HARDLY_PRIVATE else "nearly certain"
    rare = f" Exceptions have a chance of {_chance(guarantee.delta)}."
    return (
        f"For example, someone who thought it fifty-fifty {question} can be {sure} after seeing "
        f"this page.{rare if guarantee.delta else ''}"
    )


def _chance(delta: float) -> str:
    """Return a small probability as one in so many, rounded so that it is not understated."""
    if delta > 0.1 or delta < 1e-15:
        return f"{delta:.3g}"
    return f"1 in {math.floor(1 / delta * (1 + 1e-12)):,}"
