"""Steps of a logistic or count regression from a noisy Gram matrix and noisy gradients.

All of it is post-processing. The gradient of the log-likelihood at ``theta_t`` is about
``H (theta - theta_t)``, so that every gradient is a noisy observation of the solution, as in
:mod:`nolook.algorithms.glm.estimate`. H, though, is the curvature between the two models only
roughly: the farther away a model, the more its gradient misleads, and gradients that were taken on
one side of the solution mislead alike. They are weighed accordingly, and by their noise.

If nothing else is known, H is what it would be were the rows normal: along the scores the mean's
slope changes, which Stein's lemma turns into a term of rank two added to h A.

================  ==================================================================
name here         meaning
================  ==================================================================
``gram``          A plus noise, the constant first; rows are u = f x
``base``          the model without slopes
``slopes``        what a mean grows by at scores: p (1 - p) of classes
``h``             the mean of the slopes
================  ==================================================================
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Matrix, Vector
from nolook.algorithms.glm.estimate import CombinedGradients, Gradients, Noisy, likeliest_prior
from nolook.algorithms.glm.families import NORMAL_PLACES, NORMAL_WEIGHTS, Family

__all__ = [
    "HIDDEN_EFFECT",
    "Metric",
    "Steps",
    "hidden_effect",
    "is_noise",
    "score_law",
]

#: Standard deviation of the model along a hidden direction, in log-odds for about a scale: so many
#: times that of the rows' log-odds, and at least 1. The intervals assume it.
HIDDEN_EFFECT = 2.5

# Scores that vary less vary by rounding.
_LEAST_DEVIATION = 1e-9
#: Share of the mean squared gradient along the way to the solution by which the curvature's error
#: misleads.
_MISFIT = 0.3
# The part of that which all gradients have in common.
_COMMON = 0.5
_SAFE = 0.125
# Beyond so many deviations of noise gradients mislead alike: sums of squares stay exact enough.
_FARTHEST, _TINY = 1e6, 1e-300
# Of a coordinate of the model, in log-odds a scale. Classes far apart want large ones.
_PRIORS = np.geomspace(1e-5, 100.0, 36)
_FIXED_POINT_STEPS = 6
# What is known beforehand of how many times the metric's the curvature is that gradients show has
# this deviation, and every step back counts half.
_SECANT_DEVIATION, _SECANT_MEMORY = 0.5, 0.5
# A gradient is noise if its square exceeds what noise, and a share of sampling's variance, would
# make of it by at most so many deviations.
_NOISE_DEVIATIONS, _SAMPLING_SHARE = 2.0, 0.2


def score_law(theta: Vector, gram: Matrix) -> tuple[float, float]:
    """Return mean and deviation of the log-odds that a model gives the rows."""
    rows = max(gram[0, 0], 1.0)
    mean = gram[0] @ theta / rows
    return mean, math.sqrt(max(theta @ gram @ theta / rows - mean**2, 0.0))


def hidden_effect(theta: Vector, gram: Matrix) -> float:
    """Return the deviation that the model is allowed along a direction, were noise to hide it."""
    return max(1.0, HIDDEN_EFFECT * score_law(theta, gram)[1])


@frozen(eq=False)
class Metric:
    """The approximate curvature of the log-likelihood that the steps use."""

    matrix: Matrix  # noisy
    sigma: float  # deviation of the noise on its diagonal

    @classmethod
    def of_moments(
        cls, family: Family, gram: Matrix, sigma: float, theta: Vector, least: float = 0.0
    ) -> Self:
        """Return the curvature at a model as it would be were the rows normal, h at least `least`.

        With z the standardised score, ``E[w u u'] = E[w] E[u u']`` except for the part of u that is
        correlated with z: that has ``E[w z]`` and ``E[w z^2]`` instead.
        """
        mean, deviation = score_law(theta, gram)
        weights = NORMAL_WEIGHTS * family.slopes(mean + deviation * NORMAL_PLACES)
        level, slope, bend = (float(weights @ NORMAL_PLACES**power) for power in range(3))
        factor = max(level, least)
        matrix = factor * gram
        if deviation > _LEAST_DEVIATION:
            rows = max(gram[0, 0], 1.0)
            center = gram[0] / rows
            along = (gram @ theta / rows - center * mean) / deviation
            # Of a covariance; noise may make it any length.
            longest = math.sqrt(max(np.trace(gram) / rows, 1.0))
            along /= max(np.linalg.norm(along) / longest, 1.0)
            tilted = np.outer(center, along)
            both = slope * (tilted + tilted.T) + (bend - level) * np.outer(along, along)
            matrix = matrix + rows * both
        return cls(matrix, factor * sigma)

    def mixed(self, released: Noisy | None) -> Self:
        """Return this and a released curvature, which counts as far as it is more than noise."""
        if released is None:
            return self
        curvature, sigma = released
        # Entries of a symmetric matrix of noise, in variances of its diagonal.
        size = len(curvature)
        noise = (sigma**2 + self.sigma**2) * 0.5 * size * (size + 1)
        share = max(0.0, 1.0 - noise / float(((curvature - self.matrix) ** 2).sum()))
        mixed = (1.0 - share) * self.matrix + share * curvature
        return type(self)(mixed, math.hypot((1.0 - share) * self.sigma, share * sigma))


def is_noise(seen: Gradients, metric: Metric, dispersion: float = 1.0) -> bool:
    """Tell whether the last gradient is no more than noise, and a share of sampling's variance."""
    noise, gradient = seen.sigmas[-1] ** 2, seen.values[-1]
    sampling = dispersion * np.maximum(np.linalg.eigvalsh(metric.matrix), 0.0)
    variances = noise + _SAMPLING_SHARE * sampling
    excess = gradient @ gradient - variances.sum()
    return bool(excess <= _NOISE_DEVIATIONS * np.sqrt(2.0 * (variances**2).sum()))


