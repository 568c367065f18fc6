"""How well a linear model fits the rows whose noisy moments were released.

All of it is post-processing: it sees the released matrix and its known noise only.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import ndtri

from nolook.algorithms.moment_regression import NoisyMoments

__all__ = ["LEVEL", "Fit", "fit_measures", "nearest_moments"]

#: Level of all intervals.
LEVEL = 0.95

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def nearest_moments(matrix: Matrix) -> Matrix:
    """Nearest positive semidefinite matrix in the Frobenius norm (negative eigenvalues dropped)."""
    values, vectors = np.linalg.eigh(matrix)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))
    nearest: Matrix = roots @ roots.T
    return nearest


@frozen
class Fit:
    """How well a model fits the table's rows as they were clipped for training.

    Where noise could make up most of the target's variation, `r2` is 0 and its interval [-1, 1].
    """

    r2: float
    r2_interval: Vector
    rmse: float  # in units of the target
    rmse_interval: Vector


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


def _drowned(matrix: Matrix, moments: NoisyMoments, theta: Vector) -> bool:
    """Whether noise alone could make up most of the target's variation: then R2 says nothing.

    A quadratic form of the noise is at most its largest eigenvalue, about ``sigma sqrt(2 p)``,
    times the squared length of its vector, here (theta, -1). Beyond two thirds of the target's sum
    of squares intervals of R2 were seen to fail.
    """
    largest = moments.sigma * np.sqrt(2 * len(matrix)) * float(theta @ theta + 1.0)
    return not moments.scaling.visible[-1] or largest >= 2 / 3 * _total(matrix)


def _fit(matrix: Matrix, theta: Vector) -> Vector:
    """R2 and mean squared error of `theta`, in standardised units, under `matrix`."""
    rows = max(matrix[0, 0], 1.0)
    design, target = matrix[:-1, :-1], matrix[:-1, -1]
    residual = max(0.0, float(matrix[-1, -1] + theta @ (design @ theta - 2 * target)))
    return np.array([1.0 - residual / _total(matrix), residual / rows])


def _fit_margin(matrix: Matrix, sigma: float, theta: Vector) -> Vector:
    """Half width of the intervals of R2 and mean squared error for a model fixed beforehand.

    The sum of squared residuals is the quadratic form of (theta, -1), on which the noise has the
    standard deviation sigma times that vector's squared length.
    """
    spread = sigma * float(theta @ theta + 1.0)
    margin = float(ndtri((1 + LEVEL) / 2)) * spread
    return margin / np.array([_total(matrix), max(matrix[0, 0], 1.0)])


def _total(matrix: Matrix) -> float:
    """Sum of squares of the target around its mean, kept above zero."""
    rows = max(float(matrix[0, 0]), 1.0)
    return max(float(matrix[-1, -1] - matrix[0, -1] ** 2 / rows), 1e-6 * rows)
