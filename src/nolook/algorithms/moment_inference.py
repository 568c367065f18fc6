"""The linear model of a noisy moment matrix, its fit and its intervals, in the original units.

All of it is post-processing. Intervals come from a parametric bootstrap: the released matrix, made
positive semidefinite, plays the population; each repeat draws a sample of it, adds the known noise,
and makes the same estimate again, so what varies is both sampling and noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from nolook.algorithms._simulation import (
    repeats,
    sampled_moments,
    simulation_generator,
    symmetric_noise,
)
from nolook.algorithms.inference import LEVEL
from nolook.algorithms.moment_regression import NoisyMoments
from nolook.algorithms.noisy_ridge import choose_ridge, nearest_moments

__all__ = ["Fit", "LinearModel", "fit_measures", "linear_model"]

_MOST_REPEATS = 100
# Directions of the population with eigenvalues below this many noise deviations cannot be told
# from noise; without a floor their simulated truth, and with it the intervals, would be arbitrary.
_FLOOR = 2.0

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a model fits the table's rows as they were clipped for training.

    Where noise could make up most of the target's variation, `r2` is 0 and its interval [-1, 1].
    """

    r2: float
    r2_interval: Vector
    rmse: float  # in units of the target
    rmse_interval: Vector


@dataclass(frozen=True, slots=True)
class LinearModel(Fit):
    """A released linear model in the table's units, d features, with intervals at LEVEL."""

    coef: Vector
    intercept: float
    coef_interval: Matrix  # shape (d, 2)
    intercept_interval: Vector


def fit_measures(moments: NoisyMoments, theta: Vector) -> Fit:
    """Estimate the fit of a standardised model found elsewhere; intervals cover the noise alone."""
    matrix = nearest_moments(moments.matrix)
    point, margin = _fit(matrix, theta), _fit_margin(matrix, moments.sigma, theta)
    low, high = point - margin, point + margin
    if _drowned(matrix, moments, theta):
        point[0], low[0], high[0] = 0.0, -1.0, 1.0
    scale = float(moments.scaling.scale[-1])
    error = np.sqrt(np.maximum([low[1], point[1], high[1]], 0.0)) * scale
    return Fit(
        r2=float(point[0].clip(-1.0, 1.0)),
        r2_interval=np.array([low[0], high[0]]).clip(-1.0, 1.0),
        rmse=float(error[1]),
        rmse_interval=error[[0, 2]],
    )


def linear_model(moments: NoisyMoments) -> LinearModel:
    """Estimate the model and its intervals from what was released; always finite."""
    matrix = nearest_moments(moments.matrix)
    ridge = choose_ridge(matrix, moments.sigma)
    theta, refined = _solve(matrix, ridge)
    origin = _origin(moments)
    bias, margin = _simulate(matrix, moments.sigma, ridge, origin)
    margin[-2:] = np.maximum(margin[-2:], _fit_margin(matrix, moments.sigma, theta))
    point = np.concatenate([origin @ refined, _fit(matrix, theta)]) - bias
    # The coefficients are those of the ridge; their intervals, around a less biased estimate, are
    # widened where they would exclude them. The measures of fit lose the optimism of a fit to the
    # noise, which the simulation shows.
    released = np.concatenate([origin @ theta, point[-2:]])
    interval = np.stack(
        [np.minimum(point - margin, released), np.maximum(point + margin, released)], axis=1
    )
    if _drowned(matrix, moments, theta):
        released[-2], interval[-2] = 0.0, (-1.0, 1.0)
    scaling = moments.scaling
    scale = scaling.scale[-1]
    # What exceeds the range of doubles becomes the largest of them.
    units = np.concatenate([[scale], np.nan_to_num(scale / scaling.scale[:-1])])
    coefficients = np.nan_to_num(units * released[:-2])
    coefficient_intervals = np.nan_to_num(units[:, None] * interval[:-2])
    return LinearModel(
        coef=coefficients[1:],
        intercept=float(coefficients[0] + scaling.center[-1]),
        coef_interval=coefficient_intervals[1:],
        intercept_interval=coefficient_intervals[0] + scaling.center[-1],
        r2=float(released[-2].clip(-1.0, 1.0)),
        r2_interval=interval[-2].clip(-1.0, 1.0),
        rmse=float(scale * np.sqrt(max(0.0, released[-1]))),
        rmse_interval=scale * np.sqrt(np.maximum(interval[-1], 0.0)),
    )


