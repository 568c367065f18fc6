"""``nolook predict``: apply a model to another table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook.cli._interruption import explained
from nolook.cli._loaded import model_of
from nolook.cli._options import (
    ForceOption,
    MultilineOption,
    column_names,
)
from nolook.cli._places import (
    FromTableOption,
    QueryOption,
    TableArgument,
    check_apart,
    files_of,
    place_of,
)
from nolook.cli._release import console
from nolook.cli._written import Written, reads_table
from nolook.formats.files import check_outputs, one_line


@reads_table()
def predict(  # noqa: PLR0917 -- Typer gives every option by name
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by fit.")],
    table: TableArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write: .parquet, .pq or .csv."
        ),
    ],
    written: Written,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Columns of the table to copy beside the prediction, as they are there.",
        ),
    ] = None,
    from_table: FromTableOption = None,
    query: QueryOption = None,
    force: ForceOption = False,
    multiline: MultilineOption = False,
) -> None:
    """Predict the target of each row of a table; writes the column `prediction`.

    Of a model of two classes it is the probability that the target is the positive one.
    Predictions and copied columns are as confidential as the table: they are no private release.
    """
    from nolook.estimators.pipeline import regression_of
    from nolook.formats.predictions import check_prediction_file, write_predictions
    from nolook.report._console import say
    from nolook.report.model_findings import constant_in_words
    from nolook.tables import read_table

    kept = () if keep is None else column_names(keep, "--keep")
    lost = f"predictions cost nothing, and {one_line(output)} was not written; start again"
    with explained(lambda: lost):
        place = place_of(table, from_table, query)
        check_apart(place, [("--output", output)])
        check_outputs([("--output", output)], inputs=(model, *files_of(place)), replace=force)
        check_prediction_file(output, kept)
        fitted = model_of(model)
        recipe = fitted.recipe_ | ({"multiline": True} if multiline else {})
        recipe["schema"] = written.over(recipe.get("schema")).only(recipe["features"])
        write_predictions(fitted, read_table(place, **recipe), output, kept)
        for words in constant_in_words(regression_of(fitted)):
            say(console(), words)
