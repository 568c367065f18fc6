"""Additive models: every column has a curve where one can be told from a line.

Curves are a design of any family's release: a row has deviations from lines as further entries
(:mod:`nolook.algorithms.curves`), and all that follows is as for lines. Deviations cost noise, so
only columns that a noisy gradient shows to be bent get some, and no more than rows and budget
allow; without any, the model is one of lines. The proof is ``additive.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np
from attrs import define, evolve, field, frozen
from scipy.special import expit, logit

from nolook._arrays import Integers, Matrix, Places, Vector
from nolook.algorithms.curves import Curve, cell_edges, curve_of
from nolook.algorithms.glm.clips import products_sigma, release_products
from nolook.algorithms.glm.counts import CountRelease, dispersion
from nolook.algorithms.glm.designs import Blocks, WeightedDesign, choose_unit
from nolook.algorithms.glm.frame import Blocked, Frame
from nolook.algorithms.glm.linear import GRADIENTS, LinearRelease
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.scaling import Scaling, release_histograms
from nolook.algorithms.whitening import Spread
from nolook.kernels.histogram import threshold_counts
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import LARGEST_MEAN, ClassModel, CountModel, GridModel
from nolook.statistics.histograms import histograms_sensitivity
from nolook.statistics.weighted_rows import PRODUCT_UNIT
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = ["AdditiveCounts", "AdditiveLogistic", "AdditiveRelease"]

# Deviations of a column: few, or more where all columns may have them.
_FEW, _MANY = 4, 6
# Deviations of all columns together, and entries of a row with those of all columns.
_MOST_ENTRIES, _WIDEST = 400, 20_000
# A row's part of the choice is clipped at so many times what it measures on average.
_CLIP = 1.5
# Means are at least this share, or so many scales, before lines are followed.
_LEAST_MEAN = 1e-3
# n mu below which the gradients need all of their share.
_LEAST = 700.0
# Deviations of chance by which a column must seem bent.
_BENT = 3.0
# Shares of the gradients' mu^2 for knots, for gradients of lines and for the choice, if any feature
# may have a curve.
_KNOTS, _LINES, _CHOICE = 0.08, 0.12, 0.12
_STEPS = 2
_DESCENT = "histograms for curves, their choice, gradients and curvatures of the likelihood"
# Least variance of residuals, in squared scales of the target.
_LEAST_LEFT = 0.1


@frozen
class _Outcome:
    """A family of outcomes, as the first gradients follow it."""

    model: type[GridModel]
    first: Callable[[Scaling], float]  # the mean to begin at
    mean: Callable[[float], float]
    score: Callable[[float], float]  # of a mean, within what means may be
    slope: Callable[[float], float]  # of means by scores, at a mean
    #: Variance of targets at a mean; None where it is what lines leave of 1.
    variance: Callable[[float], float] | None
    #: A row's part is clipped at so many times the norm of a row, by the residuals' deviation.
    reach: Callable[[float], float]


_NUMBERS = _Outcome(
    GridModel, lambda _: 0.0, float, float, lambda _: 1.0, None, lambda left: _CLIP * left
)
_CLASSES = _Outcome(
    ClassModel,
    lambda _: 0.5,
    lambda score: float(expit(score)),
    lambda mean: float(logit(min(max(mean, _LEAST_MEAN), 1.0 - _LEAST_MEAN))),
    lambda mean: mean * (1.0 - mean),
    lambda mean: mean * (1.0 - mean),
    lambda _: 1.0,  # residuals are no larger
)
_MEANS = _Outcome(
    CountModel,
    lambda scaling: 1.0 if scaling.median is None else scaling.median[-1] / scaling.scale[-1],
    math.exp,
    lambda mean: math.log(min(max(mean, _LEAST_MEAN), LARGEST_MEAN)),
    float,
    lambda mean: mean * dispersion(mean),
    lambda left: _CLIP * left,
)


@frozen(slots=False)
class _Curved(Frame):
    """The release of a family with histograms of columns and a choice of curves."""

    straight: tuple[str, ...] = ()

    OUTCOME: ClassVar[_Outcome]

    def _shaped(
        self,
        scaling: Scaling,
        table: Table,
        blocked: Blocked,
        spread: Spread,
        source: ByteSource,
        progress: OnStep,
    ) -> tuple[Scaling, Vector | None]:
        """Find knots, follow lines, and choose which features are to have curves."""
        names = scaling.names[:-1]
        lines = len(names) + 1
        rows = scaling.rows.value
        room = min((rows * self._mu("gram")) ** (2.0 / 3.0) - lines, _MOST_ENTRIES)
        most = _MANY if room >= _MANY * (lines - 1) else _FEW
        searched = ~scaling.binary[:-1]
        searched &= ~np.isin(names, self.straight)
        hidden = room < most or rows * self.mu < _LEAST or lines * (most + 1) > _WIDEST
        if hidden or not searched.any() or not scaling.detected[-1]:
            return scaling, None
        progress("knots")
        edges, places = cell_edges(scaling.limit), np.flatnonzero(searched)
        count = partial(_count, places, scaling.center[places], scaling.scale[places], edges)
        mu = math.sqrt(_KNOTS) * self._mu(self.STEPS)
        rest = iter(release_histograms(table, mu, source, count))
        sigma = histograms_sensitivity(len(places), "add-remove") / mu
        curves = [curve_of(next(rest), sigma, edges, most) if own else None for own in searched]
        progress("lines")
        begin = _Beginning(self.OUTCOME, blocked, spread, self._mu(self.STEPS), source)
        begin.follow(scaling)
        progress("choice")
        bent = begin.bent(evolve(scaling, curves=tuple(curves)))
        chosen: list[Curve | None] = [None] * len(curves)
        for place in sorted(bent, key=lambda each: -bent[each][0]):
            excess, size = bent[place]
            if excess > _BENT * math.sqrt(2.0 * size) and size <= room:
                chosen[place], room = curves[place], room - size
        return evolve(scaling, curves=tuple(chosen)), begin.theta

    def _steps_mu(self, design: WeightedDesign) -> float:
        left = 1.0 - _KNOTS - _LINES - _CHOICE if design.scaling.curves else 1.0
        return math.sqrt(left) * self._mu(self.STEPS)


@frozen
class AdditiveRelease(_Curved, LinearRelease):
    """A linear regression's release, with histograms of columns and a choice of curves.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    straight : tuple of str
        Features that have lines only.
    """

    OUTCOME: ClassVar = _NUMBERS
    CALLED: ClassVar = {
        **LinearRelease.CALLED,
        "gradients": f"histograms for curves, their choice, gradients of {GRADIENTS} rounds",
    }
    OWN_STEPS: ClassVar = LinearRelease.OWN_STEPS + 3


@frozen
class AdditiveLogistic(_Curved, LogisticRelease):
    """A logistic regression's release, with histograms of columns and a choice of curves.

    Guarantee and parameters are those of :class:`AdditiveRelease`.
    """

    OUTCOME: ClassVar = _CLASSES
    CALLED: ClassVar = {**LogisticRelease.CALLED, "descent": _DESCENT}
    OWN_STEPS: ClassVar = LogisticRelease.OWN_STEPS + 3


@frozen
class AdditiveCounts(_Curved, CountRelease):
    """A regression of counts' release, with histograms of columns and a choice of curves.

    Guarantee and parameters are those of :class:`AdditiveRelease`.
    """

    OUTCOME: ClassVar = _MEANS
    CALLED: ClassVar = {**CountRelease.CALLED, "descent": _DESCENT}
    OWN_STEPS: ClassVar = CountRelease.OWN_STEPS + 3


def _count(
    places: Places, center: Vector, scale: Vector, edges: Vector, batch: Matrix, weights: Weights
) -> Integers:
    """Count rows by where some columns are, in scales, shape (columns, cells)."""
    with np.errstate(over="ignore"):
        values = (batch[places] - center[:, None]) / scale[:, None]
    return np.array([threshold_counts(each, edges[1:-1], weights) for each in values])


@define(eq=False)
class _Beginning:
    """Gradients before there is a design: of lines, and of deviations when lines are followed.

    Each is GDP of its share of `mu`. The rows are kept nowhere.
    """

    outcome: _Outcome
    blocked: Blocked
    spread: Spread  # of lines
    mu: float  # of all gradients together
    source: ByteSource
    theta: Vector = field(factory=lambda: np.zeros(0))  # of lines, whitened, the constant first
    left: float = 1.0  # deviation of residuals, in scales of the target

    def follow(self, scaling: Scaling) -> None:
        """Follow gradients of lines, shrunk as far as noise and chance make them.

        The constant is moved first, then slopes, by how means grow with scores there.
        """
        outcome, rows, lines = self.outcome, scaling.rows.value, len(scaling.names)
        self.theta = np.zeros(lines)
        self.theta[0] = outcome.score(outcome.first(scaling))
        for _ in range(_STEPS):
            found, variance = self._gradient(scaling, _LINES / _STEPS)
            size = float(found @ found)
            found *= max(0.0, 1.0 - lines * variance / max(size, variance)) / rows
            self.theta[0] = outcome.score(outcome.mean(self.theta[0]) + found[0])
            mean = outcome.mean(self.theta[0])
            self.theta[1:] += found[1:] / outcome.slope(mean)
            if outcome.variance is not None:
                self.left = math.sqrt(outcome.variance(mean))
            else:
                left = self.left**2 - math.sqrt(size * float(found @ found)) / rows
                self.left = math.sqrt(max(left, _LEAST_LEFT))

    def bent(self, scaling: Scaling) -> dict[int, tuple[float, int]]:
        """Return the evidence that columns are bent once lines have done what they can.

        That is the squares of their deviations' entries in a gradient, in variances of noise and
        chance, less their number; and that number.
        """
        found, variance = self._gradient(scaling, _CHOICE)
        squares, start = found**2 / variance, len(scaling.names)
        bent = {}
        for place, curve in enumerate(scaling.curves):
            if curve is not None:
                own = squares[start : start + len(curve.shapes)]
                bent[place], start = (float(own.sum()) - own.size, own.size), start + own.size
        return bent

    def _gradient(self, scaling: Scaling, share: float) -> tuple[Vector, float]:
        """Release a gradient; return it, and the variance of an entry by noise and by chance."""
        size, mu = scaling.features.size + 1, math.sqrt(share) * self.mu
        unit = choose_unit(math.sqrt(size))
        design = WeightedDesign(scaling, size * unit**2, unit, self.spread.widened(size - 1))
        blocks = Blocks(*self.blocked(design), 0)
        reach = self.outcome.reach(self.left) * math.sqrt(size)
        most = 2 * math.floor(reach * unit * PRODUCT_UNIT / 2)
        theta = np.append(self.theta, np.zeros(size - self.theta.size))
        model = self.outcome.model(*design.on_grid(theta))
        gradient = release_products(blocks, model, most, mu, self.source)
        noise = products_sigma(blocks, most, mu) ** 2
        return gradient, noise + self.left**2 * scaling.rows.value
