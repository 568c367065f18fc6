"""The model of counts of a release in the original units, its intervals and its fit.

All of it is post-processing.
"""

from __future__ import annotations

import math

from nolook.algorithms.glm.counts import NoisyCounts
from nolook.algorithms.glm.inference import Coefficients, coefficients, explained
from nolook.algorithms.intervals import Measure

__all__ = ["counts_model", "log_mean"]

# Intervals of the deviance explained that say nothing.
_WIDEST = 0.5
_TINY = 1e-300


def counts_model(release: NoisyCounts) -> tuple[Coefficients, dict[str, Measure | None]]:
    """Return the model in the table's units, logarithms of the mean, and its fit; post-processing.

    The fit is the deviance explained of the training rows, where one above 16 counts as 16, with
    its interval: None where noise hides it.
    """
    theta = release.spread.model(release.theta)
    known = coefficients(release, theta, release.margins())
    fit = explained(release.fit, _WIDEST) if release.detected else None
    return known, {"deviance_explained": fit}


def log_mean(release: NoisyCounts) -> float:
    """Return the logarithm of the constant mean with which the fit is compared."""
    return math.log(max(release.mean, _TINY)) + release.units[0]
