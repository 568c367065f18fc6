"""Feature selection by votes of Lasso models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from nolook._validation import (
    check_choice,
    check_count,
    check_epsilon,
    check_fraction,
    check_random_state,
)
from nolook.algorithms.sublasso import MOST_MODELS, LassoPlan, lasso_plan, lasso_selection
from nolook.estimators._private import Progress, progress_steps, spending
from nolook.estimators._selector import PrivateSelector, check_selected
from nolook.estimators._tables import training_table
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["LassoSelector"]

_MOST_SELECTED = 2**20
_RAW_ALPHA = 1.0  # scikit-learn's default


class LassoSelector(PrivateSelector):
    """Chooses features many small Lasso models agree on (SubLasso, Kifer et al., COLT 2012).

    Every row draws a block; each block gets its own Lasso model, which votes for its k largest
    coefficients; features with many votes are drawn. No noise grows with the columns' units. The
    noise of a count is about 2 k / `epsilon` votes, so several times as many blocks are needed, and
    rows for each. See ``algorithms/sublasso.md`` for the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, for every table without missing values; those are an error, raised before anything
    is spent.

    Parameters
    ----------
    k : int, default=5
        How many features to choose, fewer than there are.
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    n_models : int or "auto", default="auto"
        Number of blocks. "auto" spends 5 % of `epsilon` on a lower bound on the number of rows and
        takes a block for every 25 of them, up to the number that makes the noise small. A number
        must not come from the table.
    penalty : float or "raw", default=0.1
        Of each block's model: a share, between 0 and 1, of the least penalty at which its
        coefficients are all 0, its columns being standardised by themselves; or "raw" for
        scikit-learn's default of 1 on the columns as they are, as published, under which the
        columns' units decide.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    order_ : ndarray of int, shape (k,)
        The features chosen, the first one first.
    n_models_ : int
        Number of blocks.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the columns were read: arguments for :func:`nolook.read_table` on another table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for tables whose columns have names.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> LassoSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        k: int = 5,
        epsilon: float = 1.0,
        n_models: int | str = "auto",
        penalty: float | str = 0.1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, random_state)
        self.n_models = n_models
        self.penalty = penalty

    def _plan(self) -> tuple[LassoPlan, PrivacyGuarantee]:
        budget = Budget(check_epsilon(self.epsilon))
        k = check_count(self.k, "k", _MOST_SELECTED)
        self._models()
        self._penalty()
        plan = lasso_plan(k, budget.epsilon, auto=isinstance(self.n_models, str))
        private = check_random_state(self.random_state) is None
        return plan, accounting.guarantee(
            plan.events(), budget, relation="add-remove", private=private
        )

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
            A `Table` from :func:`nolook.read_table` is kept in memory: 16 bytes a cell while blocks
            are made up, 8 afterwards.
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
        step = progress_steps(progress, len(plan.events()) + 2)
        source = byte_source(self.random_state)
        with spending(ledger, guarantee, "Lasso selection", table, step):
            chosen, self.n_models_ = lasso_selection(
                table, plan, self._models(), self._penalty(), source, step
            )
        self.privacy_ = guarantee
        self.order_ = np.array(chosen)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self.order_] = True
        return self

    def _models(self) -> int | None:
        """Check the number of blocks; None if it is found privately."""
        if isinstance(self.n_models, str):
            check_choice("n_models", self.n_models, ("auto",))
            return None
        return check_count(self.n_models, "n_models", MOST_MODELS)

    def _penalty(self) -> float:
        """Check the penalty and return it as the kernel takes it."""
        if isinstance(self.penalty, str):
            check_choice("penalty", self.penalty, ("raw",))
            return -_RAW_ALPHA
        return check_fraction(self.penalty, "penalty")
