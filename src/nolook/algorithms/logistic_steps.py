"""Steps of a logistic regression from a noisy moment matrix and noisy gradients.

All of it is post-processing. The gradient of the log-likelihood at ``theta_t`` is about
``h A (theta - theta_t)``, A the moments and h the mean of p(1 - p), so that every gradient divided
by h is one of least squares, and :mod:`nolook.algorithms.noisy_gradients` combines them all.

================  ==================================================================
name here         meaning
================  ==================================================================
``gram``          A plus noise, the constant first; rows are (1, x)
``base``          the model of the base rate: its log-odds, and no slopes
``curvature``     h, between 1/8 and 1/4
================  ==================================================================
"""

from __future__ import annotations

import math
from typing import Self, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import expit

from nolook.algorithms.noisy_gradients import CombinedGradients, combine_gradients

__all__ = ["LogisticSteps", "Metric", "mean_curvature", "score_law"]

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]

# With less, a step may go so far that the likelihood falls: the curvature of rows is at most 1/4,
# and where the scores' law is far from normal its mean is no guide.
_LEAST_CURVATURE = 1.0 / 8.0
# How far beyond the normal law's curvature a gradient is from being one of least squares.
_MISFIT = 0.3

# The standard normal law, for means over it.
NORMAL_PLACES = np.linspace(-3.0, 3.0, 61)
NORMAL_WEIGHTS = np.exp(-0.5 * NORMAL_PLACES**2)
NORMAL_WEIGHTS /= NORMAL_WEIGHTS.sum()


def score_law(theta: Vector, gram: Matrix) -> tuple[float, float]:
    """Return mean and deviation of the log-odds that a model gives the rows."""
    rows = max(float(gram[0, 0]), 1.0)
    mean = float(gram[0] @ theta) / rows
    return mean, math.sqrt(max(float(theta @ gram @ theta) / rows - mean**2, 0.0))


def mean_curvature(theta: Vector, gram: Matrix) -> float:
    """Return the mean of p(1 - p) where the log-odds are normal, but at least 1/8."""
    mean, deviation = score_law(theta, gram)
    p = expit(mean + deviation * NORMAL_PLACES)
    return max(float(NORMAL_WEIGHTS @ (p * (1.0 - p))), _LEAST_CURVATURE)


@frozen(eq=False)
class Metric:
    """What the steps take for the curvature of the log-likelihood."""

    matrix: Matrix  # noisy
    sigma: float  # deviation of the noise on its diagonal
    factor: float  # the curvature is so many times the matrix

    @classmethod
    def of_moments(cls, gram: Matrix, sigma: float, theta: Vector) -> Self:
        """Return h A at a model."""
        return cls(gram, sigma, mean_curvature(theta, gram))

    def mixed(self, curvature: Matrix, sigma: float) -> Self:
        """Return this and a released curvature, which counts as far as it is more than noise."""
        own = self.factor * self.matrix
        noise = (sigma**2 + (self.factor * self.sigma) ** 2) * _independent(len(own))
        share = max(0.0, 1.0 - noise / float(((curvature - own) ** 2).sum()))
        mixed = (1.0 - share) * own + share * curvature
        deviation = math.hypot((1.0 - share) * self.factor * self.sigma, share * sigma)
        return type(self)(mixed, deviation, 1.0)


def _independent(size: int) -> float:
    """Squared Frobenius norm of a symmetric matrix of noise, in variances of its diagonal."""
    return size + 0.5 * size * (size - 1)


@frozen(eq=False)
class LogisticSteps:
    """What the steps of one fit share, all of it released before."""

    base: Vector
    gradient_sigma: float

    def combined(self, metric: Metric, thetas: Matrix, gradients: Matrix) -> CombinedGradients:
        """Combine the gradients at some models as observations of the model less the base's."""
        sigmas = np.full(len(thetas), self.gradient_sigma / metric.factor)
        least_squares = thetas - self.base, gradients / metric.factor, sigmas
        return combine_gradients(metric.matrix, metric.sigma, *least_squares, _MISFIT)

    def evidence(self, metric: Metric, thetas: Matrix, gradients: Matrix) -> float:
        """Return the log-likelihood of the model found, less that of no slope at all.

        Without slopes, the gradients would be made of noise and of sampling: a gradient of
        independent rows varies by the curvature.
        """
        found = self.combined(metric, thetas, gradients)
        nothing = found.variance + found.values / metric.factor
        total = found.prior * found.values**2 + nothing
        gains = found.moments**2 * (1.0 / nothing - 1.0 / total) - np.log(total / nothing)
        return 0.5 * float(gains.sum())

    def next(self, metric: Metric, thetas: Matrix, gradients: Matrix) -> Vector:
        """Return the best model so far, always finite."""
        theta: Vector = self.base + self.combined(metric, thetas, gradients).theta
        return theta
