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
from functools import partial
from typing import Any, ClassVar

import numpy as np
from attrs import asdict, define, evolve

from nolook._arrays import Vector
from nolook.algorithms.glm.additive_priors import shrink
from nolook.algorithms.glm.clips import release_clip, release_clipped_scores
from nolook.algorithms.glm.designs import Blocks, release_score_moments
from nolook.algorithms.glm.estimate import Gradients, Noisy, hidden_directions
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.likelihood import NoisyLikelihood
from nolook.algorithms.glm.steps import Metric, Steps, hidden_effect, is_noise, score_law
from nolook.privacy.budgets import Allowance
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import LARGEST_MEAN
from nolook.statistics.weighted_rows import (
    CURVATURE_STEPS,
    PRODUCT_UNIT,
    RESIDUAL_UNIT,
    SCORE_UNIT,
    ClippedProducts,
    ModelCurvature,
    UnitProducts,
    clipped_products_sensitivity,
    curvature_sensitivity,
    unit_products_sensitivity,
    unit_scores,
)

__all__ = ["Descent"]

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
# Log-likelihood by which slopes must beat noise and chance, and scores beyond which there are no
# events at all.
_EVIDENCE, _FARTHEST = 4.0, 20.0
# A mean's slope is cut at that of scores so many deviations above their mean.
_STEEP = 2.0
# Deviations of its noise by which a mean must be above 0.
_DETECTED, _TINY = 2.0, 1e-9


