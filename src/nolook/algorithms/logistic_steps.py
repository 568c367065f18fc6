"""Steps of a logistic regression from a noisy moment matrix and noisy gradients.

All of it is post-processing. The gradient of the log-likelihood at ``theta_t`` is about
``H (theta - theta_t)``, so that every gradient is a noisy observation of the solution, as in
:mod:`nolook.algorithms.noisy_gradients`. H, though, is the curvature between the two models only
roughly: the farther away a model, the more its gradient misleads, and gradients that were taken on
one side of the solution mislead alike. They are weighed accordingly.

================  ==================================================================
name here         meaning
================  ==================================================================
``gram``          A plus noise, the constant first; rows are (1, x)
``base``          the model of the base rate: its log-odds, and no slopes
``factor``        h, the mean of p(1 - p), between 1/8 and 1/4: H is h A if nothing else is known
================  ==================================================================
"""

from __future__ import annotations

import math
from typing import Self, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import expit

from nolook.algorithms.noisy_gradients import CombinedGradients, likeliest_prior

__all__ = ["LogisticSteps", "Metric", "mean_curvature", "score_law"]

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]

# With less, a step may go so far that the likelihood falls: the curvature of rows is at most 1/4,
# and where the scores' law is far from normal its mean is no guide.
_LEAST_CURVATURE = 1.0 / 8.0
# Share of the mean squared gradient along the way to the solution by which the curvature's error
# misleads, and the part of that which all gradients have in common.
_MISFIT, _COMMON = 0.3, 0.5
# Beyond so many deviations of noise gradients mislead alike: sums of squares stay exact enough.
_FARTHEST = 1e6
# Of a coordinate of the model, in log-odds a scale. Classes far apart want large ones.
_PRIORS = np.geomspace(1e-5, 100.0, 36)
_FIXED_POINT_STEPS = 6
# The curvature that gradients show may be so many times the metric's; what is known of it before
# has this deviation, and every step back counts half.
_LEAST_SECANT, _MOST_SECANT = 0.25, 1.0
_SECANT_DEVIATION, _SECANT_MEMORY = 0.5, 0.5

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
        """Combine the gradients at some models as observations of the model less the base's.

        As a fixed point: a gradient's error depends on the way to the solution.
        """
        curvature, sigma = metric.factor * metric.matrix, metric.factor * metric.sigma
        eigenvalues, vectors = np.linalg.eigh(curvature)
        values = np.maximum(eigenvalues, 0.0) + 0.5 * sigma * math.sqrt(len(curvature))
        points, seen = (thetas - self.base) @ vectors, gradients @ vectors
        noise = self.gradient_sigma**2
        secant = _secant(points, seen, values, noise)
        values, sigma = secant * values, secant * sigma
        observed = seen + points * values
        weights = np.full(len(points), 1.0 / len(points))
        for _ in range(_FIXED_POINT_STEPS):
            moments, variance = weights @ observed, noise * float(weights @ weights)
            found = CombinedGradients(
                vectors,
                eigenvalues,
                values,
                moments,
                variance,
                likeliest_prior(_PRIORS, moments, values, variance),
            )
            ways = (found.shrinkage * moments / values - points) ** 2
            wrong = 0.5 * sigma**2 * ways.sum(axis=1) + _MISFIT * (ways @ values**2) / len(values)
            weights = _weights(np.sqrt(_COMMON * wrong), noise + (1.0 - _COMMON) * wrong)
        return found

    def evidence(self, metric: Metric, thetas: Matrix, gradients: Matrix) -> float:
        """Return the log-likelihood of the model found, less that of no slope at all.

        Without slopes, the gradients would be made of noise and of sampling: a gradient of
        independent rows varies by the curvature.
        """
        found = self.combined(metric, thetas, gradients)
        nothing = found.variance + found.values
        total = found.prior * found.values**2 + nothing
        gains = found.moments**2 * (1.0 / nothing - 1.0 / total) - np.log(total / nothing)
        return 0.5 * float(gains.sum())

    def next(self, metric: Metric, thetas: Matrix, gradients: Matrix) -> Vector:
        """Return the best model so far, always finite."""
        theta: Vector = self.base + self.combined(metric, thetas, gradients).theta
        return theta


def _secant(points: Matrix, gradients: Matrix, values: Vector, noise: float) -> float:
    """Return how many times `values` the curvature is that the gradients show, one to the next.

    Where classes are far apart it falls with every step, faster than curvatures are released.
    """
    steps, falls = np.diff(points, axis=0), -np.diff(gradients, axis=0)
    expected = (steps**2 * values).sum(axis=1)
    told = expected > 0.0
    variances = 2.0 * noise * (steps**2).sum(axis=1)[told]
    ages = _SECANT_MEMORY ** np.arange(len(steps))[::-1][told]
    slopes = ages * expected[told] / variances
    known = _SECANT_DEVIATION**-2
    secant = (known + slopes @ (steps * falls).sum(axis=1)[told]) / (
        known + slopes @ expected[told]
    )
    return float(min(max(secant, _LEAST_SECANT), _MOST_SECANT))


def _weights(common: Vector, variances: Vector) -> Vector:
    """Weights, none negative, of the mean with the least expected square.

    Errors are `common`, all of one sign, and beside it independent ones.
    """
    common = np.minimum(common, _FARTHEST * math.sqrt(float(variances.min())))
    weights, used = np.zeros(len(common)), np.arange(len(common))
    while True:
        shared, each = common[used], variances[used]
        level = float((shared / each).sum()) / (1.0 + float((shared**2 / each).sum()))
        some = (1.0 - shared * level) / each
        if len(used) == 1 or (some >= 0.0).all():
            weights[used] = some if some.sum() > 0.0 else 1.0
            return weights / float(weights.sum())
        used = used[some >= 0.0]
