"""``nolook evaluate``: how well a model does, privately."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from attrs import evolve

from nolook.cli._loaded import model_of
from nolook.cli._release import Classes, Release, release_command
from nolook.formats.files import one_line


@release_command(
    "evaluation.json",
    "The evaluation's file",
    {
        "--target -t NAME": "The column of what really happened: 1 or true where it did, or the "
        "value that --positive names; by default the schema's target, or else the model's.",
        "--missing drop-row|zero": "Policy for missing and infinite values; by default that of the "
        "model's fit.",
        "--other-rows": "The model was fitted on other rows than these.",
    },
)
def evaluate(
    release: Release,
    *,
    model: Path,
    target: str = "",
    positive: str | None = None,
    negative: str | None = None,
    groups: int = 10,
    threshold: list[float] | None = None,
    other_rows: bool = False,
) -> None:
    """Judge a model of a yes/no outcome: ROC and precision-recall curves, calibration.

    All of it is one release. Without --other-rows the model must be private, and the report says
    that it may do worse on new rows.
    """
    from nolook.estimators import evaluation
    from nolook.estimators.roc import check_threshold

    thresholds = [check_threshold(each) for each in threshold or ()]
    fitted = model_of(model)
    classes = Classes(target, positive, negative)
    read = partial(release.read_for, fitted.read_options_, classes)
    judge = partial(evaluation.evaluate, fitted)
    found = release.make(judge, read, groups=groups, other_rows=other_rows)
    scored = evolve(found.roc.scored_, score=one_line(model.name))
    found.roc.asked_ = tuple(thresholds)
    for part in filter(None, (found.roc, found.calibration)):
        part.scored_ = scored
    release.keep(found)
