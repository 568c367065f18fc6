"""AdaSSP: ridge regression from noisy sufficient statistics (Wang, UAI 2018).

Three Gaussian releases with one sigma: the smallest eigenvalue of X'X, X'X, and X'y. The ridge
grows with the noise and shrinks with the eigenvalue. The proof is ``adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``sigma``       sqrt(3) / mu, noise of each release in units of its sensitivity
``norm``        B_x, bound on the norm of a row (1, x)
``LABEL``       B_y, bound on a label in scales
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.bounded_design import (
    SHARES,
    BoundedDesign,
    private_design,
    private_design_events,
    release_gram,
)
from nolook.algorithms.scaling import ROUNDS, Scaling
from nolook.kernels.moments import UNIT
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.statistics.design_moments import DesignMoments, product_sensitivity
from nolook.tables import Table

__all__ = ["PASSES", "AdaSSPModel", "adassp", "adassp_events", "private_adassp"]

#: Labels are clipped to so many scales where the scaling is private.
LABEL = 3
#: How often a table is read with a private scaling; once otherwise.
PASSES = ROUNDS + 2

_RELEASES = 3
# Probability the ridge's bound on the noise is allowed to fail with.
_FAILURE = 0.05
# The ridge costs more than the noise alone, so a smaller norm is worth more shrunken rows than it
# is for a matrix without one.
_NORM_WEIGHT = 3.0


@dataclass(frozen=True, slots=True)
class AdaSSPModel:
    """A released model in standardised units.

    Parameters
    ----------
    theta : ndarray of shape (features + 1,)
        The constant first.
    design : BoundedDesign
        How rows are scaled and shrunk.
    """

    theta: NDArray[np.float64]
    design: BoundedDesign

    @property
    def scaling(self) -> Scaling:
        """Scaling of the design."""
        return self.design.scaling


def adassp_events(mu: float, *, private_scaling: bool) -> tuple[GaussianEvent, ...]:
    """State what is released with `mu`, before any data are read."""
    before = private_design_events(mu) if private_scaling else ()
    each = _each(mu, private_scaling=private_scaling)
    return (
        *before,
        GaussianEvent("smallest eigenvalue of the second moments", each),
        GaussianEvent("second moments of the features", each),
        GaussianEvent("products of features and label", each),
    )


def _each(mu: float, *, private_scaling: bool) -> float:
    share = SHARES["mechanism"] if private_scaling else 1.0
    return mu * math.sqrt(share / _RELEASES)


def private_adassp(
    table: Table, mu: float, source: ByteSource, step: Callable[[str], None]
) -> AdaSSPModel:
    """Find scales and a norm privately, then run AdaSSP.

    Guarantee: ``mu``-GDP when a record is added or removed, for up to 2^34 rows.

    Parameters
    ----------
    table : Table
        With a target; read :data:`PASSES` times.
    mu : float
    source : ByteSource
    step : callable
        Called with the name of each pass before it starts.

    Returns
    -------
    AdaSSPModel
    """
    each = _each(mu, private_scaling=True)
    design = private_design(table, mu, each / _NORM_WEIGHT, UNIT, source, step)
    return _released(table, design, LABEL, each, source, step)


def adassp(
    table: Table,
    design: BoundedDesign,
    mu: float,
    source: ByteSource,
    step: Callable[[str], None],
) -> AdaSSPModel:
    """Run AdaSSP with public scales and norms; labels are clipped to one scale.

    Guarantee: ``mu``-GDP when a record is added or removed, for up to 2^34 rows, if `design` does
    not depend on the table.

    Parameters
    ----------
    table : Table
        With a target; read once.
    design : BoundedDesign
    mu : float
    source : ByteSource
    step : callable
        Called with the name of the pass before it starts.

    Returns
    -------
    AdaSSPModel
    """
    return _released(table, design, 1, _each(mu, private_scaling=False), source, step)


def _released(
    table: Table,
    design: BoundedDesign,
    label: int,
    mu: float,
    source: ByteSource,
    step: Callable[[str], None],
) -> AdaSSPModel:
    step("moments")
    largest = label * UNIT
    moments = DesignMoments(design.size, design.squared_radius, largest)
    for rows, labels in design.batches(table):
        moments.update(rows, np.trunc(labels.clip(-label, label) * UNIT))
    size = design.size
    factor = math.sqrt(size * math.log(2 * size**2 / _FAILURE))
    gram = release_gram(moments.gram, design, mu, factor, source)
    sensitivity = product_sensitivity(design.squared_radius, largest)
    products = gaussian_release(moments.products, sensitivity, mu, source)
    return AdaSSPModel(gram.solve(products.astype(np.float64) / (design.unit * UNIT)), design)
