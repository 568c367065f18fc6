"""AdaSSP: private ridge regression from noisy sufficient statistics."""

from __future__ import annotations

from nolook.algorithms.adassp import AdaSSP, BoundedModel
from nolook.estimators.base import PrivateRegressor

__all__ = ["AdaSSPRegressor"]


class AdaSSPRegressor(PrivateRegressor):
    """AdaSSP (Wang, UAI 2018): linear regression from three noisy sufficient statistics.

    The coefficients are ``(A + ridge I)^-1 c``, for noisy cross-products A of the features, and c
    of features and target.

    The smallest eigenvalue of X'X, X'X itself and X'y are released with Gaussian noise. The model
    is a ridge regression; its penalty has the size of the noise, and is smaller if the eigenvalue
    is large. The columns are standardised privately, and unusual rows are shortened, in training
    and in predictions. Proof: ``algorithms/adassp.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed, for every table of up to 2^34 rows.

    See Also
    --------
    LinearRegression : Usually more accurate, and returns intervals.
    BoostedAdaSSPRegressor : The same matrix, with many rounds of gradients.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = AdaSSPRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    _ledger_label = "AdaSSP"
    _imputes_centres = True

    def _release(self, mu: float) -> AdaSSP:
        return AdaSSP(mu)

    def _store(self, released: BoundedModel) -> None:
        self._store_model(released.scaling, released.theta)
        self.row_norm_ = released.norm
