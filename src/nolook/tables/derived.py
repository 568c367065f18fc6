"""Columns derived from others: what a cell is depends on its own row alone, to the last bit.

Functions are built from additions, products, quotients and square roots, which every machine rounds
alike; a library's logarithm may give a cell other bits in a vector than at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from itertools import pairwise
from operator import mul
from typing import Any, Self

import numpy as np
import pyarrow as pa
from attrs import frozen

from nolook._arrays import Vector
from nolook._numerics import inverse_sinhs, logarithms, logarithms_1p
from nolook._validation import refusal
from nolook.errors import ParameterError
from nolook.tables.words import is_list

__all__ = ["FUNCTIONS", "INVERSES", "Derivation", "derive", "in_order"]

_MOST_FACTORS, _MOST_BORDERS = 8, 100


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
        of, constant = _columns(function, settings[function]), _CONSTANTS.get(function)
        return cls(function, of, _constants(constant, settings.get(constant)) if constant else ())

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings it is read from."""
        constant = _CONSTANTS.get(self.function)
        return (self.function, constant) if constant else (self.function,)

    def to_settings(self) -> dict[str, Any]:
        """Return the settings that :meth:`from_settings` reads, fit for JSON."""
        of = list(self.of) if self.function == "product_of" else self.of[0]
        constants = list(self.constants) if self.function == "bins_of" else sum(self.constants)
        settings = dict(zip(self.settings, (of, constants), strict=False))
        return settings if constants else {self.function: of}

    @property
    def declared(self) -> dict[str, Any]:
        """The type and levels of the column."""
        if self.function != "bins_of":
            return {"type": "number"}
        levels = list(_bin_labels(self.constants))
        return {"type": "category", "levels": levels, "undeclared": "missing"}


def _columns(function: str, given: object) -> tuple[str, ...]:
    several = function == "product_of"
    listed = list(given) if several and is_list(given) else [given]
    names = [name for name in listed if isinstance(name, str) and name]
    if len(names) == len(listed) and (not several or 2 <= len(names) <= _MOST_FACTORS):
        return tuple(names)
    expected, example = "the name of a column", f'{function} = "cost"'
    if several:
        expected, example = f"2 to {_MOST_FACTORS} columns", f'{function} = ["age", "sex=F"]'
    raise refusal(function, given, expected, f"for example {example}")


def _constants(name: str, given: object) -> tuple[float, ...]:
    """Return the borders of bins, or what a square is taken around: 0 by default."""
    several = name == "borders"
    if several:
        listed = list(given) if is_list(given) else []
    else:
        listed = [0.0 if given is None else given]
    numbers = [
        float(each)
        for each in listed
        if isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each)
    ]
    ascending = all(one < other for one, other in pairwise(numbers))
    if 0 < len(numbers) == len(listed) <= _MOST_BORDERS and ascending:
        return tuple(numbers)
    expected, example = "a finite number", "around = 40"
    if several:
        expected, example = f"at most {_MOST_BORDERS} ascending numbers", "borders = [18, 40, 65]"
    raise refusal(name, given, expected, f"for example {example}")


def _bin_labels(borders: tuple[float, ...]) -> tuple[str, ...]:
    texts = [str(int(b)) if b.is_integer() and abs(b) < 1e15 else repr(b) for b in borders]
    between = [f"{low} to <{high}" for low, high in pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def in_order(derived: Mapping[str, Derivation]) -> dict[str, Derivation]:
    """Return derived columns, each after those it is derived from.

    Raises ParameterError if some are derived from each other.
    """
    order: dict[str, Derivation] = {}
    while len(order) < len(derived):
        ready = [
            name
            for name, each in derived.items()
            if name not in order and all(of in order or of not in derived for of in each.of)
        ]
        if not ready:
            circle = " and ".join(repr(name) for name in derived if name not in order)
            raise ParameterError(f"{circle} are derived from each other (name other columns)")
        order |= {name: derived[name] for name in ready}
    return order


def derive(derivation: Derivation, *columns: Vector) -> Any:  # noqa: ANN401 -- an Arrow array
    """Return the cells of a derived column; a missing or infinite number gives a missing one."""
    with np.errstate(all="ignore"):
        if derivation.function == "bins_of":
            labels = np.array([*_bin_labels(derivation.constants), None], dtype=object)
            places = np.searchsorted(derivation.constants, columns[0], side="right")
            places[~np.isfinite(columns[0])] = -1
            return pa.array(labels[places], pa.large_string())
        found = FUNCTIONS[derivation.function](*columns, *derivation.constants)
    return pa.array(found, pa.float64(), mask=~np.isfinite(found))


def _positive(values: Vector, least: float, function: Callable[[Vector], Vector]) -> Vector:
    """Apply a function to finite values above the least; others are missing."""
    defined = np.isfinite(values) & (values > least)
    return np.where(defined, function(np.where(defined, values, 1.0)), np.nan)


#: By the setting that asks for it, what gives the numbers of a derived column.
FUNCTIONS: dict[str, Callable[..., Vector]] = {
    "log_of": partial(_positive, least=0.0, function=logarithms),
    "log1p_of": partial(_positive, least=-1.0, function=logarithms_1p),
    "asinh_of": partial(_positive, least=-math.inf, function=inverse_sinhs),
    "square_of": lambda values, around: (values - around) * (values - around),
    "product_of": lambda *columns: reduce(mul, columns),
    "bins_of": lambda *_: np.empty(0),  # texts: see `derive`
}
#: Of logarithms: a function that undoes them, and what it is short of.
INVERSES: dict[str, tuple[Callable[[Vector], Vector], float]] = {
    "log_of": (np.exp, 0.0),
    "log1p_of": (np.exp, -1.0),
    "asinh_of": (np.sinh, 0.0),
}
_CONSTANTS = {"square_of": "around", "bins_of": "borders"}
