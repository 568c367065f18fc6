"""The logistic model of a release in the original units, its intervals and its fit.

All of it is post-processing. Intervals lie around the model, which is shrunk towards the base rate
where noise dominates; what they cover, and how that was tried, is in ``logistic.md``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, ndtri

from nolook._arrays import Vector
from nolook._defaults import QUANTILE
from nolook.algorithms.glm.inference import Coefficients, coefficients
from nolook.algorithms.glm.logistic import NoisyLogistic
from nolook.algorithms.glm.steps import score_law
from nolook.algorithms.intervals import Measure
from nolook.algorithms.roc_curve import area_error

__all__ = ["logistic_model"]

_WIDEST_R2, _WIDEST_AUC = 0.5, 0.4


def logistic_model(release: NoisyLogistic) -> tuple[Coefficients, dict[str, Measure | None]]:
    """Return the model in the table's units, log-odds a unit, and its fit of the training rows.

    That is the share of rows of class 1, McFadden's pseudo-R2, and the area under the ROC curve.
    None stands for what the noise hides.
    """
    theta = release.spread.model(release.theta)
    known = coefficients(release, theta, release.margins())
    detected = release.detected and (release.fit.value.sum(axis=1) > 0.0).all()
    fit = (_pseudo_r2(release), _auc(release)) if detected else (None, None)
    return known, {"base_rate": _base_rate(release), "pseudo_r2": fit[0], "auc": fit[1]}


def _base_rate(release: NoisyLogistic) -> Measure | None:
    """Share of class 1 from the classes' balance; its interval covers noise and sampling."""
    rows = release.scaling.rows
    share = 0.5 + 0.5 * float(release.balance.value[0]) / rows.value
    rate = min(max(share, 0.0), 1.0)
    variance = (0.5 * release.balance.sigma / rows.value) ** 2
    variance += ((share - 0.5) * rows.error / rows.value) ** 2
    variance += rate * (1.0 - rate) * release.squares / rows.value
    return _measure(share, float(np.sqrt(variance)), 0.0, 1.0, np.inf)


def _middles(release: NoisyLogistic) -> Vector:
    """Return a bin's log-odds: their mean in a normal law with the edges as its quantiles."""
    mean, deviation = score_law(release.theta, release.gram)
    bins = release.fit.value.shape[1]
    ends = np.concatenate([[-np.inf], ndtri(np.arange(1, bins) / bins), [np.inf]])
    density = np.exp(-0.5 * ends**2) / np.sqrt(2.0 * np.pi)
    return np.asarray(mean + deviation * bins * (density[:-1] - density[1:]))


def _pseudo_r2(release: NoisyLogistic) -> Measure | None:
    """McFadden's: 1 less the model's log loss over that of a constant, by the counts of scores."""
    counts = release.fit.value
    classes = counts.sum(axis=1)
    scores = _middles(release)
    losses = np.stack([-log_expit(-scores), -log_expit(scores)])
    constant = -np.log(classes / classes.sum())[:, None]
    total = (constant * counts).sum()
    ratio = float((losses * counts).sum() / total)
    variance = release.fit.sigma**2 + release.squares * counts.clip(0.0)
    error = float(np.sqrt((variance * (losses - ratio * constant) ** 2).sum()) / total)
    return _measure(1.0 - ratio, error, -np.inf, 1.0, _WIDEST_R2)


def _auc(release: NoisyLogistic) -> Measure | None:
    """Area under the ROC curve of the bins: rows of one bin count as ties."""
    counts = release.fit.value
    negatives, positives = classes = counts.sum(axis=1)
    below = (np.cumsum(counts[0]) - 0.5 * counts[0]) / negatives
    above = 1.0 - (np.cumsum(counts[1]) - 0.5 * counts[1]) / positives
    area = float(counts[1] @ below) / positives
    squares = ((above - area) / negatives) ** 2 + ((below - area) / positives) ** 2
    noise = release.fit.sigma * np.sqrt(squares.sum())
    error = float(np.hypot(noise, area_error(area, *(classes[::-1] / release.squares))))
    return _measure(area, error, 0.0, 1.0, _WIDEST_AUC)


def _measure(value: float, error: float, low: float, high: float, widest: float) -> Measure | None:
    """Return a number with its interval, None if that is too wide to say much."""
    margin = QUANTILE * error
    if not 2.0 * margin <= widest:
        return None
    return Measure(*np.array([value, value - margin, value + margin]).clip(low, high).tolist())
