"""``nolook ecdf``: the private distribution of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_delta, check_epsilon, check_random_state
from nolook.cli._options import (
    DeltaOption,
    EpsilonOption,
    GridOption,
    LedgerOption,
    LogGridOption,
    MissingNumbersOption,
    MultilineOption,
    QuietOption,
    RandomStateOption,
    RelationOption,
    ReportOption,
    SmoothingOption,
    TableArgument,
    check_missing,
    check_relation,
    check_smoothing,
    grid,
)
from nolook.cli._release import main_output, releasing, show
from nolook.errors import ParameterError
from nolook.estimators.catalogue import DISTRIBUTIONS

__all__ = ["ecdf"]

_MOST_UNSMOOTHED = 2**20


def ecdf(  # noqa: PLR0917 -- Typer gives every option by name
    table: TableArgument,
    column: Annotated[str, typer.Option(metavar="NAME", help="The column of numbers.")],
    epsilon: EpsilonOption,
    delta: DeltaOption = 0.0,
    linear_grid: GridOption = None,
    log_grid: LogGridOption = None,
    missing: MissingNumbersOption = None,
    multiline: MultilineOption = False,
    relation: RelationOption = "add-remove",
    smoothing: SmoothingOption = "l2",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The distribution's file; by default TABLE.distribution.json here."
        ),
    ] = None,
    report: ReportOption = None,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    quiet: QuietOption = False,
) -> None:
    """Release the distribution of a column; every question asked of it afterwards is free."""
    check_epsilon(epsilon, "--epsilon")
    check_delta(delta, "--delta", allow_zero=True)
    check_random_state(random_state, "--random-state")
    neighbours, smoother = check_relation(relation), check_smoothing(smoothing)
    thresholds, policy = grid(linear_grid, log_grid), check_missing(missing)
    if smoother is None and thresholds is not None:
        _check_size(len(thresholds.points()))
    file = main_output(output, "distribution.json", table=table, report=report, ledger=ledger)

    from nolook.formats.model_file import save
    from nolook.report.findings import ecdf_findings
    from nolook.tables import read_table

    make = DISTRIBUTIONS["ecdf"].load()
    fitted = make(epsilon, thresholds, delta, neighbours, smoother, random_state)
    with releasing(ledger, quiet=quiet) as around:
        read = read_table(table, features=[column], missing=policy, multiline=multiline)
        fitted.fit(read, **around)
    save(fitted, file)
    show(ecdf_findings(fitted, column), table=table, output=file, report=report, quiet=quiet)


def _check_size(points: int) -> None:
    """Refuse a grid whose file could not be read again: without smoothing every count differs."""
    if points > _MOST_UNSMOOTHED:
        raise ParameterError(
            f"--grid has {points} points, too many for a file without smoothing; expected at most "
            f"{_MOST_UNSMOOTHED} (leave out --smoothing none, or take larger steps)"
        )
