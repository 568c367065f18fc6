"""Feature selection and regression within one budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_fraction
from nolook.errors import PrivateFitFailed
from nolook.estimators._private import (
    PrivateRegressor,
    Progress,
    check_budget,
    progress_steps,
    spending,
)
from nolook.estimators._selector import PrivateSelector, check_selected
from nolook.estimators._tables import prediction_rows, training_table
from nolook.privacy import accounting
from nolook.privacy.guarantee import DEFAULT_DELTA

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.privacy.ledger import Ledger
    from nolook.tables import Table

__all__ = ["PrivatePipeline", "make_private_pipeline"]

# A hair less for the selection, as room for the rounding of the split.
_ROOM = 1.0 - 2.0**-40


class PrivatePipeline(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A private selector and a private regressor on what it chose, paid for at once.

    Made by :func:`make_private_pipeline`.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed: the selection has ``split * epsilon`` (and ``split * delta`` if it needs any), the
    regression, for any selection, the rest; epsilons and deltas add up. If either part is not
    private, nothing is promised.

    Parameters
    ----------
    selector : selector
        Such as :class:`nolook.KendallSelector`; its own `epsilon` is replaced.
    regressor : regressor
        Such as :class:`nolook.TukeyRegressor`; its own `epsilon` and `delta` are replaced.
    epsilon, delta : float
    split : float, default=0.2
        Share of the budget for the selection, between 0 and 1.

    Attributes
    ----------
    selector_, regressor_ : fitted estimators
    support_ : ndarray of bool, shape (n_features_in_,)
    coef_ : ndarray of shape (n_features_in_,)
        Zero for features that were not chosen.
    intercept_ : float
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the columns were read: arguments for :func:`nolook.read_table` on another table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for tables whose columns have names.
    """

    def __init__(
        self,
        selector: PrivateSelector,
        regressor: PrivateRegressor,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        split: float = 0.2,
    ) -> None:
        self.selector = selector
        self.regressor = regressor
        self.epsilon = epsilon
        self.delta = delta
        self.split = split

    def _plan(self) -> tuple[tuple[PrivateSelector, PrivateRegressor], PrivacyGuarantee]:
        """Share the budget out to copies of the parts; no data are seen."""
        budget = check_budget(self.epsilon, self.delta)
        first = check_fraction(self.split, "split") * budget.epsilon
        selector = clone(self.selector).set_params(epsilon=first * _ROOM)
        if "delta" in selector.get_params():
            selector.set_params(delta=self.split * budget.delta)
        selection = selector._plan()[1]
        regressor = clone(self.regressor).set_params(
            epsilon=budget.epsilon - first, delta=budget.delta - selection.delta
        )
        parts = [selection, regressor._plan()[1]]
        return (selector, regressor), accounting.in_sequence(parts, budget)

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose features and fit the model to them.

        Parameters
        ----------
        X : Table with a target, array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            The label; left out when X is a `Table`.
        ledger : Ledger, optional
            Is charged once, for both parts, before the data are read.
        progress : callable, optional
            Called with a part's name, the parts done and their number.

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
            If the regressor's private test failed. The budget is spent.
        """
        (selector, regressor), guarantee = self._plan()
        table = training_table(self, X, y)
        check_selected(selector.k, len(table.feature_names))
        step = progress_steps(progress, 3)
        failure = None
        with spending(ledger, guarantee, "feature selection and regression", table, step):
            step("selection")
            selector.fit(table)
            step("regression")
            try:
                regressor.fit(table.select(selector.support_))
            except PrivateFitFailed as error:  # an outcome: the charge is complete all the same
                failure = error
        if failure is not None:
            raise failure
        self.privacy_ = guarantee
        self.selector_, self.regressor_ = selector, regressor
        self.support_ = selector.support_
        self.coef_ = np.zeros(len(table.feature_names))
        self.coef_[self.support_] = regressor.coef_
        self.intercept_ = regressor.intercept_
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict labels with the regressor, from the features chosen.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        chosen = prediction_rows(self, X)[:, self.support_]
        names = self.regressor_.feature_names_in_
        return self.regressor_.predict(pa.table(dict(zip(names, chosen.T, strict=True))))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say what scikit-learn may expect: noise makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


def make_private_pipeline(
    selector: PrivateSelector,
    regressor: PrivateRegressor,
    *,
    epsilon: float,
    delta: float,
    split: float = 0.2,
) -> PrivatePipeline:
    """Put a private selector before a private regressor, within one budget.

    Parameters
    ----------
    selector : selector
    regressor : regressor
    epsilon, delta : float
        Of the whole.
    split : float, default=0.2
        Share of `epsilon` for the selection.

    Returns
    -------
    PrivatePipeline
        With one ``fit(..., ledger=)`` and one `privacy_`.
    """
    return PrivatePipeline(selector, regressor, epsilon, delta, split)
