"""``nolook ecdf``: the private distribution of a column."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook._defaults import SHAPE
from nolook.cli._options import (
    CategoriesOption,
    DeltaOption,
    EachGroupOption,
    GridOption,
    LogGridOption,
    MissingNumbersOption,
    RelationOption,
    column_options,
    grid,
)
from nolook.cli._release import Release, release_command
from nolook.cli._tabulate import has_levels, release_by_groups
from nolook.estimators.catalogue import DISTRIBUTIONS


@release_command(
    "distribution.json",
    "The distribution's file",
    about=("column",),
    missing=MissingNumbersOption,
    names={"features": "--column"},
)
def ecdf(
    release: Release,
    *,
    column: Annotated[
        str,
        typer.Option(
            "--column", "-c", metavar="NAME", help="The column of numbers; a category is counted."
        ),
    ],
    delta: DeltaOption = 0.0,
    linear_grid: GridOption = None,
    log_grid: LogGridOption = None,
    relation: RelationOption = "add-remove",
    by: EachGroupOption = None,
    categories: CategoriesOption = None,
) -> None:
    """Release a column's distribution, for quantiles, shares and means at no further cost."""
    levels = column_options(None, categories).get("categories", {})
    if by is not None or has_levels(release, column, levels):
        unused = {
            "--grid": linear_grid,
            "--log-grid": log_grid,
        }
        return release_by_groups(
            release,
            [column],
            SHAPE,
            by,
            categories,
            delta=delta,
            relation=relation,
            unused=unused,
        )
    thresholds = grid(linear_grid, log_grid)
    make = DISTRIBUTIONS["ecdf"].load()
    seed = release.random_state
    fitted = make(release.epsilon, thresholds, delta, relation, random_state=seed)
    with release.running() as ledger_and_progress:
        fitted.fit(release.read_columns([column]), **ledger_and_progress)
    return release.keep(fitted)
