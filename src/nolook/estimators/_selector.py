"""What every private feature selector does around its mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_choice, check_count, check_random_state
from nolook.algorithms.rows_bound import rows_bound
from nolook.algorithms.selection_plan import SelectionPlan, choose_k
from nolook.errors import ParameterError
from nolook.estimators._private import Progress, progress_steps, spending
from nolook.estimators._tables import training_table
from nolook.privacy import accounting
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import ByteSource, byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Budget, PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["PrivateSelector", "check_selected"]

_MOST_SELECTED = 2**20


class PrivateSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses k features privately; `fit` stores `support_`, `k_` and `privacy_`.

    Parameters
    ----------
    k : int or "auto"
    epsilon : float
    random_state : int or None

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    k_ : int
        How many.
    """

    #: What a ledger calls the release.
    _release: ClassVar[str]

    def __init__(
        self, k: int | str = 5, epsilon: float = 1.0, random_state: int | None = None
    ) -> None:
        self.k = k
        self.epsilon = epsilon
        self.random_state = random_state

    def _plan(self) -> tuple[SelectionPlan, PrivacyGuarantee]:
        """Check the parameters; say how the budget is split and what a fit will cost."""
        raise NotImplementedError

    def _choose(
        self,
        table: Table,
        plan: SelectionPlan,
        k: int,
        bound: int,
        source: ByteSource,
        step: Callable[[str], None],
    ) -> Sequence[int]:
        """Choose k features of a table; `bound` is 0 where the plan does not release one."""
        raise NotImplementedError

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose the features.

        Parameters
        ----------
        X : Table with a target, array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            The label; left out when X is a `Table`.
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
        """
        plan, guarantee = self._plan()
        table = training_table(self, X, y)
        check_selected(self.k, self.n_features_in_)
        self._check_columns(table)
        step = progress_steps(progress, len(plan.events()) + 1)
        source = byte_source(self.random_state)
        with spending(ledger, guarantee, self._release, table, step):
            bound = 0 if plan.rows is None else rows_bound(table, plan.rows.epsilon, source, step)
            k = plan.k or choose_k(bound, self.n_features_in_, plan.features.epsilon)
            chosen = self._choose(table, plan, k, bound, source, step)
        self.privacy_ = guarantee
        self.k_ = k
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[list(chosen)] = True
        return self

    def _check_columns(self, table: Table) -> None:
        """Hold parameters against the table's columns, before anything is spent."""

    def _known_k(self) -> int | None:
        """Check k; None if it is chosen privately."""
        if isinstance(self.k, str):
            check_choice("k", self.k, ("auto",))
            return None
        return check_count(self.k, "k", _MOST_SELECTED)

    def _guarantee(self, plan: SelectionPlan, budget: Budget) -> PrivacyGuarantee:
        private = check_random_state(self.random_state) is None
        return accounting.guarantee(plan.events(), budget, relation="add-remove", private=private)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        support: NDArray[np.bool_] = self.support_
        return support

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say what scikit-learn may expect: a target, and noise that makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.target_tags.required = True
        return tags


def check_selected(k: int | str, features: int) -> None:
    """Refuse a selection that would leave no feature out.

    Parameters
    ----------
    k : int or "auto"
    features : int
        How many there are.

    Raises
    ------
    ParameterError
        If k, or 1 for "auto", is not below the number of features.
    """
    if isinstance(k, str):
        if features < 2:
            raise ParameterError(
                f"k is 'auto' for {features} feature; expected a table with two or more (leave "
                "the selection out)"
            )
    elif k >= features:
        raise ParameterError(
            f"k is {k}; expected fewer than the table's {features} features "
            "(give a smaller k, or leave the selection out)"
        )
