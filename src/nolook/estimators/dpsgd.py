"""Linear regression by noisy stochastic gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_count
from nolook.algorithms.dpsgd import DPSGD
from nolook.algorithms.scaling import Scaling
from nolook.estimators.base import PrivateRegressor, check_budget
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.release import Plan

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

    _purpose = "DP-SGD"

    def plan(self) -> Plan[tuple[NDArray[np.float64], Scaling]]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        gradients = check_count(self.n_steps, "n_steps", _MOST_STEPS)
        return Plan.of(DPSGD(budget, gradients), budget, self.random_state)

    def _store(self, released: tuple[NDArray[np.float64], Scaling]) -> None:
        theta, scaling = released
        self._store_model(scaling, theta)