@frozen(eq=False)
class Steps:
    """The results that follow from the gradients of one fit."""

    family: Family
    base: Vector
    dispersion: float = 1.0  # how many times the curvature sampling's variance is

    @classmethod
    def at_mean(cls, family: Family, mean: float, size: int) -> Self:
        """Begin at a model without slopes, of this many entries."""
        dispersion = 1.0 if family.dispersion is None else family.dispersion(mean)
        return cls(family, np.zeros(size), dispersion).beside(float(family.score(mean)))

    @property
    def slope(self) -> float:
        """The growth of means with scores, in a model without slopes."""
        return self.family.slopes(self.base).item(0)

    def beside(self, score: float) -> Self:
        """Return the same steps from another model without slopes."""
        base = np.zeros(self.base.size)
        base[0] = score
        return evolve(self, base=base)

    def metric(self, gram: Matrix, sigma: float, theta: Vector, seen: Gradients) -> Metric:
        """Return the curvature by which it is safe to step from a model.

        By less than 1/8 the likelihood of classes may fall: a row's slope is at most 1/4, and where
        the scores' law is far from normal its mean tells little. Where events are rare slopes are
        smaller; noise alone is to make no step longer than 1, though.
        """
        noise = max(seen.sigmas, default=math.inf) / max(gram[0, 0], 1.0)
        least = min(self.family.bounded * _SAFE, max(self.slope, noise))
        return Metric.of_moments(self.family, gram, sigma, theta, least)

    def combined(self, metric: Metric, seen: Gradients) -> CombinedGradients:
        """Combine gradients as observations of the model less the base's.

        As a fixed point: a gradient's error depends on the way to the solution.
        """
        sigma, noise = metric.sigma, seen.sigmas**2
        eigenvalues, vectors = np.linalg.eigh(metric.matrix)
        floor = 0.5 * sigma * math.sqrt(len(eigenvalues))
        values = np.maximum(eigenvalues, 0.0) + floor
        points, turned = (seen.thetas - self.base) @ vectors, seen.values @ vectors
        secant = _secant(points, turned, values, noise, self.family.secants)
        values, sigma, floor = secant * values, secant * sigma, secant * floor
        observed = turned + points * values
        weights = noise.min() / noise
        weights /= weights.sum()
        for _ in range(_FIXED_POINT_STEPS):
            moments, variance = weights @ observed, weights**2 @ noise
            prior = likeliest_prior(_PRIORS, moments, values, variance)
            found = CombinedGradients(vectors, eigenvalues, values, moments, variance, prior)
            ways = (found.shrinkage * moments / values - points) ** 2
            wrong = 0.5 * sigma**2 * ways.sum(axis=1) + _MISFIT * (ways @ values**2) / len(values)
            weights = _weights(np.sqrt(_COMMON * wrong), noise + (1.0 - _COMMON) * wrong)
        # What was added to the gradients is the curvature times this way, and noise is in both.
        way = weights @ points
        return evolve(found, misled=0.5 * sigma**2 * (way @ way) + (floor * way) ** 2)

    def evidence(self, metric: Metric, seen: Gradients) -> float:
        """Return the log-likelihood of the model found, less that of no slope at all.

        Without slopes, the gradients would be made of noise and of sampling: a gradient of
        independent rows varies by the curvature. Later ones were taken where noise led, and what
        is added to them for the way there is as wrong as the curvature.
        """
        found = self.combined(metric, seen)
        nothing = found.variance + self.dispersion * found.values + found.misled
        total = found.prior * found.values**2 + nothing
        gains = found.moments**2 * (1.0 / nothing - 1.0 / total) - np.log(total / nothing)
        return 0.5 * float(gains.sum())

    def next(self, metric: Metric, seen: Gradients, theta: Vector, gram: Matrix) -> Vector:
        """Return the best model so far, always finite; `theta` is the one before.

        It is shrunk towards the constant by which scores that vary as much have the base's mean.
        """
        score, deviation = self.base[0], score_law(theta, gram)[1]
        for _ in range(_FIXED_POINT_STEPS):
            score += self.base[0] - self.family.score(self.family.average(score, deviation))
        steps = self.beside(score)
        return np.asarray(steps.base + steps.combined(metric, seen).theta)


