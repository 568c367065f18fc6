"""``nolook calibration``: whether predicted probabilities are right, privately."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook.cli._options import ClassesOption, MissingNumbersOption, PositiveOption
from nolook.cli._release import Release, release_command
from nolook.estimators.catalogue import DISTRIBUTIONS


@release_command(
    "calibration.json",
    "The calibration's file",
    about=("probability", "target"),
    missing=MissingNumbersOption,
    names={"features": "--probability", "columns": "--probability and --target"},
)
def calibration(
    release: Release,
    *,
    probability: Annotated[
        str, typer.Option(metavar="NAME", help="The column of probabilities of being positive.")
    ],
    target: ClassesOption = "",
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

    fitted = DISTRIBUTIONS["calibration"].load()(release.epsilon, groups, 1, release.random_state)
    scored = Scored(probability, target, positive)
    with release.running() as ledger_and_progress:
        fitted.fit(release.read_scores(scored), **ledger_and_progress)
    write_calibration(fitted, release.output, scored=scored)
    release.show(calibration_findings(fitted, scored))
