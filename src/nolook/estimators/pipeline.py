"""Feature selection and regression within one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_fraction
from nolook.errors import PrivateFitFailed
from nolook.estimators._selector import PrivateSelector, check_selected
from nolook.estimators._tables import prediction_rows, training_table
from nolook.estimators.base import PrivateEstimator, PrivateRegressor, check_budget
from nolook.privacy import accounting
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.release import Plan, Step
from nolook.tables import Table

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Event
    from nolook.privacy.noise import ByteSource

__all__ = ["PrivatePipeline", "make_private_pipeline", "regression_of", "selection_of"]

# What a regression says of the whole pipeline as well.
_SHARED = (
    "failed_",
    "intercept_",
    "intercept_interval_",
    "label_range_",
    "r2_",
    "r2_interval_",
    "rmse_",
    "rmse_interval_",
    "row_norm_",
)


@dataclass(frozen=True, slots=True)
class _InSequence:
    """A selection, and the regression on what it chose: each draws as it does by itself.

    Parameters
    ----------
    selector, regressor : estimators
        With the budgets they were given.
    """

    selector: PrivateSelector
    regressor: PrivateRegressor

    @property
    def steps(self) -> int:
        """The parts."""
        return 2

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        parts = (self.selector.plan(), self.regressor.plan())
        return tuple(event for part in parts for event in part.guarantee.mechanisms)

    def run(
        self,
        table: Table,
        source: ByteSource,  # noqa: ARG002 -- the parts have their own
        step: Step,
    ) -> tuple[PrivateSelector, PrivateRegressor, PrivateFitFailed | None]:
        """Fit both parts; a failed test of the regressor is an outcome like any other."""
        step("selection")
        self.selector.fit(table)
        step("regression")
        try:
            self.regressor.fit(table.select(self.selector.support_))
        except PrivateFitFailed as failure:
            return self.selector, self.regressor, failure
        return self.selector, self.regressor, None


class PrivatePipeline(PrivateRegressor):
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
        It, its interval, `label_range_` and the estimates of the fit are those of `regressor_`.
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
        super().__init__(epsilon, delta)
        self.selector = selector
        self.regressor = regressor
        self.split = split

    _purpose = "feature selection and regression"

    def plan(self) -> Plan[Any]:
        """Share the budget out to copies of the parts; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        first = check_fraction(self.split, "split") * budget.epsilon
        selector = clone(self.selector).set_params(epsilon=with_room(first))
        if "delta" in selector.get_params():
            selector.set_params(delta=self.split * budget.delta)
        selection = selector.plan().guarantee
        regressor = clone(self.regressor).set_params(
            epsilon=budget.epsilon - first, delta=budget.delta - selection.delta
        )
        parts = [selection, regressor.plan().guarantee]
        guarantee = accounting.in_sequence(parts, budget)
        return Plan(_InSequence(selector, regressor), guarantee, None)

    def _rows(self, X: object, y: object) -> Table:
        table = training_table(self, X, y)
        check_selected(self.selector.k, self.n_features_in_)
        return table

    def _store(
        self, released: tuple[PrivateSelector, PrivateRegressor, PrivateFitFailed | None]
    ) -> None:
        selector, regressor, failure = released
        if failure is not None:
            raise failure
        self.keep_parts(selector, regressor)

    def keep_parts(self, selector: PrivateSelector, regressor: PrivateRegressor) -> None:
        """Keep the fitted parts, and what they say of the whole."""
        self.selector_, self.regressor_ = selector, regressor
        self.support_ = selector.support_
        self.coef_ = np.zeros(len(self.support_))
        self.coef_[self.support_] = regressor.coef_
        for name in _SHARED:
            setattr(self, name, getattr(regressor, name))

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


def selection_of(release: PrivateEstimator) -> PrivateSelector | None:
    """Return the part of a release that chose columns, None if there is none."""
    if isinstance(release, PrivatePipeline):
        return release.selector_
    return release if isinstance(release, PrivateSelector) else None


def regression_of(model: PrivateRegressor) -> PrivateRegressor:
    """Return the regression of a model: its own, or that of the columns chosen."""
    return model.regressor_ if isinstance(model, PrivatePipeline) else model


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
