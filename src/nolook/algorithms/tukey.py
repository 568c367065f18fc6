"""The Tukey mechanism for linear regression, correct for records (Amin et al. 2023, Algorithm 2).

Every record draws a block; each block's least-squares model is a point; a deep point among them is
released, if a private test finds that safe. Before that, the columns are standardised and
clipped with private scales and, by default, decorrelated with a private second-moment matrix:
depth looks along the axes only, so the axes decide the accuracy. The proof is `tukey.md`.

=================  ======================================================================
name here          the paper's letter, or what it means
=================  ======================================================================
``m``              m: number of models, one for each block
``d``              d: numbers per model, the intercept and a coefficient for each feature
``depth``          t: only models at least so deep are released
``basis``          maps rows (1, u), u standardised, to the coordinates of the models
=================  ======================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.moment_regression import (
    PASSES,
    NoisyMoments,
    regression_events,
    release_moments,
)
from nolook.algorithms.noisy_ridge import nearest_moments
from nolook.algorithms.rows_bound import rows_margin
from nolook.algorithms.scaling import ROUNDS, Scaling, find_scaling, scaling_events
from nolook.algorithms.tukey_models import models_needed
from nolook.errors import ParameterError
from nolook.kernels.block_models import block_models, least_squares_models
from nolook.kernels.moments import UNIT, integer_rows
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import ApproximateEvent, Budget, Event, PureEvent
from nolook.privacy.mechanisms.tukey_depth import TukeyRule
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.statistics.block_moments import BlockMoments
from nolook.tables import Table

__all__ = [
    "BASES",
    "LIMIT",
    "SAMPLE_SHARE",
    "Basis",
    "BasisName",
    "TukeyPlan",
    "choose_models",
    "fit_models",
    "model_grid",
    "passes_over",
    "release_basis",
    "rows_needed",
    "tukey_depth",
    "tukey_plan",
]

BasisName = Literal["private-whitening", "private-scaling", "raw"]
BASES = ("private-whitening", "private-scaling", "raw")

#: The block models see columns clipped to so many scales. No noise grows with it.
LIMIT = 6.0
#: Share of the mechanism's epsilon for the release of a point; the test has the rest.
SAMPLE_SHARE = 0.6

_ROWS_SHARE = 0.05  # of epsilon, for the bound on the number of rows
_BASIS_SHARE = 0.25  # of epsilon, for scales and second moments
_DELTA_SHARE = 0.5  # of delta, for the same
_ROOM = 1.0 - 2.0**-40  # for the rounding of these shares
_SMALLEST_EPSILON = 2.0**-32
_LARGEST_SHARE = 32.0  # more epsilon for a part would change nothing but the size of numbers

_MARGIN = 1.15  # block models have heavier tails than the normal ones of the table
_ROWS_WANTED = 3  # rows a model for each of its numbers, where there are enough
_ROWS_SPARE = 2  # rows a model beyond one for each of its numbers, at least

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TukeyPlan:
    """How a budget is split, fixed without the data.

    Parameters
    ----------
    basis : str
    epsilon_rows : float
        For the bound on the number of rows; 0 if the number of models was given.
    mu : float
        GDP parameter of scales and second moments; 0 for the raw basis.
    epsilon, delta : float
        For the Tukey mechanism.
    """

    basis: BasisName
    epsilon_rows: float
    mu: float
    epsilon: float
    delta: float

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        found: list[Event] = []
        if self.basis == "private-whitening":
            found += regression_events(self.mu)
        elif self.basis == "private-scaling":
            found += scaling_events(self.mu)
        if self.epsilon_rows:
            found.append(PureEvent("number of rows", self.epsilon_rows))
        return (*found, ApproximateEvent("Tukey mechanism", self.epsilon, self.delta))

    def rule(self, m: int) -> TukeyRule:
        """Return the mechanism's constants for m models."""
        sample = min(SAMPLE_SHARE * self.epsilon, _LARGEST_SHARE)
        test = min((1.0 - SAMPLE_SHARE) * self.epsilon * _ROOM, _LARGEST_SHARE)
        return TukeyRule(tukey_depth(m), test, sample, self.delta)


