"""Feature selection by votes of Lasso models."""

from __future__ import annotations

import numpy as np

from nolook._validation import check_choice, check_count, check_epsilon, check_fraction
from nolook.algorithms.selection_plan import Selected, selection_plan
from nolook.algorithms.sublasso import MOST_MODELS, LassoSelection
from nolook.estimators._selector import PrivateSelector
from nolook.privacy.guarantee import Budget
from nolook.privacy.release import Plan

__all__ = ["LassoSelector"]


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
    k : int or "auto", default=5
        How many features to choose, fewer than there are. "auto" takes ``n epsilon / (120 ln(10
        d))`` for a private lower bound n on the number of rows and d features, at least 1 and
        at most the square root of d; see :class:`nolook.KendallSelector`.
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    n_models : int or "auto", default="auto"
        Number of blocks. "auto" spends 5 % of `epsilon` on a lower bound on the number of rows and
        takes a block for every 25 of them, up to the number that makes the noise small. A number
        must not come from the table, which is kept in memory: 16 bytes a cell while blocks are
        made up, 8 afterwards.
    penalty : float, default=0.1
        Of each block's model: a share, between 0 and 1, of the least penalty at which its
        coefficients are all 0, its columns being standardised by themselves.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    order_ : ndarray of int, shape (k_,)
        The features chosen, the first one first.
    k_ : int
        How many were chosen.
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

    _purpose = "Lasso selection"

    def __init__(
        self,
        k: int | str = 5,
        epsilon: float = 1.0,
        n_models: int | str = "auto",
        penalty: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, random_state)
        self.n_models = n_models
        self.penalty = penalty

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon))
        k, blocks = self._known_k(), self._models()
        penalty = check_fraction(self.penalty, "penalty")
        parts = selection_plan(k, budget, bound=blocks is None)
        return Plan.of(LassoSelection(parts, blocks, penalty), budget, self.random_state)

    def _store(self, released: Selected) -> None:
        super()._store(released)
        self.order_ = np.array(released.features)
        self.n_models_ = released.blocks

    def _models(self) -> int | None:
        """Check the number of blocks; None if it is found privately."""
        if isinstance(self.n_models, str):
            check_choice("n_models", self.n_models, ("auto",))
            return None
        return check_count(self.n_models, "n_models", MOST_MODELS)
