"""The two words of an outcome: what counts as 1, what counts as 0; all else is missing."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from attrs import evolve

from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError
from nolook.tables.levels import OTHERS
from nolook.tables.schema import ColumnSchema
from nolook.tables.source import Column, in_words
from nolook.tables.words import fits, same

__all__ = ["two_classes"]

#: Words that mean the same; None for all that are not the other class's.
_Class: TypeAlias = tuple[str, ...] | None
_POSSIBLE = ("text", "category", "identifier", "boolean", "integer", "number")
_EXAMPLES = {"positive": "yes", "negative": "no"}


def two_classes(
    column: Column, declared: ColumnSchema | None, positive: object, negative: object
) -> ColumnSchema:
    """Return the declaration of a target whose positive word, and perhaps the other one, is given.

    Raises ParameterError for a word that the declared type or words rule out, and if these do not
    tell the negative one where it is not given.
    """
    kind = in_words(column.type) if declared is None else declared.type
    own = declared or ColumnSchema(kind if kind == "boolean" else "text")
    if kind not in _POSSIBLE:
        raise ParameterError(
            f"{parameter_name('positive')} is given, but {column.name!r} is of type {kind}; "
            "expected a target of text, numbers or booleans"
        )
    classes: list[_Class] = [(level,) for level in own.levels if level is not None]
    if own.type == "boolean":
        classes = [own.true, own.false]
    usual = ColumnSchema("boolean")
    truths = (*usual.true, *(usual.false or ()))
    if negative is None and not classes and isinstance(positive, str) and same(positive, *truths):
        classes = [usual.true, usual.false]
    find = partial(_class, classes=classes, kind=kind, column=column.name)
    yes = find("positive", positive)
    if negative is None and len(classes) != 2:
        raise ParameterError(
            f"{parameter_name('negative')} is not given, but {column.name!r} may have several "
            f"values other than {positive!r}; expected the one that counts as 0 (for example "
            f"{usage_hint('negative', 'no')}, or {OTHERS!r} for all of them)"
        )
    no = None
    if negative != OTHERS:
        no = classes[classes[0] == yes] if negative is None else find("negative", negative)
    if no is not None and any(same(word, *no) for word in yes):
        raise ParameterError(
            f"{parameter_name('positive')} and {parameter_name('negative')} are the same "
            f"value of {column.name!r}; give two different ones"
        )
    marked = ColumnSchema("boolean", true=yes, false=(OTHERS,) if no is None else no)
    return evolve(marked, missing=own.missing, decimal=own.decimal, thousands=own.thousands)


def _class(
    name: str, word: object, classes: list[_Class], kind: str, column: str
) -> tuple[str, ...]:
    """Return the words of the class that one of them names."""
    if not isinstance(word, str) or not word.strip():
        raise ParameterError(
            f"{parameter_name(name)} is not a text; expected a value of the target (for example "
            f"{usage_hint(name, _EXAMPLES[name])})"
        )
    for each in classes:
        if each is not None and same(word, *each):
            return each
    if classes or not fits(word, kind):
        wanted = ", ".join(word for each in classes for word in each or (OTHERS,))
        raise ParameterError(
            f"{parameter_name(name)} is {word!r}, but {column!r} "
            f"{f'has the declared values {wanted}' if classes else f'is of type {kind}'}; expected "
            "a value that its cells can have"
        )
    return (word.strip(),)
