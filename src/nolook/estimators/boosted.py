"""Boosted AdaSSP: private linear regression by noisy preconditioned gradients."""

from __future__ import annotations

from nolook._validation import check_count
from nolook.algorithms.boosted_adassp import BoostedAdaSSP
from nolook.algorithms.bounded_design import BoundedModel
from nolook.estimators.base import PrivateRegressor, check_budget, whole_mu
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.release import Plan

__all__ = ["BoostedAdaSSPRegressor"]

_MOST_ROUNDS = 10_000


class BoostedAdaSSPRegressor(PrivateRegressor):
    """Boosted AdaSSP (Tang et al., 2023): linear regression by rounds of clipped gradients.

    X'X and its smallest eigenvalue are released once; every round releases the product of the
    rows with the clipped residuals and takes the step AdaSSP's ridge solution of it gives. The
    columns are standardised privately first, residuals are clipped to two scales of the label, and
    the model is the mean over the last quarter of the rounds. See ``algorithms/boosted_adassp.md``
    for the proof.

    Because residuals are clipped, the model is close to a Huber estimate: rows far off the line
    pull less than in least squares. Along directions in which the features do not vary, as between
    two equal columns, coefficients drift at random with the rounds; predictions do not depend on
    them.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed, for every table of up to 2^34 rows without missing values; those are an error,
    raised before anything is spent.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1).
    n_rounds : int, default=100
        Number of gradients, at most 10,000. More rounds get further with more noise each.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, in the columns' units.
    intercept_ : float
    scaling_ : Scaling
        Centre and scale of each column, the label last.
    row_norm_ : float
        Bound on the norm of (1, x), x in standardised units, that rows are shrunk to.
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
    >>> model = BoostedAdaSSPRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        n_rounds: int = 100,
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, random_state)
        self.n_rounds = n_rounds

    _purpose = "boosted AdaSSP"

    def plan(self) -> Plan[BoundedModel]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        rounds = check_count(self.n_rounds, "n_rounds", _MOST_ROUNDS)
        return Plan.of(BoostedAdaSSP(whole_mu(budget), rounds), budget, self.random_state)

    def _store(self, released: BoundedModel) -> None:
        self._store_model(released.design.scaling, released.theta)
        self.row_norm_ = released.design.norm
