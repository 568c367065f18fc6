"""Least squares by noisy gradients, clipped.

A row adds ``u rho`` to the gradient, ``rho = f (y - theta'x)``, clipped. The Gram matrix only
steers; what is left of its noise after eight steps is small, and every gradient is a noisy
observation of the solution (:mod:`nolook.algorithms.glm.estimate`). The proof is ``linear.md``;
names are those of :mod:`nolook.algorithms.glm.frame`, and ``clip`` is K, the bound on a row's
``|u_x rho|`` in a gradient, and on ``|2 u_0 rho|``.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from attrs import asdict, frozen

from nolook._arrays import Vector
from nolook.algorithms.glm.additive_priors import shrink
from nolook.algorithms.glm.clips import (
    Clip,
    release_clip,
    release_clipped_scores,
    release_products,
)
from nolook.algorithms.glm.designs import TARGET_LIMIT, Blocks
from nolook.algorithms.glm.error_sizes import release_errors, release_sides
from nolook.algorithms.glm.estimate import CombinedGradients, Gradients, Noisy, combine_gradients
from nolook.algorithms.glm.frame import Frame, NoisyFrame
from nolook.algorithms.glm.steps import score_law
from nolook.algorithms.moment_selection import NoisyProducts, select_features
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.scaling import Scaling
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import GridModel
from nolook.statistics.weighted_rows import (
    ERROR_UNIT,
    ModelErrors,
    errors_sensitivity,
)
from nolook.tables import Table

__all__ = ["LinearRelease", "NoisyRegression"]

#: Gradients, and before which of them a histogram of their sizes bounds them anew.
GRADIENTS = 8
CLIPPED_AT = (0, 2)


@frozen(eq=False)
class NoisyRegression(NoisyFrame):
    """The release, in standardised units: all later results follow from it."""

    seen: Gradients  # noisy sums of u rho, each row's part clipped, and the models they are of
    clip: Clip  # of the last gradients
    theta: Vector  # the estimate, the constant first, shape (d,)
    chosen: tuple[int, ...] | None  # features with a slope, counted from 0 among those kept
    scores: Noisy  # sum of s s', s a row's part of the gradient at theta, clipped
    fit: Noisy  # sums of min(|y - c|, 4)^2 and min(|y - theta'x|, 4)^2
    errors: NoisyForest  # counts of |y - theta'x| between ERROR_EDGES
    sides: Noisy  # counts of rows far below their prediction, near it, and far above

    def observed(self) -> tuple[CombinedGradients, float, float, Vector]:
        """Return the combined gradients, sampling's variance over A, A's noise's deviation.

        And the variance along each direction by which the last step may err: a square's is exact.
        """
        combined = combine_gradients(self.gram, self.gram_sigma, self.seen)
        residuals = self.clip.residuals(self.gram, self.gram_sigma)
        return combined, residuals, self.gram_sigma, np.zeros(len(self.gram))

    @property
    def known(self) -> Noisy:
        """Second moments of the scores."""
        return self.scores


@frozen
class LinearRelease(Frame):
    """Scales, norms, second moments, gradients, errors and scores of a table.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises; an empty one is
    answered with noise. Keeps the rows in memory, two bytes a feature and 28 more a row, where they
    surely take no more than :data:`nolook.algorithms.glm.designs.COPY_BYTES`.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    k : int, "auto" or None
        Number of features with a slope, chosen from what was released; None keeps all.
    """

    k: int | str | None = None

    COMMON: ClassVar = {"scales": 0.28, "spread": 0.06, "norms": 0.02, "gram": 0.10}
    OWN: ClassVar = {
        "clips": (0.08, "histograms of the gradients' sizes"),
        "gradients": (0.40, f"gradients of {GRADIENTS} rounds"),
        "fit": (0.02, "squared errors"),
        "errors": (0.01, "counts of errors by their size"),
        "sides": (0.005, "counts of large errors on either side"),
        "scores": (0.025, "second moments of the rows' gradients"),
    }
    OWN_STEPS: ClassVar = len(CLIPPED_AT) + GRADIENTS + 4

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> NoisyRegression | Scaling:
        """Release what a model of a table with a target follows from.

        If the target is not detected, that is its scaling, with the mean that the gradients of a
        model without features find as the target's centre.
        """
        found, blocks = self._begun(table, source, progress)
        seen, clip = self._descend(blocks, found, source, progress)
        theta, chosen = self._estimate(found, seen, clip)
        if not found.scaling.detected[-1]:
            scaling, mean = found.scaling, min(max(float(theta[0]), -TARGET_LIMIT), TARGET_LIMIT)
            center, scale = float(scaling.center[-1]), float(scaling.scale[-1])
            return scaling.with_target(center + scale * mean, scale)
        progress("fit")
        model = GridModel(*blocks.design.on_grid(theta))
        mean, _ = score_law(theta, found.gram)
        errors = ModelErrors(model, mean, blocks.whole)
        sensitivity = errors_sensitivity(blocks.whole)
        fit = blocks.release(errors, sensitivity, ERROR_UNIT**2, self._mu("fit"), source)
        progress("errors")
        sizes = release_errors(blocks, model, self._mu("errors"), source)
        progress("sides")
        sides = release_sides(blocks, model, clip.bound, self._mu("sides"), source)
        progress("scores")
        scores = release_clipped_scores(blocks, model, clip.bound, self._mu("scores"), source)
        own = seen, clip, theta, chosen, scores, fit, sizes, sides
        return NoisyRegression(*own, **asdict(found, recurse=False))

    def _descend(
        self, blocks: Blocks, found: NoisyFrame, source: ByteSource, progress: OnStep
    ) -> tuple[Gradients, Clip]:
        """Take preconditioned steps along noisy gradients."""
        design, size = blocks.design, blocks.design.size
        values, vectors = np.linalg.eigh(found.gram)
        ridge = found.gram_sigma * math.sqrt(size)
        solved = (vectors / (np.maximum(values, 0.0) + ridge)) @ vectors.T
        whole = self._steps_mu(design)
        mu, clip_mu = whole / math.sqrt(GRADIENTS), self._mu("clips", len(CLIPPED_AT))
        theta, seen = np.zeros(size), Gradients.none(size)
        theta[: design.start.size] = design.start
        for number in range(GRADIENTS):
            model = GridModel(*design.on_grid(theta))
            if number in CLIPPED_AT:
                progress("sizes")
                clip = release_clip(blocks, model, whole, clip_mu, source)
            progress(f"gradient {number + 1}")
            gradient = release_products(blocks, model, clip.most, mu, source)
            theta = model.spacing * model.whole
            seen = seen.and_one(theta, gradient)
            theta = theta + solved @ gradient.value
        return seen, clip

    def _estimate(
        self, found: NoisyFrame, seen: Gradients, clip: Clip
    ) -> tuple[Vector, tuple[int, ...] | None]:
        """Estimate the model; of k features only, if k is given. Post-processing."""
        gram, sigma = found.gram, found.gram_sigma
        combined = combine_gradients(gram, sigma, seen)
        if any(found.curves):
            return shrink(combined, found, clip.residuals(gram, sigma), sigma).theta, None
        detected, rows = len(gram) - 1, found.scaling.rows.value
        if self.k is None or (self.k != "auto" and int(self.k) >= detected) or detected < 2:
            return combined.theta, None if self.k is None else tuple(range(detected))
        # Columns are chosen, not directions: in scales, where noise is about as large in each.
        back = found.spread.back
        size = float((back**2).sum(axis=1).mean())
        gram, sigma = back @ gram @ back.T, sigma * size
        products = back @ combined.vectors @ combined.moments
        noise = math.sqrt(combined.variance * size)
        moments = NoisyProducts(gram, products, rows, sigma, noise, rows)
        k = None if self.k == "auto" else int(self.k)
        chosen = select_features(moments, k, np.ones(detected, dtype=np.bool_))
        fitted = [0, *(1 + feature for feature in chosen)]
        theta = np.zeros(len(gram))
        none, shown = Gradients.none(len(fitted)), Noisy(products[fitted], noise)
        among = none.and_one(np.zeros(len(fitted)), shown)
        theta[fitted] = combine_gradients(gram[np.ix_(fitted, fitted)], sigma, among).theta
        return back.T @ theta, chosen
