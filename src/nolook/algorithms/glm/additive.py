"""Additive models: every column has a curve where one can be told from a line.

Curves are a design of any family's release: a row has deviations from lines as further entries
(:mod:`nolook.algorithms.curves`), and all that follows is as for lines. Deviations cost noise, so
only columns that a noisy gradient shows to be bent get some, and no more than rows and budget
allow; without any, the model is one of lines. The proof is ``additive.md``.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from attrs import define, evolve, field

from nolook._arrays import Flags, Integers, Matrix, Vector
from nolook.algorithms.curves import cell_edges, curve_of
from nolook.algorithms.glm.clips import release_products
from nolook.algorithms.glm.designs import Blocks, WeightedDesign, choose_unit
from nolook.algorithms.glm.families import Family
from nolook.algorithms.scaling import Scaling, release_histograms
from nolook.algorithms.whitening import Spread
from nolook.kernels.histogram import threshold_counts
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.histograms import histograms_sensitivity
from nolook.statistics.weighted_rows import PRODUCT_UNIT
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = ["LEAST_WHOLE", "Beginning"]

# Deviations of a column: few, or more where all columns may have them.
_FEW, _MANY = 4, 6
# Deviations of all columns together, and entries of a row with those of all columns.
_MOST_ENTRIES, _WIDEST = 400, 20_000
# A row's part of the choice is clipped at so many times what it measures on average.
_CLIP = 1.5
#: n mu below which the gradients need all of their share.
LEAST_WHOLE = 700.0
# Deviations of chance by which a column must seem bent.
_BENT = 3.0
# Shares of the gradients' mu^2 for knots, for gradients of lines and for the choice, if every
# feature may have a curve: if fewer may, knots and the choice cost less.
_KNOTS, _LINES, _CHOICE = 0.08, 0.12, 0.12
_STEPS = 2
# Least variance of residuals, in squared scales of the target.
_LEAST_LEFT = 0.1


def _count(edges: dict[Any, Vector], batch: Matrix, weights: Weights) -> Integers:
    """Count rows by where some columns are between edges of their own, shape (columns, cells)."""
    return np.array([threshold_counts(batch[own], ends, weights) for own, ends in edges.items()])


@define(eq=False)
class Beginning:
    """Gradients before there is a design: of lines, and of deviations when lines are followed.

    Each is GDP of its share of `mu`. The rows are kept nowhere.
    """

    family: Family
    rows: Table  # the features in use, exposures, and the target
    exposure: dict[str, Any]  # what a design knows of exposures
    spread: Spread  # of lines
    mu: float  # of all gradients together
    source: ByteSource
    theta: Vector = field(factory=lambda: np.zeros(0))  # of lines, whitened, the constant first
    left: float = 1.0  # deviation of residuals, in scales of the target
    rest: float = 1.0  # share of mu^2 that is not spent

    def curved(
        self, scaling: Scaling, table: Table, searched: Flags, room: float, progress: OnStep
    ) -> Scaling:
        """Find knots, follow lines, and choose which of the features searched are to have curves.

        These have at most `room` deviations together. Without any chance of one nothing is drawn.
        """
        lines = len(scaling.names)
        room = min(room - lines, _MOST_ENTRIES)
        most = _MANY if room >= _MANY * (lines - 1) else _FEW
        searched = searched & ~scaling.binary[:-1]
        if room < most or lines * (most + 1) > _WIDEST or not searched.any():
            return scaling
        progress("knots")
        edges, center, scale = cell_edges(scaling.limit), scaling.center, scaling.scale
        own = {place: center[place] + scale[place] * edges[1:-1] for place in searched.nonzero()[0]}
        share = _KNOTS * len(own) / (lines - 1)
        mu, self.rest = math.sqrt(share) * self.mu, self.rest - share
        rest = iter(release_histograms(table, mu, self.source, partial(_count, own)))
        sigma = histograms_sensitivity(len(own), "add-remove") / mu
        curves = [curve_of(next(rest), sigma, edges, most) if one else None for one in searched]
        if not any(curves):
            return scaling
        progress("lines")
        self.follow(scaling)
        progress("choice")
        bent = self.bent(evolve(scaling, curves=tuple(curves)), (lines - 1) * (most + 1) + 1)
        for evidence, size, place in sorted(bent, reverse=True):
            if evidence > _BENT and size <= room:
                room -= size
            else:
                curves[place] = None
        return evolve(scaling, curves=tuple(curves))

    def follow(self, scaling: Scaling) -> None:
        """Follow gradients of lines, shrunk as far as noise and chance make them.

        The constant is moved first, then slopes, by how means grow with scores there.
        """
        family, rows, lines = self.family, scaling.rows.value, len(scaling.names)
        self.theta = np.zeros(lines)
        self.theta[0] = self._score(family.first(scaling))
        for _ in range(_STEPS):
            found, variance = self._gradient(scaling, _LINES / _STEPS)
            size = float(found @ found)
            found *= max(0.0, 1.0 - lines * variance / max(size, variance)) / rows
            self.theta[0] = self._score(family.mean(self.theta[0]) + found[0])
            mean = family.mean(self.theta[0])
            (slope,) = family.slopes(self.theta[:1]).tolist()
            self.theta[1:] += found[1:] / slope
            left = max(self.left**2 - math.sqrt(size * float(found @ found)) / rows, _LEAST_LEFT)
            if family.dispersion is not None:
                left = slope * family.dispersion(mean)
            self.left = math.sqrt(left)

    def _score(self, mean: float) -> float:
        return float(self.family.score(float(np.clip(mean, *self.family.means))))

    def bent(self, scaling: Scaling, entries: int) -> list[tuple[float, int, int]]:
        """Return the evidence that columns are bent, once lines have done what they can.

        That is the squares of their deviations' entries in a gradient, in variances of noise and
        chance, less their number, in deviations of chance; that number; and the column. `entries`
        are those of a row, had all columns curves.
        """
        found, variance = self._gradient(scaling, _CHOICE * (scaling.features.size + 1) / entries)
        start, bent = len(scaling.names), []
        for place, curve in enumerate(scaling.curves):
            if curve:
                own = found[start : start + len(curve.shapes)]
                excess = float(own @ own) / variance - own.size
                bent.append((excess / math.sqrt(2.0 * own.size), own.size, place))
                start += own.size
        return bent

    def _gradient(self, scaling: Scaling, share: float) -> tuple[Vector, float]:
        """Release a gradient; return it, and the variance of an entry by noise and by chance."""
        size, mu = scaling.features.size + 1, math.sqrt(share) * self.mu
        self.rest -= share
        unit, spread = choose_unit(math.sqrt(size)), self.spread.widened(size - 1)
        design = WeightedDesign(scaling, size * unit**2, unit, spread, **self.exposure)
        reach = (1.0 if self.family.bounded else _CLIP * self.left) * math.sqrt(size)
        most = 2 * math.floor(reach * unit * PRODUCT_UNIT / 2)
        theta = np.pad(self.theta, (0, size - self.theta.size))
        model, blocks = self.family.model(*design.on_grid(theta)), Blocks(self.rows, design, 0)
        gradient, sigma = release_products(blocks, model, most, mu, self.source)
        return gradient, sigma**2 + self.left**2 * scaling.rows.value
