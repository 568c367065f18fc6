"""Additive least squares: every column has a curve where one can be told from a line.

Curves are a design of :mod:`nolook.algorithms.glm.linear`: a row has deviations from lines as
further entries (:mod:`nolook.algorithms.curves`), and all that follows is as for lines. Deviations
cost noise, so only columns that a noisy gradient shows to be bent get some, and no more than rows
and budget allow; without any, the model is linear. The proof is ``additive.md``.
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook.algorithms.curves import Curve, cell_edges, curve_of
from nolook.algorithms.glm.clips import products_sigma, release_products
from nolook.algorithms.glm.designs import Blocks, WeightedDesign, choose_unit
from nolook.algorithms.glm.estimate import CombinedGradients, Gradients, combine_gradients
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.linear import GRADIENTS, Clips, LinearRelease
from nolook.algorithms.scaling import Scaling, release_histograms
from nolook.algorithms.whitening import Spread
from nolook.kernels.histogram import threshold_counts
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.grid_models import GridModel
from nolook.statistics.histograms import histograms_sensitivity
from nolook.statistics.weighted_rows import PRODUCT_UNIT
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = ["AdditiveRelease"]

# Deviations of a column: few, or more where all columns may have them.
_FEW, _MANY = 4, 6
# Deviations of all columns together, and entries of a row with those of all columns.
_MOST_ENTRIES, _WIDEST = 400, 20_000
# A row's part of the choice is clipped at so many times what it measures on average.
_CLIP = 1.5
# n mu below which the gradients need all of their share.
_LEAST = 700.0
# Deviations of chance by which a column must seem bent.
_BENT = 4.0
# Log-likelihood by which a curve must beat its line.
_EVIDENCE = 1.0
# Shares of the gradients' mu^2 for knots and for the choice, if any feature may have a curve.
_KNOTS, _CHOICE = 0.125, 0.1
_PRIORS = 1e-7, 10.0
_ROUNDS = 60

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@frozen
class AdditiveRelease(LinearRelease):
    """A linear regression's release, with histograms of columns and a choice of curves.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    straight : tuple of str
        Features that have lines only.
    """

    straight: tuple[str, ...] = ()

    CALLED: ClassVar = {
        **LinearRelease.CALLED,
        "gradients": f"histograms for curves, their choice, gradients of {GRADIENTS} rounds",
    }
    OWN_STEPS: ClassVar = LinearRelease.OWN_STEPS + 2

    def _shaped(
        self, table: Table, scaling: Scaling, source: ByteSource, progress: OnStep
    ) -> Scaling:
        """Find knots, and choose which features are to have curves: none if none may."""
        lines = len(table.feature_names) + 1
        rows = scaling.rows.value
        room = min((rows * self._mu("gram")) ** (2.0 / 3.0) - lines, _MOST_ENTRIES)
        most = _MANY if room >= _MANY * (lines - 1) else _FEW
        searched = ~scaling.binary[:-1]
        searched &= ~np.isin(table.feature_names, self.straight)
        hidden = room < most or rows * self.mu < _LEAST or lines * (most + 1) > _WIDEST
        if hidden or not searched.any() or not scaling.detected[-1]:
            return scaling
        progress("knots")
        edges = cell_edges(scaling.limit)
        counts, sigma = self._histograms(table, scaling, np.flatnonzero(searched), edges, source)
        rest = iter(counts)
        curves = [curve_of(next(rest), sigma, edges, most) if own else None for own in searched]
        scaling = evolve(scaling, curves=tuple(curves))
        progress("choice")
        bent = self._bent(table, scaling, source)
        chosen: list[Curve | None] = [None] * len(curves)
        for place in sorted(bent, key=lambda each: -bent[each][0]):
            excess, size = bent[place]
            if excess > _BENT * math.sqrt(2.0 * size) and size <= room:
                chosen[place], room = curves[place], room - size
        return evolve(scaling, curves=tuple(chosen))

    def _histograms(
        self,
        table: Table,
        scaling: Scaling,
        places: NDArray[np.intp],
        edges: Vector,
        source: ByteSource,
    ) -> tuple[Matrix, float]:
        """Release how many rows have features between the edges, and the noise's deviation."""
        count = partial(_count, places, scaling.center[places], scaling.scale[places], edges)
        mu = math.sqrt(_KNOTS) * self._mu("gradients")
        sigma = histograms_sensitivity(len(places), "add-remove") / mu
        return release_histograms(table, mu, source, count), sigma

    def _bent(
        self, table: Table, scaling: Scaling, source: ByteSource
    ) -> dict[int, tuple[float, int]]:
        """Release the gradient of the model that is 0, and return how bent columns seem.

        That is the squares of their deviations' entries, in variances of noise and chance, less
        their number; and that number.
        """
        size = scaling.features.size + 1
        unit = choose_unit(math.sqrt(size))
        design = WeightedDesign(scaling, size * unit**2, unit, Spread.standard(size - 1))
        blocks = Blocks(table, design, 0)
        most = 2 * math.floor(_CLIP * math.sqrt(size) * unit * PRODUCT_UNIT / 2)
        mu = math.sqrt(_CHOICE) * self._mu("gradients")
        model = GridModel(*design.on_grid(np.zeros(size)))
        gradient = release_products(blocks, model, most, mu, source)
        variance = products_sigma(blocks, most, mu) ** 2 + scaling.rows.value
        squares, start = gradient**2 / variance, len(scaling.names)
        bent = {}
        for place, curve in enumerate(scaling.curves):
            if curve is not None:
                own = squares[start : start + len(curve.shapes)]
                bent[place], start = (float(own.sum()) - own.size, own.size), start + own.size
        return bent

    def _gradients_mu(self, design: WeightedDesign) -> float:
        left = 1.0 - _KNOTS - _CHOICE if design.scaling.curves else 1.0
        return math.sqrt(left) * self._mu("gradients")

    def _estimate(
        self,
        found: NoisyFrame,
        seen: Gradients,
        clips: Clips,
        design: WeightedDesign,  # noqa: ARG002
    ) -> tuple[Vector, tuple[int, ...] | None]:
        """Estimate the model, with a prior for each line and each curve. Post-processing."""
        combined = combine_gradients(found.gram, found.gram_sigma, seen)
        if all(curve is None for curve in found.curves):
            return combined.theta, None
        residuals = clips.residuals(found.gram, found.gram_sigma)
        return _with_priors(combined, found, residuals), None


