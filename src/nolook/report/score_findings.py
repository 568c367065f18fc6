"""Reports of scores: ROC curves and calibration."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from attrs import fields

from nolook._arrays import Flags, Vector
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.intervals import NORMAL_95, Measure
from nolook.algorithms.roc_threshold import Classified
from nolook.estimators._scores import Scored
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.result import Ends, any_share
from nolook.estimators.roc import ROCCurve
from nolook.report.distribution_findings import FOUND, noise_and_sampling, what_was_found
from nolook.report.findings import Findings, Name, Section, Table, Text, findings_of
from nolook.report.picture import Band, Line, Picture, Point, around, axis
from nolook.report.reference_levels import unseen_words
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import (
    INTERVAL,
    NOT_KNOWN,
    estimated,
    grid_in_words,
    number,
    p_value,
    rows_in_words,
    span,
    with_ends,
    with_error,
)

__all__ = [
    "calibration_card",
    "calibration_findings",
    "calibration_said",
    "calibration_section",
    "curve_cards",
    "curve_grid",
    "curve_sections",
    "gaps_of_groups",
    "roc_findings",
]

_RATES = (0.01, 0.05, 0.1, 0.2, 0.5)
_MOST_DRAWN = 2000  # points of a curve

_NAMES = {
    "auc": "Area under the curve (AUC)",
    "sensitivity": "Sensitivity (recall)",
    "positive_predictive_value": "Positive predictive value (precision)",
    "f1": "F1",
}
_DIAGONAL = np.array([0.0, 1.0])
_CURVE = f"the private curve, its {INTERVAL}, and the straight line of guessing"


def _settings(scored: Scored, score: str) -> tuple[tuple[str, str], ...]:
    """Return the compared columns as settings; `score` is what a score is called there."""
    return ((score, scored.score), ("Target", scored.target), ("Positive class", scored.positive))


def roc_findings(curve: ROCCurve) -> Findings:
    """Return the findings of a ROC curve, with the classification at some thresholds."""
    scored = curve.scored_
    return findings_of(
        curve,
        scored.target,
        what="ROC curve of",
        of=scored.score,
        cards=curve_cards(curve),
        sections=curve_sections(curve, scored.score),
        settings=(*_settings(scored, "Score"), ("Thresholds", curve_grid(curve))),
        cautions=(*unseen_words(curve, scored.target, curve.base_rate_interval_), curve.caution),
        question=sentence("questions.curve", scored=scored),
        conclusion=(sentence("scores.ranks", curve=curve, score=Name(scored.score)),),
        certainty=(noise_and_sampling(curve.privacy_.unit),),
    )


def calibration_said(test: HosmerLemeshow) -> Text:
    """Say whether the test found the probabilities wrong."""
    (share,), (error,) = test.distribution_.masses([1.0 - 2.0**-10, math.inf])
    gaps, room, known = gaps_of_groups(test)
    twice = sum(_share_of_positives(test))
    widest = 100.0 * float((abs(gaps) + room).max())
    most = widest if known.all() and widest < 50.0 * min(twice, 2.0 - twice) else None
    certain = share - NORMAL_95 * error
    return phrase("scores.calibration", test=test, certain=certain, gap=_clearest_gap, most=most)


def _clearest_gap(test: HosmerLemeshow) -> str:
    """Describe the group whose share of positives is surely furthest from its probabilities."""
    gaps, room, known = gaps_of_groups(test)
    surely = np.where(known, abs(gaps) - room, -math.inf)
    place = int(surely.argmax())
    if surely[place] <= 0.0:
        return phrase("scores.no_gap")
    curve, gap = test.calibration_curve(), abs(gaps[place])
    ends = 100.0 * (gap - room[place]), 100.0 * (gap + room[place])
    middle, between = estimated(100.0 * gap, ends)
    error = float(test.table_.count_error[place])
    return phrase(
        "scores.clearest",
        about=rows_in_words(float(curve.counts[place]), error, test.privacy_.unit.counted)[0],
        chance=f"{100.0 * curve.prob_pred[place]:.0f}",
        middle=middle,
        more=gaps[place] > 0.0,
        between=between,
    )


def gaps_of_groups(test: HosmerLemeshow) -> tuple[Vector, Vector, Flags]:
    """Return each group's gap, the half-width of its interval, and whether its size is known.

    A gap is the share of positives less the mean probability. All intervals together cover noise
    and sampling with 95 % (Bonferroni). A group hardly larger than its noise has no known gap.
    """
    curve = test.calibration_curve()
    room = NormalDist().inv_cdf(1.0 - 0.025 / len(curve.counts)) * curve.errors
    return curve.prob_true - curve.prob_pred, room, curve.counts > 5.0 * test.table_.count_error


def curve_cards(curve: ROCCurve) -> tuple[tuple[str, str, str], ...]:
    """List the figures a reader of a curve looks for first."""
    return tuple((head, value, f"{INTERVAL} {ends}") for head, value, ends in _figures(curve))


def curve_sections(curve: ROCCurve, of: str) -> tuple[Section, ...]:
    """Show the ROC and the precision-recall curve, and how rows are classified."""
    rows = (
        *((*figure, "") for figure in _figures(curve)),
        ("Pairs in one cell (count half)", f"{number(100.0 * curve.tied_, 2)} %", "", ""),
        *(_at(curve, rate) for rate in _RATES if curve.threshold_at(fpr=rate) < math.inf),
    )
    heads = "Measure", "Value", INTERVAL, "Positive if the score is above"
    table = Table("The curve in a few numbers", heads, rows)
    _, between = _shown(curve.auc_, curve.auc_noise_interval_)
    noise = phrase("scores.noise", between=between)
    notes = noise_and_sampling(curve.privacy_.unit, f"{INTERVAL}s"), noise
    pictures = _roc_picture(curve, of), _precision_picture(curve, of)
    return what_was_found(table, notes, *pictures), *_classifications(curve)


def _figures(curve: ROCCurve) -> tuple[tuple[str, str, str], ...]:
    counted = f"{curve.privacy_.unit.counted}s"
    return (
        *((_called(one.name), *_shown(one.value, one.ends)) for one in curve.measures),
        (f"Positive {counted}", *_rows_in_words(curve.positive_)),
        (f"Negative {counted}", *_rows_in_words(curve.negative_)),
    )


def _shown(share: float | None, ends: Ends | None) -> tuple[str, str]:
    """Return a share and its interval, neither if it may be any from 0 to 1."""
    return (NOT_KNOWN,) * 2 if share is None or any_share(ends) else estimated(share, ends)


def _called(measure: str) -> str:
    return _NAMES.get(measure, measure.replace("_", " ").capitalize())


def _classifications(curve: ROCCurve) -> tuple[Section, ...]:
    counted = f"{curve.privacy_.unit.counted}s"
    tables = tuple(_classification(curve, each, counted) for each in curve.asked_)
    heading, notes = f"How {counted} are classified", (phrase("scores.classified"),)
    return (Section("classified", heading, tables=tables, notes=notes),) * bool(tables)


def _classification(curve: ROCCurve, asked: float, counted: str) -> Table:
    found, rows = curve.at(asked), []
    used = "" if found.threshold == asked else f" ({_threshold(found.threshold)} on the grid)"
    for each in fields(Classified)[1:]:
        measure: Measure | None = getattr(found, each.name)
        known = _shown(measure.value, measure.ends) if measure else (NOT_KNOWN, NOT_KNOWN)
        rows.append((_called(each.name), *known))
    above = f"with a score above {number(asked, 6)}{used}"
    caption = f"{counted.capitalize()} {above} are called positive"
    return Table(caption, ("Measure", "Value", INTERVAL), tuple(rows))


def _threshold(value: float) -> str:
    """Return a threshold, or what one below all scores means."""
    return "all are" if value == -math.inf else number(value)


def calibration_findings(test: HosmerLemeshow) -> Findings:
    """Say whether probabilities agree with what happened."""
    scored = test.scored_
    return findings_of(
        test,
        scored.target,
        what="calibration of",
        of=scored.score,
        cards=(calibration_card(test),),
        sections=(calibration_section(test, scored.score),),
        settings=(*_settings(scored, "Probability"), ("Groups", str(test.groups))),
        cautions=(*unseen_words(test, scored.target, _share_of_positives(test)), test.caution),
        question=sentence("questions.calibration", scored=scored),
        conclusion=(calibration_said(test),),
        certainty=(phrase("scores.about_tests"),),
    )


def _share_of_positives(test: HosmerLemeshow) -> tuple[float, float]:
    """Return the 95 % interval, from the noise of the groups' numbers."""
    table = test.table_
    rows = max(float(table.counts.sum()), 1.0)
    share = float(table.positives.sum()) / rows
    error = NORMAL_95 * float(np.linalg.norm(table.observed_error)) / rows
    return share - error, share + error


