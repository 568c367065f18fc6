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
    MissingNumbersOption,
    RelationOption,
    levels_of,
    read_grid,
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
    grid: GridOption = None,
    relation: RelationOption = "add-remove",
    by: EachGroupOption = None,
    categories: CategoriesOption = None,
) -> None:
    """Release a column's distribution, for quantiles, shares and means at no further cost."""
    levels = levels_of(categories)
    if by is not None or has_levels(release, column, levels):
        how = {"delta": delta, "relation": relation}
        return release_by_groups(release, [column], SHAPE, by, levels, {"--grid": grid}, **how)
    thresholds = None if grid is None else read_grid(grid)
    make = DISTRIBUTIONS["ecdf"].load()
    seed = release.random_state
    fitted = make(release.epsilon, thresholds, delta, relation, random_state=seed)
    with release.running() as ledger_and_progress:
        fitted.fit(release.read_columns([column]), **ledger_and_progress)
    return release.keep(fitted)
