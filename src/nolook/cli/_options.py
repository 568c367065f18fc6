"""What the commands share: their arguments and options, each declared once, and their meaning.

Imports nothing numeric.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nolook._validation import check_choice, check_names
from nolook.errors import ParameterError
from nolook.report.files import one_line

__all__ = [
    "CategoriesOption",
    "DeltaOption",
    "EpsilonOption",
    "FeaturesOption",
    "LedgerOption",
    "MissingOption",
    "QuietOption",
    "RandomStateOption",
    "ReportOption",
    "TableArgument",
    "TargetOption",
    "count_or_auto",
    "table_options",
]

_MISSING = ("drop-row", "zero")

TableArgument = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A Parquet, CSV or Arrow IPC file.")
]
TargetOption = Annotated[
    str, typer.Option("--target", metavar="NAME", help="The column to explain.")
]
EpsilonOption = Annotated[
    float, typer.Option("--epsilon", help="Privacy loss, above 0; smaller protects more.")
]
DeltaOption = Annotated[
    float, typer.Option("--delta", help="Chance left for a larger loss, for example 1e-6.")
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="A,B,C",
        help="The columns to explain it with; by default all numeric ones. Needed for CSV.",
    ),
]
CategoriesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categories",
        metavar="NAME=A,B,C",
        help="A column of categories and those to tell apart; may be given several times.",
    ),
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="|".join(_MISSING),
        help="What to do with missing and infinite values; by default they are an error.",
    ),
]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a report, one HTML page.")
]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="Charge this ledger before reading.")
]
RandomStateOption = Annotated[
    int | None,
    typer.Option(
        "--random-state", metavar="N", help="Repeatable noise, for experiments. NOT private."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print nothing.")]


def count_or_auto(text: str, option: str) -> int | str:
    """Translate a number of things, or ``auto``.

    Parameters
    ----------
    text : str
        What the user gave.
    option : str
        The name to use in a message.

    Returns
    -------
    int or "auto"

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if text == "auto":
        return text
    # A number of more digits would be too large for anything, and Python refuses to read some.
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
    if number < 1:
        shown = one_line(text if len(text) <= 20 else f"{text[:17]}...")
        raise ParameterError(
            f"{option} is {shown!r}; expected how many columns to choose, at least 1, or auto "
            f"(for example {option} 5)"
        )
    return number


def table_options(
    features: str | None, categories: Sequence[str] | None, missing: str | None
) -> dict[str, Any]:
    """Translate the options about columns into those of `nolook.read_table`."""
    options: dict[str, Any] = {}
    if features is not None:
        options["features"] = _names(features, "--features")
    for text in categories or ():
        column, equals, values = text.partition("=")
        if not equals or not column:
            raise ParameterError(
                f"--categories is {one_line(text)!r}; expected a column and its categories, "
                "for example --categories city=Bern,Basel"
            )
        known = options.setdefault("categories", {})
        if column in known:
            raise ParameterError(
                f"--categories names the column {one_line(column)!r} twice; "
                "expected all its categories in one list"
            )
        known[column] = _names(values, f"--categories {one_line(column)}")
    if missing is not None:
        options["missing"] = check_choice("--missing", missing, _MISSING)
    return options


def _names(text: str, option: str) -> tuple[str, ...]:
    """Split at commas; a name with a comma may be put in double quotes."""
    return check_names(next(csv.reader([text]), []), option)
