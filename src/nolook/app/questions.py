"""The questions, in plain words, and the form of each.

A form is made from the command's own options, so that it offers what the command line has and its
help; here stands only which command answers which question, and which options it begins with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from types import NoneType
from typing import Any, get_args, get_origin

from attrs import evolve, frozen

from nolook._language import as_option
from nolook.app.numbers import as_number
from nolook.cli import app as command_line
from nolook.cli._declared import flag_of
from nolook.tables.schema import ColumnSchema, Schema

__all__ = ["QUESTIONS", "Field", "Question", "fields"]

#: Types of columns that a field offers.
_NUMBERS, _YES_NO = ("number", "integer", "date", "datetime"), ("boolean",)
_GROUPS, _VALUES = ("category", *_YES_NO), (*_NUMBERS, *_YES_NO)
_ALL = (*_NUMBERS, *_GROUPS)


@frozen
class Question:
    """A question, the command that answers it, and the options it begins with."""

    command: str
    title: str
    explanation: str
    #: The options shown at once, as the command reads their columns, and the types of each.
    first: Mapping[str, tuple[str, ...]]
    more: tuple[str, ...]


QUESTIONS = {
    each.command: each
    for each in (
        Question(
            "describe",
            "What is in the table?",
            "Every column on one page: mean and quartiles of numbers, rows of each level.",
            {"features": _ALL},
            ("delta",),
        ),
        Question(
            "tabulate",
            "How many, how much, by groups?",
            "Counts of groups, with means, medians and shares in each.",
            {"by": _GROUPS, "share": _YES_NO, "mean": _NUMBERS, "median": _NUMBERS},
            ("quantiles", "delta", "relation"),
        ),
        Question(
            "fit",
            "What explains a number, or a yes/no outcome?",
            "A linear or logistic model with intervals. Mark what may explain the outcome.",
            {"target": _VALUES, "features": _ALL},
            ("method", "missing", "select", "delta"),
        ),
        Question(
            "compare-groups",
            "Do groups differ in a number?",
            "Differences of means, ranks and distributions from the first group, with tests.",
            {"value": _VALUES, "by": _GROUPS},
            ("relation",),
        ),
        Question(
            "survival",
            "How long until something happens?",
            "Survival curves (Kaplan-Meier), also by group, with medians and the log-rank test.",
            {"time": _NUMBERS, "event": _GROUPS, "by": _GROUPS},
            ("relation",),
        ),
        Question(
            "ecdf",
            "How is a number distributed?",
            "The whole curve, from which quantiles and shares are read at no further cost.",
            {"column": _NUMBERS},
            ("missing", "relation"),
        ),
        Question(
            "quantiles",
            "Where do the middle and the quarters of some numbers lie?",
            "Quantiles of several columns, which share the budget.",
            {"columns": _NUMBERS},
            ("at", "missing"),
        ),
        Question(
            "roc",
            "How well does a score tell two outcomes apart?",
            "The ROC curve of a score and the area under it.",
            {"score": _NUMBERS, "target": _YES_NO},
            ("missing", "relation"),
        ),
        Question(
            "calibration",
            "Do predicted probabilities agree with what happened?",
            "Groups of rows by probability, the share of outcomes in each, and a test.",
            {"probability": _NUMBERS, "target": _YES_NO},
            ("groups", "missing"),
        ),
    )
}

_LABELS = {
    "by": "Groups",
    "mean": "Means of",
    "median": "Medians of",
    "share": "Shares of",
    "target": "Outcome",
    "features": "Columns",
    "where": "Only these rows, one condition a line",
}
_NUMERIC = ("float", "int")
_WORD = re.compile(r"[a-z][a-z-]+")
#: Parts of a help that forms do not need.
_OF_COMMANDS = re.compile(
    r" \(--[^)]*\)|--(?=\w)| ?(May be repeated|Needed for)[^.]*\.|[;,][^;,.]*(schema|NAME=)[^.]*"
)


@frozen
class Field:
    """One option of a command as a field of a form; its value is a text, or a list of columns."""

    name: str
    flag: str
    label: str
    help: str
    kind: str
    default: str | list[str] = ""
    value: str | list[str] = ""
    choices: tuple[str, ...] = ()
    error: str = ""

    def arguments(self) -> list[str]:
        """Return the option's words on the command line; none where nothing was changed."""
        if self.value == self.default and self.name != "epsilon":
            return []
        if isinstance(self.value, list):
            return [f"{self.flag}={as_option(self.value)}"]
        lines = self.value.splitlines() if self.kind == "lines" else [self.value]
        texts = [text.strip() for text in lines if text.strip()]
        if self.kind in _NUMERIC:
            texts = [as_number(text, self.flag, whole=self.kind == "int") for text in texts]
        return [f"{self.flag}={text}" for text in texts]


def fields(question: Question, schema: Schema, given: Mapping[str, list[str]]) -> list[Field]:
    """Return the form of a question, filled with what was entered; nothing is without a form."""
    called = question.command.replace("-", "_")
    commands = (each.callback for each in command_line.registered_commands)
    (command,) = (each for each in commands if each is not None and each.__name__ == called)
    known = signature(command).parameters
    names = (*question.first, "epsilon", *question.more, "where", "rows_per_unit")
    made = [_field(name, known[name], question, schema) for name in names]
    return [evolve(each, value=_entered(each, given)) if given else each for each in made]


def _entered(form: Field, given: Mapping[str, list[str]]) -> str | list[str]:
    values = given.get(form.name, [])
    if form.kind == "columns":
        values = [name for name in values if name not in given.get("target", ())]
        return [name for name in values if name in form.choices]
    return values[0] if values else ""


def _field(name: str, option: Parameter, question: Question, schema: Schema) -> Field:
    kind, form, *_ = get_args(option.annotation)
    default = "" if option.default in {None, Parameter.empty} else str(option.default)
    label = _LABELS.get(name, name.replace("_", " ").capitalize())
    words = _OF_COMMANDS.sub("", form.help or "")
    own = Field(name, flag_of(option), label, words, _kind(kind, form), default, default)
    if types := question.first.get(name):
        named = tuple(n for n, column in schema.columns.items() if _fits(column, types))
        if form.metavar == "NAME":
            return evolve(own, kind="column", choices=("", *named))
        usual = [n for n in schema.used_as("feature") if n in named and name == "features"]
        return evolve(own, kind="columns", choices=named, default=usual, value=usual)
    if own.kind == "choice":
        choices = tuple(filter(_WORD.fullmatch, form.metavar.split("|")))
        return evolve(own, choices=choices if default else ("", *choices))
    return own


def _kind(annotation: Any, form: Any) -> str:  # noqa: ANN401 -- what Typer takes
    """Return the kind of entry: lines, float, int, choice or str."""
    own = next((each for each in get_args(annotation) if each is not NoneType), annotation)
    several = get_origin(annotation) is list or get_origin(own) is list
    parts = (form.metavar or "").split("|")
    if len(parts) > 1 and (several or all(map(_WORD.fullmatch, parts))):
        return "choice"
    return "lines" if several else str(own.__name__)


def _fits(column: ColumnSchema, types: Sequence[str]) -> bool:
    return column.type in types and (
        column.use in {"feature", "target"} or column.type in {"number", "integer", "boolean"}
    )
