"""Noisy gradients of a log-likelihood, taken where the ones before them point.

How much each costs is decided on the way, from what was answered: cheap ones while the model is far
from the solution, where they need not be exact; dearer ones as soon as one tells no more than its
noise; and all that is left for the last one, and for the curvature there, once that happened a few
times. A curvature on the way is released while gradients still lead on. However that goes, all of
them together are ``mu``-GDP (:class:`nolook.privacy.budgets.Allowance`); the proof is
``logistic_regression.md``.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.glm.designs import Blocks
from nolook.algorithms.glm.estimate import Gradients, hidden_directions
from nolook.algorithms.glm.steps import (
    Curvature,
    LogisticSteps,
    Metric,
    hidden_effect,
    is_noise,
)
from nolook.algorithms.whitening import Spread
from nolook.privacy.budgets import Allowance
from nolook.privacy.mechanisms.gaussian import gaussian_release, symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.statistics.class_gradients import (
    CURVATURE_UNIT,
    PROBABILITY_UNIT,
    ClassCurvature,
    ClassGradient,
    class_curvature_sensitivity,
    class_gradient_sensitivity,
)
from nolook.statistics.weighted_rows import GridModel

__all__ = ["Descended", "Descent"]

_MOST_GRADIENTS = 30
# Parts of the allowance: of the first gradient and of a curvature on the way; how many of those
# there are at most, after which gradient the first comes, and the next ones after how many more.
_FIRST = Allowance.PARTS // 40
_CURVATURE, _MOST_CURVATURES, _FROM, _EVERY = Allowance.PARTS // 32, 4, 4, 3
# Gradients that are noise make the next ones so many times as dear; the last comes after so many.
_GROWTH, _ARRIVALS = 2, 3
# What is kept for the last gradient and the curvature there, and the curvature's share of it.
_KEPT = Allowance.PARTS // 4
_LEAST_LAST, _MOST_LAST = 0.05, 0.35

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@frozen(eq=False)
class Descended:
    """What a descent released, and the model that it ended with."""

    seen: Gradients
    curvature: Curvature  # at the last gradient's model
    theta: Vector
    arrived: bool  # whether the last gradient was taken because the ones before were noise


@frozen
class Descent:
    """Gradients and curvatures of the log-likelihood of blocks of rows and classes.

    Guarantee: ``mu``-GDP in all when a row is added or removed.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    steps : LogisticSteps
        What follows from the gradients.
    gram, gram_sigma : ndarray of shape (d, d), and float
        The rows' moments, released before, and their noise's deviation on the diagonal.
    spread : Spread
        What the rows were whitened by.
    """

    #: How many stages `run` announces, at most.
    MOST_STAGES: ClassVar[int] = _MOST_GRADIENTS + _MOST_CURVATURES + 1

    mu: float
    steps: LogisticSteps
    gram: Matrix
    gram_sigma: float
    spread: Spread

    def run(self, blocks: Blocks, source: ByteSource, announce: Announce) -> Descended:
        """Follow the gradients from the steps' base."""
        allowance, curvature = Allowance(self.mu), None
        seen = Gradients.none(blocks.design.size)
        part, arrivals, curvatures, next_at = _FIRST, 0, 0, _FROM
        model, theta, own = self._at(self.steps.base, blocks)
        while (
            arrivals < _ARRIVALS
            and (taken := len(seen.sigmas) + 1) < _MOST_GRADIENTS
            and allowance.left - part >= _KEPT
        ):
            announce(f"gradient {taken}")
            gradient = _gradient(blocks, model, allowance.spend(part), source)
            seen = seen.and_one(theta, *gradient)
            if is_noise(seen, own):
                arrivals += 1
                part *= _GROWTH
            elif taken >= next_at and curvatures < _MOST_CURVATURES:
                announce("curvature")
                curvature = _curvature(blocks, model, allowance.spend(_CURVATURE), source)
                curvatures, next_at = curvatures + 1, taken + _EVERY
            found = self.steps.next(own.mixed(curvature), seen)
            model, theta, own = self._at(found, blocks)
        announce("curvature")
        spent = self._last_curvature(own.mixed(curvature), theta, blocks, allowance)
        last = _curvature(blocks, model, allowance.spend(spent), source)
        announce(f"gradient {len(seen.sigmas) + 1}")
        gradient = _gradient(blocks, model, allowance.spend(allowance.left), source)
        seen = seen.and_one(theta, *gradient)
        found = self.steps.next(own.mixed(last), seen)
        return Descended(seen, last, found, arrivals == _ARRIVALS)

    def _at(self, theta: Vector, blocks: Blocks) -> tuple[GridModel, Vector, Metric]:
        """Round a model to the grid, and return a metric by which to step from there."""
        model = blocks.design.on_grid(theta)
        rounded = model.spacing * model.whole
        metric = Metric.of_moments(self.gram, self.gram_sigma, rounded, safe=True)
        return model, rounded, metric

    def _last_curvature(
        self, metric: Metric, theta: Vector, blocks: Blocks, allowance: Allowance
    ) -> int:
        """Split what is left so that the noise of directions that are seen is least.

        The gradient's is its own; the curvature's is times what hidden directions may hold. Where
        the gradient's exceeds sampling's, though, intervals are wide and every part is its own.
        """
        mu = allowance.of(allowance.left)
        noise, sigma = _gradient_sigma(blocks, mu), _curvature_sigma(blocks, mu)
        eigenvalues, vectors = np.linalg.eigh(metric.matrix)
        hidden = hidden_directions(eigenvalues, sigma)
        variances = self.spread.hidden_variances(vectors, hidden_effect(theta, self.gram))
        carried = sigma * math.sqrt(0.5 * variances[hidden].sum())
        sampling = max(float(eigenvalues.mean()), 0.0)
        most = _MOST_LAST * min(1.0, sampling / noise**2)
        share = max(min(carried / (carried + noise), most), _LEAST_LAST)
        return int(share * allowance.left)


