"""The arguments and options that commands share, and what they mean. Imports nothing numeric."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from attrs import frozen

from nolook._language import usage_hint
from nolook._validation import check_choice, check_names, refusal, shown
from nolook.errors import ParameterError
from nolook.formats.files import one_line

if TYPE_CHECKING:
    from nolook.algorithms.grids import LinearGrid, LogGrid


#: The variable of the environment that names a ledger for all commands.
DEFAULT_LEDGER = "NOLOOK_LEDGER"

#: In the place of a unit or a column of weights: none, even if the schema has one.
NONE = "none"
_MISSING = ("drop-row", "zero")
_INDICATOR = "indicator="


def form_of(use: str, words: str, **how: Any) -> Any:  # noqa: ANN401 -- Typer's own type
    """Return an option from its use, such as "--features -f A,B,C", and its help."""
    flags = [word for word in use.split() if word.startswith("-")]
    metavar = use.removeprefix(" ".join(flags)).lstrip()
    return typer.Option(*flags, metavar=metavar or None, help=words, **how)


#: The use and the help of options that several commands have.
SHARED = {
    "--target -t NAME": "The column to explain; by default the schema's.",
    "--epsilon -e": "Privacy loss, above 0; smaller protects more.",
    "--delta -d": "Chance of a larger loss; well below 1 / rows.",
    "--features -f A,B,C": "The columns to use; by default the schema's, or all numeric ones. "
    "Needed for CSV without a schema.",
    "--exclude -x A,B,C": "Columns that are not used as features by default.",
    "--positive -p VALUE": "The target's value that counts as 1.",
    "--negative -n VALUE": "The target's value that counts as 0, ... for all but the positive one; "
    "others are missing. Not needed where types or a schema tell it.",
    "--by -b A,B": "Columns of groups, at most three, with declared levels (--categories or a "
    "schema): each group and all rows get their own.",
    "--categories NAME=A,B,C": "A column and its levels: the others are compared with the first, "
    "and ... stands for all values that are not named. May be repeated.",
    "--grid LOW:HIGH:STEP": "Public thresholds, chosen without the table; by default no range is "
    "needed. A step of 1% is relative.",
    "--relation add-remove|replace": "Relation of neighbouring tables.",
    "--groups N": "Number of groups of rows that a calibration compares.",
    "--threshold NUMBER": "Classify a score above this as positive, and show the confusion matrix, "
    "sensitivity and predictive values. Costs nothing more. May be repeated.",
    "--missing drop-row|zero": "Policy for missing values. Default: drop-row. Infinite values fall "
    "in the end cells.",
    "--where CONDITION": "Use only the rows that meet a condition, such as 'age >= 18' or 'region "
    "in North,South'. May be repeated: all must hold. Choose it without looking at the rows.",
    "--unit NAME": "The column that identifies the unit of a row, such as patient_id: all rows of "
    "a unit are protected together. By default the schema's; without one, or if none, each row "
    "separately.",
    "--rows-per-unit weights|C": "weights: each unit counts once. C: at most C random rows of each "
    "unit, each in full.",
    "--weights NAME": "A column of survey weights: results describe the weighted population. "
    "By default the schema's; none: do without.",
    "--report -r FILE": "Write a report, one HTML page.",
    "--title TEXT": "The report's title.",
    "--force": "Replace files that exist.",
    "--random-state N": "Repeatable noise, for experiments. NOT private.",
    "--dry-run": "Show the planned release and its cost. Reads no row, charges nothing.",
    "--model -m MODEL": "A model file made by fit.",
    "--quiet -q": "Print nothing.",
    "--engine spark": "Let workers of Spark read the table's files, by the same paths as here.",
    "--spark-master URL": "Where Spark is, such as local[4] or spark://HOST:7077; by default what "
    "Spark's own settings say.",
}
CLASSES = {
    "--target -t NAME": "The column of classes, what really happened: text, integers or booleans; "
    "by default the schema's target."
}
PAGE = {"--output -o FILE": "The HTML page to write."}
#: The form of a policy for missing values where they are groups of their own.
NO_POLICY = {"missing": None}
MissingOption = Annotated[
    list[str] | None,
    form_of(
        "--missing drop-row|zero|centre|indicator=A,B",
        "Missing and infinite values: leave the row out, or replace a feature by 0 or by the "
        "column's private centre. Default: drop-row. indicator=A,B adds columns that show where "
        "these are missing. May be repeated.",
    ),
]
LedgerOption = Annotated[
    Path | None,
    form_of("--ledger -l FILE", "Charge this ledger before reading.", envvar=DEFAULT_LEDGER),
]


def column_options(features: str | None, categories: Sequence[str] | None) -> dict[str, Any]:
    """Translate --features and --categories into options of `nolook.read_table`."""
    options: dict[str, Any] = {"categories": levels_of(categories)} if categories else {}
    if features is not None:
        options["features"] = column_names(features, "--features")
    return options


def levels_of(categories: Sequence[str] | None) -> dict[str, list[str | None]]:
    """Translate --categories: the levels of columns, None for any other value."""
    known: dict[str, list[str | None]] = {}
    if categories:
        from nolook.tables.words import OTHERS
    for column, values in _by_column("--categories", categories, str.partition, "city=Bern,Basel"):
        option = f"--categories {one_line(column)}"
        example = usage_hint("--categories", {one_line(column): ["Bern", "Basel"]})
        named = check_names(_split(values), option, example)
        known[column] = [None if name == OTHERS else name for name in named]
    return known


def column_names(text: str | None, option: str) -> tuple[str, ...]:
    """Split at commas and blanks after them; a name with a comma may be in double quotes."""
    return () if text is None else check_names(_split(text), option)


@frozen
class Missing:
    """The policy on missing values, if given, and the columns that indicate them."""

    policy: str | None = None
    indicated: tuple[str, ...] = ()


def check_missing(given: str | Sequence[str] | None) -> Missing:
    """Return the policy on missing values, if there is one."""
    if given is None or isinstance(given, str):
        return Missing() if given is None else Missing(check_choice("--missing", given, _MISSING))
    names = [text.removeprefix(_INDICATOR) for text in given if text.startswith(_INDICATOR)]
    policies = [text for text in given if not text.startswith(_INDICATOR)]
    if len(policies) > 1:
        raise ParameterError(
            f"--missing is {shown(policies[0])} and {shown(policies[1])} (keep one of them, "
            f"besides {_INDICATOR}...)"
        )
    for policy in policies:
        check_choice("--missing", policy, (*_MISSING, "centre"))
    columns = [name for text in names for name in column_names(text, "--missing indicator")]
    return Missing(policies[0] if policies else None, tuple(dict.fromkeys(columns)))


def named_grids(texts: Sequence[str] | None) -> dict[str, LinearGrid | LogGrid]:
    """Translate grids of named columns, each given as NAME=LOW:HIGH:STEP."""
    given = _by_column("--grid", texts, str.rpartition, "age=0:120:1")
    return {column: read_grid(text, f"--grid {one_line(column)}") for column, text in given}


def shares(text: str, option: str) -> tuple[float, ...]:
    """Translate shares from 0 to 1, separated by commas."""
    found = numbers(text, ",")
    if not found or not all(0.0 <= share <= 1.0 for share in found):
        raise refusal(option, text, "shares from 0 to 1", f"for example {option} 0.25,0.5,0.75")
    return found


def numbers(text: str, separator: str) -> tuple[float, ...]:
    """Return the numbers of a text, none if any part is not a number."""
    try:
        return tuple(float(part) for part in text.split(separator))
    except ValueError:
        return ()


def read_grid(text: str, option: str = "--grid") -> LinearGrid | LogGrid:
    """Translate thresholds; a step in percent is relative."""
    found = numbers(text.removesuffix("%"), ":")
    if len(found) != 3:
        raise refusal(option, text, "LOW:HIGH:STEP, three numbers", "for example 0:120:1")
    from nolook.algorithms.grids import LinearGrid, LogGrid

    low, high, step = found
    try:
        return LogGrid(low, high, step / 100) if text[-1] == "%" else LinearGrid(low, high, step)
    except ParameterError as error:
        raise ParameterError(f"in {option}, {error}") from None


def _by_column(
    option: str, texts: Sequence[str] | None, parted: Callable[..., Sequence[str]], example: str
) -> Iterator[tuple[str, str]]:
    """Yield the column and the rest of each text, `parted` at an equals sign."""
    named: set[str] = set()
    for text in texts or ():
        column, equals, rest = parted(text, "=")
        if not equals or not column:
            wanted = f"a column and its {option[2:]}"
            raise refusal(option, text, wanted, f"for example {option} {example}")
        if column in named:
            raise ParameterError(f"{option} names the column {shown(column)} twice (give it once)")
        named.add(column)
        yield column, rest


def _split(text: str) -> list[str]:
    return next(csv.reader([text], skipinitialspace=True), [])
