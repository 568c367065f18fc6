"""Boosted AdaSSP: gradient steps preconditioned by one noisy matrix (Tang et al. 2023).

All ``rounds + 2`` Gaussian releases share one sigma: the smallest eigenvalue of the rows' second
moments, these moments, and one gradient of clipped residuals a round. A round is one pass over a
compact copy of the rows in memory. The proof is ``boosted_adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``rounds``      T
``norm``        B, bound on the norm of a row u = f (1, x)
``LARGEST``     bound on a residual in scales of the target
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np
from attrs import frozen

from nolook.algorithms.adassp import AdaSSP, BoundedModel, release_ridge, whole_targets
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.design_moments import DesignMoments, product_sensitivity
from nolook.statistics.grid_models import ShortenedModel
from nolook.statistics.weighted_rows import RESIDUAL_UNIT, UnitProducts
from nolook.tables import Table
from nolook.tables.folding import Mapped

__all__ = ["BoostedAdaSSP"]

# The ridge, before what the eigenvalue takes off, in deviations of the noise times sqrt(d).
_RIDGE = 1.96


@frozen
class BoostedAdaSSP(AdaSSP):
    """Rounds of noisy, preconditioned gradients of clipped residuals.

    Guarantee: ``mu``-GDP when a row is added or removed, for up to 2^34 rows. No table raises.
    Keeps the rows in memory, two bytes a feature and 28 more a row.

    Parameters
    ----------
    mu : float
    rounds : int
    """

    rounds: int

    OWN: ClassVar = {**AdaSSP.OWN, "products": (0.61, "gradients of all rounds")}
    BEYOND: ClassVar = 1.0

    LARGEST: ClassVar = 2
    #: The model is the mean over the last rounds, this share of them.
    AVERAGED: ClassVar[float] = 0.25

    @property
    def progress_steps(self) -> int:
        """Number of progress steps of `run`."""
        return super().progress_steps + self.rounds

    def shares(self) -> dict[str, float]:
        """Return the shares of mu^2: what AdaSSP's three releases have, T + 2 share alike."""
        each = self.OWN["products"][0] / (self.rounds + 2)
        return super().shares() | {"gram": each, "eigenvalue": each, "products": self.rounds * each}

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        scaling, kept, blocks = self._designed(table, source, progress)
        progress("moments")
        design, whole, largest = blocks.design, blocks.whole, self.LARGEST * RESIDUAL_UNIT
        blocks.room = math.inf  # for any number of rounds
        moments = DesignMoments(design.size, design.squared_radius, 0, whole)
        blocks.first(Mapped(moments, partial(whole_targets, 0)))
        factor = _RIDGE * math.sqrt(design.size)
        gram = release_ridge(moments.gram, design, self._mu("gram"), factor, source, whole)
        sensitivity = product_sensitivity(design.squared_radius, largest, design.size, whole)
        mu, unit = self._mu("products", self.rounds), design.unit * RESIDUAL_UNIT
        theta, thetas = np.zeros(design.size), []
        for number in range(1, self.rounds + 1):
            progress(f"round {number}")
            # The residuals are those of the model on the grid, so the next step starts from it.
            model = ShortenedModel(*design.on_grid(theta))
            products = UnitProducts(model, whole, largest)
            gradient = blocks.release(products, sensitivity, unit, mu, source)
            theta = model.spacing * model.whole + gram.solve(gradient.value)
            thetas.append(theta)
        last = max(1, round(self.AVERAGED * self.rounds))
        theta = scaling.all_features(np.mean(thetas[-last:], axis=0), kept)
        return BoundedModel(scaling, theta, design.norm)
