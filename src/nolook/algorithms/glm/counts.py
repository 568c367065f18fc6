"""Regression of counts, or of amounts that may be 0: means that are exponentials, quasi-likelihood.

A row adds ``u f (y - m)`` to the gradient, ``m = e exp(theta'x)`` with e its exposure; targets have
the scale that was found and centre 0. What a row adds is clipped as in a linear regression
(:mod:`nolook.algorithms.glm.clips`), and gradients are followed as those of classes are
(:mod:`nolook.algorithms.glm.descent`). Nothing is assumed of how targets vary about their means.
The proof is ``counts.md``; names are those of :mod:`nolook.algorithms.glm.frame`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from attrs import asdict, define, evolve, frozen

from nolook._arrays import Flags, Matrix, Vector
from nolook.algorithms.glm.additive import LEAST_MEAN
from nolook.algorithms.glm.clips import release_clip, release_clipped_scores
from nolook.algorithms.glm.descent import Descent
from nolook.algorithms.glm.designs import WeightedDesign
from nolook.algorithms.glm.estimate import Gradients, Noisy
from nolook.algorithms.glm.frame import Frame
from nolook.algorithms.glm.likelihood import NoisyLikelihood
from nolook.algorithms.glm.steps import Family, Steps, score_law
from nolook.algorithms.scaling import Scaling
from nolook.kernels.row_models import exponentials
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import LARGEST_MEAN, CountModel, RowBlock
from nolook.statistics.weighted_rows import (
    ERROR_UNIT,
    PRODUCT_UNIT,
    ClippedProducts,
    ModelDeviances,
    clipped_products_sensitivity,
    deviances_sensitivity,
)
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = ["LOG", "CountRelease", "ExposedDesign", "NoisyCounts", "exposure_range"]

# Means of targets are at most so many scales, and those without features at least a small one.
_MOST_CENTER, _LEAST_MEAN = 8.0, 1.0 / 64.0
_MOST_DISPERSED = 5.0
# Exposures are cut at this share of the usual one.
_LEAST_EXPOSURE = 1.0 / 64.0
# A mean's slope is cut at that of scores so many deviations above their mean.
_STEEP = 2.0
# Deviations of its noise by which a mean must be above 0.
_DETECTED, _TINY = 2.0, 1e-9


def _slopes(scores: Vector) -> Vector:
    return np.minimum(exponentials(scores), LARGEST_MEAN)


def dispersion(mean: float) -> float:
    """Guess how many times their mean targets vary by: their scale at most, or few scales each."""
    return min(1.0 / mean, _MOST_DISPERSED)


#: How means grow.
LOG = Family(
    CountModel,
    _slopes,
    mean=math.exp,
    score=math.log,
    means=(LEAST_MEAN, LARGEST_MEAN),
    first=lambda found: found.median[-1] / found.scale[-1],
    dispersion=dispersion,
    longest=1.0,
    secants=(0.25, 4.0),
)


def exposure_range(scaling: Scaling, place: int) -> tuple[float, float, float]:
    """Return the usual exposure, and between which two they are cut; all above 0."""
    center, high = float(scaling.center[place]), float(scaling.high[place])
    if not (scaling.detected[place] and center > 0.0):
        return 1.0, 1.0, 1.0
    return center, center * _LEAST_EXPOSURE, max(center, high)


@frozen(eq=False)
class ExposedDesign(WeightedDesign):
    """The design of a table with a column of exposures: weighted rows."""

    place: int  # of the exposures among the features
    exposures: tuple[float, float, float]  # the usual one, the least and the most

    def rows(self, batch: Matrix, weights: Weights) -> Iterator[RowBlock]:
        """Make the weighted rows of a batch; one whose exposure is not above 0 has no weight."""
        usual, least, most = self.exposures
        own = batch[self.place]
        for block in super().rows(np.delete(batch, self.place, axis=0), weights):
            absent = ~(own > 0.0)
            block.rows[:, absent] = 0
            block.squares[absent] = 0
            block.targets[absent] = 0.0
            yield block._replace(exposures=own.clip(least, most) / usual)


@frozen(eq=False)
class NoisyCounts(NoisyLikelihood):
    """The release, in standardised units: all later results follow from it."""

    exposures: tuple[float, float, float]  # the usual one, the least and the most
    clip: float  # K at the last gradient
    mean: float  # in scales of the target, of the model
    fit: Noisy  # sums of the deviances from the mean, and from the model, cut off


@define(eq=False)
class CountDescent(Descent):
    """Gradients of the quasi-likelihood of counts, clipped.

    Each call of `begin` costs `clip_mu`; what is clipped follows from what it released.
    """

    GRID: ClassVar[int] = PRODUCT_UNIT

    clip_mu: float
    most: int = 0

    def at(self, theta: Vector) -> CountModel:
        """Round a model to the rows' grid."""
        mean, deviation = score_law(theta, self.found.gram)
        (steepest,) = _slopes(np.array([mean + _STEEP * deviation])).tolist()
        return CountModel(*self.blocks.design.on_grid(theta), steepest)

    def products(self, theta: Vector) -> ClippedProducts:
        """Return the sum of u f (y - m), clipped."""
        return ClippedProducts(self.at(theta), self.most, self.blocks.whole)

    def sensitivity(self) -> float:
        """Return the L2 sensitivity of that sum."""
        design, whole = self.blocks.design, self.blocks.whole
        return clipped_products_sensitivity(self.most, design.size, whole)

    def begin(self, theta: Vector, progress: OnStep) -> None:
        """Choose how far a row's part is clipped; the second time, slopes alone are to shrink."""
        if self.most:
            base = np.zeros(theta.size)
            base[0] = min(max(theta[0], math.log(_TINY)), math.log(LARGEST_MEAN))
            self.steps = evolve(self.steps, base=base)
        progress("sizes")
        model = self.at(theta)
        self.most, _ = release_clip(self.blocks, model, self.mu, self.clip_mu, self.source)

    def settle(self, seen: Gradients) -> None:
        """Move the constant to the mean that the first gradient shows, if it is more than noise."""
        rows = max(float(self.found.gram[0, 0]), 1.0)
        mean = math.exp(self.steps.base[0]) + float(seen.values[0, 0]) / rows
        least = _DETECTED * float(seen.sigmas[0]) / rows
        base = self.steps.base.copy()
        base[0] = math.log(min(max(mean, least, _TINY), LARGEST_MEAN))
        self.steps = evolve(self.steps, base=base, dispersion=dispersion(math.exp(base[0])))


