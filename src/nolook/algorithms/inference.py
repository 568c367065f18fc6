"""The linear model of a release in the original units, its intervals and its fit.

All of it is post-processing. The model is the estimate of :mod:`nolook.algorithms.noisy_gradients`,
pulled towards 0 where noise hides; intervals lie around it, and where nothing is known there is
none. What they cover, and how that was tried, is in ``linear_regression.md``.

The matrix's eigenvectors are directions in which the model is known more or less well:

* told apart from noise: the variance has three parts. The gradients' noise; the matrix's noise
  times what the hidden directions may hold; and sampling, by the second moments of the rows' parts
  of the gradient, one deviation of their noise up, or ``s / lambda`` with s the mean of ``|u|^2
  rho^2`` over that of ``|u|^2`` if that is more;
* hidden: the eigenvalue is no larger than noise alone would make it. Nothing is known of the model
  there, and the interval allows for effects of :data:`HIDDEN_EFFECT`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import ndtri

from nolook.algorithms.linear_design import TARGET_LIMIT
from nolook.algorithms.linear_regression import NoisyRegression
from nolook.algorithms.moment_estimates import LEVEL
from nolook.algorithms.noisy_gradients import (
    CombinedGradients,
    combine_gradients,
    hidden_directions,
)
from nolook.algorithms.scaling import Scaling, clipped_rest, clipped_share

__all__ = ["HIDDEN_EFFECT", "MOST_CLIPPED", "LinearModel", "linear_model"]

#: Standard deviation of the model along a hidden direction, in scales of the target a scale. The
#: intervals assume it: on six real tables 95 % of such effects were below 1.33.
HIDDEN_EFFECT = 0.7

#: Share of a column's rows, or of the few that differ from its most frequent value, that were
#: clipped beyond which its slope is about another column.
MOST_CLIPPED = 0.1


_QUANTILE = float(ndtri((1 + LEVEL) / 2))
# A slope's interval wider than this to either side, in scales of the target a deviation of the
# column, says nothing: a column that explained all of the target would have slope 1.
_WIDEST = 1.1
# Share of a slope's squared loading on hidden directions; each of two columns that cannot be told
# apart has half of its there.
_MOST_HIDDEN = 0.3
_WIDEST_R2 = 0.5
_NOT_SEEN = 3.0  # sigmas below which a column's own sum of squares is not told apart from noise

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
FitNumbers: TypeAlias = tuple[float | None, Vector | None, float | None, Vector | None]

_NO_FIT: FitNumbers = (None, None, None, None)


@frozen(eq=False)
class LinearModel:
    """A released linear model in the table's units, with intervals at LEVEL; p features.

    NaN and None stand for what the noise hides.
    """

    coef: Vector  # 0 for columns left out
    intercept: float
    coef_interval: Matrix  # (p, 2)
    intercept_interval: Vector
    r2: float | None  # of the rows as clipped; an error above 4 scales counts as 4
    r2_interval: Vector | None
    rmse: float | None  # in units of the target
    rmse_interval: Vector | None
    clipped_share: Vector  # (p + 1,): at most this share of the rows was clipped, target last


def linear_model(release: NoisyRegression | Scaling) -> LinearModel:
    """Return the model, its intervals and its fit from what was released.

    Of a target that is not visible only the scaling is released; its model is the private centre.
    """
    scaling = release if isinstance(release, Scaling) else release.scaling
    clipped, errors = _clipped_shares(scaling)
    theta = np.zeros(len(scaling.names))
    margin, fit = np.full(len(theta), np.nan), _NO_FIT
    if not isinstance(release, Scaling):
        columns = np.append(True, release.kept)
        combined = combine_gradients(
            release.gram,
            release.gram_sigma,
            release.thetas,
            release.gradients,
            release.gradient_sigmas,
        )
        model = release.spread.model(release.theta)
        if release.chosen is not None:  # what is left of the others is rounding
            model[1:][~np.isin(np.arange(len(model) - 1), release.chosen)] = 0.0
        theta[columns] = model
        if release.chosen is None:  # a choice by the same rows voids what intervals promise
            margin[columns] = _margins(release, combined)
            margin[1:][_about_another(scaling, clipped - errors)] = np.nan
        fit = _fit(release)
    coef, intercept = scaling.original_units(theta)
    sides, largest = np.array([-1.0, 1.0]), np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        widths = margin[1:] * (scaling.scale[-1] / scaling.scale[:-1])
        slopes = (coef[:, None] + widths[:, None] * sides).clip(-largest, largest)
        constant = (intercept + margin[0] * scaling.scale[-1] * sides).clip(-largest, largest)
    return LinearModel(coef, intercept, slopes, constant, *fit, clipped)


def _margins(release: NoisyRegression, combined: CombinedGradients) -> Vector:
    """Half widths of the intervals of (value at the columns' origin, slopes), standardised."""
    scaling, kept, sigma = release.scaling, release.kept, release.gram_sigma
    contrasts = np.eye(len(release.gram))
    contrasts[0, 1:] = -(scaling.center[:-1] / scaling.scale[:-1])[kept]
    lengths = (contrasts**2).sum(axis=1)
    hidden = hidden_directions(combined.eigenvalues, sigma)
    origin = _far_origin(release, contrasts[0, 1:])
    contrasts, along = release.spread.centred(contrasts), release.spread.along(combined.vectors)
    variance = _variances(release, combined, hidden, contrasts @ along)
    variance[0] += origin
    margin = _QUANTILE * np.sqrt(variance)
    ways, _ = np.linalg.qr(along[:, hidden])
    margin[((contrasts @ ways) ** 2).sum(axis=1) > _MOST_HIDDEN * lengths] = np.nan
    widest = _WIDEST * np.sqrt(lengths)
    widest[1:] /= np.minimum(_deviations(release), 1.0)
    margin[margin > widest] = np.nan
    return margin


def _deviations(release: NoisyRegression) -> Vector:
    """Return the features' standard deviations, in scales, but no less than noise lets one see.

    Of a column that is mostly one value the scale is several of them.
    """
    back, rows = release.spread.back, release.scaling.rows.value
    moments = back @ release.gram @ back.T / rows
    noise = release.gram_sigma * (back**2).sum(axis=1)[1:] / rows
    deviations: Vector = np.sqrt(np.maximum(moments.diagonal()[1:] - moments[0, 1:] ** 2, noise))
    return deviations


def _far_origin(release: NoisyRegression, ways: Vector) -> float:
    """Variance of the value at the origin that columns have whose scale is far too large for them.

    Their slopes are as much larger. The other slopes do not mind, since such a column hardly moves,
    but the origin may lie far from its centre: by `ways`, in scales.
    """
    back = release.spread.back
    noise = release.gram_sigma * (back**2).sum(axis=1)[1:]
    squares = ((back @ release.gram) * back).sum(axis=1)[1:]
    sizes = release.scaling.rows.value / np.maximum(squares, noise)
    unseen = squares < _NOT_SEEN * noise
    return float(HIDDEN_EFFECT**2 * (ways**2 * sizes)[unseen].sum())


def _variances(
    release: NoisyRegression,
    combined: CombinedGradients,
    hidden: NDArray[np.bool_],
    moved: Matrix,
) -> Vector:
    """Variance of the errors of contrasts, which move by so much along each eigenvector."""
    sigma = release.gram_sigma
    effects = release.spread.hidden_variances(combined.vectors, HIDDEN_EFFECT)
    count = np.count_nonzero(hidden)
    # Noise of the hidden directions pushes an eigenvalue up, by about sigma^2 hidden / 2 lambda.
    seen = np.where(hidden, sigma, combined.eigenvalues)
    seen = 0.5 * (seen + np.sqrt(np.maximum(seen**2 - 2.0 * sigma**2 * count, 0.0)))
    gradients = combined.variance + 0.5 * sigma**2 * effects[hidden].sum()
    response = np.where(hidden, 0.0, moved / seen)
    lengths = (response**2).sum(axis=1)
    # Where residuals are larger in rows that matter more, sampling varies more than usual.
    ways = response @ combined.vectors.T
    found = ((ways @ release.score_moments) * ways).sum(axis=1) + release.score_sigma * lengths
    sampling = np.maximum(found, response**2 @ (_residuals(release) * seen))
    variance: Vector = moved[:, hidden] ** 2 @ effects[hidden] + gradients * lengths + sampling
    return variance


def _residuals(release: NoisyRegression) -> float:
    """Return the mean of |u_x|^2 rho^2 over that of |u_x|^2, one standard deviation up.

    From the bins of the last histogram of sizes below the clip: those above hold few rows and much
    noise.
    """
    low, counts = np.append(0.0, release.clip_edges), release.clip_counts[-1]
    high = np.append(low[1:], 2.0 * low[-1])
    squares = (low**2 + low * high + high**2) / 3.0
    squares[low > 0.99 * release.clips[-1]] = 0.0
    total = max(float(squares @ counts), 0.0)
    total += release.clip_sigma * float(np.sqrt(squares @ squares))
    moments = float(release.gram.trace() - release.gram[0, 0])
    return total / max(moments, release.gram_sigma)


def _clipped_shares(scaling: Scaling) -> tuple[Vector, Vector]:
    """At most which share of each column's rows was clipped, one standard error up; and the error.

    Both are 0 for columns of 0 and 1.
    """
    limits = np.full(len(scaling.names), scaling.limit)
    limits[-1] = TARGET_LIMIT
    low, high = scaling.center - limits * scaling.scale, scaling.center + limits * scaling.scale
    shares, errors = np.zeros((2, len(limits)))
    for column, histogram in enumerate(scaling.histograms):
        if histogram is not None:
            ends = float(low[column]), float(high[column])
            shares[column], errors[column] = clipped_share(histogram, *ends, scaling.rows.value)
    return shares, errors


def _about_another(scaling: Scaling, shares: Vector) -> NDArray[np.bool_]:
    """Tell which features were clipped so much that their slopes are about other columns."""
    found: NDArray[np.bool_] = shares[:-1] > MOST_CLIPPED
    for column, histogram in enumerate(scaling.histograms[:-1]):
        if histogram is not None:
            ends = float(scaling.low[column]), float(scaling.high[column])
            rest = clipped_rest(histogram, *ends, scaling.rows.value)
            found[column] |= rest > MOST_CLIPPED
    return found


def _fit(release: NoisyRegression) -> FitNumbers:
    """R2, root mean squared error and their intervals; none where R2's is too wide to say much.

    The rows are the training rows: only noise is between the release and the truth. The interval of
    the ratio is Fieller's, exact for two sums with normal noise.
    """
    (total, rest), rows = release.fit, release.scaling.rows
    noise = _QUANTILE * release.fit_sigma
    certain = total**2 - noise**2
    if total <= 0.0 or certain <= 0.0:
        return _NO_FIT
    root = noise * np.sqrt(max(certain + rest**2, 0.0))
    r2_interval = 1.0 - (total * rest + root * np.array([1.0, -1.0])) / certain
    if r2_interval[1] - r2_interval[0] > _WIDEST_R2:
        return _NO_FIT
    mean = rest / rows.value
    error = _QUANTILE * np.hypot(release.fit_sigma, mean * rows.error) / rows.value
    scale = float(release.scaling.scale[-1])
    rmse = scale * np.sqrt(np.maximum([mean, mean - error, mean + error], 0.0))
    return (
        float(min(1.0 - rest / total, 1.0)),
        np.minimum(r2_interval, 1.0),
        float(rmse[0]),
        rmse[1:],
    )
