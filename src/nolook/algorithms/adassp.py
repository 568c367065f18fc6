"""AdaSSP: ridge regression from noisy sufficient statistics (Wang, UAI 2018).

Three Gaussian releases share one sigma: the smallest eigenvalue of X'X, X'X, and X'y. The ridge
grows with the noise and shrinks with the eigenvalue. The proof is ``adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``sigma``       sqrt(3) / mu, noise of each release in units of its sensitivity
``norm``        B_x, bound on the norm of a row (1, x)
``Y_BOUND``     B_y, bound on a target in scales
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.algorithms.bounded_design import (
    BoundedDesign,
    BoundedModel,
    DesignSearch,
    PublicDesign,
    gram_events,
    release_gram,
)
from nolook.algorithms.norm_bound import SHARES
from nolook.kernels.moments import UNIT
from nolook.privacy.guarantee import Event, GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import GaussianRelease, OnStep, Release
from nolook.statistics.design_moments import DesignMoments, product_sensitivity
from nolook.tables import Table
from nolook.tables.folding import Mapped
from nolook.tables.table import Weights

__all__ = ["AdaSSP"]

#: Targets are clipped to this many scales where the scaling is private, to one otherwise.
Y_BOUND = 3

_RELEASES = 3
# Allowed probability that the ridge's bound on the noise fails.
_FAILURE = 0.05
# The ridge costs more than the noise alone, so a smaller norm is worth more shrunken rows here.
_NORM_WEIGHT = 3.0
# A row (1, x / B) of public bound B has at most this norm.
_PUBLIC_NORM = math.sqrt(2.0)


@frozen
class AdaSSP(GaussianRelease):
    """AdaSSP on rows of bounded norm.

    Guarantee: ``mu``-GDP when a row is added or removed, for up to 2^34 rows. No table raises.

    Parameters
    ----------
    mu : float
    bounds : pair of float or None
        Public bounds on the norm of a row of features and on the size of a target; None finds
        scales and a norm privately.
    """

    bounds: tuple[float, float] | None = None

    @property
    def progress_steps(self) -> int:
        """Number of passes over the table."""
        return self._design().progress_steps + 1

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        products = GaussianEvent("products of features and target", self._each)
        return (*self._design().events(), *gram_events(self._each), products)

    @property
    def _each(self) -> float:
        share = SHARES["mechanism"] if self.bounds is None else 1.0
        return self.mu * math.sqrt(share / _RELEASES)

    def _design(self) -> Release[BoundedDesign]:
        if self.bounds is not None:
            return PublicDesign(*self.bounds, _PUBLIC_NORM, UNIT)
        return DesignSearch(self.mu, self._each / _NORM_WEIGHT, UNIT)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        design = self._design().run(table, source, progress)
        bound = Y_BOUND if self.bounds is None else 1
        progress("moments")
        largest = bound * UNIT
        size, whole = design.size, table.unit.weight_scale
        moments = DesignMoments(size, design.squared_radius, largest, whole)
        design.fold(table, Mapped(moments, partial(_whole_targets, bound)))
        factor = math.sqrt(size * math.log(2 * size**2 / _FAILURE))
        noisy = release_gram(moments.gram, design, self._each, factor, source, whole)
        sensitivity = product_sensitivity(design.squared_radius, largest, size, whole)
        right = gaussian_release(moments.products, sensitivity, self._each, source)
        return BoundedModel(noisy.solve(right.astype(np.float64) / (design.unit * UNIT)), design)


def _whole_targets(
    bound: int, rows: Vector, targets: Vector, weights: Weights
) -> Iterator[tuple[Vector, Vector, Weights]]:
    yield rows, np.trunc(targets.clip(-bound, bound) * UNIT), weights
