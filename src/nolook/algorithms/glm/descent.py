"""Noisy gradients of a likelihood, taken where the ones before them point.

How much each costs is decided on the way, from what was answered: cheap ones while the model is far
from the solution, where they need not be exact; dearer ones as soon as one tells no more than its
noise; and all that is left for the last one, and for the curvature there, once that happened a few
times. A curvature on the way is released while gradients still lead on. However that goes, all of
them together are ``mu``-GDP (:class:`nolook.privacy.budgets.Allowance`); the proof is
``logistic.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from attrs import define, frozen

from nolook._arrays import Vector
from nolook.algorithms.glm.additive_priors import shrink
from nolook.algorithms.glm.designs import Blocks
from nolook.algorithms.glm.estimate import Gradients, Noisy, hidden_directions
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.steps import Metric, Steps, hidden_effect, is_noise, score_law
from nolook.privacy.budgets import Allowance
from nolook.privacy.mechanisms.gaussian import symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import ClassModel, CountModel
from nolook.statistics.weighted_rows import (
    CURVATURE_STEPS,
    ClippedProducts,
    ModelCurvature,
    UnitProducts,
    curvature_sensitivity,
)

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


@frozen(eq=False)
class Descended:
    """The gradients a descent released, and the model it ended with."""

    seen: Gradients
    curvature: Noisy  # at the last gradient's model
    theta: Vector
    arrived: bool  # whether the last gradient was taken because the ones before were noise


@define(eq=False)
class Descent(ABC):
    """Gradients and curvatures of a family's likelihood.

    Guarantee: ``mu``-GDP in all when a row is added or removed, in addition to what a family's
    `begin` releases.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    found : NoisyFrame
        What was released before.
    blocks, source
        The rows, and what is drawn from.
    steps : Steps
        The results that follow from the gradients.
    """

    #: How many progress steps of `run`, at most.
    MOST_STAGES: ClassVar[int] = _MOST_GRADIENTS + _MOST_CURVATURES + 1
    #: Steps of a gradient's grid, for rows of whole numbers.
    GRID: ClassVar[int]

    mu: float
    found: NoisyFrame
    blocks: Blocks
    source: ByteSource
    steps: Steps

    @abstractmethod
    def at(self, theta: Vector) -> ClassModel | CountModel:
        """Round a model to the rows' grid."""

    @abstractmethod
    def products(self, theta: Vector) -> UnitProducts | ClippedProducts:
        """Return the statistic that adds up the gradient at a model, in steps of its grid."""

    @abstractmethod
    def sensitivity(self) -> float:
        """Return the L2 sensitivity of a gradient."""

    def begin(self, theta: Vector, progress: OnStep) -> None:  # noqa: B027 -- classes need none
        """Get ready for gradients at a model: the first ones, and the last one."""

    def settle(self, seen: Gradients) -> None:  # noqa: B027 -- classes were counted
        """Learn from the first gradient where the model without slopes is."""

    def run(self, progress: OnStep) -> Descended:
        """Follow the gradients from the model without slopes."""
        allowance, curvature = Allowance(self.mu), None
        seen = Gradients.none(self.blocks.design.size)
        part, arrivals, curvatures, next_at = _FIRST, 0, 0, _FROM
        theta, own = self._at(self.steps.base)
        self.begin(theta, progress)
        while (
            arrivals < _ARRIVALS
            and (taken := len(seen.sigmas) + 1) < _MOST_GRADIENTS
            and allowance.left - part >= _KEPT
        ):
            progress(f"gradient {taken}")
            seen = seen.and_one(theta, self.gradient(theta, allowance.spend(part)))
            if taken == 1:
                self.settle(seen)
            if is_noise(seen, own, self.steps.dispersion):
                arrivals += 1
                part *= _GROWTH
            elif taken >= next_at and curvatures < _MOST_CURVATURES:
                progress("curvature")
                curvature = self._curvature(theta, allowance.spend(_CURVATURE))
                curvatures, next_at = curvatures + 1, taken + _EVERY
            way = self.steps.next(own.mixed(curvature), seen) - theta
            far = math.hypot(*score_law(way, self.found.gram)) / self.steps.family.longest
            theta, own = self._at(theta + way / max(far, 1.0))
        self.begin(theta, progress)
        progress("curvature")
        spent = self._last_curvature(own.mixed(curvature), theta, allowance)
        last = self._curvature(theta, allowance.spend(spent))
        progress(f"gradient {len(seen.sigmas) + 1}")
        seen = seen.and_one(theta, self.gradient(theta, allowance.spend(allowance.left)))
        metric = own.mixed(last)
        found = self.steps.next(metric, seen)
        if any(self.found.curves):
            combined, varied = self.steps.combined(metric, seen), self.steps.dispersion
            found = self.steps.base + shrink(combined, self.found, varied, metric.sigma).theta
        return Descended(seen, last, found, arrivals == _ARRIVALS)

    def _at(self, theta: Vector) -> tuple[Vector, Metric]:
        """Round a model to the grid, and return a metric by which to step from there."""
        model = self.at(theta)
        rounded = model.spacing * model.whole
        family, moments = self.steps.family, (self.found.gram, self.found.gram_sigma)
        return rounded, Metric.of_moments(family, *moments, rounded, safe=True)

    def gradient_sigma(self, mu: float) -> float:
        """Return the deviation of a gradient's noise, in standardised units."""
        return self.sensitivity() / mu / (self.blocks.design.unit * self.GRID)

    def gradient(self, theta: Vector, mu: float) -> Noisy:
        """Release a gradient, in standardised units."""
        unit = self.blocks.design.unit * self.GRID
        return self.blocks.release(self.products(theta), self.sensitivity(), unit, mu, self.source)

    def _last_curvature(self, metric: Metric, theta: Vector, allowance: Allowance) -> int:
        """Split what is left so that the noise of directions that are seen is least.

        The gradient's is its own; the curvature's is times what hidden directions may hold. Where
        the gradient's exceeds sampling's, though, intervals are wide and every part is its own.
        """
        mu = allowance.of(allowance.left)
        noise = self.gradient_sigma(mu)
        sigma = self._curvature_sigma(theta, mu)
        eigenvalues, vectors = np.linalg.eigh(metric.matrix)
        hidden = hidden_directions(eigenvalues, sigma)
        effect = hidden_effect(theta, self.found.gram)
        variances = self.found.spread.hidden_variances(vectors, effect)
        carried = sigma * math.sqrt(0.5 * variances[hidden].sum())
        sampling = self.steps.dispersion * max(float(eigenvalues.mean()), 0.0)
        most = _MOST_LAST * min(1.0, sampling / noise**2)
        share = max(min(carried / (carried + noise), most), _LEAST_LAST)
        return int(share * allowance.left)

    def _curvature_sigma(self, theta: Vector, mu: float) -> float:
        """Return the deviation of a curvature's noise on the diagonal, in standardised units."""
        design, steepest = self.blocks.design, self.at(theta).steepest
        sensitivity = curvature_sensitivity(design.squared_radius, design.size, self.blocks.whole)
        return sensitivity / mu * (steepest / CURVATURE_STEPS) / design.unit**2

    def _curvature(self, theta: Vector, mu: float) -> Noisy:
        """Release the sum of the means' slopes times u u', and return its noise's deviation."""
        blocks, design = self.blocks, self.blocks.design
        model = self.at(theta)
        exact = blocks.fold(ModelCurvature(model, blocks.whole)).value
        sensitivity = curvature_sensitivity(design.squared_radius, design.size, blocks.whole)
        noisy = symmetric_gaussian_release(exact, sensitivity, mu, self.source).astype(np.float64)
        step = model.steepest / CURVATURE_STEPS
        return Noisy(noisy * step / design.unit**2, self._curvature_sigma(theta, mu))
