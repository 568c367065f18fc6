"""What is compared by the coefficients of a category's levels and of what is true or false."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from nolook.tables.design import GAP, Feature
from nolook.tables.schema import check_categories

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateModel
    from nolook.tables.schema import Levels

__all__ = ["HOW_TO_READ", "contrasts"]

HOW_TO_READ = (
    "The coefficient of a category's level, or of what is true or false, is a contrast: the "
    "difference between rows where it holds and rows of what it is compared with, alike in all "
    "other columns. An empty cell, or a value that was not declared, counts as what is compared "
    "with, unless such values have a coefficient of their own."
)


def contrasts(model: PrivateModel) -> dict[str, str]:
    """Return words for each level in a model, and for each boolean, by the name of its number.

    Where a choice of columns left a level out, its rows are among those that the others are
    compared with.
    """
    used = set(compress(model.scaling_.names, model.considered.tolist()))
    words: dict[str, str] = {}
    for column, levels in check_categories(model.read_options_["categories"]).items():
        numbers = dict(zip(Feature(column, levels).names, levels[1:], strict=True))
        base = f"all other values of {column}"
        if levels[0] is not None and used.issuperset(numbers):
            base = f"{column} = {levels[0]}"
        words |= {
            name: f"{_rows(column, level, levels)}, compared with {base}"
            for name, level in numbers.items()
            if name in used
        }
    columns = set(model.read_options_["features"])
    for name in compress(model.scaling_.names[:-1], model.scaling_.binary[:-1].tolist()):
        if name in used and name not in words:
            words[name] = _true(name, columns)
    return words


def _true(name: str, columns: set[str]) -> str:
    """Say when a number that is 1 or 0 is 1."""
    column = name.removesuffix(f"={GAP}")
    if name not in columns and column in columns:
        return f"{column} missing, compared with {column} known"
    return f"{name} = true, compared with {name} = false"


def _rows(column: str, level: str | None, levels: Levels) -> str:
    if level is not None:
        return f"{column} = {level}"
    declared = sum(one is not None for one in levels)
    return f"{column} = none of the {declared} declared levels"
