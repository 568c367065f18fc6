"""One noisy moment matrix of a table, with no bounds to guess.

Scales of all columns (:mod:`nolook.algorithms.scaling`), then a bound on the rows' norm, then the
matrix of all products of the standardised, clipped rows. The rest, in
:mod:`nolook.algorithms.moment_estimates` and :mod:`nolook.algorithms.moment_selection`, is
post-processing. The proof is ``moment_regression.md``.

===============  ========================================================================
name here        meaning
===============  ========================================================================
``mu``           mu-GDP parameter of the whole, split by :meth:`shares`
``matrix``       Z'Z plus noise, rows of Z being (1, x, y), shape (columns + 1,) * 2
``sigma``        standard deviation of the noise on its diagonal, (1 + R^2) / mu_moments,
                 R the bound on the norm of (x, y); it is smaller by sqrt(2) elsewhere
===============  ========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Flags, Matrix, Vector
from nolook.algorithms.glm.frame import Frame
from nolook.algorithms.norm_bound import norm_counts, smallest_bound
from nolook.algorithms.scaling import Scaling
from nolook.kernels.moments import UNIT, shrink_rows
from nolook.kernels.weighted_rows import Standard
from nolook.privacy.mechanisms.gaussian import symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.design_moments import DesignMoments, gram_sensitivity
from nolook.tables import Table
from nolook.tables.folding import Mapped
from nolook.tables.table import Weights

__all__ = ["MomentRelease", "NoisyMoments", "bounded_rows", "choose_squared_radius"]


@frozen
class NoisyMoments:
    """The release, in standardised units: all later results follow from it."""

    scaling: Scaling  # the target last
    matrix: Vector  # noisy sum of z z' over rows z = (1, x, y)
    sigma: float  # standard deviation of the noise on its diagonal

    def select(self, keep: Flags) -> NoisyMoments:
        """Return the release restricted to some features, and the target."""
        places = np.concatenate([[0], 1 + np.flatnonzero(keep), [len(self.matrix) - 1]])
        matrix = self.matrix[np.ix_(places, places)]
        return evolve(self, scaling=self.scaling.select(keep), matrix=matrix)


@frozen
class MomentRelease(Frame):
    """Scales, a norm bound and the moment matrix of a table.

    Guarantee: ``mu``-GDP in all when a row is added or removed. No table raises; an empty one is
    answered with noise.

    Parameters
    ----------
    mu : float
        GDP parameter of the whole.
    """

    COMMON: ClassVar = {"scales": 0.35}
    OWN: ClassVar = {
        "norms": (0.04, "histogram of the rows' norms"),
        "moments": (0.61, "moment matrix"),
    }
    OWN_STEPS: ClassVar = 2

    for_weights = None  # type: ignore[assignment]  # its rows are shrunk, not weighted

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> NoisyMoments:
        """Release the moments of a table with a target."""
        scaling, mu = self._scales().run(table, source, progress), self._mu("moments")
        table = table.filled(scaling.center)
        progress("norms")
        standard = Standard(scaling.center, scaling.scale, *scaling.limits)
        counts, squares = norm_counts(table, standard, None, self._mu("norms"), source)
        rows, size = scaling.rows.value, table.n_columns + 1
        squared_radius = choose_squared_radius(counts, squares, rows, size, mu)
        progress("moments")
        whole, bound = table.unit.weight_scale, UNIT**2 + squared_radius
        moments = DesignMoments(size, bound, whole)
        table.fold(Mapped(moments, partial(bounded_rows, scaling, squared_radius)))
        largest = gram_sensitivity(bound, size, whole)
        noisy = symmetric_gaussian_release(moments.value, largest, mu, source)
        return NoisyMoments(scaling, noisy.astype(np.float64) / UNIT**2, largest / UNIT**2 / mu)


def bounded_rows(
    scaling: Scaling, squared_radius: int, batch: Matrix, weights: Weights
) -> Iterator[tuple[Matrix, Weights]]:
    """Yield rows z = (1, u) in whole units of 1/UNIT, u standardised and shrunk to a norm."""
    ((rows, own),) = scaling.whole_rows(batch, weights)
    shrink_rows(rows, squared_radius)
    yield np.vstack([np.full(rows.shape[1], float(UNIT)), rows]), own


def choose_squared_radius(
    counts: Vector, squares: Vector, rows: float, size: int, mu: float
) -> int:
    """Choose the bound on the rows' squared norm from noisy counts between the candidates.

    A smaller bound means less noise and more rows shrunk. Per unit of squared radius the noise's
    operator norm grows by ``sqrt(2 size) / mu``, and the moments, ``size`` by ``size``, lose one
    unit for each row outside, spread over ``size`` directions: the two are equal when
    ``size sqrt(2 size) / mu`` rows are outside. So many may be, but at most a quarter of all.
    """
    return int(smallest_bound(counts, squares, min(size * math.sqrt(2 * size) / mu, rows / 4)))
