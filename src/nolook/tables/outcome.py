"""The two words of an outcome: what counts as 1, what counts as 0; all else is missing."""

from __future__ import annotations

from attrs import evolve

from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError
from nolook.tables.schema import OTHERS, ColumnSchema
from nolook.tables.source import Column, in_words
from nolook.tables.words import fits, number_of, same

__all__ = ["two_classes"]

_OPPOSITE = {"true": "false", "false": "true"}
_POSSIBLE = ("text", "category", "identifier", "boolean", "integer", "number")


def two_classes(
    column: Column, declared: ColumnSchema | None, positive: object, negative: object
) -> ColumnSchema:
    """Return the declaration of a target of which two words, or one, are given.

    Raises ParameterError for what the declared type or words rule out, and if the other word is not
    known from these.
    """
    words = {"positive": positive, "negative": negative}
    for name, word in words.items():
        if not (isinstance(word, str) and word.strip()) and (word is not None or name == "positive"):
            raise ParameterError(
                f"{parameter_name(name)} is not a text; expected a value of the target (for "
                f"example {usage_hint(name, 'yes' if name == 'positive' else 'no')})"
            )
    own = declared or ColumnSchema("boolean" if in_words(column.type) == "boolean" else "text")
    kind = in_words(column.type) if declared is None else declared.type
    if kind not in _POSSIBLE:
        raise ParameterError(
            f"{parameter_name('positive')} is given, but {column.name!r} is of type {kind}; "
            "expected a target of text, numbers or booleans"
        )
    groups: list[tuple[str, ...] | None] = []
    if own.type == "boolean":
        groups = [own.true, own.false]
    elif own.type == "category":
        groups = [(level,) for level in own.levels if level is not None]
    found = {
        name: _meant(name, str(word), groups, kind, column.name)
        for name, word in words.items()
        if word is not None
    }
    yes = found["positive"]
    no = found["negative"] if "negative" in found else _other(str(positive), groups, yes, column)
    if yes is None or no == yes or (no and any(same(word, other) for word in yes for other in no)):
        raise ParameterError(
            f"{parameter_name('positive')} and {parameter_name('negative')} are one value of "
            f"{column.name!r}; expected two"
        )
    usual = ColumnSchema("boolean", true=yes, false=no)
    return evolve(
        usual, missing=own.missing, decimal=own.decimal, thousands=own.thousands, use=usual.use
    )


def _meant(
    name: str, word: str, groups: list[tuple[str, ...] | None], kind: str, column: str
) -> tuple[str, ...] | None:
    """Return the words that one of them stands for; None for all that are not the other one's."""
    if word == OTHERS and name == "negative":
        return None
    if not groups and fits(word, kind):
        return (word.strip(),)
    for group in groups:
        if group is not None and any(same(word, each) for each in group):
            return group
    wanted = ", ".join(each for group in groups for each in group or ())
    raise ParameterError(
        f"{parameter_name(name)} is {word!r}, but {column!r} "
        + (f"is declared to be one of {wanted}" if groups else f"is of type {kind}")
        + "; expected one of its values"
    )


def _other(
    positive: str,
    groups: list[tuple[str, ...] | None],
    yes: tuple[str, ...] | None,
    column: Column,
) -> tuple[str, ...] | None:
    """Return the words of the negative class that types or declared words tell."""
    if len(groups) == 2:
        return groups[groups[0] == yes]
    if (number := number_of(positive)) in {0, 1}:
        return (str(1 - int(number or 0)),)
    if positive.strip().lower() in _OPPOSITE:
        return (_OPPOSITE[positive.strip().lower()],)
    raise ParameterError(
        f"{parameter_name('negative')} is not given, but {column.name!r} may have other values "
        f"than {positive!r}; expected the one that counts as 0 "
        f"({usage_hint('negative', 'no')}, or {OTHERS!r} for all others)"
    )
