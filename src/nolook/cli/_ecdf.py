"""``nolook ecdf``: the private distribution of a column."""

from __future__ import annotations

from nolook._defaults import SHAPE
from nolook.cli._options import levels_of, read_grid
from nolook.cli._release import Release, release_command
from nolook.cli._tabulate import has_levels, release_by_groups


@release_command(
    "distribution.json",
    "The distribution's file",
    {"--column -c NAME": "The column of numbers; a category is counted."},
    about=("column",),
    names={"features": "--column"},
)
def ecdf(
    release: Release,
    *,
    column: str,
    delta: float = 0.0,
    grid: str | None = None,
    relation: str = "add-remove",
    by: str | None = None,
    categories: list[str] | None = None,
) -> None:
    """Release a column's distribution, for quantiles, shares and means at no further cost."""
    levels = levels_of(categories)
    if by is not None or has_levels(release, column, levels):
        how = {"delta": delta, "relation": relation}
        return release_by_groups(release, [column], SHAPE, by, levels, {"--grid": grid}, **how)
    thresholds = None if grid is None else read_grid(grid)

    from nolook.estimators.ecdf import ECDF

    fitted = ECDF(release.epsilon, thresholds, delta, relation, random_state=release.random_state)
    with release.running() as ledger_and_progress:
        fitted.fit(release.read_columns([column]), **ledger_and_progress)
    return release.keep(fitted)
