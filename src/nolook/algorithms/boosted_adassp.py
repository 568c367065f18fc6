"""Boosted AdaSSP: gradient steps preconditioned by one noisy matrix (Tang et al. 2023).

All ``rounds + 2`` Gaussian releases share one sigma: the smallest eigenvalue of X'X, X'X, and one
gradient of clipped residuals a round. A round is one pass over a compact copy of the rows in
memory. The proof is ``boosted_adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``rounds``      T
``sigma``       sqrt(T + 2) / mu, noise of each release in units of its sensitivity
``norm``        B_x, bound on the norm of a row (1, x)
``residual``    B_y, bound on a residual in scales of the target
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from attrs import frozen

from nolook.algorithms.bounded_design import (
    BoundedDesign,
    BoundedModel,
    DesignSearch,
    gram_events,
    release_gram,
)
from nolook.algorithms.norm_bound import SHARES
from nolook.privacy.guarantee import Event, GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import GaussianRelease, OnStep, Release
from nolook.statistics.design_moments import DesignMoments, product_sensitivity
from nolook.statistics.residual_products import RESIDUAL_UNIT, ResidualProducts, grid_model
from nolook.tables import Table
from nolook.tables.folding import Together

__all__ = ["BoostedAdaSSP"]

_UNIT = 2**12  # of the rows' grid: five scales fit 16 bits
# The ridge, before what the eigenvalue takes off, in deviations of the noise times sqrt(d).
_RIDGE = 1.96


@frozen
class BoostedAdaSSP(GaussianRelease):
    """Rounds of noisy, preconditioned gradients of clipped residuals.

    Guarantee: ``mu``-GDP when a row is added or removed, for up to 2^34 rows. No table raises.
    Keeps the rows in memory, two bytes a feature and eight a target.

    Parameters
    ----------
    mu : float
    rounds : int
    """

    rounds: int

    #: B_y, in scales of the target.
    residual: ClassVar[int] = 2
    #: The model is the mean over the last rounds, this share of them.
    averaged: ClassVar[float] = 0.25
    #: Share of mu^2 for all but the design.
    share: ClassVar[float] = SHARES["mechanism"]

    @property
    def progress_steps(self) -> int:
        """Number of progress steps of `run`."""
        return self.design().progress_steps + 1 + self.rounds

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released; T gradients of mu each are one of sqrt(T) mu."""
        together = self._each * math.sqrt(self.rounds)
        gradients = GaussianEvent(f"gradients of {self.rounds} rounds", together)
        return (*self.design().events(), *gram_events(self._each), gradients)

    @property
    def _each(self) -> float:
        return self.mu * math.sqrt(self.share / (self.rounds + 2))

    def design(self) -> Release[BoundedDesign]:
        """Return the search for the scales and bounds of the rows."""
        return DesignSearch(self.mu, self._each, _UNIT)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        design = self.design().run(table, source, progress)
        largest = self.residual * RESIDUAL_UNIT
        progress("moments")
        whole = table.unit.weight_scale
        moments = DesignMoments(design.size, design.squared_radius, 0, whole)
        kept = ResidualProducts(design.size, design.squared_radius, design.unit, largest, whole)
        design.fold(table, Together(moments, kept))
        factor = _RIDGE * math.sqrt(design.size)
        gram = release_gram(moments.gram, design, self._each, factor, source, whole)
        sensitivity = product_sensitivity(design.squared_radius, largest, design.size, whole)
        theta = np.zeros(design.size)
        thetas = []
        for number in range(1, self.rounds + 1):
            progress(f"round {number}")
            # The residuals are those of the model on the grid, so the next step starts from it.
            on_grid, grid_step = grid_model(theta, design.squared_radius)
            exact = kept.value(on_grid, grid_step)
            gradient = gaussian_release(exact, sensitivity, self._each, source)
            scaled = gradient.astype(np.float64) / (design.unit * RESIDUAL_UNIT)
            theta = grid_step * on_grid + gram.solve(scaled)
            thetas.append(theta)
        last = max(1, round(self.averaged * self.rounds))
        return BoundedModel(np.mean(thetas[-last:], axis=0), design)
