"""What a report says of a model that was judged on some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nolook.estimators.base import PrivateRegressor
from nolook.estimators.evaluation import JudgedModel
from nolook.estimators.logistic import LogisticRegression
from nolook.estimators.pipeline import regression_of
from nolook.report.distribution_findings import noise_only, what_was_found
from nolook.report.findings import Findings, Name, Origin, Section
from nolook.report.model_findings import constant_in_words
from nolook.report.score_findings import (
    calibration_card,
    calibration_parts,
    calibration_said,
    curve_cards,
    curve_grid,
    curve_said,
    curve_sections,
)
from nolook.report.wording import loss_in_words

if TYPE_CHECKING:
    from nolook.estimators._scores import Scored
    from nolook.estimators.evaluation import Evaluation

__all__ = ["evaluation_findings", "only_constant"]

_CALIBRATED = "Whether the probabilities are right"
_NO_PROBABILITIES = (
    "This model predicts numbers that are no probabilities, so whether they are right as such was "
    "not tested; all of the budget went to the curves."
)


def evaluation_findings(
    found: Evaluation,
    scored: Scored,
    model: object,
    thresholds: Sequence[float] = (),
) -> Findings:
    """Say how well a model tells two classes apart, and whether its probabilities are right.

    `scored` names the model's file as the score.
    """
    test = found.calibration
    judged = JudgedModel.of(model)
    constant = only_constant(model)
    cards = curve_cards(found.roc)[:3]
    return Findings(
        kind="evaluation",
        what="evaluation of a model of",
        of=scored.target,
        origin=Origin.of_one("evaluation", found.privacy, found.roc.recipe_),
        cards=cards if test is None else (*cards, calibration_card(test)),
        sections=(*curve_sections(found.roc, scored, thresholds), _calibration(found, scored)),
        settings=(
            ("Model", scored.score),
            ("Its method", judged.method),
            ("Its own privacy loss", f"{loss_in_words(judged.privacy)}; not in here"),
            ("Scores", "predictions" if test is None else "probabilities"),
            ("Target", scored.target),
            ("Positive class", scored.positive),
            ("The model was fitted", "on other rows" if found.other_rows else "not said on what"),
            ("Thresholds", curve_grid(found.roc)),
            *(() if test is None else (("Groups", str(test.groups)),)),
        ),
        rows=(found.n_rows, found.n_rows_error),
        question=(": how well the model ", Name(scored.score), " predicts ", Name(scored.target)),
        conclusion=(
            *curve_said(found.roc, "the model"),
            _NO_PROBABILITIES if test is None else calibration_said(test),
        ),
        certainty=(noise_only("Brackets hold 95 % intervals. They", found.privacy.unit),),
        # A file has them already.
        cautions=tuple(dict.fromkeys((*constant, *found.cautions))),
    )


def only_constant(model: object) -> tuple[str, ...]:
    """Say that a model of nolook is only a constant, if it is."""
    if isinstance(model, PrivateRegressor):
        return constant_in_words(regression_of(model))
    # It has all that is asked for here.
    regression: Any = model
    return constant_in_words(regression) if isinstance(model, LogisticRegression) else ()


def _calibration(found: Evaluation, scored: Scored) -> Section:
    """Show the groups of probabilities and the test, or say why there are none."""
    if found.calibration is None:
        words = (_NO_PROBABILITIES,)
        return Section("calibration", _CALIBRATED, words, printed=words)
    table, notes, picture = calibration_parts(found.calibration, scored)
    return what_was_found(table, notes, picture, name="calibration", heading=_CALIBRATED)
