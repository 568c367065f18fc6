"""``nolook roc``: the private ROC curve of scores and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_epsilon, check_random_state
from nolook.cli._options import (
    EpsilonOption,
    GridOption,
    LabelOption,
    LedgerOption,
    LogGridOption,
    MissingNumbersOption,
    MultilineOption,
    PositiveOption,
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
from nolook.estimators.catalogue import DISTRIBUTIONS

__all__ = ["roc"]


def roc(  # noqa: PLR0917 -- Typer gives every option by name
    table: TableArgument,
    score: Annotated[
        str, typer.Option(metavar="NAME", help="The column of scores; higher means positive.")
    ],
    label: LabelOption,
    epsilon: EpsilonOption,
    positive: PositiveOption = "1",
    linear_grid: GridOption = None,
    log_grid: LogGridOption = None,
    missing: MissingNumbersOption = None,
    multiline: MultilineOption = False,
    relation: RelationOption = "add-remove",
    smoothing: SmoothingOption = "l2",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The curve's file; by default TABLE.roc.json here."),
    ] = None,
    report: ReportOption = None,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    quiet: QuietOption = False,
) -> None:
    """Release the ROC curve of a score, and the area under it.

    The scored model must not itself have been fitted without privacy on these rows.
    """
    check_epsilon(epsilon, "--epsilon")
    check_random_state(random_state, "--random-state")
    neighbours, smoother = check_relation(relation), check_smoothing(smoothing)
    thresholds, policy = grid(linear_grid, log_grid), check_missing(missing)
    file = main_output(output, "roc.json", table=table, report=report, ledger=ledger)

    from nolook.formats.findings_file import Scored, write_roc
    from nolook.report.score_findings import roc_findings
    from nolook.tables.scored import read_scores

    make = DISTRIBUTIONS["roc"].load()
    fitted = make(epsilon, thresholds, 1, neighbours, smoother, random_state)
    with releasing(ledger, quiet=quiet) as around:
        read = read_scores(table, score, label, positive, policy, multiline=multiline)
        fitted.fit(read, **around)
    scored = Scored(score, label, positive)
    write_roc(fitted, file, scored=scored)
    findings = roc_findings(fitted, scored)
    show(findings, table=table, output=file, report=report, quiet=quiet)
