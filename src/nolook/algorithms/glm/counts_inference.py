"""The model of counts of a release in the original units, its intervals and its fit.

All of it is post-processing.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook.algorithms.glm.counts import NoisyCounts
from nolook.algorithms.glm.inference import Coefficients, coefficients, explained

__all__ = ["CountsModel", "counts_model"]

# Intervals of the deviance explained that say nothing.
_WIDEST = 0.5

Vector = NDArray[np.float64]


@frozen(eq=False)
class CountsModel:
    """A released model of counts in the table's units, with intervals at LEVEL.

    None stands for what the noise hides.
    """

    known: Coefficients  # logarithms of the mean a unit
    deviance_explained: float | None  # of the training rows; a deviance above 16 counts as 16
    deviance_explained_interval: Vector | None


def counts_model(release: NoisyCounts) -> CountsModel:
    """Return the model, its intervals and its fit from what was released; post-processing."""
    theta, scaling = release.spread.model(release.theta), release.scaling
    theta[0] += math.log(scaling.scale[-1] / release.exposures[0])
    scale = scaling.scale.copy()
    scale[-1] = 1.0
    known = coefficients(release, theta, release.margins(), evolve(scaling, scale=scale))
    fit = explained(release.fit, release.fit_sigma, _WIDEST) if release.detected else (None, None)
    return CountsModel(known, *fit)
