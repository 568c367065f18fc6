"""Linear regression by noisy stochastic gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from numpy.typing import ArrayLike

from nolook._validation import check_count, check_random_state
from nolook.algorithms.dpsgd import dpsgd, dpsgd_events, passes
from nolook.estimators._private import (
    PrivateRegressor,
    Progress,
    check_budget,
    progress_steps,
    spending,
)
from nolook.estimators._tables import training_table
from nolook.privacy import accounting
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Budget, PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["DPSGDRegressor"]

_MOST_STEPS = 10_000


class DPSGDRegressor(PrivateRegressor):
    """Linear regression by DP-SGD (Abadi et al., CCS 2016), on privately standardised columns.

    In every step each row is drawn by itself with probability 1/8; the drawn rows' gradients of
    the squared error are clipped, added up and released with Gaussian noise. The noise is the
    least that keeps the budget, found by composing privacy-loss distributions. Columns are
    standardised privately first, so nothing has to be tuned. See ``algorithms/dpsgd.md`` for the
    proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed, for every table without missing values; those are an error, raised before anything
    is spent.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1). Below about 1e-8 sampling cannot be shown
        to protect, and the noise is several times larger.
    n_steps : int, default=200
        Number of gradients, at most 10,000. More steps get further with more noise each.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, in the columns' units.
    intercept_ : float
    scaling_ : Scaling
        Private centre, scale, low and high of each column, the label last.
    label_range_ : tuple of float
        Predictions are clipped to it.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the columns were read: arguments for :func:`nolook.read_table` on another table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for tables whose columns have names.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = DPSGDRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        n_steps: int = 200,
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, random_state)
        self.n_steps = n_steps

    def _plan(self) -> tuple[tuple[Budget, int], PrivacyGuarantee]:
        budget = check_budget(self.epsilon, self.delta)
        steps = check_count(self.n_steps, "n_steps", _MOST_STEPS)
        private = check_random_state(self.random_state) is None
        guarantee = accounting.guarantee(
            dpsgd_events(budget, steps), budget, relation="add-remove", private=private
        )
        return (budget, steps), guarantee

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Table with a target, array or frame of shape (n_samples, n_features)
            A `Table` from :func:`nolook.read_table` is read in a few passes; its rows are then
            kept in memory, two bytes a feature and eight a label.
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
        (budget, steps), guarantee = self._plan()
        table = training_table(self, X, y)
        step = progress_steps(progress, passes(steps) + 1)
        with spending(ledger, guarantee, "DP-SGD", table, step):
            source = byte_source(self.random_state)
            theta, scaling = dpsgd(table, budget, steps, source, step)
        self.privacy_ = guarantee
        self.scaling_ = scaling
        self.label_range_ = (float(scaling.low[-1]), float(scaling.high[-1]))
        self.coef_, self.intercept_ = scaling.original_units(theta)
        return self
