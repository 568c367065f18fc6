"""The one order of every release: check, charge, read, run, store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from nolook._numerics import undisturbed
from nolook._validation import check_delta, check_epsilon
from nolook.algorithms.moment_regression import SMALLEST_MU
from nolook.errors import ParameterError
from nolook.estimators._tables import prediction_rows, training_table
from nolook.kernels.moments import squared_norms
from nolook.kernels.row_products import row_products
from nolook.privacy import accounting
from nolook.privacy.budgets import too_small, with_room
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget, PrivacyGuarantee
from nolook.privacy.ledger import Ledger, charge, require
from nolook.privacy.noise import byte_source
from nolook.privacy.release import Plan, Step
from nolook.tables import Table

if TYPE_CHECKING:
    from nolook.algorithms.scaling import Scaling

__all__ = [
    "PrivateEstimator",
    "PrivateRegressor",
    "Progress",
    "check_budget",
    "make_release",
    "whole_mu",
]

#: Called with a step's name, how many steps are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]

_Released = TypeVar("_Released")
_Stored = TypeVar("_Stored")


class Rows(Protocol):
    """What a release reads: a table, or a table and what its columns stand for."""

    def may_drop_rows(self) -> bool:
        """Tell from declared types whether rows may be left out."""

    def check_complete(self) -> None:
        """Refuse missing values where they are an error."""


def make_release(
    plan: Plan[_Released],
    open_rows: Callable[[], Rows],
    purpose: str,
    *,
    ledger: Ledger | None,
    progress: Progress | None,
    store: Callable[[_Released], _Stored],
) -> _Stored:
    """Check, charge, read, run and store, in this order: nothing else in the package charges a fit.

    Too little budget is refused before the data are read; missing values, which are an error
    outside the guarantee, are found before anything is spent.

    Parameters
    ----------
    plan : Plan
    open_rows : callable
        Returns the table, or what is read like one, after checks against its declared columns.
    purpose : str
        What the ledger calls the release.
    ledger : Ledger or None
    progress : callable or None
    store : callable
        What becomes of the release: its post-processing.

    Returns
    -------
    object
        Of `store`.

    Raises
    ------
    ParameterError
        If neighbours are to have equally many rows, and the table may leave some out.
    """
    guarantee = plan.guarantee
    require(ledger, guarantee)
    step = _counted_steps(progress, plan.release.steps + 2)
    with undisturbed():
        rows = open_rows()
        if guarantee.relation == "replace" and rows.may_drop_rows():
            raise ParameterError(
                "relation is 'replace' for a table that may leave rows out for missing values, so "
                "that their number is private; expected 'add-remove' (or missing='error')"
            )
        step("missing values")
        rows.check_complete()
        with charge(ledger, guarantee, purpose):
            released = plan.release.run(rows, byte_source(plan.random_state), step)
        step("results")
        return store(released)


def _counted_steps(progress: Progress | None, total: int) -> Step:
    """Turn a progress callable into one that is told of each step as it starts."""
    done = 0

    def step(name: str) -> None:
        nonlocal done
        if progress is not None:
            progress(name, done, total)
        done += 1

    return step


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """Whatever is fitted privately: a subclass says what it releases and what it keeps of it.

    `plan` checks the parameters and makes the release; `_rows` turns the arguments of `fit` into a
    table and holds parameters against its columns; `_store` keeps the results. In which order `fit`
    does all that, and when it charges, is decided in :func:`make_release` alone.
    """

    #: What a ledger calls the release.
    _purpose: ClassVar[str]

    def plan(self) -> Plan[Any]:
        """Check the parameters; return what a fit will release and cost.

        Reads no data, so a budget can be planned, or several fits charged, before the first runs.

        Returns
        -------
        Plan
            With the `guarantee` that `privacy_` will be.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or the budget too small for any noise.
        """
        raise NotImplementedError

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Charge the ledger, read the table, and keep what was released.

        Parameters
        ----------
        X : Table, array or frame of shape (n_samples, n_features)
            A `Table` from :func:`nolook.read_table` is read in bounded memory, as often as needed.
        y : array of shape (n_samples,), optional
            The target; left out when X is a `Table`, or where none is needed.
        ledger : Ledger, optional
            Is charged before the data are read.
        progress : callable, optional
            Called with a step's name, the steps done and their number.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is out of range. Nothing is spent.
        TableError
            If X and y are no table of numbers. Nothing is spent.
        BudgetExceededError
            If the ledger has too little left. The data are not read.
        PrivateFitFailed
            If a private test failed, for methods that have one. The budget is spent.
        """
        return self._fit(X, y, ledger, progress)

    def _fit(self, X: object, y: object, ledger: Ledger | None, progress: Progress | None) -> Self:
        plan = self.plan()
        with self._all_or_nothing():
            make_release(
                plan,
                lambda: self._rows(X, y),
                self._purpose,
                ledger=ledger,
                progress=progress,
                store=self._store,
            )
            self.privacy_ = plan.guarantee
        return self

    def keep_release(
        self, released: object, *, privacy: PrivacyGuarantee, recipe: dict[str, Any]
    ) -> Self:
        """Become what a fit would have made of a release that was made and charged elsewhere.

        This is post-processing: nothing is charged, and no data are read.

        Parameters
        ----------
        released : object
            What the release of :meth:`plan` returns.
        privacy : PrivacyGuarantee
            Under which it was made.
        recipe : dict
            How the data were read, as in `recipe_`.

        Returns
        -------
        self
        """
        with self._all_or_nothing(), undisturbed():
            self.recipe_ = recipe
            self._store(released)
            self.privacy_ = privacy
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Let results of an earlier fit neither stand beside new ones nor be lost to an error."""
        before = dict(vars(self))
        for name in before:
            if name.endswith("_"):
                delattr(self, name)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _rows(self, X: object, y: object) -> Any:  # noqa: ANN401 -- what the release reads
        """Return what the release reads, and remember its columns: a table with a target.

        Parameters are held against the declared columns here, before anything is spent.
        """
        return training_table(self, X, y)

    def _store(self, released: Any) -> None:  # noqa: ANN401
        """Keep what was released as fitted attributes."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say what scikit-learn may expect: noise makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = getattr(self, "random_state", None) is None
        return tags


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What all linear models share: their budget, and how a fitted one predicts.

    `_store` sets `coef_`, `intercept_`, `scaling_`, `label_range_` and, where training rows were
    shrunk to a norm, `row_norm_`. Estimates a method does not make are None: `coef_interval_`,
    `intercept_interval_`, `r2_`, `r2_interval_`, `rmse_`, `rmse_interval_`.

    Attributes
    ----------
    row_norm_ : float
        Bound on the norm of (1, x), x in standardised units, that rows are shrunk to; infinite
        where they are not.
    failed_ : bool
        Whether a private test failed, and the model is a constant instead.
    """

    coef_interval_: NDArray[np.float64] | None = None
    intercept_interval_: NDArray[np.float64] | None = None
    r2_: float | None = None
    r2_interval_: NDArray[np.float64] | None = None
    rmse_: float | None = None
    rmse_interval_: NDArray[np.float64] | None = None
    row_norm_: float = math.inf
    failed_: bool = False

    def __init__(
        self, epsilon: float = 1.0, delta: float = DEFAULT_DELTA, random_state: int | None = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels; inputs are clipped as in training and labels to their private range.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = prediction_rows(self, X)
        scaling = self.scaling_
        with undisturbed():
            clipped = rows.clip(scaling.low[:-1], scaling.high[:-1])
            labels = self.intercept_ + row_products(clipped.T, self.coef_)
            if self.row_norm_ < math.inf:
                standard = (clipped - scaling.center[:-1]) / scaling.scale[:-1]
                norms = np.hypot(1.0, np.sqrt(squared_norms(standard.T)))
                center = scaling.center[-1]
                labels = center + np.minimum(1.0, self.row_norm_ / norms) * (labels - center)
            predicted: NDArray[np.float64] = labels.clip(*self.label_range_)
        return predicted

    def _store_model(self, scaling: Scaling, theta: NDArray[np.float64]) -> None:
        """Keep a standardised model and the scaling it is in."""
        self.scaling_ = scaling
        self.label_range_ = (float(scaling.low[-1]), float(scaling.high[-1]))
        self.coef_, self.intercept_ = scaling.original_units(theta)


def check_budget(epsilon: object, delta: object, *, pure: bool = False) -> Budget:
    """Check a budget; `pure` allows a delta of 0."""
    return Budget(check_epsilon(epsilon), check_delta(delta, allow_zero=pure))


def whole_mu(budget: Budget) -> float:
    """Return the mu-GDP parameter of Gaussian releases that have a whole budget.

    Raises
    ------
    ParameterError
        If the budget is too small for any noise.
    """
    mu = with_room(accounting.gaussian_mu(budget))
    if mu < SMALLEST_MU:
        raise too_small(budget.epsilon, budget.delta)
    return mu
