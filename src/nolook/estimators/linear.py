"""Private linear regression with nothing to set but the budget."""

from __future__ import annotations

from nolook.algorithms.moment_inference import linear_model
from nolook.algorithms.moment_regression import MomentRelease, NoisyMoments
from nolook.estimators.base import PrivateRegressor, check_budget, whole_mu
from nolook.privacy.release import Plan

__all__ = ["LinearRegression"]


class LinearRegression(PrivateRegressor):
    """Linear regression under differential privacy, without bounds, norms or tuning.

    Each column's centre and scale are found privately; rows are standardised and clipped; the
    matrix of their products is released once with Gaussian noise; a ridge penalty of the noise's
    size gives the model. Proof: ``algorithms/moment_regression.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed; the number of rows is private too. This holds for every table without missing
    values; an empty one, or one with constant columns, gets an ordinary answer. Whether a table has
    a missing or infinite value is not protected: such a value is an error, raised before anything
    is charged.

    Attributes
    ----------
    coef_interval_, intercept_interval_ : ndarray of shape (n_features_in_, 2) and (2,)
        95 % intervals for the population's coefficients, covering sampling and noise. If a column
        is often clipped, they are about the clipped column.
    r2_, rmse_ : float
        Estimated fit to the training rows, as they were clipped. If the noise could explain most of
        the target's variation, nothing is known: `r2_` is 0 and its interval [-1, 1].
    r2_interval_, rmse_interval_ : ndarray of shape (2,)

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    >>> model.privacy_.epsilon
    1.0
    """

    _purpose = "linear regression"

    def plan(self) -> Plan[NoisyMoments]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        return Plan.of(MomentRelease(whole_mu(budget)), budget, self.random_state)

    def _store(self, released: NoisyMoments) -> None:
        model = linear_model(released)
        self._store_scaling(released.scaling)
        self.coef_, self.coef_interval_ = model.coef, model.coef_interval
        self.intercept_, self.intercept_interval_ = model.intercept, model.intercept_interval
        self.r2_, self.r2_interval_ = model.r2, model.r2_interval
        self.rmse_, self.rmse_interval_ = model.rmse, model.rmse_interval
