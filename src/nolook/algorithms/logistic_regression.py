"""Logistic regression from private scales, one small noisy moment matrix and a few noisy gradients.

Rows (1, x) are whitened by a first moment matrix (:mod:`nolook.algorithms.logistic_design`) and
shortened to a norm by x alone, in training and in prediction. Their own moment matrix is
the metric of the first steps; every gradient of the log-likelihood is a noisy observation of the
solution (:mod:`nolook.algorithms.logistic_steps`), and what each of them costs is decided on the
way (:mod:`nolook.algorithms.logistic_descent`). Nothing has to be chosen: no step size, no norm, no
epochs. The proof is ``logistic_regression.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole, split by :data:`SHARES`
``n~``          ``scaling.rows.value``, the released number of rows
``limit``       L, features are clipped to so many scales
``norm``        R, bound on the norm of x
``unit``        U, grid units in a scale
``size``        d, the number of features in the design plus one
==============  =========================================================================
"""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from scipy.special import ndtri

from nolook.algorithms.linear_design import (
    Blocks,
    copy_room,
    limit_for,
    release_gram,
)
from nolook.algorithms.logistic_descent import Descent
from nolook.algorithms.logistic_design import ClassDesign, choose_design, release_spread
from nolook.algorithms.logistic_steps import (
    Curvature,
    Gradients,
    LogisticSteps,
    Metric,
    score_law,
)
from nolook.algorithms.scaling import ScaleSearch, Scaling
from nolook.algorithms.whitening import Spread
from nolook.privacy.budgets import row_share
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.statistics.class_gradients import (
    CURVATURE_UNIT,
    ClassBalance,
    ClassDispersion,
    ScoreCounts,
    balance_sensitivity,
    class_dispersion_sensitivity,
)
from nolook.statistics.histograms import histograms_sensitivity
from nolook.statistics.residual_products import grid_model
from nolook.statistics.weighted_rows import GridModel
from nolook.tables import Table
from nolook.tables.folding import Together

__all__ = ["LogisticRelease", "NoisyLogistic"]

#: Shares of mu^2. The scales' part counts the rows, too.
SHARES = {
    "scales": 0.25,
    "spread": 0.10,
    "norms": 0.01,
    "gram": 0.06,
    "classes": 0.02,
    "descent": 0.54,
    "fit": 0.018,
    "dispersion": 0.002,
}

# Bins of the log-odds, of each class.
_SCORE_BINS = 16
# A base rate is at least this, and at least what the noise of the classes' balance can tell from 0.
_LEAST_RATE, _MOST_DOUBT = 1e-4, 0.25
# Log-likelihood by which slopes must beat noise and chance, or else the model is the base rate.
_EVIDENCE = 4.0

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@frozen(eq=False, kw_only=True)
class NoisyLogistic:
    """What is released of a table, in standardised units: all later results follow from it."""

    scaling: Scaling  # of all columns; the target's entry stands for log-odds
    kept: NDArray[np.bool_]  # features in the design; the others have coefficient 0
    spread: Spread  # what a row is whitened by
    norm: float  # R; a whitened row x is multiplied by min(1, R / |x|)
    balance: float  # noisy number of rows of class 1, less that of class 0
    balance_sigma: float
    gram: Matrix  # noisy sum of (1, x)(1, x)', shape (d, d)
    gram_sigma: float  # deviation of the noise on its diagonal
    steps: LogisticSteps
    seen: Gradients  # noisy sums of (1, x)(y - p), and the models where they were taken
    curvature: Curvature  # noisy, at the last of them
    arrived: bool  # whether the steps ended because gradients told no more than noise
    theta: Vector  # the estimate, the constant first, shape (d,); the base rate's if not visible
    visible: bool  # whether the gradients told more than noise
    score_edges: Vector  # log-odds between which rows were counted; empty if not visible
    score_counts: Matrix  # noisy counts by class, class 0 first, one more than edges
    score_sigma: float
    excess: float  # noisy sum of ((y - p)^2 - p (1 - p)) |(1, x)|^2; 0 if not visible

    def metric(self, theta: Vector) -> Metric:
        """Return the curvature at a model as far as it is known: best at the last gradient's."""
        last = Metric.of_moments(self.gram, self.gram_sigma, self.seen.thetas[-1], safe=False)
        there = Metric.of_moments(self.gram, self.gram_sigma, theta, safe=False)
        known = last.mixed(self.curvature)
        return Metric(known.matrix + (there.matrix - last.matrix), known.sigma)


