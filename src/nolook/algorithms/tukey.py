"""The Tukey mechanism for linear regression, correct for rows (Amin et al. 2023, Algorithm 2).

Every row draws a block, or every unit for all its rows; each block's least-squares model is a
point; a deep point among them is released, if a private test finds that safe. Before that, the
columns are standardised and clipped with private scales and, by default, decorrelated with a
private second-moment matrix: depth looks along the axes only, so the axes decide the accuracy.
Features in which nothing stood out from the noise of the scales are left out. The proof is
`tukey.md`.

=================  =========================================================================
name here          the paper's letter, or what it means
=================  =========================================================================
``m``              m: number of models, one for each block
``d``              d: numbers per model, the intercept and a coefficient for each detected feature
``depth``          t: only models at least so deep are released
``basis``          maps rows (1, u), u standardised, to the coordinates of the models
=================  =========================================================================
"""

from __future__ import annotations

import math

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Integers, Matrix, Vector
from nolook.algorithms.moment_regression import MomentRelease, NoisyMoments
from nolook.algorithms.moment_selection import nearest_moments
from nolook.algorithms.per_unit_sampling import Drawn, rows_in_blocks
from nolook.algorithms.row_count_bound import count_rows, row_count_bound, rows_margin
from nolook.algorithms.scaling import Scaling
from nolook.algorithms.tukey_models import models_needed
from nolook.kernels.block_models import block_models
from nolook.kernels.moments import UNIT
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.budgets import SMALLEST_MU, row_share, too_small, with_room
from nolook.privacy.guarantee import ApproximateEvent, Budget, Event, PureEvent
from nolook.privacy.mechanisms.tukey_depth import TukeyRule, tukey_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.statistics.block_moments import BlockMoments
from nolook.tables import Table
from nolook.tables.folding import Mapped

__all__ = [
    "LIMIT",
    "MODEL_GRID",
    "SAMPLE_SHARE",
    "Basis",
    "ModelGrid",
    "TukeyPlan",
    "TukeyResult",
    "choose_models",
    "fit_models",
    "release_basis",
    "rows_needed",
    "tukey_depth",
    "tukey_plan",
]

#: The block models see columns clipped to this many scales. No noise grows with it.
LIMIT = 6.0
#: Share of the mechanism's epsilon for the release of a point; the test has the rest.
SAMPLE_SHARE = 0.6

_ROWS_SHARE = 0.05  # of epsilon, for the bound on the number of rows
_BASIS_SHARE = 0.25  # of epsilon, for scales and second moments
_DELTA_SHARE = 0.5  # of delta, for the same
_SMALLEST_EPSILON = 2.0**-32
_LARGEST_SHARE = 32.0  # more epsilon for a part would only make numbers larger

_MARGIN = 1.15  # block models have heavier tails than the normal ones of the table
_ROWS_WANTED = 3  # rows a model for each of its numbers, where there are enough
_ROWS_SPARE = 2  # rows a model beyond one for each of its numbers, at least


@frozen
class TukeyPlan:
    """The Tukey mechanism with its budget split, fixed without the data.

    Guarantee: (epsilon, delta)-private for the budget that was split, when a row is added or
    removed. No table raises.

    Parameters
    ----------
    models : int or None
        Number of models; None if it depends on a private bound on the number of rows.
    epsilon_rows : float
        For that bound; 0 if there is none.
    mu : float
        GDP parameter of scales and second moments.
    epsilon, delta : float
        For the Tukey mechanism.
    """

    models: int | None
    epsilon_rows: float
    mu: float
    epsilon: float
    delta: float

    @property
    def progress_steps(self) -> int:
        """Number of progress steps of `run`, if there are rows for any models."""
        return self.moments.progress_steps + bool(self.epsilon_rows) + 2

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        rows = (PureEvent("number of rows", self.epsilon_rows),) if self.epsilon_rows else ()
        mechanism = ApproximateEvent("Tukey mechanism", self.epsilon, self.delta)
        return (*self.moments.events(), *rows, mechanism)

    def for_rows_per_unit(self, most: int) -> TukeyPlan:
        """Return the release that costs the same for units of `most` rows.

        They are in one block, so only the costs of basis and rows are divided.
        """
        rows = row_share(self.epsilon_rows, most, 0.0) if self.epsilon_rows else 0.0
        return evolve(self, epsilon_rows=rows, mu=row_share(self.mu, most))

    @property
    def moments(self) -> MomentRelease:
        """The release the basis is made from."""
        return MomentRelease(self.mu)

    def rule(self, m: int) -> TukeyRule:
        """Return the mechanism's constants for m models."""
        sample = min(SAMPLE_SHARE * self.epsilon, _LARGEST_SHARE)
        test = min(with_room((1.0 - SAMPLE_SHARE) * self.epsilon), _LARGEST_SHARE)
        return TukeyRule(tukey_depth(m), test, sample, self.delta)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> TukeyResult:
        """Fit a table with a target."""
        basis = release_basis(table, self, source, progress)
        m = self.models
        if m is None:
            counted = count_rows(table, self.epsilon_rows, source, progress)
            bound = row_count_bound(counted, self.epsilon_rows)
            m = choose_models(bound, len(basis.matrix), self)
        if m is None:
            return TukeyResult(basis, None, None)
        models = fit_models(table, basis, m, source, progress)
        progress("Tukey mechanism")
        point = tukey_release(MODEL_GRID.round(models), self.rule(m), source)
        return TukeyResult(basis, m, None if point is None else MODEL_GRID.values(point))


