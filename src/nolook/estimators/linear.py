"""Private linear regression with nothing to set but the budget."""

from __future__ import annotations

from nolook.algorithms.inference import linear_model
from nolook.algorithms.moment_regression import MomentRelease, NoisyMoments
from nolook.estimators.base import PrivateRegressor, check_budget, whole_mu
from nolook.privacy.release import Plan

__all__ = ["LinearRegression"]


class LinearRegression(PrivateRegressor):
    """Linear regression under differential privacy, without bounds, norms or tuning.

    Centre and scale of every column are found privately; rows are standardised and clipped; the
    matrix of their products is released once with Gaussian noise; a ridge of the noise's size
    gives the model. See ``algorithms/moment_regression.md`` for the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed; the number of rows is private too. This holds for every table without missing
    values, also an empty one or one with constant columns: those get an ordinary answer. That a
    table has a missing or infinite value is not protected: it is an error, raised before anything
    is spent.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1). Well below one over the number of rows.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, in the columns' units.
    intercept_ : float
    coef_interval_ : ndarray of shape (n_features_in_, 2)
        95 % intervals for the population's coefficients, for sampling and noise together. For a
        column that is clipped often they speak of the clipped column.
    intercept_interval_ : ndarray of shape (2,)
    r2_, rmse_ : float
        Estimates of the model's fit to the training rows as they were clipped. Where the noise
        could make up most of the label's variation nothing is known: `r2_` is then 0 and its
        interval [-1, 1].
    r2_interval_, rmse_interval_ : ndarray of shape (2,)
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
        self.scaling_ = released.scaling
        self.label_range_ = (float(released.scaling.low[-1]), float(released.scaling.high[-1]))
        self.coef_ = model.coef
        self.intercept_ = model.intercept
        self.coef_interval_ = model.coef_interval
        self.intercept_interval_ = model.intercept_interval
        self.r2_ = model.r2
        self.r2_interval_ = model.r2_interval
        self.rmse_ = model.rmse
        self.rmse_interval_ = model.rmse_interval