def _secant(
    points: Matrix, gradients: Matrix, values: Vector, noise: Vector, within: tuple[float, float]
) -> float:
    """Return the ratio of the curvature that successive gradients show to `values`.

    Where classes are far apart it falls with every step, faster than curvatures are released.
    """
    steps, falls = np.diff(points, axis=0), -np.diff(gradients, axis=0)
    expected = (steps**2 * values).sum(axis=1)
    variances = (noise[1:] + noise[:-1]) * (steps**2).sum(axis=1) + _TINY
    slopes = _SECANT_MEMORY ** np.arange(len(steps))[::-1] * expected / variances
    known = _SECANT_DEVIATION**-2
    found = slopes @ (steps * falls).sum(axis=1)
    secant = (known + found) / (known + slopes @ expected)
    return float(min(max(secant, within[0]), within[1]))


def _weights(common: Vector, variances: Vector) -> Vector:
    """Weights, none negative, of the mean with the least expected square.

    Errors are `common`, all of one sign, plus independent ones.
    """
    common = np.minimum(common, _FARTHEST * math.sqrt(variances.min()))
    weights, used = np.zeros(len(common)), np.arange(len(common))
    while True:
        shared, each = common[used], variances[used]
        level = (shared / each).sum() / (1.0 + (shared**2 / each).sum())
        some = (1.0 - shared * level) / each
        if len(used) == 1 or (some >= 0.0).all():
            weights[used] = some if some.sum() > 0.0 else 1.0
            return weights / float(weights.sum())
        used = used[some >= 0.0]
