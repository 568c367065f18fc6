"""Feature selection by rank correlation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from nolook._validation import check_count, check_epsilon, check_random_state
from nolook.algorithms.kendall_selection import kendall_events, kendall_selection
from nolook.estimators._private import Progress, progress_steps, spending
from nolook.estimators._selector import PrivateSelector, check_selected
from nolook.estimators._tables import training_table
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee, PureEvent
    from nolook.tables import Table

__all__ = ["KendallSelector"]

_MOST_SELECTED = 2**20


class KendallSelector(PrivateSelector):
    """Chooses features whose order agrees with the label's (DPKendall, Dick et al., NeurIPS 2023).

    Features are chosen one by one. A feature's score is the size of its Kendall rank correlation
    with the label, less the mean of those with the features chosen before, so that no two
    choices say the same. Ranks need no bounds and no scaling, and wild values do no harm. See
    ``algorithms/kendall_selection.md`` for the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, for every table without missing values; those are an error, raised before anything
    is spent.

    Parameters
    ----------
    k : int, default=5
        How many features to choose, fewer than there are. Each choice costs `epsilon` / k.
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    order_ : ndarray of int, shape (k,)
        The features chosen, the first one first.
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
    >>> KendallSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    def _plan(self) -> tuple[tuple[PureEvent, ...], PrivacyGuarantee]:
        budget = Budget(check_epsilon(self.epsilon))
        events = kendall_events(check_count(self.k, "k", _MOST_SELECTED), budget.epsilon)
        private = check_random_state(self.random_state) is None
        return events, accounting.guarantee(events, budget, relation="add-remove", private=private)

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
            A `Table` from :func:`nolook.read_table` is kept in memory: 12 bytes a cell while it is
            ranked, 4 afterwards.
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
        events, guarantee = self._plan()
        table = training_table(self, X, y)
        check_selected(self.k, self.n_features_in_)
        step = progress_steps(progress, len(events) + 2)
        with spending(ledger, guarantee, "Kendall selection", table, step):
            chosen = kendall_selection(table, events, byte_source(self.random_state), step)
        self.privacy_ = guarantee
        self.order_ = np.array(chosen)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self.order_] = True
        return self