@frozen
class LogisticRelease:
    """Scales, norms, moments, the classes' balance, gradients and scores of a table.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises; an empty one is
    answered with noise. Keeps the rows in memory as
    :class:`nolook.algorithms.linear_regression.LinearRelease` does.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    """

    mu: float

    @property
    def stages(self) -> int:
        """How many stages `run` announces, at most."""
        return self._scales().stages + 4 + Descent.MOST_STAGES + 1

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that will be released; n draws of mu each are one of sqrt(n) mu."""
        names = {
            "spread": "second moments of the features",
            "norms": "histogram of the whitened rows' norms",
            "gram": "second moments of the whitened features",
            "classes": "balance of the classes",
            "descent": "gradients and curvatures of the log-likelihood",
            "fit": "histogram of the scores by class",
            "dispersion": "excess of squared residuals",
        }
        own = (GaussianEvent(name, self._mu(part)) for part, name in names.items())
        return (*self._scales().events(), *own)

    def _scales(self) -> ScaleSearch:
        # The target needs no search.
        return ScaleSearch(self._mu("scales"), target=False)

    def _mu(self, part: str, draws: int = 1) -> float:
        return self.mu * math.sqrt(SHARES[part] / draws)

    def most_shortened(self, size: int) -> float:
        """How many rows of this size may be shortened, were there any number of them.

        As many lose as much of the moments as a longer norm would add to their noise.
        """
        return 2.0 * size * math.sqrt(2 * size) / self._mu("gram")

    def for_rows(self, most: int) -> LogisticRelease:
        """Return the release that costs a unit of so many rows as much."""
        return evolve(self, mu=row_share(self.mu, most))

    def run(self, table: Table, source: ByteSource, announce: Announce) -> NoisyLogistic:
        """Release what a model of a table whose target holds 0 and 1 follows from."""
        scaling = self._scales().run(table, source, announce)
        table = table.filled(scaling.center)
        scaling = evolve(scaling, limit=limit_for(scaling.rows.value, self.mu))
        kept = scaling.visible[:-1]
        table = table.select(kept)
        design = self._design(table, scaling.select(kept), source, announce)
        announce("moments")
        blocks = Blocks(table, design, copy_room(scaling, design.size, table.unit))
        gram = release_gram(blocks, self._mu("gram"), source)
        announce("classes")
        balance, balance_sigma = self._balance(blocks, source)
        base = np.zeros(design.size)
        base[0] = _base_log_odds(balance, balance_sigma, scaling.rows.value)
        steps = LogisticSteps(base)
        descent = Descent(self._mu("descent"), steps, *gram, design.spread)
        found = descent.run(blocks, source, announce)
        # By the curvature at the base rate: where classes are far apart, hardly any is left.
        rate = 0.25 / math.cosh(0.5 * base[0]) ** 2
        start = Metric(rate * gram[0], rate * gram[1])
        visible = steps.evidence(start, found.seen) >= _EVIDENCE
        edges, counts, excess = np.zeros(0), np.zeros((2, 1)), 0.0
        if visible:
            announce("fit")
            edges = _score_edges(found.theta, gram[0])
            counts, excess = self._fit(blocks, found.theta, edges, source)
        return NoisyLogistic(
            scaling=_of_log_odds(scaling),
            kept=kept,
            norm=math.sqrt(design.norm**2 - 1.0),
            spread=design.spread,
            balance=balance,
            balance_sigma=balance_sigma,
            gram=gram[0],
            gram_sigma=gram[1],
            steps=steps,
            seen=found.seen,
            curvature=found.curvature,
            arrived=found.arrived,
            theta=found.theta if visible else base,
            visible=visible,
            score_edges=edges,
            score_counts=counts,
            score_sigma=histograms_sensitivity(1, "add-remove") / self._mu("fit"),
            excess=excess,
        )

    def _design(
        self, table: Table, scaling: Scaling, source: ByteSource, announce: Announce
    ) -> ClassDesign:
        """Find what rows are whitened by, and shortened to."""
        announce("spread")
        spread = release_spread(table, scaling, self._mu("spread"), source)
        announce("norms")
        few, mu = self.most_shortened(table.n_columns), self._mu("norms")
        return choose_design(table, scaling, spread, few, mu, source)

    def _balance(self, blocks: Blocks, source: ByteSource) -> tuple[float, float]:
        """Release by how many rows class 1 is ahead, and return its noise's deviation."""
        exact, whole = blocks.fold(ClassBalance()).value, blocks.whole
        sensitivity, mu = balance_sensitivity(), self._mu("classes")
        noisy = gaussian_release(exact, whole * sensitivity, mu, source)
        return float(noisy[0]) / whole, sensitivity / mu

    def _fit(
        self, blocks: Blocks, theta: Vector, edges: Vector, source: ByteSource
    ) -> tuple[Matrix, float]:
        """Release how well a model fits, in one pass.

        How many rows of either class have log-odds between the edges; and by how much residuals,
        weighed by the rows' squares, vary more than the model expects.
        """
        design, whole = blocks.design, blocks.whole
        model = GridModel(*grid_model(theta, design.squared_radius), design.unit)
        scores, dispersion = ScoreCounts(model, edges), ClassDispersion(model, whole)
        blocks.fold(Together(scores, dispersion))
        sensitivity = whole * histograms_sensitivity(1, "add-remove")
        counts = gaussian_release(scores.value, sensitivity, self._mu("fit"), source)
        sensitivity = class_dispersion_sensitivity(design.squared_radius, whole)
        excess = gaussian_release(dispersion.value, sensitivity, self._mu("dispersion"), source)
        counts = counts.astype(np.float64).reshape(2, -1) / whole
        return counts, float(excess[0]) / (design.unit**2 * CURVATURE_UNIT)


def _base_log_odds(balance: float, sigma: float, rows: float) -> float:
    """Return the log-odds of class 1 without features."""
    least = min(max(0.5 * sigma / rows, _LEAST_RATE), _MOST_DOUBT)
    rate = min(max(0.5 + 0.5 * balance / rows, least), 1.0 - least)
    return math.log(rate / (1.0 - rate))


def _score_edges(theta: Vector, gram: Matrix) -> Vector:
    """Cut the log-odds into bins of as many rows each, as far as they are normal."""
    mean, deviation = score_law(theta, gram)
    edges: Vector = mean + deviation * ndtri(np.arange(1, _SCORE_BINS) / _SCORE_BINS)
    return edges


def _of_log_odds(scaling: Scaling) -> Scaling:
    """Let the target's centre and scale be 0 and 1: a model's value is log-odds."""
    center, scale = scaling.center.copy(), scaling.scale.copy()
    center[-1], scale[-1] = 0.0, 1.0
    return evolve(scaling, center=center, scale=scale)
