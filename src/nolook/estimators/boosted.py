"""Boosted AdaSSP: private linear regression by noisy preconditioned gradients."""

from __future__ import annotations

from nolook._validation import check_count
from nolook.algorithms.adassp import BoostedAdaSSP
from nolook.estimators.adassp import AdaSSPRegressor
from nolook.estimators.base import PrivateRegressor

__all__ = ["BoostedAdaSSPRegressor"]

_MOST_ROUNDS = 10_000


class BoostedAdaSSPRegressor(PrivateRegressor):
    """Boosted AdaSSP (Tang et al., 2023): linear regression by rounds of clipped gradients.

    Each round t adds ``(A + ridge I)^-1 g_t`` to the coefficients, for the noisy cross-products A
    of the features and the noisy gradient ``g_t = sum_i x_i clip(y_i - x_i'b_t)``.

    X'X and its smallest eigenvalue are released once. Each round releases the product of the rows
    and the clipped residuals, and adds the ridge solution of AdaSSP. The columns are first
    standardised privately, residuals are clipped at two scales of the target, and the model is the
    mean over the last quarter of the rounds. Proof: ``algorithms/boosted_adassp.md``.

    Because residuals are clipped, the model is close to a Huber estimate: outliers have less
    influence than in least squares. In directions without variance, for example between two equal
    columns, coefficients drift at random; predictions do not depend on them.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed, for every table of up to 2^34 rows.

    Parameters
    ----------
    n_rounds : int, default=100
        Number of rounds, at most 10,000. More rounds converge further, with more noise in each.

    See Also
    --------
    LinearRegression : A linear model with intervals.
    AdaSSPRegressor : One ridge regression instead of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = BoostedAdaSSPRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    n_rounds: int = 100

    _ledger_label = "boosted AdaSSP"
    _needs_local_rows = True

    _imputes_centres = True

    def _release(self, mu: float) -> BoostedAdaSSP:
        return BoostedAdaSSP(mu, check_count(self.n_rounds, "n_rounds", _MOST_ROUNDS))

    _store = AdaSSPRegressor._store
