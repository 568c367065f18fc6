"""The logistic model of a release in the original units, its intervals and its fit.

All of it is post-processing. Intervals lie around the model, which is pulled towards the base rate
where noise hides; what they cover, and how that was tried, is in ``logistic_regression.md``.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from scipy.special import log_expit, ndtri

from nolook.algorithms.glm.estimate import hidden_directions
from nolook.algorithms.glm.inference import (
    MOST_CLIPPED,
    QUANTILE,
    Knowledge,
    clipped_shares,
    original_intervals,
)
from nolook.algorithms.glm.logistic import NoisyLogistic
from nolook.algorithms.glm.steps import Metric, hidden_effect, score_law

__all__ = ["Estimate", "LogisticModel", "logistic_model"]

# A slope's interval wider than this to either side, in log-odds a scale, says nothing.
_WIDEST = 2.0
# Share of a slope's squared loading on hidden directions. A population may have many times the
# effect allowed for there, as where columns add up to a constant but for shortened rows.
_MOST_HIDDEN = 0.005
_WIDEST_R2, _WIDEST_AUC = 0.5, 0.2
# How often the curvature is corrected for where the model is likely to be.
_CORRECTIONS = 4
_TINY = 1e-300

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


@frozen(eq=False)
class Estimate:
    """A number and its interval at LEVEL."""

    value: float
    interval: Vector  # (2,)


@frozen(eq=False)
class LogisticModel:
    """A released logistic model in the table's units, with intervals at LEVEL; p features.

    NaN and None stand for what the noise hides.
    """

    coef: Vector  # log-odds a unit; 0 for columns left out
    intercept: float
    coef_interval: Matrix  # (p, 2)
    intercept_interval: Vector
    base_rate: Estimate  # share of rows of class 1
    pseudo_r2: Estimate | None  # McFadden's, of the training rows
    auc: Estimate | None  # of the training rows
    clipped_share: Vector  # (p,): at most this share of the rows was clipped


def logistic_model(release: NoisyLogistic) -> LogisticModel:
    """Return the model, its intervals and its fit from what was released."""
    scaling = release.scaling
    columns = np.append(True, release.kept)
    theta, margin = np.zeros(columns.size), np.full(columns.size, np.nan)
    theta[columns] = release.spread.model(release.theta)
    clipped, errors = (each[:-1] for each in clipped_shares(scaling))
    pseudo_r2 = auc = None
    if release.score_moments is not None:
        margin[columns] = _margins(release, release.score_moments)
        margin[1:][clipped - errors > MOST_CLIPPED] = np.nan
        pseudo_r2, auc = _pseudo_r2(release), _auc(release)
    coef, intercept = scaling.original_units(theta)
    slopes, constant = original_intervals(scaling, coef, intercept, margin)
    rate = _base_rate(release)
    return LogisticModel(coef, intercept, slopes, constant, rate, pseudo_r2, auc, clipped)


def _margins(release: NoisyLogistic, score_moments: Matrix) -> Vector:
    """Half widths of the intervals of (log-odds at the columns' origin, slopes), standardised."""
    if not release.arrived:
        return np.full(len(release.gram), np.nan)
    known, last = _known(release, score_moments)
    return known.margins(_MOST_HIDDEN, _WIDEST, extra=np.where(known.hidden, 0.0, last))


def _known(release: NoisyLogistic, score_moments: Matrix) -> tuple[Knowledge, Vector]:
    """Return what is known of the model, and how far it is from the last gradient, squared.

    Where classes are far apart the curvature is less and less the steeper a model: it is taken half
    way from the last gradient's model to the steepest one that is likely, and a direction that
    noise would hide at the likeliest is hidden, too.
    """
    base, start = release.steps.base, release.seen.thetas[-1]
    effect = hidden_effect(release.theta, release.gram)

    def known(metric: Metric) -> Knowledge:
        combined = release.steps.combined(metric, release.seen)
        hidden = hidden_directions(combined.eigenvalues, metric.sigma)
        moments = score_moments, release.score_moments_sigma
        return Knowledge(release, combined, hidden, metric.sigma, effect, *moments)

    def last(found: Knowledge) -> Vector:
        away: Vector = base + found.combined.theta - start
        return (away @ found.combined.vectors) ** 2

    metric = release.metric(start)
    for _ in range(_CORRECTIONS):
        found = known(metric)
        way, vectors = found.combined.theta, found.combined.vectors
        told = found.variances(np.eye(len(way))) + last(found)
        told[found.hidden] = 0.0
        error = np.sqrt((way @ vectors) ** 2 @ told) / max(way @ way, _TINY)
        metric = release.metric(0.5 * (start + base + (1.0 + QUANTILE * error) * way))
    there = release.metric(base + way)
    again = hidden_directions(((vectors.T @ there.matrix) * vectors.T).sum(axis=1), there.sigma)
    found = evolve(found, hidden=found.hidden | again)
    return found, last(found)


def _base_rate(release: NoisyLogistic) -> Estimate:
    """Share of class 1 from the classes' balance; its interval covers noise and sampling."""
    rows = release.scaling.rows
    share = 0.5 + 0.5 * release.balance / rows.value
    rate = min(max(share, 0.0), 1.0)
    variance = (0.5 * release.balance_sigma / rows.value) ** 2
    variance += ((share - 0.5) * rows.error / rows.value) ** 2 + rate * (1.0 - rate) / rows.value
    interval = share + QUANTILE * np.sqrt(variance) * np.array([-1.0, 1.0])
    return Estimate(rate, interval.clip(0.0, 1.0))


def _middles(release: NoisyLogistic) -> Vector:
    """Return a bin's log-odds: their mean in a normal law with the edges as its quantiles."""
    mean, deviation = score_law(release.theta, release.gram)
    ends = np.concatenate(
        [[-np.inf], ndtri(np.arange(1, bins := release.score_counts.shape[1]) / bins), [np.inf]]
    )
    density = np.exp(-0.5 * ends**2) / np.sqrt(2.0 * np.pi)
    middles: Vector = mean + deviation * bins * (density[:-1] - density[1:])
    return middles


def _pseudo_r2(release: NoisyLogistic) -> Estimate | None:
    """McFadden's: 1 less the model's log loss over that of a constant, by the counts of scores."""
    counts = release.score_counts
    classes = counts.sum(axis=1)
    if (classes <= 0.0).any():
        return None
    scores = _middles(release)
    losses = np.stack([-log_expit(-scores), -log_expit(scores)])
    constant = -np.log(classes / classes.sum())[:, None]
    total = float((constant * counts).sum())
    ratio = float((losses * counts).sum()) / total
    error = release.score_sigma * float(np.sqrt(((losses - ratio * constant) ** 2).sum())) / total
    return _estimate(1.0 - ratio, error, -np.inf, 1.0, _WIDEST_R2)


def _auc(release: NoisyLogistic) -> Estimate | None:
    """Area under the ROC curve of the bins: rows of one bin count as ties."""
    counts = release.score_counts
    negatives, positives = counts.sum(axis=1)
    if min(negatives, positives) <= 0.0:
        return None
    below = (np.cumsum(counts[0]) - 0.5 * counts[0]) / negatives
    above = 1.0 - (np.cumsum(counts[1]) - 0.5 * counts[1]) / positives
    area = float(counts[1] @ below) / positives
    squares = ((above - area) ** 2).sum() / negatives**2 + (
        (below - area) ** 2
    ).sum() / positives**2
    return _estimate(area, release.score_sigma * float(np.sqrt(squares)), 0.0, 1.0, _WIDEST_AUC)


def _estimate(
    value: float, error: float, low: float, high: float, widest: float
) -> Estimate | None:
    """Return a number with its interval, None if that is too wide to say much."""
    margin = QUANTILE * error
    if not 2.0 * margin <= widest:
        return None
    interval = np.array([value - margin, value + margin]).clip(low, high)
    return Estimate(float(min(max(value, low), high)), interval)