def tukey_plan(budget: Budget, models: int | None) -> TukeyPlan:
    """Split a budget; raises ParameterError if it is too small for any noise.

    `models` is None if their number is to depend on a private bound on the number of rows.
    """
    if budget.epsilon < _SMALLEST_EPSILON:
        raise too_small(budget.epsilon)
    rows = _ROWS_SHARE * budget.epsilon if models is None else 0.0
    own, delta = _BASIS_SHARE * budget.epsilon, _DELTA_SHARE * budget.delta
    mu = with_room(gaussian_mu(Budget(own, delta)))
    if mu < SMALLEST_MU:
        raise too_small(budget.epsilon, budget.delta)
    left = with_room(budget.epsilon - rows - own)
    return TukeyPlan(models, rows, mu, left, with_room(delta))


def tukey_depth(m: int) -> int:
    """Return t for m models: an eighth of them, at least 2."""
    return max(2, m // 8)


def rows_needed(d: int, plan: TukeyPlan) -> int:
    """Return the number of rows a table must have to be fitted, from parameters only.

    With that many, the private bound on the number of rows suffices with probability 0.9999. A
    smaller d, where features are left out, needs fewer.
    """
    below = 2 * rows_margin(plan.epsilon_rows) if plan.epsilon_rows else 0
    return _models_wanted(d, plan) * (d + _ROWS_SPARE) + below


def choose_models(bound: int, d: int, plan: TukeyPlan) -> int | None:
    """Choose the number of models from the private bound on the number of rows; None if too few.

    A few more than the table of :mod:`tukey_models` says; but if those would have fewer than 3 d
    rows each and the table's number would not, as many as have 3 d.
    """
    wanted = _models_wanted(d, plan)
    least = models_needed(d, plan.epsilon, plan.delta)
    affordable = bound // (_ROWS_WANTED * d)
    if least <= affordable < wanted:
        return affordable
    return wanted if bound >= wanted * (d + _ROWS_SPARE) else None


def _models_wanted(d: int, plan: TukeyPlan) -> int:
    return 8 * math.ceil(_MARGIN * models_needed(d, plan.epsilon, plan.delta) / 8)


@frozen
class Basis:
    """The coordinates the models are fitted in, all of it private."""

    scaling: Scaling  # of all columns, the target last; features not detected are left out
    matrix: Matrix  # design rows (1, u), u standardised, become (1, u) matrix
    moments: NoisyMoments | None  # of the columns in use, if second moments were released

    def constant(self) -> Vector:
        """Return the model of the basis' columns that is the target's private median everywhere."""
        theta = np.zeros(len(self.matrix))
        middle = self.scaling.median[-1] - self.scaling.center[-1]
        theta[0] = middle / self.scaling.scale[-1]
        return theta


@frozen
class TukeyResult:
    """The release of the Tukey mechanism.

    `models` is None if there were too few rows for any; `point`, in the coordinates of the basis,
    is None then, too, and where the private test failed.
    """

    basis: Basis
    models: int | None
    point: Vector | None


def release_basis(table: Table, plan: TukeyPlan, source: ByteSource, progress: OnStep) -> Basis:
    """Release scales and second moments.

    Guarantee: ``plan.mu``-GDP when a row is added or removed.
    """
    found = plan.moments.run(table, source, progress)
    moments = found.select(found.scaling.detected[:-1])
    return Basis(evolve(found.scaling, limit=LIMIT), whitening(moments), moments)


def whitening(moments: NoisyMoments) -> Matrix:
    """Return the basis in which the released second moments of (1, u) are about the identity.

    Directions smaller than noise can make them are scaled as if they had that size.
    """
    second = nearest_moments(moments.matrix)[:-1, :-1]
    values, vectors = np.linalg.eigh(second)
    rows = max(float(second[0, 0]), 1.0)
    floor = moments.sigma * math.sqrt(2 * len(second))
    return np.asarray(vectors * np.sqrt(rows / np.maximum(values, floor)))


def fit_models(table: Table, basis: Basis, m: int, source: ByteSource, progress: OnStep) -> Matrix:
    """Fit a ridge regression to each of m random blocks of rows: coordinates of the basis.

    Targets are in scales. Adding or removing a row replaces one model and leaves the others as they
    are; an empty block's is zero. Each row, or each unit for all its rows, draws its block from
    `source`.
    """
    progress("models")
    detected = basis.scaling.detected[:-1]
    table, scaling = table.select(detected), basis.scaling.select(detected)
    largest = math.floor(scaling.limit * UNIT)
    sums = BlockMoments(m, table.n_columns, largest, table.unit.weight_scale)
    standard = Mapped(sums, scaling.whole_rows)
    if table.engine is not None:
        table.fold(Drawn(standard, m, SAMPLING_UNIT, source))
    else:
        for each in rows_in_blocks(table, m, source):
            standard.update(*each)
    # Rows are in units of 1/UNIT, except for their constant 1.
    units = np.full(len(basis.matrix), 1.0 / UNIT)
    units[0] = 1.0
    return block_models(sums.value, units[:, None] * basis.matrix) / UNIT


@frozen
class ModelGrid:
    """The public grid that models are rounded to: steps of `step`, up to `largest` either way."""

    step: float
    largest: int

    def round(self, models: Matrix) -> Integers:
        """Clip and round each model on its own; NaN becomes 0."""
        largest = self.largest * self.step
        return np.rint(np.nan_to_num(models).clip(-largest, largest) / self.step).astype(np.int64)

    def values(self, point: Integers) -> Vector:
        """Return the numbers a grid point stands for."""
        return point.astype(np.float64) * self.step


#: No sensible standardised coefficient reaches its end, 2^12.
MODEL_GRID = ModelGrid(2.0**-20, 2**32)
