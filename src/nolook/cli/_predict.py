"""``nolook predict``: apply a model to another table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook.cli._release import console
from nolook.cli._written import Written, reads_table
from nolook.errors import ParameterError
from nolook.formats.files import check_outputs, one_line

__all__ = ["predict"]


@reads_table()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by fit.")],
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table with the model's columns.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The Parquet file to write.")
    ],
    written: Written,
    multiline: Annotated[
        bool,
        typer.Option(
            "--multiline",
            help="For CSV: a line break in quotes is part of its cell; by default as in the fit.",
        ),
    ] = False,
) -> None:
    """Predict the target of each row of a table; writes the column `prediction`."""
    check_outputs([("--output", output)], inputs=(model, table))
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.pipeline import regression_of
    from nolook.formats.model_file import load
    from nolook.formats.predictions import write_predictions
    from nolook.report._console import say
    from nolook.report.model_findings import constant_in_words
    from nolook.tables import read_table

    fitted = load(model)
    if isinstance(fitted, ECDF):
        raise ParameterError(
            f"{one_line(model)} is a distribution; expected a model (a file made by nolook fit)"
        )
    recipe = fitted.recipe_ | ({"multiline": True} if multiline else {})
    recipe["schema"] = written.over(recipe.get("schema")).only(recipe["features"])
    write_predictions(fitted, read_table(table, **recipe), output)
    for words in constant_in_words(regression_of(fitted)):
        say(console(), words)