def _origin(moments: NoisyMoments) -> Matrix:
    """Map (value at the centre, slopes) to (value at the columns' origin, slopes), standardised.

    A centre is at most some thousand scales from zero, so nothing is large here.
    """
    scaling = moments.scaling
    origin = np.eye(len(scaling.names))
    origin[0, 1:] = -scaling.center[:-1] / scaling.scale[:-1]
    return origin


def _simulate(matrix: Matrix, sigma: float, ridge: float, origin: Matrix) -> tuple[Vector, Vector]:
    """Bias and half width of the interval of (coefficients, r2, mse), all standardised."""
    generator = simulation_generator()
    samples = sampled_moments(matrix, generator)
    truth = origin @ _floored(matrix, _FLOOR * sigma)
    errors = np.empty((repeats(_MOST_REPEATS, len(matrix)), len(truth) + 2))
    for error in errors:
        noise = symmetric_noise(len(matrix), sigma, generator)
        again = nearest_moments(next(samples) + noise)
        theta, refined = _solve(again, ridge)
        error[:-2] = origin @ refined - truth
        error[-2:] = _fit(again, theta) - _fit(matrix, theta)
    # Student's t: the spread and the bias are themselves estimated, from these draws.
    quantile = stdtrit(len(errors) - 1, (1 + LEVEL) / 2) * np.sqrt(1 + 1 / len(errors))
    return errors.mean(axis=0), quantile * errors.std(axis=0, ddof=1)


def _solve(matrix: Matrix, ridge: float) -> tuple[Vector, Vector]:
    """Ridge estimate, and the same after one step of refinement, which removes most of its bias."""
    values, vectors = np.linalg.eigh(matrix[:-1, :-1])
    shrunk = 1.0 / (np.maximum(values, 0.0) + ridge)
    rotated = shrunk * (vectors.T @ matrix[:-1, -1])
    return vectors @ rotated, vectors @ (rotated * (1.0 + ridge * shrunk))


def _drowned(matrix: Matrix, moments: NoisyMoments, theta: Vector) -> bool:
    """Whether noise alone could make up most of the target's variation: then R2 says nothing.

    A quadratic form of the noise is at most its largest eigenvalue, about ``sigma sqrt(2 p)``,
    times the squared length of its vector, here (theta, -1). Beyond two thirds of the target's sum
    of squares the simulated intervals of R2 were seen to fail.
    """
    largest = moments.sigma * np.sqrt(2 * len(matrix)) * float(theta @ theta + 1.0)
    return not moments.scaling.visible[-1] or largest >= 2 / 3 * _total(matrix)


def _floored(matrix: Matrix, floor: float) -> Vector:
    values, vectors = np.linalg.eigh(matrix[:-1, :-1])
    solution: Vector = vectors @ ((vectors.T @ matrix[:-1, -1]) / np.maximum(values, floor))
    return solution


def _fit(matrix: Matrix, theta: Vector) -> Vector:
    """R2 and mean squared error of `theta`, in standardised units, under `matrix`."""
    rows = max(matrix[0, 0], 1.0)
    design, target = matrix[:-1, :-1], matrix[:-1, -1]
    residual = max(0.0, float(matrix[-1, -1] + theta @ (design @ theta - 2 * target)))
    return np.array([1.0 - residual / _total(matrix), residual / rows])


def _fit_margin(matrix: Matrix, sigma: float, theta: Vector) -> Vector:
    """Half width of the intervals of R2 and mean squared error for a model fixed beforehand.

    The sum of squared residuals is the quadratic form of (theta, -1), on which the noise has the
    standard deviation sigma times that vector's squared length. The simulation's own spread can be
    smaller where the matrix had to be made semidefinite.
    """
    spread = sigma * float(theta @ theta + 1.0)
    margin = float(ndtri((1 + LEVEL) / 2)) * spread
    return margin / np.array([_total(matrix), max(matrix[0, 0], 1.0)])


def _total(matrix: Matrix) -> float:
    """Sum of squares of the target around its mean, kept above zero."""
    rows = max(float(matrix[0, 0]), 1.0)
    return max(float(matrix[-1, -1] - matrix[0, -1] ** 2 / rows), 1e-6 * rows)
