"""Levels of a category, as they are declared: public texts, which are never looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from nolook._language import usage_hint as written
from nolook._validation import check_names, refusal
from nolook.errors import ParameterError
from nolook.tables.source import as_text

__all__ = [
    "OTHERS",
    "Categories",
    "Levels",
    "Vocabulary",
    "check_categories",
    "checked_level",
    "column_levels",
    "is_list",
    "recipe_levels",
]

_SURROGATE = re.compile(r"[\ud800-\udfff]")

Categories: TypeAlias = Mapping[str, Sequence[str | int | bool | None]]
#: Declared levels as text, the first the one compared with; None stands for all other values.
Levels: TypeAlias = tuple[str | None, ...]
#: What names the number of all values that are not declared, here and on the command line.
OTHERS = "..."


class Vocabulary:
    """All values of a column that occur, in the order of the rows: as confidential as these."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: set[str] = set()
        self._lock = Lock()

    def including(self, texts: Iterable[str | None]) -> list[str]:
        """Return all values, new ones last; an empty cell has none."""
        with self._lock:
            new = [text for text in texts if text and text not in self._known]
            self.texts += new
            self._known.update(new)
            return list(self.texts)


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


def recipe_levels(levels: Levels) -> list[str | None]:
    """Return levels as a user declares them: the inverse of :func:`check_categories`."""
    return list(levels[1:] if levels[0] is None and len(levels) == 2 else levels)


def _levels(levels: object, name: str, example: str) -> Levels:
    """Return levels as text, the first the one compared with; a single one with all others."""
    listed = levels.tolist() if isinstance(levels, np.ndarray) and levels.ndim == 1 else levels
    texts = list(map(checked_level, listed)) if is_list(listed) else []
    if not is_list(listed) or texts.count(None) > listed.count(None):
        raise refusal(name, levels, "a list of texts or integers", f"for example {example}")
    if texts and {*texts} == {None}:
        return (None, None)  # levels that a tabulation is to find
    others = texts.count(None)
    check_names([text for text in texts if text is not None], name, example)
    if others > 1:
        raise ParameterError(
            f"{name} has None {others} times (keep one, for all values that are not declared)"
        )
    return tuple(texts) if len(texts) > 1 else (None, *texts)


def checked_level(level: object) -> str | None:
    """Return a level as text, None if no cell could have it."""
    text = as_text(level)
    # A lone surrogate is in no text that can be stored in a file.
    return None if text is not None and _SURROGATE.search(text) else text


def column_levels(levels: object, name: str) -> Levels:
    """Return levels where "..." stands for all that are not declared; there may be none."""
    if is_list(levels):
        levels = [None if level == OTHERS else level for level in levels]
        if not levels:
            return ()
    return _levels(levels, name, f'{name} = ["A", "B"]')


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a list, not a text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
