"""What every private estimator does around its mechanism: check, then spend, then run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from nolook._numerics import undisturbed
from nolook._validation import check_delta, check_epsilon, check_random_state
from nolook.errors import ParameterError
from nolook.estimators._tables import prediction_rows
from nolook.privacy import accounting
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget, Event, PrivacyGuarantee
from nolook.privacy.ledger import Ledger, charge, require
from nolook.tables import Table

__all__ = [
    "PrivateEstimator",
    "PrivateRegressor",
    "Progress",
    "check_budget",
    "gaussian_guarantee",
    "progress_steps",
    "spending",
]

# Below, the noise of a moment matrix could leave the range of the exact samplers.
_SMALLEST_MU = 2.0**-20

#: Called with a step's name, how many steps are done and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and tags of an estimator with nothing to set but its budget.

    Parameters
    ----------
    epsilon, delta : float
    random_state : int or None
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state

    def _plan(self) -> tuple[Any, PrivacyGuarantee]:
        """Check the parameters; return what a fit needs of them and what it will cost.

        No data are seen, so a fit that is made of several can be paid for before the first.
        """
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say what scikit-learn may expect: noise makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What all linear models share: how a fitted one predicts.

    `fit` stores `coef_`, `intercept_`, `scaling_`, `label_range_` and, where training rows were
    shrunk to a norm, `row_norm_`. Estimates a method does not make are None: `coef_interval_`,
    `intercept_interval_`, `r2_`, `r2_interval_`, `rmse_`, `rmse_interval_`.

    Attributes
    ----------
    row_norm_ : float
        Bound on the norm of (1, x), x in standardised units, that rows are shrunk to; infinite
        where they are not.
    """

    coef_interval_: NDArray[np.float64] | None = None
    intercept_interval_: NDArray[np.float64] | None = None
    r2_: float | None = None
    r2_interval_: NDArray[np.float64] | None = None
    rmse_: float | None = None
    rmse_interval_: NDArray[np.float64] | None = None
    row_norm_: float = math.inf

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
        clipped = rows.clip(scaling.low[:-1], scaling.high[:-1])
        labels: NDArray[np.float64] = self.intercept_ + clipped @ self.coef_
        if self.row_norm_ < math.inf:
            standard = (clipped - scaling.center[:-1]) / scaling.scale[:-1]
            norms = np.hypot(1.0, np.linalg.norm(standard, axis=1))
            center = scaling.center[-1]
            labels = center + np.minimum(1.0, self.row_norm_ / norms) * (labels - center)
        return labels.clip(*self.label_range_)


def check_budget(epsilon: object, delta: object) -> Budget:
    """Check the two parameters every estimator with Gaussian noise has."""
    return Budget(check_epsilon(epsilon), check_delta(delta))


def gaussian_guarantee(
    budget: Budget,
    events: Callable[[float], Sequence[Event]],
    random_state: object,
) -> tuple[float, PrivacyGuarantee]:
    """Spend a whole budget on Gaussian releases.

    Parameters
    ----------
    budget : Budget
    events : callable
        Maps the mu-GDP parameter of the whole to the events that will be released.
    random_state : int or None
        Anything but None makes the guarantee not private.

    Returns
    -------
    mu : float
    guarantee : PrivacyGuarantee
        Computed from the events.

    Raises
    ------
    ParameterError
        If the budget is too small for any noise.
    """
    private = check_random_state(random_state) is None
    # A hair less, as room for the rounding of its split into several releases.
    mu = accounting.gaussian_mu(budget) * (1.0 - 2.0**-40)
    if mu < _SMALLEST_MU:
        raise ParameterError(
            f"epsilon is {budget.epsilon!r} with delta {budget.delta!r}; expected a larger budget "
            "(its noise would exceed any table)"
        )
    guarantee = accounting.guarantee(
        tuple(events(mu)), budget, relation="add-remove", private=private
    )
    return mu, guarantee


@contextmanager
def spending(
    ledger: Ledger | None,
    guarantee: PrivacyGuarantee,
    description: str,
    table: Table,
    step: Callable[[str], None],
) -> Iterator[None]:
    """Charge a release before the block makes it.

    Too little budget is refused before the data are read; missing values, which are an error
    outside the guarantee, are found before anything is spent.

    Parameters
    ----------
    ledger : Ledger or None
    guarantee : PrivacyGuarantee
    description : str
        For the ledger.
    table : Table
    step : callable
        Is told of the pass that looks for missing values.

    Raises
    ------
    ParameterError
        If neighbours are to have equally many rows, and the table may leave some out.
    """
    if guarantee.relation == "replace" and table.may_drop_rows():
        raise ParameterError(
            "relation is 'replace' for a table that may leave rows out for missing values, so that "
            "their number is private; expected 'add-remove' (or missing='error')"
        )
    with undisturbed():
        require(ledger, guarantee)
        step("missing values")
        table.check_complete()
        with charge(ledger, guarantee, description):
            yield


def progress_steps(progress: Progress | None, total: int) -> Callable[[str], None]:
    """Turn a progress callable into one that is told of each step as it starts."""
    done = 0

    def step(name: str) -> None:
        nonlocal done
        if progress is not None:
            progress(name, done, total)
        done += 1

    return step
