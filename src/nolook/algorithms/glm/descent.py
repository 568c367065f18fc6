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
from typing import ClassVar, Protocol

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.algorithms.glm.additive_priors import shrink
from nolook.algorithms.glm.designs import Blocks
from nolook.algorithms.glm.estimate import Gradients, hidden_directions
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.steps import Curvature, Metric, Steps, hidden_effect, is_noise, score_law
from nolook.privacy.budgets import Allowance
from nolook.privacy.mechanisms.gaussian import symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import ClassModel, CountModel
from nolook.statistics.weighted_rows import CURVATURE_STEPS, ModelCurvature, curvature_sensitivity

__all__ = ["Descended", "Descent", "Likelihood"]

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


class Likelihood(Protocol):
    """The family of a descent: releases at a model, each GDP with the mu it is given."""

    @property
    def steps(self) -> Steps:
        """Return the results that follow from the gradients."""

    def at(self, blocks: Blocks, theta: Vector) -> ClassModel | CountModel:
        """Round a model to the rows' grid."""

    def begin(self, blocks: Blocks, theta: Vector, source: ByteSource, progress: OnStep) -> None:
        """Get ready for gradients at a model: the first ones, and the last one."""

    def gradient_sigma(self, blocks: Blocks, mu: float) -> float:
        """Return the deviation of a gradient's noise, in standardised units."""

    def settle(self, seen: Gradients) -> None:
        """Learn from the first gradient where the model without slopes is."""

    def gradient(self, blocks: Blocks, theta: Vector, mu: float, source: ByteSource) -> Vector:
        """Release a gradient, in standardised units."""


@frozen(eq=False)
class Descended:
    """The gradients a descent released, and the model it ended with."""

    seen: Gradients
    curvature: Curvature  # at the last gradient's model
    theta: Vector
    arrived: bool  # whether the last gradient was taken because the ones before were noise


@frozen
class Descent:
    """Gradients and curvatures of a family's likelihood.

    Guarantee: ``mu``-GDP in all when a row is added or removed, in addition to the family's first
    releases.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    likelihood : Likelihood
        The family.
    found : NoisyFrame
        What was released before.
    blocks, source
        The rows, and what is drawn from.
    """

    #: How many progress steps of `run`, at most.
    MOST_STAGES: ClassVar[int] = _MOST_GRADIENTS + _MOST_CURVATURES + 1

    mu: float
    likelihood: Likelihood
    found: NoisyFrame
    blocks: Blocks
    source: ByteSource

    def run(self, progress: OnStep) -> Descended:
        """Follow the gradients from the model without slopes."""
        family, blocks, source = self.likelihood, self.blocks, self.source
        allowance, curvature = Allowance(self.mu), None
        seen = Gradients.none(blocks.design.size)
        part, arrivals, curvatures, next_at = _FIRST, 0, 0, _FROM
        theta, own = self._at(family.steps.base)
        family.begin(blocks, theta, source, progress)
        while (
            arrivals < _ARRIVALS
            and (taken := len(seen.sigmas) + 1) < _MOST_GRADIENTS
            and allowance.left - part >= _KEPT
        ):
            progress(f"gradient {taken}")
            seen = self._and_one(seen, theta, allowance.spend(part))
            if taken == 1:
                family.settle(seen)
            if is_noise(seen, own, family.steps.dispersion):
                arrivals += 1
                part *= _GROWTH
            elif taken >= next_at and curvatures < _MOST_CURVATURES:
                progress("curvature")
                curvature = self._curvature(theta, allowance.spend(_CURVATURE))
                curvatures, next_at = curvatures + 1, taken + _EVERY
            found = family.steps.next(own.mixed(curvature), seen)
            theta, own = self._at(self._near(theta, found))
        family.begin(blocks, theta, source, progress)
        progress("curvature")
        spent = self._last_curvature(own.mixed(curvature), theta, allowance)
        last = self._curvature(theta, allowance.spend(spent))
        progress(f"gradient {len(seen.sigmas) + 1}")
        seen = self._and_one(seen, theta, allowance.spend(allowance.left))
        metric = own.mixed(last)
        found = family.steps.next(metric, seen)
        if any(self.found.curves):
            combined, varied = family.steps.combined(metric, seen), family.steps.dispersion
            found = family.steps.base + shrink(combined, self.found, varied, metric.sigma).theta
        return Descended(seen, last, found, arrivals == _ARRIVALS)

    def _at(self, theta: Vector) -> tuple[Vector, Metric]:
        """Round a model to the grid, and return a metric by which to step from there."""
        model = self.likelihood.at(self.blocks, theta)
        rounded = model.spacing * model.whole
        family, moments = self.likelihood.steps.family, (self.found.gram, self.found.gram_sigma)
        return rounded, Metric.of_moments(family, *moments, rounded, safe=True)

    def _near(self, theta: Vector, found: Vector) -> Vector:
        """Return a model on the way to one that was found, as far as a step may lead."""
        moved = score_law(found - theta, self.found.gram)
        far: float = math.hypot(*moved) / self.likelihood.steps.family.longest
        return theta + (found - theta) / max(far, 1.0)

    def _and_one(self, seen: Gradients, theta: Vector, mu: float) -> Gradients:
        """Release a gradient at a model, and return it with those before."""
        gradient = self.likelihood.gradient(self.blocks, theta, mu, self.source)
        return seen.and_one(theta, gradient, self.likelihood.gradient_sigma(self.blocks, mu))

    def _last_curvature(self, metric: Metric, theta: Vector, allowance: Allowance) -> int:
        """Split what is left so that the noise of directions that are seen is least.

        The gradient's is its own; the curvature's is times what hidden directions may hold. Where
        the gradient's exceeds sampling's, though, intervals are wide and every part is its own.
        """
        mu = allowance.of(allowance.left)
        noise = self.likelihood.gradient_sigma(self.blocks, mu)
        sigma = self._curvature_sigma(theta, mu)
        eigenvalues, vectors = np.linalg.eigh(metric.matrix)
        hidden = hidden_directions(eigenvalues, sigma)
        effect = hidden_effect(theta, self.found.gram)
        variances = self.found.spread.hidden_variances(vectors, effect)
        carried = sigma * math.sqrt(0.5 * variances[hidden].sum())
        sampling = self.likelihood.steps.dispersion * max(float(eigenvalues.mean()), 0.0)
        most = _MOST_LAST * min(1.0, sampling / noise**2)
        share = max(min(carried / (carried + noise), most), _LEAST_LAST)
        return int(share * allowance.left)

    def _curvature_sigma(self, theta: Vector, mu: float) -> float:
        """Return the deviation of a curvature's noise on the diagonal, in standardised units."""
        design, steepest = self.blocks.design, self.likelihood.at(self.blocks, theta).steepest
        sensitivity = curvature_sensitivity(design.squared_radius, design.size, self.blocks.whole)
        return sensitivity / mu * (steepest / CURVATURE_STEPS) / design.unit**2

    def _curvature(self, theta: Vector, mu: float) -> Curvature:
        """Release the sum of the means' slopes times u u', and return its noise's deviation."""
        blocks, design = self.blocks, self.blocks.design
        model = self.likelihood.at(blocks, theta)
        exact = blocks.fold(ModelCurvature(model, blocks.whole)).value
        sensitivity = curvature_sensitivity(design.squared_radius, design.size, blocks.whole)
        noisy = symmetric_gaussian_release(exact, sensitivity, mu, self.source).astype(np.float64)
        step = model.steepest / CURVATURE_STEPS
        return noisy * step / design.unit**2, self._curvature_sigma(theta, mu)
