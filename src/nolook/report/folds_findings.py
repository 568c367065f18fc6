"""What a report says of a cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nolook.report.distribution_findings import noise_only, what_was_found
from nolook.report.findings import Findings, Origin, Table
from nolook.report.wording import CONFIDENCE, count, interval, number

if TYPE_CHECKING:
    from nolook.algorithms.cross_validation import Estimate
    from nolook.estimators.cross_validation import CrossValidation

__all__ = ["folds_findings"]

_HIDDEN = "not estimated: noise hides it"
_NO_MODEL = "not estimated: the fit's private test failed"
_WEAKER = (
    "Each model was fitted to a part of the rows with a part of the budget, so a model with the "
    "whole budget should do better; compare scores with those of other settings at the same budget."
)


def folds_findings(found: CrossValidation) -> Findings:
    """Say how well models did on rows they had not seen, fold by fold."""
    folds = len(found.scores)
    rows = tuple(
        (f"Fold {place}", *_score(score, _HIDDEN if model is not None else _NO_MODEL))
        for place, (score, model) in enumerate(zip(found.scores, found.models, strict=True), 1)
    )
    value, ends = mean = _score(found.mean, _HIDDEN)
    table = Table(
        f"{found.measure} on rows that the model has not seen",
        ("Fold", found.measure, f"{CONFIDENCE} interval"),
        rows,
        foot=("Mean", *mean),
    )
    unit = found.privacy.unit
    notes = (noise_only("Intervals", unit), _WEAKER)
    return Findings(
        kind="cross-validation",
        what="cross-validation of a model of",
        of=found.target,
        origin=Origin.of_one("cross-validation", found.privacy, found.recipe),
        cards=((f"Mean {found.measure}", value, ends),),
        sections=(what_was_found(table, notes),),
        settings=(
            ("Method", found.method),
            ("Target", found.target),
            ("Folds", f"{folds}; each {unit.protected} drew its own at random"),
            (
                "Budget",
                f"{count(folds, 'equal part')}: {count(folds - 1, 'fit')} and an evaluation",
            ),
        ),
    )


def _score(found: Estimate | None, otherwise: str) -> tuple[str, str]:
    """Return a score and its interval in words."""
    if found is None:
        return otherwise, ""
    return number(found.value), interval(found.interval)