@frozen
class CountRelease(Frame):
    """Scales, norms, moments, clipped gradients, curvatures and deviances of a table.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises; an empty one is
    answered with noise. Keeps the rows in memory as
    :class:`nolook.algorithms.glm.linear.LinearRelease` does.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    exposure : str or None
        Feature that means are in proportion to.
    """

    exposure: str | None = None

    COMMON: ClassVar = {"scales": 0.26, "spread": 0.08, "norms": 0.02, "gram": 0.06}
    OWN: ClassVar = {
        "clips": (0.06, "histograms of the gradients' sizes"),
        "descent": (0.46, "gradients and curvatures of the likelihood"),
        "fit": (0.03, "deviances"),
        "scores": (0.03, "second moments of the rows' gradients"),
    }
    FAMILY: ClassVar = LOG
    RARE_TARGET: ClassVar = True
    STEPS: ClassVar = "descent"
    OWN_STEPS: ClassVar = 2 + Descent.MOST_STAGES + 2

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> NoisyCounts:
        """Release what a model of a table with a target follows from."""
        begun, blocks = self._begun(table, source, progress)
        center, scale = begun.scaling.center[-1], blocks.design.scaling.scale[-1]
        mean = min(max(float(center / scale), _LEAST_MEAN), _MOST_CENTER)
        base = np.zeros(blocks.design.size)
        base[0] = math.log(mean)
        steps, mu = Steps(LOG, base, dispersion(mean)), self._steps_mu(blocks.design)
        descent = CountDescent(mu, begun, blocks, source, steps, self._mu("clips", 2))
        found = descent.run(progress)
        steps, mean = descent.steps, math.exp(descent.steps.base[0])
        clip = descent.most / (blocks.design.unit * PRODUCT_UNIT)
        progress("fit")
        model = descent.at(found.theta)
        mean_of_fit = float(LOG.weights(*score_law(found.theta, begun.gram)).sum())
        deviances = ModelDeviances(model, mean_of_fit, blocks.whole)
        sensitivity = deviances_sensitivity(blocks.whole)
        fit = blocks.release(deviances, sensitivity, ERROR_UNIT**2, self._mu("fit"), source)
        progress("scores")
        scores = release_clipped_scores(blocks, model, clip, self._mu("scores"), source)
        varied = float(np.trace(scores.value)) + scores.sigma * math.sqrt(blocks.design.size)
        curved = mean * max(float(np.trace(begun.gram)), 1.0)
        judged = evolve(steps, dispersion=max(varied / curved, _TINY))
        detected = bool(begun.scaling.detected[-1])
        detected &= judged.stands_out(begun.gram, begun.gram_sigma, mean, found.seen)
        exposures = getattr(blocks.design, "exposures", (1.0, 1.0, 1.0))
        begun = evolve(begun, scaling=self._placed(begun.scaling))
        known: dict[str, Any] = {"steps": steps, "detected": detected, "scores": scores}
        known |= asdict(begun, recurse=False) | asdict(found, recurse=False)
        return NoisyCounts(exposures, clip, mean_of_fit, fit, **known)

    def _apart(self, table: Table) -> Flags:
        return np.array([name == self.exposure for name in table.feature_names], dtype=np.bool_)

    def _blocked(
        self, table: Table, kept: Flags, scaling: Scaling, design: WeightedDesign
    ) -> tuple[Table, WeightedDesign]:
        apart = self._apart(table)
        if not apart.any():
            return table.select(kept), design
        place = int(apart.argmax())
        own, exposures = int(kept[:place].sum()), exposure_range(scaling, place)
        exposed = ExposedDesign(**asdict(design, recurse=False), place=own, exposures=exposures)
        return table.select(kept | apart), exposed

    def _placed(self, scaling: Scaling) -> Scaling:
        """Let the target's centre be 0, and its mean a few scales at most."""
        least = abs(float(scaling.center[-1])) / _MOST_CENTER
        return scaling.with_target(0.0, max(float(scaling.scale[-1]), least))