@define(eq=False)
class Descent:
    """Gradients and curvatures of a family's likelihood, clipped if residuals have no bound.

    Guarantee: gradients and curvatures are ``mu``-GDP in all when a row is added or removed, and so
    for `clip_mu` is each call of `begin`; what is clipped follows from what that released.

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
    clip_mu : float
        What a histogram of sizes costs; unused where residuals have a bound.
    """

    #: How many progress steps of `run`, at most.
    MOST_STAGES: ClassVar[int] = _MOST_GRADIENTS + _MOST_CURVATURES + 1

    mu: float
    found: NoisyFrame
    blocks: Blocks
    source: ByteSource
    steps: Steps
    clip_mu: float = 0.0
    most: int = 0  # K, in steps of a gradient's grid

    def at(self, theta: Vector) -> Any:  # noqa: ANN401 -- a model of the family
        """Round a model to the rows' grid."""
        family, (mean, deviation) = self.steps.family, score_law(theta, self.found.gram)
        steepest = family.steepest(mean + _STEEP * deviation)
        return family.model(*self.blocks.design.on_grid(theta), steepest)

    def products(self, theta: Vector) -> tuple[UnitProducts | ClippedProducts, float, int]:
        """Return the sum of u f (y - m) at a model, its L2 sensitivity, and its steps a unit."""
        model, design, whole = self.at(theta), self.blocks.design, self.blocks.whole
        if self.steps.family.bounded:
            sensitivity = unit_products_sensitivity(design.squared_radius, design.size, whole)
            return UnitProducts(model, whole), sensitivity, design.unit * RESIDUAL_UNIT
        sensitivity = clipped_products_sensitivity(self.most, design.size, whole)
        return ClippedProducts(model, self.most, whole), sensitivity, design.unit * PRODUCT_UNIT

    def _curved(self, theta: Vector) -> tuple[ModelCurvature, float, float]:
        """Return the sum of the means' slopes times u u', its sensitivity, and its steps a unit."""
        model, design, whole = self.at(theta), self.blocks.design, self.blocks.whole
        sensitivity = curvature_sensitivity(design.squared_radius, design.size, whole)
        steps = design.unit**2 * CURVATURE_STEPS / model.steepest
        return ModelCurvature(model, whole), sensitivity, steps

    @property
    def clip(self) -> float:
        """K, in standardised units."""
        return self.most / (self.blocks.design.unit * PRODUCT_UNIT)

    def begin(self, theta: Vector, progress: OnStep) -> None:
        """Choose how far a row's part is clipped."""
        if not self.steps.family.bounded:
            progress("sizes")
            model = self.at(theta)
            self.most = release_clip(self.blocks, model, self.mu, self.clip_mu, self.source).most

    def move_constant(self, seen: Gradients) -> None:
        """Move the constant to the mean that the first gradient shows, if it is more than noise.

        Classes were counted.
        """
        family = self.steps.family
        if not family.bounded:
            rows = max(self.found.gram[0, 0], 1.0)
            mean = family.mean(self.steps.base[0]) + seen.values[0, 0] / rows
            least = _DETECTED * seen.sigmas[0] / rows
            mean = min(max(mean, least, _TINY), LARGEST_MEAN)
            self.steps = Steps.at_mean(family, mean, len(self.steps.base))

    def run(self, progress: OnStep) -> NoisyLikelihood:
        """Follow the gradients from the model without slopes."""
        allowance, curvature = Allowance(self.mu), None
        seen = Gradients.none(self.blocks.design.size)
        part, arrivals, curvatures, next_at = _FIRST, 0, 0, _FROM
        theta, own = self._at(self.steps.base, seen)
        self.begin(theta, progress)
        while (
            arrivals < _ARRIVALS
            and (taken := len(seen.sigmas) + 1) < _MOST_GRADIENTS
            and allowance.left - part >= _KEPT
        ):
            progress(f"gradient {taken}")
            seen = seen.and_one(theta, self.gradient(theta, allowance.spend(part)))
            if taken == 1:
                self.move_constant(seen)
            if is_noise(seen, own, self.steps.dispersion):
                arrivals += 1
                part *= _GROWTH
            elif taken >= next_at and curvatures < _MOST_CURVATURES:
                progress("curvature")
                curvature = self._curvature(theta, allowance.spend(_CURVATURE))
                curvatures, next_at = curvatures + 1, taken + _EVERY
            way = self.steps.next(own.mixed(curvature), seen, theta, self.found.gram) - theta
            far = math.hypot(*score_law(way, self.found.gram)) / self.steps.family.longest
            theta, own = self._at(theta + way / max(far, 1.0), seen)
        self.begin(theta, progress)
        progress("curvature")
        spent = self._last_curvature(own.mixed(curvature), theta, allowance)
        last = self._curvature(theta, allowance.spend(spent))
        progress(f"gradient {len(seen.sigmas) + 1}")
        seen = seen.and_one(theta, self.gradient(theta, allowance.spend(allowance.left)))
        metric = own.mixed(last)
        found = self.steps.next(metric, seen, theta, self.found.gram)
        if any(self.found.curves):
            combined, varied = self.steps.combined(metric, seen), self.steps.dispersion
            found = self.steps.base + shrink(combined, self.found, varied, metric.sigma).theta
        return NoisyLikelihood(
            **asdict(self.found, recurse=False),
            steps=self.steps,
            seen=seen,
            curvature=last,
            arrived=arrivals == _ARRIVALS,
            theta=found,
        )

    def judged(self, found: NoisyLikelihood, mu: float) -> NoisyLikelihood:
        """Release the second moments of the rows' gradients; tell whether slopes stand out.

        That is judged by the curvature at the base: where classes are far apart, hardly any is
        left. The base there has the mean of the model, which is more exact than the one before.
        Guarantee: ``mu``-GDP when a row is added or removed.
        """
        model, design, family = self.at(found.theta), self.blocks.design, self.steps.family
        steps = self.steps.beside(np.clip(family.score(found.mean), -_FARTHEST, _FARTHEST))
        if family.bounded:
            scored = partial(unit_scores, model, design.squared_radius)
            most, unit = SCORE_UNIT**2, design.norm / SCORE_UNIT
            scores = release_score_moments(self.blocks, scored, most, unit, mu, self.source)
        else:
            scores = release_clipped_scores(self.blocks, model, self.clip, mu, self.source)
            varied = np.trace(scores.value) + scores.sigma * math.sqrt(design.size)
            curved = steps.slope * max(np.trace(found.gram), 1.0)
            steps = evolve(steps, dispersion=max(varied / curved, _TINY))
        metric = Metric(steps.slope * found.gram, steps.slope * found.gram_sigma)
        detected = found.scaling.detected[-1] and steps.evidence(metric, found.seen) >= _EVIDENCE
        return evolve(found, scores=scores, detected=bool(detected))

    def _at(self, theta: Vector, seen: Gradients) -> tuple[Vector, Metric]:
        """Round a model to the grid, and return a metric by which to step from there."""
        model, found = self.at(theta), self.found
        near = model.spacing * model.whole
        return near, self.steps.metric(found.gram, found.gram_sigma, near, seen)

    def gradient(self, theta: Vector, mu: float) -> Noisy:
        """Release a gradient, in standardised units."""
        return self.blocks.release(*self.products(theta), mu, self.source)

    def _curvature(self, theta: Vector, mu: float) -> Noisy:
        """Release the curvature at a model, in standardised units."""
        return self.blocks.release(*self._curved(theta), mu, self.source)

    def _last_curvature(self, metric: Metric, theta: Vector, allowance: Allowance) -> int:
        """Split what is left so that the noise of directions that are seen is least.

        The gradient's is its own; the curvature's is times what hidden directions may hold. Where
        the gradient's exceeds sampling's, though, intervals are wide and every part is its own.
        """
        mu = allowance.of(allowance.left)
        totals = self.products(theta), self._curved(theta)
        noise, sigma = (sensitivity / unit / mu for _, sensitivity, unit in totals)
        eigenvalues, vectors = np.linalg.eigh(metric.matrix)
        hidden = hidden_directions(eigenvalues, sigma)
        effect = hidden_effect(theta, self.found.gram)
        variances = self.found.spread.hidden_variances(vectors, effect)
        carried = sigma * math.sqrt(0.5 * variances[hidden].sum())
        sampling = self.steps.dispersion * max(eigenvalues.mean(), 0.0)
        most = _MOST_LAST * min(1.0, sampling / noise**2)
        share = max(min(carried / (carried + noise), most), _LEAST_LAST)
        return int(share * allowance.left)
