"""Boosted AdaSSP: gradient steps preconditioned by one noisy matrix (Tang et al. 2023).

All ``rounds + 2`` Gaussian releases have one sigma: the smallest eigenvalue of X'X, X'X, and one
gradient of clipped residuals a round. A round costs one pass over a compact copy of the rows in
memory. The proof is ``boosted_adassp.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``mu``          mu-GDP parameter of the whole
``rounds``      T
``sigma``       sqrt(T + 2) / mu, noise of each release in units of its sensitivity
``norm``        B_x, bound on the norm of a row (1, x)
``residual``    B_y, bound on a residual in scales of the label
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
    NoisyGram,
    private_design,
    private_design_events,
    public_design,
    release_gram,
)
from nolook.algorithms.scaling import ROUNDS, Scaling
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.statistics.design_moments import DesignMoments, product_sensitivity
from nolook.statistics.residual_products import RESIDUAL_UNIT, ResidualProducts, grid_model
from nolook.tables import Table

__all__ = ["BoostedModel", "boosted_adassp", "boosted_events", "steps"]

# Standardised values reach 5 scales, and 5 * 2^12 fits 16 bits; rows of norm 1 leave room for more.
_PRIVATE_UNIT = 2**12
_PUBLIC_UNIT = 2**14
# The residuals' bound in scales of the label, the papers' 1 where nothing is scaled.
_PRIVATE_RESIDUAL = 2
_PUBLIC_RESIDUAL = 1
# Half width of the ridge in standard deviations of the matrix's noise, times sqrt(d).
_RIDGE = 1.96
# With private scales, the model is the mean over this share of the rounds, the last ones.
_AVERAGED = 0.25


@dataclass(frozen=True, slots=True)
class BoostedModel:
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


def boosted_events(mu: float, rounds: int, *, private_scaling: bool) -> tuple[GaussianEvent, ...]:
    """State what is released with `mu`, before any data are read.

    The gradients of all rounds are stated as one: T releases of mu are sqrt(T) mu-GDP.
    """
    before = private_design_events(mu) if private_scaling else ()
    each = _each(mu, rounds, private_scaling=private_scaling)
    return (
        *before,
        GaussianEvent("smallest eigenvalue of the second moments", each),
        GaussianEvent("second moments of the features", each),
        GaussianEvent(f"gradients of {rounds} rounds", each * math.sqrt(rounds)),
    )


def steps(rounds: int, *, private_scaling: bool) -> int:
    """Return how many steps :func:`boosted_adassp` tells of."""
    return rounds + 1 + (ROUNDS + 1 if private_scaling else 0)


def _each(mu: float, rounds: int, *, private_scaling: bool) -> float:
    share = SHARES["mechanism"] if private_scaling else 1.0
    return mu * math.sqrt(share / (rounds + 2))


def boosted_adassp(
    table: Table,
    mu: float,
    rounds: int,
    source: ByteSource,
    step: Callable[[str], None],
    *,
    private_scaling: bool,
) -> BoostedModel:
    """Fit a linear model by rounds of noisy, preconditioned gradients of clipped residuals.

    Guarantee: ``mu``-GDP when a record is added or removed, for up to 2^34 rows.

    Parameters
    ----------
    table : Table
        With a target; read once, and before that to find scales if these are private. Its rows
        are then kept in memory, two bytes a feature and eight a label.
    mu : float
    rounds : int
    source : ByteSource
    step : callable
        Called with the name of each pass before it starts.
    private_scaling : bool
        Otherwise rows (1, x) are shrunk to norm 1 and residuals clipped to 1 in raw units.

    Returns
    -------
    BoostedModel
    """
    each = _each(mu, rounds, private_scaling=private_scaling)
    if private_scaling:
        design = private_design(table, mu, each, _PRIVATE_UNIT, source, step)
    else:
        scaling = Scaling.public(table.column_names, 1.0, math.inf)
        design = public_design(scaling, 1.0, _PUBLIC_UNIT)
    largest = (_PRIVATE_RESIDUAL if private_scaling else _PUBLIC_RESIDUAL) * RESIDUAL_UNIT

    step("moments")
    moments, kept = _read(table, design, largest)
    gram = release_gram(moments.gram, design, each, _RIDGE * math.sqrt(design.size), source)
    thetas = _rounds(kept, gram, design, largest, each, rounds, source, step)
    last = max(1, round(_AVERAGED * rounds)) if private_scaling else 1
    return BoostedModel(np.mean(thetas[-last:], axis=0), design)


def _read(
    table: Table, design: BoundedDesign, largest: int
) -> tuple[DesignMoments, ResidualProducts]:
    moments = DesignMoments(design.size, design.squared_radius, largest)
    kept = ResidualProducts(design.size, design.squared_radius, design.unit, largest)
    for rows, labels in design.batches(table):
        moments.update(rows)
        kept.update(rows, labels)
    return moments, kept


def _rounds(
    kept: ResidualProducts,
    gram: NoisyGram,
    design: BoundedDesign,
    largest: int,
    mu: float,
    rounds: int,
    source: ByteSource,
    step: Callable[[str], None],
) -> list[NDArray[np.float64]]:
    """Take a step along each round's noisy gradient; return the models after each."""
    sensitivity = product_sensitivity(design.squared_radius, largest)
    theta = np.zeros(design.size)
    thetas = []
    for number in range(1, rounds + 1):
        step(f"round {number}")
        # The residuals are those of the model on the grid, so the next step starts from it.
        on_grid, grid_step = grid_model(theta, design.squared_radius)
        exact = kept.value(on_grid, grid_step)
        gradient = gaussian_release(exact, sensitivity, mu, source)
        scaled = gradient.astype(np.float64) / (design.unit * RESIDUAL_UNIT)
        theta = grid_step * on_grid + gram.solve(scaled)
        thetas.append(theta)
    return thetas
