"""``nolook calibration``: whether predicted probabilities are right, privately."""

from __future__ import annotations

from nolook.cli._options import CLASSES
from nolook.cli._release import Classes, Release, release_command


@release_command(
    "calibration.json",
    "The calibration's file",
    CLASSES | {"--probability NAME": "The column of probabilities of being positive."},
    about=("probability", "target"),
    names={"features": "--probability", "columns": "--probability and --target"},
)
def calibration(release: Release, classes: Classes, *, probability: str, groups: int = 10) -> None:
    """Compare probabilities with what happened, and test whether they agree.

    The model behind the probabilities must not have been fitted without privacy on these rows.
    """
    from nolook.estimators.calibration import HosmerLemeshow

    fitted = HosmerLemeshow(release.epsilon, groups, random_state=release.random_state)
    release.fit_scores(fitted, probability, classes)
    release.keep(fitted)
