"""Each kind of release as a matplotlib picture: always with its intervals or the noise's band.

Colours are told apart by everybody (Okabe and Ito 2008), and never carry a meaning alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nolook.errors import ParameterError
from nolook.estimators.calibration import shares_in_view
from nolook.estimators.pipeline import regression_of
from nolook.formats.files import one_line
from nolook.report.coefficient_findings import coefficients
from nolook.report.distribution_findings import view
from nolook.report.logistic_words import classifies
from nolook.report.picture import MOST_SHOWN, shortened

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor
    from nolook.estimators.calibration import CalibrationCurve, HosmerLemeshow
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.evaluation import Evaluation
    from nolook.estimators.folds import CrossValidation
    from nolook.estimators.quantiles import Quantiles
    from nolook.estimators.roc import ROCCurve

__all__ = [
    "plot_calibration",
    "plot_coefficients",
    "plot_curve",
    "plot_distribution",
    "plot_evaluation",
    "plot_folds",
    "plot_groups",
    "plot_quantiles",
]

Axes = Any  # matplotlib's own types

_BLUE = "#0072B2"
_GUIDE = {"color": "black", "linestyle": "--", "linewidth": 0.8}
_LONGEST_NAME = 36
_NORMAL_95 = 1.96
_STEPS = 600


def plot_coefficients(model: PrivateRegressor, ax: Axes = None) -> Axes:
    """Draw what a change of one scale in each column does, the largest effects on top."""
    part = regression_of(model)
    found = coefficients(part) if part.visible_ and not part.failed_ else ()
    if not found:
        raise ParameterError(
            "the model is a constant without coefficients; expected one with some to draw "
            "(summary() says why)"
        )
    shown = sorted(found, key=lambda one: abs(one.effect))[-MOST_SHOWN:]
    ax = _axes(ax, height=1.2 + 0.3 * len(shown))
    for place, one in enumerate(shown):
        if one.effect_ends is not None:
            ax.plot(one.effect_ends, (place, place), color=_BLUE, linewidth=1.8)
        filled = _BLUE if one.clear else "white"
        ax.plot(one.effect, place, "o", color=_BLUE, markerfacecolor=filled)
    ax.axvline(0.0, **_GUIDE)
    names = [_plain(shortened(one_line(one.name), _LONGEST_NAME)) for one in shown]
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(-0.6, len(shown) - 0.4)
    of = "the log-odds of " if classifies(part) else ""
    target = _plain(one_line(part.scaling_.names[-1]))
    known = any(one.effect_ends is not None for one in shown)
    title = "95 % intervals; a hollow point may be noise" if known else "no intervals are known"
    ax.set(xlabel=f"change in {of}{target} when a column grows by its scale", title=title)
    return ax


def plot_distribution(ecdf: ECDF, ax: Axes = None) -> Axes:
    """Draw the share of values up to each number."""
    low, high = view(ecdf)
    places = low + (high - low) * np.linspace(0.0, 1.0, _STEPS)
    shares, errors = ecdf.cdf(places, return_std=True)
    ax = _axes(ax)
    label = "two standard errors of the noise"
    _curve(ax, places, shares, (shares - 2 * errors, shares + 2 * errors), band=label)
    (name,) = ecdf.recipe_["features"]
    counted = ecdf.privacy_.unit.counted
    ax.set(xlabel=_plain(one_line(name)), ylabel=f"share of {counted}s", ylim=(-0.01, 1.01))
    ax.legend(loc="lower right")
    return ax


def plot_quantiles(found: Quantiles, ax: Axes = None) -> Axes:
    """Draw quantiles: of several columns in units of each one's own spread, as units differ."""
    ax = _axes(ax, height=1.2 + 0.4 * len(found.names))
    alone = len(found.names) == 1
    for place, (values, errors) in enumerate(zip(found.values, found.errors, strict=True)):
        middle, spread = values[len(values) // 2], float(np.ptp(values)) or 1.0
        at = values if alone else (values - middle) / spread
        room = _NORMAL_95 * np.where(np.isfinite(errors), errors, 0.0) / (1.0 if alone else spread)
        ax.errorbar(at, np.full(len(at), place), xerr=room, fmt="o", color=_BLUE, capsize=3)
    ax.set_yticks(range(len(found.names)), [_plain(one_line(name)) for name in found.names])
    ax.set_ylim(len(found.names) - 0.4, -0.6)  # in the table's order
    listed = ", ".join(f"{100 * share:g} %" for share in found.shares)
    spreads = "distance from the middle one, in spreads of the quantiles shown"
    words = "value" if alone else spreads
    ax.set(xlabel=words, title=f"quantiles {listed}, with 95 % of the noise")
    return ax


def plot_curve(curve: ROCCurve, ax: Axes = None) -> Axes:
    """Draw a ROC curve with its band."""
    ax = _square(_axes(ax), "false positive rate", "true positive rate")
    label = f"private (AUC = {curve.auc_:.2f})"
    places, *ends = curve.band_
    _curve(ax, curve.fpr_, curve.tpr_, ends, places, label=label, band="95 % of the noise")
    ax.plot([0, 1], [0, 1], **_GUIDE, label="guessing (AUC = 0.5)")
    ax.legend(loc="lower right")
    return ax


def plot_calibration(test: HosmerLemeshow, ax: Axes = None) -> Axes:
    """Draw the groups of a calibration."""
    return plot_groups(test.calibration_curve(), ax)


def plot_groups(curve: CalibrationCurve, ax: Axes = None) -> Axes:
    """Draw the share of positives in each group, with its error."""
    ax = _square(_axes(ax), "mean probability", "share of positives")
    ends = shares_in_view(curve)
    ax.set(xlim=ends, ylim=ends)
    room = _NORMAL_95 * curve.errors
    pair = curve.prob_pred, curve.prob_true
    ax.errorbar(*pair, room, fmt="o-", color=_BLUE, label="private, 95 % of the noise")
    ax.plot([0, 1], [0, 1], **_GUIDE, label="perfectly calibrated")
    ax.legend(loc="upper left")
    return ax


def plot_evaluation(found: Evaluation, ax: Axes = None) -> Axes:
    """Draw the ROC curve of a model."""
    return plot_curve(found.roc, ax)


def plot_folds(found: CrossValidation, ax: Axes = None) -> Axes:
    """Draw the score of each fold, and the mean."""
    folds = [(f"fold {place}", score) for place, score in enumerate(found.scores, 1)]
    shown = [(name, score) for name, score in (*folds, ("mean", found.mean)) if score is not None]
    if not shown:
        raise ParameterError(
            "the cross-validation has no score that noise does not hide; expected one with some to "
            "draw (summary() says why)"
        )
    ax = _axes(ax, height=1.2 + 0.3 * len(shown))
    for place, (name, score) in enumerate(shown):
        ax.plot(score.interval, (place, place), color=_BLUE, linewidth=1.8)
        ax.plot(score.value, place, "D" if name == "mean" else "o", color=_BLUE)
    ax.axvline(0.5 if found.measure == "AUC" else 0.0, **_GUIDE)
    ax.set_yticks(range(len(shown)), [name for name, _ in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    title = f"predicting {_plain(one_line(found.target))}, with 95 % of the noise"
    ax.set(xlabel=f"{found.measure} on rows that the model has not seen", title=title)
    return ax


def _curve(
    ax: Axes,
    across: ArrayLike,
    up: ArrayLike,
    ends: Any,  # noqa: ANN401 -- two arrays
    places: ArrayLike | None = None,
    *,
    label: str = "private",
    band: str,
) -> None:
    """Draw a line, and a band with ends at places of its own or the line's."""
    ax.plot(across, up, color=_BLUE, label=label)
    where = across if places is None else places
    ax.fill_between(where, *ends, color=_BLUE, alpha=0.2, linewidth=0, label=band)


def _axes(ax: Axes, height: float = 4.8) -> Axes:
    """Return axes to draw on, new ones if none are given."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ParameterError(
            "plot needs matplotlib; expected it to be installed (pip install nolook[plot])"
        ) from error
    _, ax = plt.subplots(figsize=(6.4, min(height, 40.0)), layout="constrained")
    return ax


def _square(ax: Axes, x: str, y: str) -> Axes:
    ax.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    return ax


def _plain(text: str) -> str:
    """Keep a dollar sign from beginning a formula."""
    return text.replace("$", r"\$")
