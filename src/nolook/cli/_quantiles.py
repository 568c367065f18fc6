"""``nolook quantiles``: private quantiles of several columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_delta, check_epsilon, check_random_state
from nolook.cli._options import (
    DeltaOption,
    EpsilonOption,
    LedgerOption,
    MissingNumbersOption,
    MultilineOption,
    QuietOption,
    RandomStateOption,
    ReportOption,
    TableArgument,
    check_missing,
    column_names,
    named_grids,
    shares,
)
from nolook.cli._release import main_output, releasing, show

__all__ = ["quantiles"]


def quantiles(  # noqa: PLR0917 -- Typer gives every option by name
    table: TableArgument,
    columns: Annotated[
        str, typer.Option(metavar="A,B,C", help="The columns; they share the budget equally.")
    ],
    epsilon: EpsilonOption,
    delta: DeltaOption = 0.0,
    at: Annotated[
        str, typer.Option(metavar="P,Q", help="Which quantiles: shares from 0 to 1.")
    ] = "0.25,0.5,0.75",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH:STEP",
            help="A column's public thresholds, not read off the table; by default no range is "
            "needed. May be given several times.",
        ),
    ] = None,
    missing: MissingNumbersOption = None,
    multiline: MultilineOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The quantiles' file; by default TABLE.quantiles.json here."
        ),
    ] = None,
    report: ReportOption = None,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    quiet: QuietOption = False,
) -> None:
    """Release quantiles of several columns within one budget."""
    check_epsilon(epsilon, "--epsilon")
    check_delta(delta, "--delta", allow_zero=True)
    check_random_state(random_state, "--random-state")
    wanted, grids = shares(at, "--at"), named_grids(grid)
    names, policy = column_names(columns, "--columns"), check_missing(missing)
    file = main_output(output, "quantiles.json", table=table, report=report, ledger=ledger)

    from nolook.estimators.quantiles import quantiles as release
    from nolook.formats.findings_file import write_quantiles
    from nolook.report.findings import quantiles_findings
    from nolook.tables import read_table

    with releasing(ledger, quiet=quiet) as around:
        read = read_table(table, features=names, missing=policy, multiline=multiline)
        found = release(
            read,
            wanted,
            epsilon=epsilon,
            delta=delta,
            grids=grids,
            random_state=random_state,
            **around,
        )
    recipe = read.recipe()
    write_quantiles(found, file, grids=grids, recipe=recipe)
    findings = quantiles_findings(found, recipe, grids)
    show(findings, table=table, output=file, report=report, quiet=quiet)
