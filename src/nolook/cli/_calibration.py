"""``nolook calibration``: whether predicted probabilities are right, privately."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook.cli._options import (
    ClassesOption,
    GroupsOption,
    MissingNumbersOption,
    NegativeOption,
    ValueOption,
)
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
    positive: ValueOption = None,
    negative: NegativeOption = None,
    groups: GroupsOption = 10,
) -> None:
    """Compare probabilities with what happened, and test whether they agree.

    The model that gave them must not itself have been fitted without privacy on these rows.
    """
    from nolook.estimators._scores import Scored

    fitted = DISTRIBUTIONS["calibration"].load()(release.epsilon, groups, 1, release.random_state)
    scored = Scored(probability, target, release.positive_word(target, positive))
    with release.running() as ledger_and_progress:
        fitted.fit(
            release.read_scores(probability, target, positive, negative), **ledger_and_progress
        )
    fitted.scored_ = scored
    release.keep(fitted)
