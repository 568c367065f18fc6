"""``nolook predict``: apply a model to another table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nolook.cli._declared import SchemaOption, with_options
from nolook.cli._interruption import explained
from nolook.cli._loaded import model_of
from nolook.cli._options import column_names
from nolook.cli._places import (
    FromTableOption,
    TableArgument,
    check_apart,
    files_of,
    place_of,
)
from nolook.cli._release import tell
from nolook.formats.files import check_outputs, one_line


@with_options(
    {
        "--output -o FILE": "The file to write: .parquet, .pq or .csv.",
        "--keep A,B,C": "Columns of the table to copy next to the prediction, unchanged.",
    }
)
def predict(
    table: TableArgument,
    *,
    model: Path,
    output: Path,
    schema: SchemaOption = None,
    keep: str | None = None,
    from_table: FromTableOption = None,
    where: list[str] | None = None,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Predict the target of each row of a table, in the column `prediction`.

    For a yes/no model this is the probability of the positive class, and `predicted_class` is the
    likelier class. Predictions and copied columns are as confidential as the table: they are not a
    private release.
    """
    from nolook.formats.predictions import check_prediction_file, write_predictions
    from nolook.owner.gaps import UNLIKE, find_gaps
    from nolook.report.model_findings import constant_in_words
    from nolook.tables import read_table

    kept = column_names(keep, "--keep")
    lost = f"predictions cost nothing, and {one_line(output)} was not written; start again"
    with explained(lambda: lost):
        place = place_of(table, from_table)
        check_apart(place, [("--output", output)])
        check_outputs([("--output", output)], inputs=(model, *files_of(place)), replace=force)
        check_prediction_file(output)
        fitted = model_of(model)
        read_options = fitted.read_options_
        options = read_options | {"schema": schema or read_options.get("schema"), "where": where}
        opened = read_table(place, False, unit=False, weights=False, **options)
        empty, other = write_predictions(fitted, opened, output, kept)
        source, design = opened._source, opened._design
        searched = empty or design.missing != "drop-row"
        gaps = find_gaps(source, source.needed(design.source_names)) if searched else ()
        unlike = {each.column.name: each.causes[UNLIKE] for each in gaps}
        said = {
            "Rows that lack a value the model needs, left empty": f"{empty:,}" * bool(empty),
            "Cells that are not as declared, taken as missing": _counted(unlike),
            "Values that are not declared, predicted as such": _counted(other),
        }
        if not quiet:
            tell(*(f"{words}: {counts}." for words, counts in said.items() if counts))
            tell(*constant_in_words(fitted))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
