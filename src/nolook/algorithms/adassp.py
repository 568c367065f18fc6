"""AdaSSP: ridge regression from noisy sufficient statistics (Wang, UAI 2018).

Three Gaussian releases share one sigma: the smallest eigenvalue of X'X, X'X, and X'y. The ridge
grows with the noise and shrinks with the eigenvalue. The proof is ``adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``sigma``       sqrt(3) / mu, noise of each release in units of its sensitivity
``norm``        B_x, bound on the norm of a row (1, x)
``largest``     B_y, bound on a target in scales
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.algorithms.bounded_design import (
    BoundedDesign,
    BoundedModel,
    DesignSearch,
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

_RELEASES = 3
# Allowed probability that the ridge's bound on the noise fails.
_FAILURE = 0.05
# The ridge costs more than the noise alone, so a smaller norm is worth more shrunken rows here.
_NORM_WEIGHT = 3.0


@frozen
class AdaSSP(GaussianRelease):
    """AdaSSP on rows of bounded norm.

    Guarantee: ``mu``-GDP when a row is added or removed, for up to 2^34 rows. No table raises.

    Parameters
    ----------
    mu : float
    """

    #: B_y: targets are clipped to this many scales.
    largest: ClassVar[int] = 3
    #: Share of mu^2 for all but the design.
    share: ClassVar[float] = SHARES["mechanism"]

    @property
    def progress_steps(self) -> int:
        """Number of passes over the table."""
        return self.design().progress_steps + 1

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        products = GaussianEvent("products of features and target", self._each)
        return (*self.design().events(), *gram_events(self._each), products)

    @property
    def _each(self) -> float:
        return self.mu * math.sqrt(self.share / _RELEASES)

    def design(self) -> Release[BoundedDesign]:
        """Return the search for the scales and bounds of the rows."""
        return DesignSearch(self.mu, self._each / _NORM_WEIGHT, UNIT)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        design = self.design().run(table, source, progress)
        progress("moments")
        largest = self.largest * UNIT
        size, whole = design.size, table.unit.weight_scale
        moments = DesignMoments(size, design.squared_radius, largest, whole)
        design.fold(table, Mapped(moments, partial(_whole_targets, self.largest)))
        factor = math.sqrt(size * math.log(2 * size**2 / _FAILURE))
        noisy = release_gram(moments.gram, design, self._each, factor, source, whole)
        sensitivity = product_sensitivity(design.squared_radius, largest, size, whole)
        right = gaussian_release(moments.products, sensitivity, self._each, source)
        return BoundedModel(noisy.solve(right.astype(np.float64) / (design.unit * UNIT)), design)


def _whole_targets(
    bound: int, rows: Vector, targets: Vector, weights: Weights
) -> Iterator[tuple[Vector, Vector, Weights]]:
    yield rows, np.trunc(targets.clip(-bound, bound) * UNIT), weights