def _count(
    places: NDArray[np.intp],
    center: Vector,
    scale: Vector,
    edges: Vector,
    batch: Matrix,
    weights: Weights,
) -> NDArray[np.int64]:
    """Count rows by where some columns are, in scales, shape (columns, cells)."""
    with np.errstate(over="ignore"):
        values = (batch[places] - center[:, None]) / scale[:, None]
    return np.array([threshold_counts(each, edges[1:-1], weights) for each in values])


def _blocks_of(curves: tuple[Curve | None, ...]) -> tuple[NDArray[np.int64], Vector]:
    """Return the prior of each entry of a model, and its variance in units of that.

    The constant has 0, then lines one each, then curves one each.
    """
    block, shape = list(range(len(curves) + 1)), [1.0] * (len(curves) + 1)
    for curve in curves:
        if curve is not None:
            block += [max(block) + 1] * len(curve.shapes)
            shape += list(1.0 / curve.roughness)
    return np.array(block), np.array(shape)


def _with_priors(combined: CombinedGradients, found: NoisyFrame, residuals: float) -> Vector:
    """Estimate a model, shape (d,), by the variances of lines and curves that are likeliest.

    Gradients are observations of ``A theta`` by noise, and by sampling's ``residuals A``. A curve
    whose line is nearly as likely is that line.
    """
    block, shape = _blocks_of(found.curves)
    curvature = (combined.vectors * combined.values) @ combined.vectors.T
    moments = combined.vectors @ combined.moments
    # theta is of whitened rows; what has a prior is the model of the columns about their centre.
    whitened = np.eye(len(moments))
    whitened[1:, 1:] = np.linalg.inv(found.spread.map)
    noise = combined.variance * np.eye(len(moments)) + residuals * curvature
    ways = np.linalg.solve(noise, curvature @ whitened)
    precision = whitened.T @ curvature @ ways
    told = ways.T @ moments
    variances = np.full(block.max() + 1, 0.1)
    variances[0] = 1.0
    for _ in range(_ROUNDS):
        prior = variances[block] * shape
        posterior = np.linalg.inv(precision + np.diag(1.0 / prior))
        mean, sure = posterior @ told, 1.0 - posterior.diagonal() / prior
        squares = np.bincount(block, mean**2 / shape)
        variances = (squares / np.maximum(np.bincount(block, sure), 1e-12)).clip(*_PRIORS)
    prior = variances[block] * shape
    best = _likelihood(precision, told, prior)
    for place in range(len(found.curves) + 1, block.max() + 1):
        straight = np.where(block == place, 1e-9, prior)
        likelihood = _likelihood(precision, told, straight)
        if best - likelihood < _EVIDENCE:
            prior, best = straight, likelihood
    theta: Vector = whitened @ np.linalg.solve(precision + np.diag(1.0 / prior), told)
    return theta


def _likelihood(precision: Matrix, told: Vector, prior: Vector) -> float:
    """Return the marginal log-likelihood of a prior's variances."""
    roots = np.sqrt(prior)
    width = np.linalg.slogdet(np.eye(prior.size) + roots[:, None] * precision * roots)[1]
    return 0.5 * float(told @ np.linalg.solve(precision + np.diag(1.0 / prior), told) - width)
