"""Reports of a cross-validation."""

from __future__ import annotations

from nolook.algorithms.cross_validation import Estimate
from nolook.estimators.folds import CrossValidation
from nolook.report.distribution_findings import noise_and_sampling, what_was_found
from nolook.report.findings import Findings, Table, findings_of
from nolook.report.picture import Picture, Point, rows_picture
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import HIDDEN, INTERVAL, count, estimated

__all__ = ["folds_findings"]

_NO_MODEL = "not estimated: a fit's private test failed"


def folds_findings(found: CrossValidation) -> Findings:
    """Return the findings of a cross-validation: errors on unseen rows, fold by fold."""
    folds = len(found.scores)
    rows = tuple(
        (f"Fold {place}", *_score(score, HIDDEN if fitted else _NO_MODEL))
        for place, (score, fitted) in enumerate(zip(found.scores, found.fitted, strict=True), 1)
    )
    value, ends = mean = _score(found.mean, HIDDEN if all(found.fitted) else _NO_MODEL)
    measure = f"{found.measure}{' of clipped data' * (found.measure == 'R2')}"
    caption = f"{measure} on rows that the model has not seen"
    table = Table(caption, ("Fold", measure, INTERVAL), rows, foot=("Mean", *mean))
    unit = found.privacy.unit
    weaker, fits = phrase("scores.weaker", measure=found.measure), count(folds - 1, "fit")
    notes = noise_and_sampling(unit), weaker
    return findings_of(
        found,
        found.target,
        what="cross-validation of a model of",
        of=found.target,
        cards=((f"Mean {measure}", value, f"{INTERVAL} {ends}" if ends else ""),),
        sections=(what_was_found(table, notes, *_picture(found)),),
        settings=(
            ("Method", found.method),
            ("Target", found.target),
            ("Positive class", found.read_options.get("positive")),
            ("Folds", f"{folds}; each {unit.protected} drew its own at random"),
            ("Budget", f"{count(folds, 'equal part')}: {fits} and an evaluation"),
        ),
        question=sentence("questions.folds", found=found),
        conclusion=(sentence("scores.folds", found=found),),
        certainty=notes,
    )


def _picture(found: CrossValidation) -> tuple[Picture, ...]:
    """Draw the score of each fold, and the mean."""
    names = (*(f"fold {place}" for place in range(1, len(found.scores) + 1)), "mean")
    scores = zip(names, (*found.scores, found.mean), strict=True)
    shown = [(name, score) for name, score in scores if score is not None]
    if not shown:
        return ()
    guessing = 0.5 if found.measure == "AUC" else 0.0
    points = [Point(s.value, place, s.interval, name=name) for place, (name, s) in enumerate(shown)]
    title = f"The {found.measure} of each fold in predicting {found.target}"
    about = title, f"points are scores, lines {INTERVAL}s"
    return (rows_picture(*about, f"{found.measure} on rows not seen before", points, guessing),)


def _score(found: Estimate | None, otherwise: str) -> tuple[str, str]:
    """Return a score and its interval in words."""
    return (otherwise, "") if found is None else estimated(found.value, found.interval)
