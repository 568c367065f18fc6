"""What is said about scores and labels: page and terminal show the same words and numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nolook.report.distribution_picture import Bar, Line, Picture
from nolook.report.findings import Findings, grid_in_words
from nolook.report.summary import interval, number

if TYPE_CHECKING:
    from nolook.estimators.calibration import HosmerLemeshow
    from nolook.estimators.roc import ROCCurve
    from nolook.formats.findings_file import Scored

__all__ = ["calibration_findings", "roc_findings"]

_RATES = (0.01, 0.05, 0.1, 0.2, 0.5)
_CONFIDENCE = "95 %"
_NORMAL_95 = 1.96
_MOST_DRAWN = 2000  # points of a curve

_NOISE_ONLY = (
    f"{_CONFIDENCE} intervals count the noise that protects the rows; they do not count that the "
    "rows may be a sample."
)
_DIAGONAL = np.array([0.0, 1.0])


def _settings(scored: Scored, score: str) -> tuple[tuple[str, str], ...]:
    """Return what was compared as settings of a page; `score` is what a score is called there."""
    return ((score, scored.score), ("Label", scored.target), ("Positive label", scored.positive))


def roc_findings(curve: ROCCurve, scored: Scored) -> Findings:
    """Say what the ROC curve of a score is."""
    area, ends = f"{curve.auc_:.3f}", interval(curve.auc_interval_)
    positives, negatives = (
        (f"{one.rows:,.0f}", _rows_interval(one.rows, one.rows_variance))
        for one in (curve.positive_, curve.negative_)
    )
    return Findings(
        kind="ROC curve",
        of=scored.score,
        cards=(
            ("Area under the curve (AUC)", area, f"{_CONFIDENCE} interval {ends}"),
            ("Positive rows", positives[0], f"{_CONFIDENCE} interval {positives[1]}"),
            ("Negative rows", negatives[0], f"{_CONFIDENCE} interval {negatives[1]}"),
        ),
        heads=("", "value", f"{_CONFIDENCE} interval", "score above"),
        rows=(
            ("area under the curve (AUC)", area, ends, ""),
            ("positive rows", *positives, ""),
            ("negative rows", *negatives, ""),
            *(_at(curve, rate) for rate in _RATES),
        ),
        caption="The curve in a few numbers",
        notes=(_NOISE_ONLY,),
        settings=(
            *_settings(scored, "Score"),
            ("Thresholds", _grid(curve)),
            ("Smoothing", curve.smoothing or "none"),
        ),
        privacy_=curve.privacy_,
        recipe_=curve.recipe_,
        picture=_roc_picture(curve, scored),
        caution=curve.caution,
    )


def calibration_findings(test: HosmerLemeshow, scored: Scored) -> Findings:
    """Say whether probabilities agree with what happened."""
    table, curve = test.table_, test.calibration_curve()
    many = len(curve.counts)
    numbers = zip(
        table.borders[:-1],
        table.borders[1:],
        zip(table.positives, table.observed_error, strict=True),
        zip(table.expected_positives, table.expected_positives_error, strict=True),
        zip(curve.counts, table.count_error, strict=True),
        strict=True,
    )
    p_value = f"{test.p_value_:.4g}"
    meaning = (
        f"Hosmer-Lemeshow statistic {number(test.statistic_)}, p-value {p_value}: how often "
        "probabilities that agree with what happens would give this statistic or a larger one, the "
        "noise counted."
    )
    return Findings(
        kind="calibration",
        of=scored.score,
        cards=(
            ("p-value", p_value, "small if the probabilities do not agree"),
            ("Statistic", number(test.statistic_), "less what the noise adds to it"),
            ("Groups", str(many), "between private quantiles"),
        ),
        heads=("probabilities", "positive rows", "expected", "rows"),
        rows=tuple(
            (f"{low:.4g} to {high:.4g}", *(_with_error(*one) for one in several))
            for low, high, *several in numbers
        ),
        caption="Observed and expected numbers of each group, with standard errors of the noise",
        notes=(
            meaning,
            "The noise has mean 0, so it may make the numbers of a small group negative.",
        ),
        settings=(*_settings(scored, "Probability"), ("Groups", str(test.groups))),
        privacy_=test.privacy_,
        recipe_=test.recipe_,
        picture=_calibration_picture(test, scored),
        caution=test.caution,
    )


def _with_error(value: float, error: float) -> str:
    return f"{value + 0.0:,.0f} (± {error:.2g})"


def _calibration_picture(test: HosmerLemeshow, scored: Scored) -> Picture:
    curve = test.calibration_curve()
    room = _NORMAL_95 * curve.errors
    points = zip(
        curve.prob_pred.tolist(),
        curve.prob_true.tolist(),
        (curve.prob_true - room).tolist(),
        (curve.prob_true + room).tolist(),
        strict=True,
    )
    return Picture(
        title=f"The calibration of {scored.score}",
        across="mean probability",
        up="share of positives",
        low=0.0,
        high=1.0,
        lines=(Line("zero", _DIAGONAL, _DIAGONAL),),
        legend=(
            f"a point for each group with {_CONFIDENCE} of its noise, and the line on which "
            "probabilities agree with what happened"
        ),
        bars=tuple(Bar(*point) for point in points),
    )


def _rows_interval(rows: float, variance: float) -> str:
    room = _NORMAL_95 * math.sqrt(variance)
    return f"{max(0.0, rows - room):,.0f} to {rows + room:,.0f}"


def _at(curve: ROCCurve, rate: float) -> tuple[str, ...]:
    """Return the row of a table for a false positive rate."""
    fpr, tpr = np.maximum.accumulate(curve.fpr_), np.maximum.accumulate(curve.tpr_)
    value = float(np.interp(rate, fpr, tpr))
    low, high = (float(np.interp(rate, curve.band_[0], ends)) for ends in curve.band_[1:])
    threshold = curve.threshold_at(fpr=rate)
    return (
        f"true positive rate at {100 * rate:g} % false",
        number(value),
        interval((low, high)),
        f"{threshold:.6g}" if math.isfinite(threshold) else "any" if threshold < 0 else "none",
    )


def _grid(curve: ROCCurve) -> str:
    return grid_in_words(curve.grid_) + (", found privately" if curve.grid is None else "")


def _roc_picture(curve: ROCCurve, scored: Scored) -> Picture:
    shown = np.unique(np.linspace(0, len(curve.fpr_) - 1, _MOST_DRAWN).round().astype(int))
    places, low, high = curve.band_
    return Picture(
        title=f"The ROC curve of {scored.score}",
        across="false positive rate",
        up="true positive rate",
        low=0.0,
        high=1.0,
        lines=(
            Line("zero", _DIAGONAL, _DIAGONAL),
            Line("curve", curve.fpr_[shown], curve.tpr_[shown]),
        ),
        legend=(
            f"the private curve, {_CONFIDENCE} of its noise, and the straight line of guessing"
        ),
        band=(places, low, high),
    )
