"""``nolook calibration``: whether predicted probabilities are right, privately."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook.cli._options import ClassesOption, MissingNumbersOption, PositiveOption
from nolook.cli._release import Release, release_command
from nolook.estimators.catalogue import DISTRIBUTIONS

__all__ = ["calibration"]


@release_command(
    "calibration.json",
    "The calibration's file",
    about=("probability", "target"),
    missing=MissingNumbersOption,
)
def calibration(
    release: Release,
    *,
    probability: Annotated[
        str, typer.Option(metavar="NAME", help="The column of probabilities of being positive.")
    ],
    target: ClassesOption,
    positive: PositiveOption = "1",
    groups: Annotated[
        int, typer.Option(metavar="N", help="How many groups of rows are compared.")
    ] = 10,
) -> None:
    """Compare probabilities with what happened, and test whether they agree.

    The model that gave them must not itself have been fitted without privacy on these rows.
    """
    from nolook.formats.findings_file import Scored, write_calibration
    from nolook.report.score_findings import calibration_findings
    from nolook.tables.scored import read_scores

    fitted = DISTRIBUTIONS["calibration"].load()(release.epsilon, groups, 1, release.random_state)
    with release.running() as ledger_and_progress:
        columns = (release.table, probability, target, positive)
        read = read_scores(*columns, release.missing, multiline=release.multiline)
        fitted.fit(read, **ledger_and_progress)
    scored = Scored(probability, target, positive)
    write_calibration(fitted, release.output, scored=scored)
    release.show(calibration_findings(fitted, scored))
