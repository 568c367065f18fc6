"""``nolook predict``: apply a model to another table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nolook.cli._declared import SchemaOption, reads_table
from nolook.cli._interruption import explained
from nolook.cli._loaded import model_of
from nolook.cli._options import (
    ForceOption,
    column_names,
)
from nolook.cli._places import (
    FromTableOption,
    TableArgument,
    WhereOption,
    check_apart,
    conditions_of,
    files_of,
    place_of,
)
from nolook.cli._release import console
from nolook.formats.files import check_outputs, one_line

if TYPE_CHECKING:
    from nolook.tables.databases import Database
    from nolook.tables.filter import Where
    from nolook.tables.schema import Schema


@reads_table()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by fit.")],
    table: TableArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write: .parquet, .pq or .csv."
        ),
    ],
    schema: SchemaOption = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Columns of the table to copy beside the prediction, as they are there.",
        ),
    ] = None,
    from_table: FromTableOption = None,
    where: WhereOption = None,
    force: ForceOption = False,
) -> None:
    """Predict the target of each row of a table; writes the column `prediction`.

    Of a model of two classes it is the probability that the target is the positive one.
    Predictions and copied columns are as confidential as the table: they are no private release.
    """
    kept = () if keep is None else column_names(keep, "--keep")
    lost = f"predictions cost nothing, and {one_line(output)} was not written; start again"
    with explained(lambda: lost):
        place = place_of(table, from_table)
        check_apart(place, [("--output", output)])
        check_outputs([("--output", output)], inputs=(model, *files_of(place)), replace=force)
        _predict(model, place, conditions_of(where), output, kept, schema)


def _predict(
    model: Path,
    table: Path | str | Database,
    where: Where,
    output: Path,
    kept: tuple[str, ...],
    schema: Schema | None,
) -> None:
    from nolook.estimators.pipeline import regression_of
    from nolook.formats.predictions import check_prediction_file, write_predictions
    from nolook.report._console import say
    from nolook.report.model_findings import constant_in_words
    from nolook.tables import read_table
    from nolook.tables.schema import as_schema

    check_prediction_file(output, kept)
    fitted = model_of(model)
    recipe = fitted.recipe_
    declared = as_schema(schema or recipe.get("schema")).only(
        [*recipe["features"], *(condition[0] for condition in where)]
    )
    options = recipe | {"schema": declared}
    write_predictions(fitted, read_table(table, where=where, **options), output, kept)
    for words in constant_in_words(regression_of(fitted)):
        say(console(), words)
