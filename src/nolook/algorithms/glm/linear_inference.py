"""The linear model of a release in the original units, its intervals and its fit.

All of it is post-processing. The model is the estimate of :mod:`nolook.algorithms.glm.estimate`,
pulled towards 0 where noise hides; intervals (:mod:`nolook.algorithms.glm.inference`) lie around
it, and where nothing is known there is none. What they cover, and how that was tried, is in
``linear.md``.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.glm.estimate import combine_gradients, hidden_directions
from nolook.algorithms.glm.inference import (
    MOST_CLIPPED,
    QUANTILE,
    Knowledge,
    clipped_shares,
    original_intervals,
)
from nolook.algorithms.glm.linear import NoisyRegression
from nolook.algorithms.scaling import Scaling

__all__ = ["HIDDEN_EFFECT", "LinearModel", "linear_model"]

#: Standard deviation of the model along a hidden direction, in scales of the target a scale. The
#: intervals assume it: on six real tables 95 % of such effects were below 1.33.
HIDDEN_EFFECT = 0.7

# A slope's interval wider than this to either side, in the same unit, says nothing: a column that
# explained all of the target would have slope 1.
_WIDEST = 1.1
# Share of a slope's squared loading on hidden directions; each of two columns that cannot be told
# apart has half of its there.
_MOST_HIDDEN = 0.3
_WIDEST_R2 = 0.5

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
    clipped, errors = clipped_shares(scaling)
    theta = np.zeros(len(scaling.names))
    margin, fit = np.full(len(theta), np.nan), _NO_FIT
    if not isinstance(release, Scaling):
        columns = np.append(True, release.kept)
        combined = combine_gradients(release.gram, release.gram_sigma, release.seen)
        model = release.spread.model(release.theta)
        if release.chosen is not None:  # what is left of the others is rounding
            model[1:][~np.isin(np.arange(len(model) - 1), release.chosen)] = 0.0
        theta[columns] = model
        if release.chosen is None:  # a choice by the same rows voids what intervals promise
            known = Knowledge(
                release,
                combined,
                hidden_directions(combined.eigenvalues, release.gram_sigma),
                release.gram_sigma,
                HIDDEN_EFFECT,
                release.score_moments,
                release.score_sigma,
            )
            margin[columns] = known.margins(_MOST_HIDDEN, _WIDEST, residuals=_residuals(release))
            margin[1:][(clipped - errors)[:-1] > MOST_CLIPPED] = np.nan
        fit = _fit(release)
    coef, intercept = scaling.original_units(theta)
    slopes, constant = original_intervals(scaling, coef, intercept, margin)
    return LinearModel(coef, intercept, slopes, constant, *fit, clipped)


def _residuals(release: NoisyRegression) -> float:
    """Return the mean of |u_x|^2 rho^2 over that of |u_x|^2, one standard deviation up.

    From the bins of the last histogram of sizes below the clip: those above hold few rows and much
    noise.
    """
    low, counts = np.append(0.0, release.clips.edges), release.clips.counts[-1]
    high = np.append(low[1:], 2.0 * low[-1])
    squares = (low**2 + low * high + high**2) / 3.0
    squares[low > 0.99 * release.clips.bounds[-1]] = 0.0
    total = max(float(squares @ counts), 0.0)
    total += release.clips.sigma * float(np.sqrt(squares @ squares))
    moments = float(release.gram.trace() - release.gram[0, 0])
    return total / max(moments, release.gram_sigma)


def _fit(release: NoisyRegression) -> FitNumbers:
    """R2, root mean squared error and their intervals; none where R2's is too wide to say much.

    The rows are the training rows: only noise is between the release and the truth. The interval of
    the ratio is Fieller's, exact for two sums with normal noise.
    """
    (total, rest), rows = release.fit, release.scaling.rows
    noise = QUANTILE * release.fit_sigma
    certain = total**2 - noise**2
    if total <= 0.0 or certain <= 0.0:
        return _NO_FIT
    root = noise * np.sqrt(max(certain + rest**2, 0.0))
    r2_interval = 1.0 - (total * rest + root * np.array([1.0, -1.0])) / certain
    if r2_interval[1] - r2_interval[0] > _WIDEST_R2:
        return _NO_FIT
    mean = rest / rows.value
    error = QUANTILE * np.hypot(release.fit_sigma, mean * rows.error) / rows.value
    scale = float(release.scaling.scale[-1])
    rmse = scale * np.sqrt(np.maximum([mean, mean - error, mean + error], 0.0))
    return (
        float(min(1.0 - rest / total, 1.0)),
        np.minimum(r2_interval, 1.0),
        float(rmse[0]),
        rmse[1:],
    )
