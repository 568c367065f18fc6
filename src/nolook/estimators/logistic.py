"""Private logistic regression with nothing to set but the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin

from nolook._arrays import Array, Interval, Vector
from nolook._numerics import undisturbed
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.glm.logistic_inference import logistic_model
from nolook.estimators._classes import class_table
from nolook.estimators._glm import GeneralisedLinearModel
from nolook.estimators._parameters import AtMost1, Share, fitted
from nolook.estimators._tables import prediction_rows
from nolook.tables import Table

__all__ = ["LogisticRegression"]

# A base rate of 0 or 1 counts as this far from it.
_LEAST_RATE = 1e-6


class LogisticRegression(ClassifierMixin, GeneralisedLinearModel):  # type: ignore[misc]
    """Logistic regression under differential privacy, without bounds, norms or tuning.

    The intercept b_0 and the coefficients b solve, up to noise and shrinkage,

        ``sum_i f_i u_i (y_i - p_i) = 0`` with ``p_i = 1 / (1 + exp(-b_0 - x_i'b))``,

    where ``u_i = f_i (1, x_i)``, rows x_i are clipped and whitened, and the weight ``f_i`` is below
    1 for unusual rows.

    The rows are counted, and the centre and scale of each feature are found privately. Rows are
    standardised, clipped and whitened; unusual ones have less weight. Their cross-products, with
    much noise, precondition a descent along noisy gradients. The first gradients get little of the
    budget and stop when they are not distinguishable from noise; the last one, and the curvature of
    the likelihood there, get most of it. The model combines all of these, and is shrunk towards the
    base rate where noise dominates. Proof: ``algorithms/glm/logistic.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed; the number of rows, also of each class, is private too. This holds for every table of
    up to 2^34 rows; an empty one, or one of a single class, gets an ordinary answer. Rows that lack
    a value are left out, unless the table's `missing` says otherwise.

    Parameters
    ----------
    classes : sequence of two numbers, booleans or strings, default=None
        The negative class, then the positive one. They are not read from the target, since that
        would leak; so an array of words needs them. None: both categories, in their order, of a
        pandas Categorical that has two; False and True for booleans; else 0 and 1. For a `Table`,
        name the positive class when you open it, ``read_table(..., positive="yes")``; the classes
        are then its words.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative class, then the positive one.
    coef_ : ndarray of shape (n_features_in_,)
        Change in the log-odds of the positive class if the column is one higher.
        One without an interval may be noise only: it is for predictions, and
        :meth:`to_frame` has NaN there.
    intercept_ : float
    coef_interval_, intercept_interval_ : ndarray of shape (n_features_in_, 2), and (2,) or None
        95 % intervals for sampling and noise; NaN where none is known. They are for the weighted
        logistic regression of the population: columns clipped by `scaling_`, x whitened by
        `spread_`, and rows weighted by the square of ``min(1, weight_norm_ / |(1, x)|)``. If
        log-odds are linear in the clipped columns, that is the model itself; the intervals also
        hold if it is not exactly true. In directions dominated by noise they assume effects, per
        scale of a column, with a standard deviation of 2.5 times that of the log-odds of the
        rows. A column has no interval if more than a tenth of its rows were clipped, if noise does
        not distinguish it from other columns, if the descent did not converge, or if the interval
        would be too wide to say anything.
    base_rate_, base_rate_interval_ : float, and ndarray of shape (2,)
        Share of rows of the positive class; the interval covers sampling and noise.
    pseudo_r2_, auc_ : float or None
        McFadden's pseudo-R2 and the area under the ROC curve on the training rows, from a noisy
        histogram of the model's own scores in 16 bins. None if not distinguishable from noise.
    pseudo_r2_interval_, auc_interval_ : ndarray of shape (2,) or None
        95 % intervals, for noise and sampling.
    scaling_ : Scaling
        Centre, scale and range of each column, found privately; the target, last, is in log-odds.
    detected_ : bool
        Whether the model was distinguishable from noise. If not, it still predicts, shrunk towards
        the base rate, but its coefficients have no intervals; if `pseudo_r2_` was surely
        not above 0 it predicts the base rate. The budget is spent all the same.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    See Also
    --------
    evaluate : ROC curve and calibration of a fitted model, on other rows.
    PoissonRegression : For counts instead of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20_000.0)[:, np.newaxis] * [7.0, 11.0] % [97.0, 89.0]
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6).fit(x, x[:, 0] > x[:, 1])
    >>> model.predict([[90.0, 10.0], [10.0, 80.0]])
    array([ True, False])
    """

    classes_: NDArray[Any] = fitted()
    base_rate_: Share = fitted()
    clipped_share_: Vector = fitted()
    base_rate_interval_: Interval | None = fitted(None)
    pseudo_r2_: AtMost1 | None = fitted(None)
    pseudo_r2_interval_: Interval | None = fitted(None)
    auc_: Share | None = fitted(None)
    auc_interval_: Interval | None = fitted(None)

    kind = "logistic model"
    _measured = ("base_rate", "auc", "pseudo_r2")
    _gain = "pseudo_r2"
    _ratio = "odds_ratio"
    _ledger_label = "logistic regression"
    _withheld_when_sampled = ("coef_interval_", "intercept_interval_", "base_rate_interval_")

    classes: Sequence[object] | None = None

    def _release(self, mu: float) -> LogisticRelease:
        return LogisticRelease(mu)

    def _rows(self, X: object, y: object) -> Table:
        table, self.classes_ = class_table(self, X, y, self.classes)
        return table

    _model = staticmethod(logistic_model)

    def _replace_by_constant(self) -> None:
        rate = min(max(float(self.base_rate_), _LEAST_RATE), 1.0 - _LEAST_RATE)
        self.detected_ = False
        self._keep_constant(math.log(rate / (1.0 - rate)))

    questions = ("predict", "decision_function", "predict_proba")
    score = GeneralisedLinearModel.score

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds ``b_0 + x'b`` of the positive class; x is clipped as in training.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        TableError
            If X is not a table of numbers, or has a missing or infinite value (unless the model was
            fitted with ``missing="centre"``).
        ValueError
            If its columns are not those of the fit.
        """
        rows = prediction_rows(self, X)
        with undisturbed():
            return self._linear_predictor(rows)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of both classes, shape (n_samples, 2); see `decision_function`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        log_odds = self.decision_function(X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def _predict(self, rows: Array) -> NDArray[Any]:
        """Return the likelier class of rows of the fit's columns, shape (rows, features)."""
        likelier: NDArray[Any] = self.classes_[(self._linear_predictor(rows) > 0.0).astype(np.intp)]
        return likelier

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
