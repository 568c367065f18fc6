"""Reports of a model that was judged on some rows."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from nolook._language import usage_hint
from nolook.estimators.evaluation import Evaluation
from nolook.report.distribution_findings import noise_and_sampling
from nolook.report.findings import Findings, Section, findings_of
from nolook.report.reference_levels import unseen_words
from nolook.report.score_findings import (
    calibration_card,
    calibration_said,
    calibration_section,
    curve_cards,
    curve_grid,
    curve_sections,
)
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import loss_in_words

__all__ = ["evaluation_findings"]


def evaluation_findings(found: Evaluation) -> Findings:
    """Return the findings of an evaluation: separation of the classes, calibration."""
    test, scored = found.calibration, found.roc.scored_
    cards = curve_cards(found.roc)[:3]
    named = "the model", "calibration", "Whether the probabilities are right"
    silent = (phrase("scores.no_probabilities"),)
    calibration = Section(*named[1:], silent) if test is None else calibration_section(test, *named)
    state = (phrase("scores.state", other_rows=usage_hint("other_rows", True)),)
    printed = (*calibration.printed, *state * (not found.other_rows))
    return findings_of(
        found,
        scored.target,
        what="evaluation of a model of",
        of=scored.target,
        cards=cards if test is None else (*cards, calibration_card(test)),
        sections=(*curve_sections(found.roc, "the model"), evolve(calibration, printed=printed)),
        settings=(
            ("Model", scored.score),
            ("Its method", found.method),
            ("Its own privacy loss", f"{loss_in_words(found.model_privacy)}; not in here"),
            ("Scores", "predictions" if test is None else "probabilities"),
            ("Target", scored.target),
            ("Positive class", scored.positive),
            ("The model was fitted", "on other rows" if found.other_rows else "not said on what"),
            ("Thresholds", curve_grid(found.roc)),
            ("Groups", None if test is None else str(test.groups)),
        ),
        question=sentence("questions.evaluation", scored=scored),
        conclusion=(
            sentence("scores.ranks", curve=found.roc, score="the model"),
            *(silent if test is None else (calibration_said(test),)),
        ),
        certainty=(noise_and_sampling(found.privacy.unit),),
        cautions=(
            *unseen_words(found.roc, scored.target, found.roc.base_rate_interval_),
            *_about_model(found),
        ),
    )


def _about_model(found: Evaluation) -> Iterator[str]:
    """Return warnings about the model, for readers of the result."""
    own, unit = found.model_privacy, found.privacy.unit.column
    if found.hidden:
        yield phrase("scores.hidden")
    if found.privacy.private and not (own and own.private):
        yield phrase("scores.declared")
    if not found.other_rows:
        at = found.privacy.of_table
        yield phrase("scores.same_rows", table=at if getattr(own, "of_table", None) == at else "")
    if own is not None and own.unit.column not in {None, unit}:
        yield phrase("scores.other_unit", model=own.unit.column, here=unit or "row")
