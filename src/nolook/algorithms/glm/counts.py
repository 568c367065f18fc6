"""Regression of counts, or of amounts that may be 0: means that are exponentials, quasi-likelihood.

A row adds ``u f (y - m)`` to the gradient, ``m = e exp(theta'x)`` with e its exposure; targets have
the scale that was found and centre 0. What a row adds is clipped as in a linear regression
(:mod:`nolook.algorithms.glm.clips`), and gradients are followed as those of classes are
(:mod:`nolook.algorithms.glm.descent`). Nothing is assumed of how targets vary about their means.
The proof is ``counts.md``; names are those of :mod:`nolook.algorithms.glm.frame`.
"""

from __future__ import annotations

import math
from typing import ClassVar

from attrs import asdict, evolve, frozen

from nolook.algorithms.glm.descent import Descent
from nolook.algorithms.glm.estimate import Noisy
from nolook.algorithms.glm.families import LOG
from nolook.algorithms.glm.frame import Frame
from nolook.algorithms.glm.likelihood import NoisyLikelihood
from nolook.algorithms.glm.steps import Steps
from nolook.algorithms.scaling import Scaling
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.weighted_rows import ERROR_UNIT, ModelDeviances, deviances_sensitivity
from nolook.tables import Table

__all__ = ["CountRelease", "NoisyCounts"]

# Means of targets are at most so many scales, and those without features at least a small one.
_MOST_CENTER, _LEAST_MEAN = 8.0, 1.0 / 64.0


@frozen(eq=False)
class NoisyCounts(NoisyLikelihood):
    """The release, in standardised units: all later results follow from it."""

    exposures: tuple[float, float, float]  # the usual one, the least and the most
    clip: float  # K at the last gradient
    fit: Noisy  # sums of the deviances from the mean, and from the model, cut off

    @property
    def units(self) -> tuple[float, float]:
        """Those of the logarithm of the mean, at an exposure of 1."""
        return math.log(float(self.scaling.scale[-1]) / self.exposures[0]), 1.0


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
    """

    COMMON: ClassVar = {"scales": 0.26, "spread": 0.08, "norms": 0.02, "gram": 0.06}
    OWN: ClassVar = {
        "clips": (0.06, "histograms of the gradients' sizes"),
        "gradients": (0.46, "gradients and curvatures of the likelihood"),
        "fit": (0.03, "deviances"),
        "scores": (0.03, "second moments of the rows' gradients"),
    }
    FAMILY: ClassVar = LOG
    RARE_TARGET: ClassVar = True
    OWN_STEPS: ClassVar = 2 + Descent.MOST_STAGES + 2

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> NoisyCounts:
        """Release what a model of a table with a target follows from."""
        begun, blocks = self._begun(table, source, progress)
        design, clip_mu = blocks.design, self._mu("clips", 2)
        mean = float(begun.scaling.center[-1] / design.scaling.scale[-1])
        steps = Steps.at_mean(self.FAMILY, min(max(mean, _LEAST_MEAN), _MOST_CENTER), design.size)
        begun = evolve(begun, scaling=self._placed(begun.scaling))
        descent = Descent(self._steps_mu(design), begun, blocks, source, steps, clip_mu)
        found = descent.run(progress)
        progress("fit")
        deviances = ModelDeviances(descent.at(found.theta), found.mean, blocks.whole)
        sensitivity = deviances_sensitivity(blocks.whole)
        fit = blocks.release(deviances, sensitivity, ERROR_UNIT**2, self._mu("fit"), source)
        progress("scores")
        found = descent.judged(found, self._mu("scores"))
        known = asdict(found, recurse=False)
        return NoisyCounts(design.exposures, descent.clip, fit, **known)

    def _placed(self, scaling: Scaling) -> Scaling:
        """Let the target's centre be 0, and its mean a few scales at most."""
        least = abs(float(scaling.center[-1])) / _MOST_CENTER
        return scaling.with_target(0.0, max(float(scaling.scale[-1]), least))
