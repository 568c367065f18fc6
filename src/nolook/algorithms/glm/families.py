"""Families of outcomes, a row of a table each: what their means are, and how these grow.

Curves are chosen in the same way for all, and the gradients of classes and counts followed in one
(``descent.py``). What differs is the mean as a function of the scores, how much targets vary about
it, and whether what a row adds to a gradient has a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen
from scipy.special import expit, logit

from nolook._arrays import Vector
from nolook.algorithms.scaling import Scaling
from nolook.statistics.grid_models import LARGEST_MEAN, ClassModel, CountModel, GridModel

__all__ = ["LINEAR", "LOG", "LOGISTIC", "NORMAL_PLACES", "NORMAL_WEIGHTS", "Family"]

# Means are at least this share, or so many scales, before lines are followed.
_LEAST_MEAN = 1e-3
_MOST_DISPERSED, _FARTHEST = 5.0, 40.0

# The standard normal law, for means over it.
NORMAL_PLACES = np.linspace(-3.0, 3.0, 61)
NORMAL_WEIGHTS = np.exp(-0.5 * NORMAL_PLACES**2)
NORMAL_WEIGHTS /= NORMAL_WEIGHTS.sum()


@frozen
class Family:
    """A family of outcomes: its mean as a function of the scores, and how gradients follow it."""

    model: Callable[..., Any]  # of weighted rows, on their grid
    slopes: Callable[[Vector], Vector]  # of means, at scores
    mean: Callable[[Any], Any]  # at a score, or at several
    score: Callable[[float], float]  # of a mean
    means: tuple[float, float] = (-math.inf, math.inf)  # between which the first are kept
    first: Callable[[Scaling], float] = lambda _: 0.0  # the mean to begin at
    #: How many times the slope targets vary at a mean; None if by what lines leave of 1.
    dispersion: Callable[[float], float] | None = None
    #: Whether residuals are 1 at most, so that nothing a row adds has to be clipped.
    bounded: bool = False
    #: What slopes are cut at, where scores are that high.
    steepest: Callable[[float], float] = lambda _: 0.25
    #: By how much the scores' deviation may change in a step.
    longest: float = math.inf
    #: The curvature that gradients show may be so many times the metric's.
    secants: tuple[float, float] = (0.25, 1.0)

    def average(self, mean: float, deviation: float) -> float:
        """Return the mean over normal scores."""
        return float(NORMAL_WEIGHTS @ self.mean(mean + deviation * NORMAL_PLACES))


#: The mean is the score.
LINEAR = Family(GridModel, np.ones_like, mean=float, score=float)

#: How probabilities grow.
LOGISTIC = Family(
    ClassModel,
    lambda scores: expit(scores) * expit(-scores),
    mean=expit,
    score=logit,
    means=(_LEAST_MEAN, 1.0 - _LEAST_MEAN),
    first=lambda _: 0.5,
    dispersion=lambda _: 1.0,
    bounded=True,
)


def _exponential(scores: Any) -> Any:  # noqa: ANN401 -- a score, or several
    return np.exp(np.clip(scores, -_FARTHEST, math.log(LARGEST_MEAN)))


#: How means of counts grow. Targets vary by their scale at most, or few scales each.
LOG = Family(
    CountModel,
    _exponential,
    mean=_exponential,
    score=math.log,
    means=(_LEAST_MEAN, LARGEST_MEAN),
    first=lambda found: found.median[-1] / found.scale[-1],
    dispersion=lambda mean: min(1.0 / mean, _MOST_DISPERSED),
    steepest=_exponential,
    longest=1.0,
    secants=(0.25, 4.0),
)
