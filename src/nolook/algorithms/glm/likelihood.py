"""Regressions with curved means: the common release, and the precision of the model.

All of it but the record itself is post-processing. The curvature at a model is known best where it
was released, at the last gradient's, and nearby as rows with normal scores would have it.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook._defaults import QUANTILE
from nolook.algorithms.glm.estimate import CombinedGradients, Gradients, Noisy, hidden_directions
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.inference import Knowledge
from nolook.algorithms.glm.steps import Metric, Steps, hidden_effect, score_law

__all__ = ["NoisyLikelihood"]

# Half width of a slope's interval, in log-odds or logarithms of a mean a scale, that says nothing.
_WIDEST = 2.0
# Share of a slope's squared loading on hidden directions.
_MOST_HIDDEN = 0.1
# How often the curvature is corrected for where the model is likely to be.
_CORRECTIONS = 4
_TINY = 1e-300


@frozen(eq=False, kw_only=True)
class NoisyLikelihood(NoisyFrame):
    """The release of a descent, and the results that follow from it."""

    steps: Steps
    seen: Gradients  # noisy sums of u f (y - m), and the models where they were taken
    curvature: Noisy  # at the last of them
    arrived: bool  # whether the steps ended because gradients told no more than noise
    theta: Vector  # the estimate, the constant first, shape (d,)
    detected: bool = False  # whether the gradients told more than noise
    scores: Noisy | None = None  # sum of s s', s a row's part of the gradient at theta

    @property
    def mean(self) -> float:
        """The mean of targets by the model, in their scales, were scores normal."""
        return self.steps.family.average(*score_law(self.theta, self.gram))

    def metric(self, theta: Vector) -> Metric:
        """Return the curvature at a model as far as it is known: best at the last gradient's."""
        ends, moments = (self.seen.thetas[-1], theta), (self.gram, self.gram_sigma)
        last, there = (Metric.of_moments(self.steps.family, *moments, end) for end in ends)
        known = last.mixed(self.curvature)
        return Metric(known.matrix + (there.matrix - last.matrix), known.sigma)

    def observed(self) -> tuple[CombinedGradients, float, float, Vector]:
        """Return the same as a linear release, where the model is `known`."""
        found, last = self._known(cast("Noisy", self.known))
        return found.combined, self.steps.dispersion, found.sigma, last

    @property
    def known(self) -> Noisy | None:
        """Second moments of the scores, None where no interval is known."""
        return self.scores if self.detected and self.arrived else None

    def margins(self) -> Vector:
        """Half widths of the intervals of (score at the columns' origin, slopes), standardised."""
        if self.known is None:
            return np.full(np.count_nonzero(self.kept) + 1, np.nan)
        known, last = self._known(self.known)
        return known.margins(_MOST_HIDDEN, _WIDEST, extra=np.where(known.hidden, 0.0, last))

    def _known(self, scores: Noisy) -> tuple[Knowledge, Vector]:
        """Return the model's precision, and the last step's error, a variance in each direction.

        Half of the curvature's change along the step was allowed for, as in normal rows; it may be
        wrong by as much. Where classes are far apart the curvature is less and less the steeper a
        model: it is taken half way from the last gradient's model to the steepest one that is
        likely, and a direction that noise would hide at the likeliest is hidden, too.
        """
        base, start = self.steps.base, self.seen.thetas[-1]
        effect = hidden_effect(self.theta, self.gram)

        def known(metric: Metric) -> Knowledge:
            combined = self.steps.combined(metric, self.seen)
            hidden = hidden_directions(combined.eigenvalues, metric.sigma)
            return Knowledge(self, combined, hidden, metric.sigma, effect, scores)

        def last(found: Knowledge, there: Metric) -> Vector:
            vectors, away = found.combined.vectors, base + found.combined.theta - start
            bent = 0.5 * away @ (there.matrix - begun.matrix) @ vectors
            noise = 0.5 * self.curvature.sigma**2 * (away @ away)
            return np.asarray((bent**2 + noise) / np.maximum(found.seen, _TINY) ** 2)

        metric = begun = self.metric(start)
        for _ in range(_CORRECTIONS):
            found = known(metric)
            way, vectors = found.combined.theta, found.combined.vectors
            variances = found.variances(np.eye(len(way))) + last(found, self.metric(base + way))
            variances[found.hidden] = 0.0
            error = np.sqrt((way @ vectors) ** 2 @ variances) / max(way @ way, _TINY)
            metric = self.metric(0.5 * (start + base + (1.0 + QUANTILE * error) * way))
        there = self.metric(base + way)
        turned = ((there.matrix @ vectors) * vectors).sum(axis=0)
        hidden = found.hidden | hidden_directions(turned, there.sigma)
        return evolve(found, hidden=hidden), last(found, there)
