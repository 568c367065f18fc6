"""``nolook calibration``: whether probabilities are what happened, privately."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_epsilon, check_random_state
from nolook.cli._options import (
    EpsilonOption,
    LabelOption,
    LedgerOption,
    MissingNumbersOption,
    MultilineOption,
    PositiveOption,
    QuietOption,
    RandomStateOption,
    ReportOption,
    TableArgument,
    check_missing,
)
from nolook.cli._release import main_output, releasing, show
from nolook.estimators.catalogue import DISTRIBUTIONS

__all__ = ["calibration"]


def calibration(  # noqa: PLR0917 -- Typer gives every option by name
    table: TableArgument,
    probability: Annotated[
        str, typer.Option(metavar="NAME", help="The column of probabilities of being positive.")
    ],
    label: LabelOption,
    epsilon: EpsilonOption,
    positive: PositiveOption = "1",
    groups: Annotated[
        int, typer.Option(metavar="N", help="How many groups of rows are compared.")
    ] = 10,
    missing: MissingNumbersOption = None,
    multiline: MultilineOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The calibration's file; by default TABLE.calibration.json here."
        ),
    ] = None,
    report: ReportOption = None,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    quiet: QuietOption = False,
) -> None:
    """Compare probabilities with what happened, and test whether they agree.

    The model that gave them must not itself have been fitted without privacy on these rows.
    """
    check_epsilon(epsilon, "--epsilon")
    check_random_state(random_state, "--random-state")
    policy = check_missing(missing)
    file = main_output(output, "calibration.json", table=table, report=report, ledger=ledger)

    from nolook.formats.findings_file import Scored, write_calibration
    from nolook.report.score_findings import calibration_findings
    from nolook.tables.scored import read_scores

    make = DISTRIBUTIONS["calibration"].load()
    fitted = make(epsilon, groups, 1, random_state)
    with releasing(ledger, quiet=quiet) as around:
        read = read_scores(table, probability, label, positive, policy, multiline=multiline)
        fitted.fit(read, **around)
    scored = Scored(probability, label, positive)
    write_calibration(fitted, file, scored=scored)
    findings = calibration_findings(fitted, scored)
    show(findings, table=table, output=file, report=report, quiet=quiet)
