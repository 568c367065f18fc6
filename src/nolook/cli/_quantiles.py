"""``nolook quantiles``: private quantiles of several columns."""

from __future__ import annotations

from functools import partial

from nolook.cli._options import column_names, levels_of, named_grids, shares
from nolook.cli._release import Release, release_command
from nolook.cli._tabulate import release_by_groups


@release_command(
    "quantiles.json",
    "The quantiles' file",
    {
        "--columns -c A,B,C": "The columns; they share the budget equally.",
        "--at P,Q": "Quantiles to release: shares from 0 to 1.",
        "--grid NAME=LOW:HIGH:STEP": "A column's public thresholds, not read off the table; by "
        "default no range is needed. May be repeated.",
    },
    about=("columns",),
    names={"features": "--columns"},
)
def quantiles(
    release: Release,
    *,
    columns: str,
    delta: float = 0.0,
    at: str = "0.25,0.5,0.75",
    grid: list[str] | None = None,
    by: str | None = None,
    categories: list[str] | None = None,
) -> None:
    """Release quantiles of several columns within one budget."""
    wanted, grids, names = shares(at, "--at"), named_grids(grid), column_names(columns, "--columns")
    if by is not None:
        return release_by_groups(
            release, names, wanted, by, levels_of(categories), {"--grid": grids}, delta=delta
        )

    from nolook.estimators.quantiles import quantiles as release_quantiles

    read = partial(release.read_columns, names)
    return release.keep(release.make(release_quantiles, read, wanted, delta=delta, grids=grids))
