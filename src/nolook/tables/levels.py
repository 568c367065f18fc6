"""Declared levels of categories, as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from nolook._language import given
from nolook._validation import check_names
from nolook.errors import ParameterError
from nolook.tables.memory import as_text

__all__ = ["OTHERS", "Categories", "Levels", "check_categories", "recipe_levels"]

Categories: TypeAlias = Mapping[str, Sequence[str | int | bool | None]]
#: Declared levels as text, the first the one compared with; None stands for all other values.
Levels: TypeAlias = tuple[str | None, ...]

#: What names the number of all values that are not declared, here and on the command line.
OTHERS = "..."


def check_categories(categories: object) -> dict[str, Levels]:
    """Return declared categories with every level as text: 3 as "3", True as "true".

    A single level is compared with all other values.
    """
    if categories is None:
        return {}
    if not isinstance(categories, Mapping):
        raise ParameterError(
            f"categories is a value of type {type(categories).__name__}; expected a mapping from "
            "columns to levels (for example categories={'city': ['A', 'B']})"
        )
    names = check_names(list(categories), "categories") if categories else ()
    return {name: _check_levels(categories[name], name) for name in names}


def recipe_levels(levels: Levels) -> list[str | None]:
    """Return levels as a user declares them: the inverse of :func:`check_categories`."""
    return list(levels[1:] if levels[0] is None and len(levels) == 2 else levels)


def _check_levels(levels: object, name: str) -> Levels:
    listed = levels.tolist() if isinstance(levels, np.ndarray) and levels.ndim == 1 else levels
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        raise _no_levels(levels, name)
    texts = [None if level is None else _level_text(level) for level in listed]
    words = [text for text in texts if text is not None]
    others = sum(level is None for level in listed)
    if len(words) + others < len(listed):
        raise _no_levels(levels, name)
    example = given("categories", {name: ["A", "B"]})
    check_names(words, f"categories of {name!r}", example)
    if others > 1:
        raise ParameterError(
            f"categories of {name!r} has None {others} times; expected it at most once, for all "
            "values that are not declared (leave the others out)"
        )
    return tuple(texts) if len(texts) > 1 else (None, *texts)


def _no_levels(levels: object, name: str) -> ParameterError:
    return ParameterError(
        f"categories of {name!r} is a value of type {type(levels).__name__}; expected a list of "
        "texts or integers (for example ['A', 'B'])"
    )


def _level_text(level: object) -> str | None:
    """Return a level as text, None if no cell could have it."""
    text = as_text(level)
    # A lone surrogate is in no text that can be stored.
    return None if isinstance(level, str) and text != level else text