def _gradient_sigma(blocks: Blocks, mu: float) -> float:
    """Return the deviation of a gradient's noise, in standardised units."""
    design = blocks.design
    sensitivity = class_gradient_sensitivity(design.squared_radius, design.size, blocks.whole)
    return sensitivity / mu / (design.unit * PROBABILITY_UNIT)


def _gradient(
    blocks: Blocks, model: GridModel, mu: float, source: ByteSource
) -> tuple[Vector, float]:
    """Release the sum of u (y - p), and return its noise's deviation."""
    design = blocks.design
    exact = blocks.fold(ClassGradient(model, blocks.whole)).value
    sensitivity = class_gradient_sensitivity(design.squared_radius, design.size, blocks.whole)
    noisy = gaussian_release(exact, sensitivity, mu, source)
    return noisy.astype(np.float64) / (design.unit * PROBABILITY_UNIT), _gradient_sigma(blocks, mu)


def _curvature_sigma(blocks: Blocks, mu: float) -> float:
    """Return the deviation of a curvature's noise on the diagonal, in standardised units."""
    design = blocks.design
    sensitivity = class_curvature_sensitivity(design.squared_radius, design.size, blocks.whole)
    return sensitivity / mu / (design.unit**2 * CURVATURE_UNIT)


def _curvature(blocks: Blocks, model: GridModel, mu: float, source: ByteSource) -> Curvature:
    """Release the sum of p (1 - p) u u', and return its noise's deviation on the diagonal."""
    design = blocks.design
    exact = blocks.fold(ClassCurvature(model, blocks.whole)).value
    sensitivity = class_curvature_sensitivity(design.squared_radius, design.size, blocks.whole)
    noisy = symmetric_gaussian_release(exact, sensitivity, mu, source)
    grid = design.unit**2 * CURVATURE_UNIT
    return noisy.astype(np.float64) / grid, _curvature_sigma(blocks, mu)
