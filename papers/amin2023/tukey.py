"""The Tukey mechanism on columns in their own units, with its own proof or with the paper's."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._validation import check_choice
from nolook.algorithms.row_count_bound import count_rows, row_count_bound
from nolook.algorithms.tukey import (
    Basis,
    ModelGrid,
    TukeyPlan,
    TukeyResult,
    choose_models,
)
from nolook.estimators._checks import check_budget
from nolook.estimators.tukey import TukeyRegressor
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import ApproximateEvent, Event, PureEvent
from nolook.privacy.mechanisms.tukey_depth import tukey_release
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import OnStep, Plan
from nolook.tables import Table
from papers import not_private
from papers.amin2023.block_models import least_squares_models
from papers.amin2023.tukey_em import LEMMAS, Lemma, published_tukey
from papers.public_design import public_scaling

__all__ = ["PublishedTukeyRegressor", "RawTukeyRegressor"]

#: Coefficients in the columns' own units may have any size.
RAW_GRID = ModelGrid(2.0**-30, 2**61)


@frozen
class _RawTukey(TukeyPlan):
    """The mechanism on models of columns as they are: no scales are found or paid for."""

    for_rows_per_unit = None  # type: ignore[assignment]  # the paper speaks of rows

    @property
    def progress_steps(self) -> int:
        return bool(self.epsilon_rows) + 2

    def events(self) -> tuple[Event, ...]:
        rows = (PureEvent("number of rows", self.epsilon_rows),) if self.epsilon_rows else ()
        return (*rows, ApproximateEvent("Tukey mechanism", self.epsilon, self.delta))

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> TukeyResult:
        d = table.n_columns
        basis = Basis(public_scaling(table.column_names, 1.0, math.inf), np.eye(d), None)
        m = self.models
        if m is None:
            counted = count_rows(table, self.epsilon_rows, source, progress)
            m = self.choose(row_count_bound(counted, self.epsilon_rows), d)
        if m is None:
            return TukeyResult(basis, None, None)
        progress("models")
        batches = [np.empty((table.n_columns, 0)), *table.batches()]
        rows = np.concatenate(batches, axis=1)
        models = least_squares_models(rows, self.deal(rows.shape[1], m, source), m)
        progress("Tukey mechanism")
        point = self.release(RAW_GRID.round(models), source)
        return TukeyResult(basis, m, None if point is None else RAW_GRID.values(point))

    def choose(self, bound: int, d: int) -> int | None:
        """Choose the number of models from the private bound on the number of rows."""
        return choose_models(bound, d, self)

    def deal(self, rows: int, m: int, source: ByteSource) -> NDArray[np.int64]:
        """Return the block of each row: every row draws its own, whatever the others draw."""
        return uniform_integers(m, rows, source)

    def release(self, models: NDArray[np.int64], source: ByteSource) -> NDArray[np.int64] | None:
        """Release a deep point among the models, None if the test fails."""
        return tukey_release(models, self.rule(len(models)), source)


@frozen
class _PublishedTukey(_RawTukey):
    """TukeyEM, with n / d models where their number is not given."""

    lemma: Lemma = "2022"

    def choose(self, bound: int, d: int) -> int | None:
        return max(1, bound // d)

    def deal(self, rows: int, m: int, source: ByteSource) -> NDArray[np.int64]:
        """Deal rows evenly (Algorithm 2, line 2): blocks differ by one row at most."""
        order = np.argsort(uniform_integers(2**62, rows, source), kind="stable")
        return order % m

    def release(self, models: NDArray[np.int64], source: ByteSource) -> NDArray[np.int64] | None:
        return published_tukey(models, self.epsilon, self.delta, self.lemma, source)


class RawTukeyRegressor(TukeyRegressor):
    """The Tukey mechanism with block models of the columns as they are, which must fit in memory.

    Depth looks along the axes only, so the columns' units decide the accuracy.

    Guarantee
    ---------
    Everything `fit` stores, and whether it fails, is (`epsilon`, `delta`)-differentially private
    when one row is added or removed; the proof is `amin2023/README.md`.

    Parameters
    ----------
    epsilon, delta : float
    n_models : int or "auto", default="auto"
    random_state : int or None, default=None
        All as those of :class:`nolook.TukeyRegressor`. After a failed test nothing private is
        known of the target, so `fit` raises.

    Attributes
    ----------
    coef_, intercept_, n_models_, scaling_, target_range_, privacy_
        As there.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> RawTukeyRegressor(3.0, n_models=900).fit(x, x @ [2.0, -1.0]).coef_.shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_models: int | str = "auto",
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, n_models, random_state=random_state)

    def plan(self) -> Plan[TukeyResult]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        return Plan.of(_RawTukey(*self._split()), budget, self.random_state)

    def _split(self) -> tuple[int | None, float, float, float, float]:
        """Return the fields of the product's plan, the basis' share given to the mechanism."""
        own = cast("TukeyPlan", super().plan().release)
        left = with_room(self.epsilon - own.epsilon_rows)
        return own.models, own.epsilon_rows, 0.0, left, self.delta


class PublishedTukeyRegressor(RawTukeyRegressor):
    """TukeyEM as published. NOT private for rows, which `privacy_` says.

    Its proof holds when a whole model is added or removed. A row changes one model into another,
    which can cost twice the epsilon claimed.

    Parameters
    ----------
    epsilon, delta : float
        What the paper claims.
    n_models : int or "auto", default="auto"
        "auto" takes the private lower bound on the number of rows over the number of columns
        (Dick et al. 2023, section 4).
    lemma : {"2022", "2023"}, default="2022"
        Of the private test: 9.5 of Dick et al. (2023), or 3.6 of this paper.
    random_state : int or None, default=None

    Attributes
    ----------
    coef_, intercept_, n_models_, scaling_, target_range_, privacy_
        As those of :class:`nolook.TukeyRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> PublishedTukeyRegressor(3.0, n_models=900).fit(x, x @ [2.0, -1.0]).privacy_.private
    False
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_models: int | str = "auto",
        lemma: str = "2022",
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, n_models, random_state)
        self.lemma = lemma

    def plan(self) -> Plan[TukeyResult]:
        """Check the parameters; return what a fit will release."""
        check_choice("lemma", self.lemma, LEMMAS)
        release = _PublishedTukey(*self._split(), cast("Lemma", self.lemma))
        budget = check_budget(self.epsilon, self.delta)
        return not_private(Plan.of(release, budget, self.random_state))