def tukey_plan(budget: Budget, basis: BasisName, *, auto: bool) -> TukeyPlan:
    """Split a budget.

    Parameters
    ----------
    budget : Budget
    basis : str
    auto : bool
        Whether the number of models depends on a private bound on the number of rows.

    Returns
    -------
    TukeyPlan

    Raises
    ------
    ParameterError
        If the budget is too small for any noise.
    """
    if budget.epsilon < _SMALLEST_EPSILON:
        raise ParameterError(
            f"epsilon is {budget.epsilon!r}; expected a larger one (its noise would exceed any "
            "table)"
        )
    rows = _ROWS_SHARE * budget.epsilon if auto else 0.0
    if basis == "raw":
        return TukeyPlan(basis, rows, 0.0, (budget.epsilon - rows) * _ROOM, budget.delta)
    own, delta = _BASIS_SHARE * budget.epsilon, _DELTA_SHARE * budget.delta
    mu = gaussian_mu(Budget(own, delta)) * _ROOM
    left = (budget.epsilon - rows - own) * _ROOM
    return TukeyPlan(basis, rows, mu, left, delta * _ROOM)


def tukey_depth(m: int) -> int:
    """Return t for m models: an eighth of them, at least 2."""
    return max(2, m // 8)


def rows_needed(d: int, plan: TukeyPlan) -> int:
    """Return how many rows a table must have to be fitted, from parameters alone.

    The private bound on the number of rows then suffices with probability 0.9999.

    Parameters
    ----------
    d : int
    plan : TukeyPlan

    Returns
    -------
    int
    """
    below = 2 * rows_margin(plan.epsilon_rows) if plan.epsilon_rows else 0
    return _models_wanted(d, plan) * (d + _ROWS_SPARE) + below


def choose_models(bound: int, d: int, plan: TukeyPlan) -> int | None:
    """Choose the number of models from the private bound on the number of rows.

    Some more than the table's, unless that leaves fewer than 3 d rows a model where the table's
    number does not.

    Parameters
    ----------
    bound : int
    d : int
    plan : TukeyPlan

    Returns
    -------
    int or None
        None if there are too few rows.
    """
    wanted = _models_wanted(d, plan)
    least = models_needed(d, plan.epsilon, plan.delta)
    affordable = bound // (_ROWS_WANTED * d)
    if least <= affordable < wanted:
        return affordable
    return wanted if bound >= wanted * (d + _ROWS_SPARE) else None


def _models_wanted(d: int, plan: TukeyPlan) -> int:
    return 8 * math.ceil(_MARGIN * models_needed(d, plan.epsilon, plan.delta) / 8)


@dataclass(frozen=True, slots=True)
class Basis:
    """The coordinates the models are fitted in, all of it private.

    Parameters
    ----------
    scaling : Scaling
        Of all columns, the label last; columns are clipped to its range.
    matrix : ndarray of shape (d, d)
        Design rows (1, u), u standardised, become ``(1, u) matrix``.
    moments : NoisyMoments or None
        What else was released with the second moments.
    """

    scaling: Scaling
    matrix: Matrix
    moments: NoisyMoments | None

    def constant(self) -> Vector:
        """Return the standardised model that predicts the label's private median everywhere."""
        theta = np.zeros(len(self.matrix))
        if self.scaling.median is not None:
            middle = self.scaling.median[-1] - self.scaling.center[-1]
            theta[0] = middle / self.scaling.scale[-1]
        return theta


def passes_over(plan: TukeyPlan) -> int:
    """Return how often the table is read."""
    basis = {"private-whitening": PASSES, "private-scaling": ROUNDS, "raw": 0}[plan.basis]
    return basis + bool(plan.epsilon_rows) + 1


def release_basis(
    table: Table, plan: TukeyPlan, source: ByteSource, step: Callable[[str], None]
) -> Basis:
    """Release scales and, for whitening, second moments; ``plan.mu``-GDP under add-remove.

    Parameters
    ----------
    table : Table
    plan : TukeyPlan
    source : ByteSource
    step : callable

    Returns
    -------
    Basis
    """
    d = table.n_columns
    if plan.basis == "raw":
        return Basis(Scaling.public(table.column_names, 1.0, math.inf), np.eye(d), None)
    if plan.basis == "private-scaling":
        scaling, _ = find_scaling(table, plan.mu, source, step)
        return Basis(replace(scaling, limit=LIMIT), np.eye(d), None)
    moments = release_moments(table, plan.mu, source, step)
    return Basis(replace(moments.scaling, limit=LIMIT), whitening(moments), moments)


def whitening(moments: NoisyMoments) -> Matrix:
    """Return the basis in which the released second moments of (1, u) are about the identity.

    Directions below what noise alone can reach are scaled as if they had that much.

    Parameters
    ----------
    moments : NoisyMoments

    Returns
    -------
    ndarray of shape (d, d)
    """
    second = nearest_moments(moments.matrix)[:-1, :-1]
    values, vectors = np.linalg.eigh(second)
    rows = max(float(second[0, 0]), 1.0)
    floor = moments.sigma * math.sqrt(2 * len(second))
    matrix: Matrix = vectors * np.sqrt(rows / np.maximum(values, floor))
    return matrix


def fit_models(
    table: Table, basis: Basis, m: int, source: ByteSource, step: Callable[[str], None]
) -> Matrix:
    """Fit one least-squares model to each of m random blocks of rows.

    Adding or removing a record replaces one model and leaves the others as they are.

    Parameters
    ----------
    table : Table
        Read once.
    basis : Basis
    m : int
    source : ByteSource
        Each record draws its block from it.
    step : callable

    Returns
    -------
    ndarray of shape (m, d)
        In the coordinates of the basis, labels in scales; zero for an empty block.
    """
    step("models")
    if basis.scaling.limit == math.inf:
        return _fit_raw(table, m, source)
    scaling = basis.scaling
    sums = BlockMoments(m, table.n_columns, math.floor(scaling.limit * UNIT))
    for batch in table.batches():
        rows = integer_rows(batch, scaling.center, scaling.scale, scaling.limit)
        sums.update(rows, uniform_integers(m, rows.shape[1], source))
    # Rows are in steps of 1/UNIT, but for their constant 1.
    steps = np.full(len(basis.matrix), 1.0 / UNIT)
    steps[0] = 1.0
    return block_models(sums.value, steps[:, None] * basis.matrix) / UNIT


def _fit_raw(table: Table, m: int, source: ByteSource) -> Matrix:
    """Fit rows in their own units, which all have to be held in memory."""
    batches = [np.empty((table.n_columns, 0)), *table.batches()]
    rows = np.concatenate(batches, axis=1)
    blocks = uniform_integers(m, rows.shape[1], source)
    with np.errstate(all="ignore"):
        return least_squares_models(rows, blocks, m)


@dataclass(frozen=True, slots=True)
class ModelGrid:
    """The public grid models are rounded to.

    Parameters
    ----------
    step : float
    largest : int
        In steps.
    """

    step: float
    largest: int

    def round(self, models: Matrix) -> NDArray[np.int64]:
        """Clip and round each model by itself; what is no number becomes 0."""
        largest = self.largest * self.step
        return np.rint(np.nan_to_num(models).clip(-largest, largest) / self.step).astype(np.int64)

    def values(self, point: NDArray[np.int64]) -> Vector:
        """Return the numbers a grid point stands for."""
        return point.astype(np.float64) * self.step


def model_grid(basis: BasisName) -> ModelGrid:
    """Return the grid for models in the coordinates of a basis.

    Standardised coefficients need a few thousand units; raw ones may have any size.
    """
    return ModelGrid(2.0**-30, 2**61) if basis == "raw" else ModelGrid(2.0**-20, 2**32)
