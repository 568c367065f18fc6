"""Logistic regression by noisy gradients of a weighted likelihood.

A row adds ``u f (y - p)`` to the gradient, p its probability at the whole row: no clip is needed.
The Gram matrix is the metric of the first steps; every gradient is a noisy observation of the
solution (:mod:`nolook.algorithms.glm.steps`), and what each of them costs is decided on the way
(:mod:`nolook.algorithms.glm.descent`). Nothing has to be chosen: no step size, no norm, no epochs.
The proof is ``logistic.md``; names are those of :mod:`nolook.algorithms.glm.frame`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from attrs import asdict, evolve, frozen
from scipy.special import ndtri

from nolook._arrays import Matrix, Vector
from nolook.algorithms.glm.descent import Descent
from nolook.algorithms.glm.estimate import Noisy
from nolook.algorithms.glm.families import LOGISTIC
from nolook.algorithms.glm.frame import Frame
from nolook.algorithms.glm.likelihood import NoisyLikelihood
from nolook.algorithms.glm.steps import Steps, score_law
from nolook.algorithms.scaling import release_bins
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.class_counts import ClassBalance, ScoreCounts, balance_sensitivity
from nolook.statistics.histograms import histograms_sensitivity
from nolook.tables import Table

__all__ = ["LogisticRelease", "NoisyLogistic", "score_edges"]

# Bins of the log-odds, of each class.
_SCORE_BINS = 16
# A base rate is at least this, and at least what the noise of the classes' balance can tell from 0.
_LEAST_RATE, _MOST_DOUBT = 1e-4, 0.25


@frozen(eq=False)
class NoisyLogistic(NoisyLikelihood):
    """The release, in standardised units: all later results follow from it."""

    balance: Noisy  # number of rows of class 1, less that of class 0
    fit: Noisy  # counts by class, class 0 first, between `score_edges`


@frozen
class LogisticRelease(Frame):
    """Scales, norms, moments, the classes' balance, gradients and scores of a table.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises; an empty one is
    answered with noise. Keeps the rows in memory as
    :class:`nolook.algorithms.glm.linear.LinearRelease` does.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    """

    COMMON: ClassVar = {"scales": 0.25, "spread": 0.10, "norms": 0.01, "gram": 0.06}
    OWN: ClassVar = {
        "classes": (0.02, "balance of the classes"),
        "gradients": (0.51, "gradients and curvatures of the log-likelihood"),
        "fit": (0.02, "histogram of the scores by class"),
        "scores": (0.03, "second moments of the rows' gradients"),
    }
    FAMILY: ClassVar = LOGISTIC
    BEYOND: ClassVar = 2.0
    OWN_STEPS: ClassVar = 1 + Descent.MOST_STAGES + 2

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> NoisyLogistic:
        """Release what a model of a table whose target holds 0 and 1 follows from."""
        begun, blocks = self._begun(table, source, progress)
        progress("classes")
        whole, mu = blocks.whole, self._mu("classes")
        sensitivity = whole * balance_sensitivity()
        balance = blocks.release(ClassBalance(), sensitivity, whole, mu, source)
        rate = _base_rate(balance, begun.scaling.rows.value)
        # A model's value is log-odds.
        begun = evolve(begun, scaling=begun.scaling.with_target(0.0, 1.0))
        steps, mu = Steps.at_mean(self.FAMILY, rate, len(begun.gram)), self._steps_mu(blocks.design)
        descent = Descent(mu, begun, blocks, source, steps)
        found = descent.run(progress)
        progress("fit")
        edges = score_edges(found.theta, begun.gram)
        exact = blocks.fold(ScoreCounts(descent.at(found.theta), edges)).value.reshape(1, -1)
        counts = release_bins(exact, self._mu("fit"), blocks.whole, source).reshape(2, -1)
        fit = Noisy(counts, histograms_sensitivity(1, "add-remove") / self._mu("fit"))
        progress("scores")
        found = descent.judged(found, self._mu("scores"))
        return NoisyLogistic(balance, fit, **asdict(found, recurse=False))


def _base_rate(balance: Noisy, rows: float) -> float:
    """Return the share of class 1."""
    least = min(max(0.5 * balance.sigma / rows, _LEAST_RATE), _MOST_DOUBT)
    return min(max(0.5 + 0.5 * float(balance.value[0]) / rows, least), 1.0 - least)


def score_edges(theta: Vector, gram: Matrix) -> Vector:
    """Cut the log-odds into bins of as many rows each, as far as they are normal."""
    mean, deviation = score_law(theta, gram)
    return np.asarray(mean + deviation * ndtri(np.arange(1, _SCORE_BINS) / _SCORE_BINS))
