"""Columns derived from others: what a cell is depends on its own row alone, to the last bit.

Functions are built from additions, products, quotients and square roots, which every machine rounds
alike; a library's logarithm may give a cell other bits in a vector than at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from operator import mul
from typing import Any, Self, TypeGuard

import numpy as np
import pyarrow as pa
from attrs import frozen

from nolook._arrays import Vector
from nolook._numerics import inverse_sinhs, logarithms, logarithms_1p
from nolook._validation import refusal
from nolook.errors import ParameterError
from nolook.tables.source import TEXT
from nolook.tables.words import is_list

__all__ = ["FUNCTIONS", "INVERSES", "OF_DATES", "Derivation", "derive", "in_order"]

_MOST_COLUMNS, _MOST_BORDERS = {"product_of": 8, "difference_of": 2}, 100


@frozen
class Derivation:
    """The derivation of a column: a function, the columns it is applied to, public constants."""

    function: str
    of: tuple[str, ...]
    constants: tuple[float, ...] = ()

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self | None:
        """Read the derivation among a column's settings, if there is one."""
        function = next((name for name in settings if name in FUNCTIONS), None)
        if function is None:
            return None
        of = (_columns if function in _MOST_COLUMNS else _column)(function, settings[function])
        constant, read = _CONSTANTS.get(function, ("", lambda _: ()))
        return cls(function, of, read(settings.get(constant)))

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings it is read from."""
        return (self.function, *_CONSTANTS.get(self.function, ())[:1])

    def to_settings(self) -> dict[str, Any]:
        """Return the settings that :meth:`from_settings` reads, fit for JSON."""
        of = [*self.of] if self.function in _MOST_COLUMNS else self.of[0]
        constants = sum(self.constants) if self.function == "square_of" else [*self.constants]
        settings = dict(zip(self.settings, (of, constants), strict=False))
        return settings if constants else {self.function: of}

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of the column, if it is a category."""
        own = self.function == "bins_of"
        return _bin_labels(self.constants) if own else _LEVELS.get(self.function, ())

    @property
    def declared(self) -> dict[str, Any]:
        """The type and levels of the column."""
        levels = {"type": "category", "levels": [*self.levels], "undeclared": "missing"}
        return levels if self.levels else {"type": "number"}


def _column(function: str, given: object) -> tuple[str, ...]:
    if _is_name(given):
        return (given,)
    raise refusal(function, given, "the name of a column", f'for example {function} = "cost"')


def _columns(function: str, given: object) -> tuple[str, ...]:
    most = _MOST_COLUMNS[function]
    if is_list(given) and 2 <= len(given) <= most and all(map(_is_name, given)):
        return tuple(given)
    number = "2" if most == 2 else f"2 to {most}"
    raise refusal(function, given, f"{number} columns", f'for example {function} = ["age", "size"]')


def _around(given: object) -> tuple[float, ...]:
    if given is None or _is_finite(given):
        return (float(given or 0.0),)
    raise refusal("around", given, "a finite number", "for example around = 40")


def _borders(given: object) -> tuple[float, ...]:
    numbers = tuple(map(float, given)) if is_list(given) and all(map(_is_finite, given)) else ()
    ascending = all(one < other for one, other in pairwise(numbers))
    if 0 < len(numbers) <= _MOST_BORDERS and ascending:
        return numbers
    expected = f"at most {_MOST_BORDERS} ascending numbers"
    raise refusal("borders", given, expected, "for example borders = [18, 40, 65]")


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _is_finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)


def _bin_labels(borders: tuple[float, ...]) -> tuple[str, ...]:
    texts = [str(int(b)) if b.is_integer() and abs(b) < 1e15 else repr(b) for b in borders]
    between = [f"{low} to <{high}" for low, high in pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def in_order(derived: Mapping[str, Derivation]) -> dict[str, Derivation]:
    """Return derived columns, each after those it is derived from.

    Raises ParameterError if some are derived from each other.
    """
    needed = {name: [of for of in each.of if of in derived] for name, each in derived.items()}
    try:
        return {name: derived[name] for name in TopologicalSorter(needed).static_order()}
    except CycleError as error:
        circle = " and ".join(repr(name) for name in derived if name in error.args[1])
        raise ParameterError(f"{circle} are derived from each other (name other columns)") from None


def derive(derivation: Derivation, *columns: Vector) -> Any:  # noqa: ANN401 -- an Arrow array
    """Return the cells of a derived column; a missing or infinite number gives a missing one."""
    with np.errstate(all="ignore"):
        found = FUNCTIONS[derivation.function](*columns, *derivation.constants)
    cells = pa.array(found, pa.float64(), mask=~np.isfinite(found))
    if derivation.levels:  # of which these are places
        return pa.array(derivation.levels, TEXT).take(cells.cast(pa.int64()))
    return cells


def _finite(values: Vector, function: Callable[[Vector], Any], least: float = -math.inf) -> Vector:
    """Apply a function to finite values above the least; others are missing."""
    defined = np.isfinite(values) & (values > least)
    return np.where(defined, function(np.where(defined, values, 1.0)), np.nan)


def _dates(days: Vector, unit: str) -> Vector:
    """Return the months or years since 1970 that days since 1970 are in."""
    dates = np.floor(days).clip(-1e7, 1e7).astype("datetime64[D]")
    return dates.astype(f"datetime64[{unit}]").astype(np.float64)


#: By the setting that asks for it, what gives a derived column's numbers, or its levels' places.
FUNCTIONS: dict[str, Callable[..., Vector]] = {
    "log_of": partial(_finite, least=0.0, function=logarithms),
    "log1p_of": partial(_finite, least=-1.0, function=logarithms_1p),
    "asinh_of": partial(_finite, function=inverse_sinhs),
    "square_of": lambda values, around: (values - around) * (values - around),
    "product_of": lambda *columns: reduce(mul, columns),
    "difference_of": lambda first, second: first - second,
    "bins_of": lambda values, *borders: _finite(
        values, partial(np.searchsorted, borders, side="right")
    ),
    "year_of": lambda days: _finite(days, partial(_dates, unit="Y")) + 1970.0,
    "month_of": lambda days: _finite(days, partial(_dates, unit="M")) % 12.0,
    "weekday_of": lambda days: (np.floor(days) + 3.0) % 7.0,
    "missing_of": lambda values: 1.0 - np.isfinite(values),
}
#: Of logarithms: a function that undoes them, and what it is short of.
INVERSES: dict[str, tuple[Callable[[Vector], Vector], float]] = {
    "log_of": (np.exp, 0.0),
    "log1p_of": (np.exp, -1.0),
    "asinh_of": (np.sinh, 0.0),
}
_CONSTANTS = {"square_of": ("around", _around), "bins_of": ("borders", _borders)}
_LEVELS = {
    "month_of": tuple(map(str, range(1, 13))),
    "weekday_of": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
}
#: Functions of the days since 1970 that a declared date is, and whether of nothing else.
OF_DATES = {"year_of": True, "month_of": True, "weekday_of": True, "difference_of": False}
