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

    Each step draws each row independently with probability 1/8, clips the drawn rows' gradients of
    the squared error and releases their sum with Gaussian noise: the least that keeps the budget,
    found by composing privacy-loss distributions. Columns are standardised privately first, so
    there is nothing to tune. Proof: ``algorithms/dpsgd.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed, for every table without missing values; a missing value is an error, raised before
    anything is charged.

    Parameters
    ----------
    delta : float, default=1e-6
        Probability of a larger loss, in (0, 1). Below about 1e-8 sampling cannot be shown to
        protect, and the noise is several times larger.
    n_steps : int, default=200
        Number of gradients, at most 10,000. More steps go further, with more noise in each.

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
    _rows_together = True

    @property
    def _finds_centres(self) -> bool:
        return True

    def plan(self) -> Plan[tuple[NDArray[np.float64], Scaling]]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        gradients = check_count(self.n_steps, "n_steps", _MOST_STEPS)
        return Plan.of(DPSGD(budget, gradients), budget, self.random_state)

    def _store(self, released: tuple[NDArray[np.float64], Scaling]) -> None:
        theta, scaling = released
        self._store_model(scaling, theta)
