"""``nolook ecdf``: the private distribution of a column."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook.cli._options import (
    DeltaOption,
    GridOption,
    LogGridOption,
    MissingNumbersOption,
    RelationOption,
    SmoothingOption,
    check_smoothing,
    grid,
)
from nolook.cli._release import Release, release_command
from nolook.errors import ParameterError
from nolook.estimators.catalogue import DISTRIBUTIONS

_MOST_UNSMOOTHED = 2**20


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
        str, typer.Option("--column", "-c", metavar="NAME", help="The column of numbers.")
    ],
    delta: DeltaOption = 0.0,
    linear_grid: GridOption = None,
    log_grid: LogGridOption = None,
    relation: RelationOption = "add-remove",
    smoothing: SmoothingOption = "isotonic",
) -> None:
    """Release a column's distribution, for quantiles, shares and means at no further cost."""
    smoother = check_smoothing(smoothing)
    thresholds = grid(linear_grid, log_grid)
    points = 0 if smoother or thresholds is None else len(thresholds.points())
    # Without smoothing every count differs: a file that could not be read again.
    if points > _MOST_UNSMOOTHED:
        raise ParameterError(
            f"--grid has {points} points, too many for a file without smoothing; expected at most "
            f"{_MOST_UNSMOOTHED} (leave out --smoothing none, or take larger steps)"
        )

    make = DISTRIBUTIONS["ecdf"].load()
    fitted = make(release.epsilon, thresholds, delta, relation, smoother, release.random_state)
    with release.running() as ledger_and_progress:
        fitted.fit(release.read_columns([column]), **ledger_and_progress)
    release.keep(fitted)