def calibration_card(test: HosmerLemeshow) -> tuple[str, str, str]:
    """Show the p-value, if the statistic exceeds what the noise adds to it."""
    shown = p_value(test.p_value_) if test.statistic_ else "not known"
    return "p-value", shown, "small if the probabilities are wrong"


def calibration_section(
    test: HosmerLemeshow, of: str, name: str = "found", heading: str = FOUND
) -> Section:
    """Show observed and expected numbers of each group, and the test."""
    counted = f"{test.privacy_.unit.counted}s"
    table, curve, left = test.table_, test.calibration_curve(), test.table_.borders[:-1]
    # The noise of a mean probability: of how far it is above its group's left border.
    noise = np.hypot((curve.prob_pred - left) * table.count_error, table.excess_variance**0.5)
    noise /= np.maximum(np.maximum(curve.counts, 1.0), table.count_error)
    columns = (
        map(span, zip(left, table.borders[1:], strict=True)),
        map(_share, curve.prob_true, NORMAL_95 * curve.errors),
        map(_share, curve.prob_pred, NORMAL_95 * noise),
        map(_with_error, table.positives, table.observed_error),
        map(_with_error, table.expected_positives, table.expected_positives_error),
        map(_with_error, table.counts, table.count_error),
    )
    caption = f"Each group's shares with {INTERVAL}s, and numbers with standard errors of the noise"
    numbers = f"Positive {counted}", "Expected", counted.capitalize()
    heads = "Probabilities", "Observed", "Predicted", *numbers
    groups = Table(caption, heads, tuple(zip(*columns, strict=True)))
    about = phrase("scores.test", statistic=test.statistic_, p=test.p_value_)
    notes, picture = (about, phrase("scores.small")), calibration_picture(test, of)
    return what_was_found(groups, notes, picture, name=name, heading=heading)


