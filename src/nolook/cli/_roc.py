"""``nolook roc``: the private ROC curve of a score."""

from __future__ import annotations

from nolook.cli._options import CLASSES, read_grid
from nolook.cli._release import Classes, Release, release_command


@release_command(
    "roc.json",
    "The curve's file",
    CLASSES | {"--score NAME": "The column of scores; higher means positive."},
    about=("score", "target"),
    names={"features": "--score", "columns": "--score and --target"},
)
def roc(
    release: Release,
    classes: Classes,
    *,
    score: str,
    grid: str | None = None,
    relation: str = "add-remove",
    threshold: list[float] | None = None,
) -> None:
    """Release the ROC curve of a score, and the area under it.

    If the score's model was fitted to these rows, it must be a private one.
    """
    points = None if grid is None else read_grid(grid)

    from nolook.estimators.roc import ROCCurve, check_threshold

    thresholds = [check_threshold(each) for each in threshold or ()]
    fitted = ROCCurve(release.epsilon, points, 1, relation, random_state=release.random_state)
    release.fit_scores(fitted, score, classes)
    fitted.asked_ = tuple(thresholds)
    release.keep(fitted)
