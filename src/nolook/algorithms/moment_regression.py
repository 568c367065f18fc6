"""Linear regression from one noisy moment matrix, with no bounds to guess.

Scales of all columns (:mod:`nolook.algorithms.scaling`), then a bound on the rows' norm, then the
matrix of all products of the standardised, clipped rows: five Gaussian releases in all. What
follows, in :mod:`nolook.algorithms.noisy_ridge` and :mod:`nolook.algorithms.inference`, is
post-processing. The proof is ``moment_regression.md``.

===============  ========================================================================
name here        meaning
===============  ========================================================================
``mu``           mu-GDP parameter of the whole, split by :data:`SHARES`
``radius``       R, the bound on the norm of a standardised row (x, y)
``matrix``       Z'Z plus noise, rows of Z being (1, x, y), shape (columns + 1,) * 2
``sigma``        standard deviation of the noise on its diagonal, (1 + R^2) / mu_moments;
                 it is smaller by sqrt(2) elsewhere
===============  ========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.scaling import (
    LIMIT,
    ROUNDS,
    Scaling,
    find_scaling,
    release_histograms,
    scaling_events,
)
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.moments import UNIT, integer_rows, squared_norms
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import symmetric_gaussian_release
from nolook.privacy.noise import ByteSource
from nolook.statistics.moments import MomentMatrix, moment_sensitivity
from nolook.tables import Table

__all__ = ["PASSES", "NoisyMoments", "regression_events", "release_moments"]

#: Shares of mu^2: finding scales, bounding the rows' norm, the moment matrix.
SHARES = {"scales": 0.35, "norms": 0.04, "moments": 0.61}
#: How often the table is read.
PASSES = ROUNDS + 2

# Candidate bounds on the squared norm, a quarter of a power of two apart, down from the largest.
_RADII = 49


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Everything that is released of a table: all later results follow from it.

    Parameters
    ----------
    scaling : Scaling
        Centre and scale of each column, the target last.
    matrix : ndarray of shape (columns + 1, columns + 1)
        Noisy sum of ``z z'`` over rows ``z = (1, x, y)`` in standardised units.
    sigma : float
        Standard deviation of the noise of its diagonal entries.
    radius : float
        Bound on the norm of a row without its leading 1.
    """

    scaling: Scaling
    matrix: NDArray[np.float64]
    sigma: float
    radius: float


def regression_events(mu: float) -> tuple[GaussianEvent, ...]:
    """State what :func:`release_moments` releases with `mu`, before any data are read."""
    parts = {part: mu * math.sqrt(share) for part, share in SHARES.items()}
    return (
        *scaling_events(parts["scales"]),
        GaussianEvent("histogram of the rows' norms", parts["norms"]),
        GaussianEvent("moment matrix", parts["moments"]),
    )


def release_moments(
    table: Table,
    mu: float,
    source: ByteSource,
    step: Callable[[str], None],
) -> NoisyMoments:
    """Release scales, a norm bound and the moment matrix of a table.

    Guarantee: all releases are together ``mu``-GDP when a record is added or removed. No table
    raises; an empty one is answered with noise.

    Parameters
    ----------
    table : Table
        With a target; read :data:`PASSES` times.
    mu : float
        Gaussian differential privacy parameter of the whole.
    source : ByteSource
        Where the noise comes from.
    step : callable
        Called with the name of each pass before it starts.

    Returns
    -------
    NoisyMoments
    """
    parts = {part: mu * math.sqrt(share) for part, share in SHARES.items()}
    scaling, rows = find_scaling(table, parts["scales"], source, step)

    def standardised(batch: NDArray[np.float64]) -> NDArray[np.float64]:
        return integer_rows(batch, scaling.center, scaling.scale, LIMIT)

    step("norms")
    squares = _candidate_squares(table.n_columns)
    counts = release_histograms(
        table,
        parts["norms"],
        source,
        lambda batch: threshold_counts(squared_norms(standardised(batch)), squares)[None, :],
    )
    squared_radius = choose_squared_radius(
        counts[0], squares, rows, table.n_columns + 1, parts["moments"]
    )

    step("moments")
    moments = MomentMatrix(table.n_columns, squared_radius)
    for batch in table.batches():
        moments.update(standardised(batch))
    largest = moment_sensitivity(squared_radius, "add-remove")
    noisy = symmetric_gaussian_release(moments.value, largest, parts["moments"], source)
    return NoisyMoments(
        scaling=scaling,
        matrix=noisy.astype(np.float64) / UNIT**2,
        sigma=largest / UNIT**2 / parts["moments"],
        radius=math.sqrt(squared_radius) / UNIT,
    )


def _candidate_squares(columns: int) -> NDArray[np.float64]:
    """Whole numbers, increasing; the last is no smaller than any squared norm."""
    largest = columns * (LIMIT * UNIT) ** 2
    return np.floor(largest * 2.0 ** (np.arange(1 - _RADII, 1) / 4))


def choose_squared_radius(
    counts: NDArray[np.float64],
    squares: NDArray[np.float64],
    rows: float,
    size: int,
    mu: float,
) -> int:
    """Choose the bound on the rows' squared norm from noisy counts between the candidates.

    A smaller bound means less noise and more rows shrunk. Per unit of squared radius the noise's
    operator norm grows by ``sqrt(2 size) / mu``, and the moments lose, spread over ``size``
    directions, one unit for each row outside: both are alike when ``size sqrt(2 size) / mu`` rows
    are outside. So many, and at most a quarter of all, may be.

    Parameters
    ----------
    counts : ndarray of shape (len(squares) + 1,)
        Noisy numbers of rows between the candidates.
    squares : ndarray
        Candidate bounds, increasing.
    rows : float
        Private estimate of the number of rows.
    size : int
        Number of rows of the moment matrix.
    mu : float
        GDP parameter of the moments' release.

    Returns
    -------
    int
    """
    allowed = min(size * math.sqrt(2 * size) / mu, rows / 4)
    outside = counts[:0:-1].cumsum()[::-1]  # outside[i]: rows beyond squares[i]
    too_many = np.flatnonzero(outside > allowed)
    chosen = int(too_many[-1]) + 1 if too_many.size else 0
    return int(squares[min(chosen, squares.size - 1)])