def _share(value: float, room: float) -> str:
    return with_ends(value, (max(value - room, 0.0), min(value + room, 1.0)), share=True)


def _with_error(value: float, error: float) -> str:
    shown, error_shown = with_error(value, error)
    return f"{shown} (±{error_shown})"


def calibration_picture(test: HosmerLemeshow, of: str) -> Picture:
    """Draw the share of positives in each group, with its error."""
    curve = test.calibration_curve()
    room = NORMAL_95 * curve.errors
    groups = (curve.prob_pred, curve.prob_true, curve.prob_true - room, curve.prob_true + room)
    shown = np.concatenate(groups).clip(0.0, 1.0)
    ends = np.clip(around(shown.min(), shown.max()), 0.0, 1.0).tolist()
    return Picture(
        f"The calibration of {of}",
        f"a point for each group with its {INTERVAL}, and the line on which "
        "probabilities agree with what happened",
        axis("mean probability", *ends),
        axis("share of positives", *ends),
        (
            Line(_DIAGONAL, _DIAGONAL, "perfectly calibrated", guide=True),
            *(Point(x, y, (low, high)) for x, y, low, high in np.stack(groups, axis=1).tolist()),
        ),
        points=f"private, {INTERVAL}",
        square=True,
        key="calibration",
    )


def _rows_in_words(counted: PrivateDistribution) -> tuple[str, str]:
    rows = max(0.0, counted.rows)
    room = NORMAL_95 * math.sqrt(counted.noise.rows_variance + counted.sampled * rows)
    return estimated(rows, (max(0.0, rows - room), rows + room))


def _at(curve: ROCCurve, rate: float) -> tuple[str, ...]:
    """Return the row of a table for a false positive rate."""
    low, high = (float(np.interp(rate, curve.band_[0], ends)) for ends in curve.band_[1:])
    known = _shown(float(curve.rate_at(rate)), (low, high))
    above = _threshold(curve.threshold_at(fpr=rate))
    return f"True positive rate at a false positive rate of {100 * rate:g} %", *known, above


def curve_grid(curve: ROCCurve) -> str:
    """Describe the thresholds of a curve."""
    return f"{grid_in_words(curve.grid_)}{', found privately' * (curve.grid is None)}"


def _square(
    name: str, about: str, labels: tuple[str, str], band: Vector, *lines: Line, key: str = "picture"
) -> Picture:
    """Draw lines and a band on two axes from 0 to 1."""
    across, up = (axis(label, 0.0, 1.0) for label in labels)
    places, low, high = band
    area = Band(places, low, high, INTERVAL)
    return Picture(f"The {name}", about, across, up, (area, *lines), square=True, key=key)


def _roc_picture(curve: ROCCurve, of: str) -> Picture:
    labels = "false positive rate", "true positive rate"
    area, _ = _shown(curve.auc_, curve.auc_interval_)
    guessing = Line(_DIAGONAL, _DIAGONAL, "guessing (AUC = 0.5)", guide=True)
    line = Line(*_thinned(curve.fpr_, curve.tpr_), f"private (AUC = {area})")
    return _square(f"ROC curve of {of}", _CURVE, labels, curve.band_, guessing, line)


def _precision_picture(curve: ROCCurve, of: str) -> Picture:
    # Of no rows at all there is no precision.
    precision, recall = (each[curve.tpr_[::-1] > 0.0] for each in curve.precision_recall()[:2])
    # Guessing has the same precision everywhere.
    guessing = Line(_DIAGONAL, np.full(2, curve.base_rate_), "guessing", guide=True)
    line = Line(*_thinned(recall, precision), "private")
    labels = "recall (true positive rate)", "precision"
    legend = (
        f"{_CURVE}; the further left, the fewer {curve.privacy_.unit.counted}s it rests on and the "
        "more the noise moves it"
    )
    name, band = f"precision-recall curve of {of}", curve.precision_band_
    return _square(name, legend, labels, band, guessing, line, key="precision")


def _thinned(across: Vector, up: Vector) -> tuple[Vector, Vector]:
    """Thin the points of a curve to at most the number that is drawn."""
    shown = np.unique(np.linspace(0, len(across) - 1, _MOST_DRAWN).round().astype(int))
    return across[shown], up[shown]
