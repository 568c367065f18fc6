"""The logistic model of a release in the original units, its intervals and its fit.

All of it is post-processing. Intervals lie around the model, which is pulled towards the base rate
where noise hides; what they cover, and how that was tried, is in ``logistic_regression.md``.

The curvature's eigenvectors are directions in which the model is known more or less well. Where it
is told apart from noise the variance has four parts: the gradients' noise; the curvature's noise
times what hidden directions may hold; sampling, as large as the residuals show where they vary more
than the model expects; and how far the likeliest model is from where the last gradient was taken.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import log_expit, ndtri

from nolook.algorithms.inference import MOST_CLIPPED
from nolook.algorithms.logistic_regression import NoisyLogistic
from nolook.algorithms.logistic_steps import Metric, hidden_effect, score_law
from nolook.algorithms.moment_estimates import LEVEL
from nolook.algorithms.noisy_gradients import CombinedGradients, hidden_directions
from nolook.algorithms.scaling import Scaling, clipped_share

__all__ = ["Estimate", "LogisticModel", "logistic_model"]

_QUANTILE = float(ndtri((1 + LEVEL) / 2))
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
    clipped, errors = _clipped_shares(scaling)
    pseudo_r2 = auc = None
    if release.visible:
        margin[columns] = _margins(release)
        margin[1:][clipped - errors > MOST_CLIPPED] = np.nan
        pseudo_r2, auc = _pseudo_r2(release), _auc(release)
    coef, intercept = scaling.original_units(theta)
    sides, largest = np.array([-1.0, 1.0]), np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        widths = margin[1:] / scaling.scale[:-1]
        slopes = (coef[:, None] + widths[:, None] * sides).clip(-largest, largest)
        constant = (intercept + margin[0] * sides).clip(-largest, largest)
    rate = _base_rate(release)
    return LogisticModel(coef, intercept, slopes, constant, rate, pseudo_r2, auc, clipped)


def _margins(release: NoisyLogistic) -> Vector:
    """Half widths of the intervals of (log-odds at the columns' origin, slopes), standardised."""
    scaling, kept = release.scaling, release.kept
    contrasts = np.eye(len(release.gram))
    contrasts[0, 1:] = -(scaling.center[:-1] / scaling.scale[:-1])[kept]
    lengths = (contrasts**2).sum(axis=1)
    if not release.arrived:
        return np.full(len(lengths), np.nan)
    vectors, hidden, variances = _known(release)
    contrasts, along = release.spread.centred(contrasts), release.spread.along(vectors)
    margin = _QUANTILE * np.sqrt((contrasts @ along) ** 2 @ variances)
    ways, _ = np.linalg.qr(along[:, hidden])
    margin[((contrasts @ ways) ** 2).sum(axis=1) > _MOST_HIDDEN * lengths] = np.nan
    margin[margin > _WIDEST * np.sqrt(lengths)] = np.nan
    return margin


def _known(release: NoisyLogistic) -> tuple[Matrix, NDArray[np.bool_], Vector]:
    """Return directions, which of them are hidden, and the variance of the model's error there.

    Where classes are far apart the curvature is less and less the steeper a model: it is taken half
    way from the last gradient's model to the steepest one that is likely, and a direction that
    noise would hide at the likeliest is hidden, too.
    """
    base, start = release.steps.base, release.seen.thetas[-1]
    metric = release.metric(start)
    for _ in range(_CORRECTIONS):
        combined = release.steps.combined(metric, release.seen)
        hidden = hidden_directions(combined.eigenvalues, metric.sigma)
        told = np.where(hidden, 0.0, _variances(release, metric, combined, hidden))
        way, vectors = combined.theta, combined.vectors
        error = np.sqrt((way @ vectors) ** 2 @ told) / max(way @ way, _TINY)
        steepest = base + (1.0 + _QUANTILE * error) * way
        metric = release.metric(0.5 * (start + steepest))
    there = release.metric(base + way)
    hidden |= hidden_directions(((vectors.T @ there.matrix) * vectors.T).sum(axis=1), there.sigma)
    return vectors, hidden, _variances(release, metric, combined, hidden)


def _variances(
    release: NoisyLogistic, metric: Metric, combined: CombinedGradients, hidden: NDArray[np.bool_]
) -> Vector:
    """Variance of the model's error along each eigenvector of the curvature."""
    sigma, effect = metric.sigma, hidden_effect(release.theta, release.gram)
    effects = release.spread.hidden_variances(combined.vectors, effect)
    seen = np.where(hidden, sigma, combined.eigenvalues)
    count = np.count_nonzero(hidden)
    # Noise of the hidden directions pushes an eigenvalue up, by about sigma^2 hidden / 2 lambda.
    seen = 0.5 * (seen + np.sqrt(np.maximum(seen**2 - 2.0 * sigma**2 * count, 0.0)))
    gradients = combined.variance + 0.5 * sigma**2 * float(effects[hidden].sum())
    likely = release.steps.base + combined.theta
    last = ((likely - release.seen.thetas[-1]) @ combined.vectors) ** 2
    return np.where(hidden, effects, gradients / seen**2 + _dispersion(release) / seen + last)


def _dispersion(release: NoisyLogistic) -> float:
    """How many times the variance that the model expects the residuals have, but at least 1."""
    expected = float(np.trace(release.metric(release.theta).matrix))
    return 1.0 + max(release.excess, 0.0) / max(expected, _TINY)


def _clipped_shares(scaling: Scaling) -> tuple[Vector, Vector]:
    """At most which share of each feature's rows was clipped, one error up; and the error."""
    shares, errors = np.zeros((2, len(scaling.names) - 1))
    for column, histogram in enumerate(scaling.histograms[:-1]):
        if histogram is not None:
            ends = float(scaling.low[column]), float(scaling.high[column])
            shares[column], errors[column] = clipped_share(histogram, *ends, scaling.rows.value)
    return shares, errors


def _base_rate(release: NoisyLogistic) -> Estimate:
    """Share of class 1 from the classes' balance; its interval covers noise and sampling."""
    rows = release.scaling.rows
    share = 0.5 + 0.5 * release.balance / rows.value
    rate = min(max(share, 0.0), 1.0)
    variance = (0.5 * release.balance_sigma / rows.value) ** 2
    variance += ((share - 0.5) * rows.error / rows.value) ** 2 + rate * (1.0 - rate) / rows.value
    interval = share + _QUANTILE * np.sqrt(variance) * np.array([-1.0, 1.0])
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
    margin = _QUANTILE * error
    if not 2.0 * margin <= widest:
        return None
    interval = np.array([value - margin, value + margin]).clip(low, high)
    return Estimate(float(min(max(value, low), high)), interval)
