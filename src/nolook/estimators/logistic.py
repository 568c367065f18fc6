"""Private logistic regression with nothing to set but the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from nolook._numerics import undisturbed
from nolook.algorithms.logistic_inference import LogisticModel, logistic_model
from nolook.algorithms.logistic_regression import LogisticRelease, NoisyLogistic
from nolook.algorithms.scaling import Scaling
from nolook.estimators._classes import class_probabilities, class_table, declared_classes
from nolook.estimators._outside import warn_of_score
from nolook.estimators._tables import prediction_rows
from nolook.estimators.base import PrivateModel, check_budget, whole_mu
from nolook.kernels.row_products import row_products
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.release import Plan
from nolook.tables import Table

__all__ = ["LogisticRegression"]

Numbers = NDArray[np.float64]


class LogisticRegression(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """Logistic regression under differential privacy, without bounds, norms or tuning.

    The rows are counted; each feature's centre and scale are found privately; rows are
    standardised, clipped, whitened and shortened to a private norm. The matrix of their products,
    released roughly, steers noisy gradients: cheap ones, until they tell no more than their noise;
    most of the budget is for the last one and for the likelihood's curvature there. All of these
    together give the model, pulled towards the base rate where noise hides the answer.
    Proof: ``algorithms/logistic_regression.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed; the number of rows and that of either class are private too. This holds for every
    table of up to 2^34 rows without missing values; an empty one, or one of a single class, gets an
    ordinary answer. Whether a table has a missing value is not protected: such a value, or a target
    that is neither class, is an error, raised before anything is charged.

    Parameters
    ----------
    classes : sequence of two numbers, booleans or texts, default=None
        The negative class, then the positive one. They are never looked up in the target, since
        that would leak. None: False and True for booleans, else 0 and 1. A `Table` names its
        positive class itself: ``read_table(..., positive="yes")``; its classes are 0 and 1.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative class, then the positive one.
    coef_ : ndarray of shape (n_features_in_,)
        Change in the log-odds of the positive class, for one unit of each column.
    intercept_ : float
    coef_interval_, intercept_interval_ : ndarray of shape (n_features_in_, 2), and (2,) or None
        95 % intervals; NaN where none is known. They are for the logistic regression of the
        population, each column clipped and each row shortened as `scaling_`, `spread_` and
        `row_norm_` say.
        They cover sampling, also where the model is not quite true, and noise, and assume effects
        of a standard deviation of about 2.5 times that of the rows' log-odds, for one scale of a
        column, in directions that noise hides. The coefficients are pulled towards 0. A column has
        none where more than a tenth of its rows was clipped, where noise hides part of its slope
        (one of columns that add up to nearly the same in every row), where the steps had not
        arrived, or where the interval would say nothing.
    odds_ratio_, odds_ratio_interval_ : ndarray of shape (n_features_in_,), and with ends (.., 2)
        What one unit of a column multiplies the odds by: exponentials of `coef_` and its intervals.
    base_rate_, base_rate_interval_ : float, and ndarray of shape (2,)
        Share of rows of the positive class; the interval covers sampling and noise.
    pseudo_r2_, auc_ : float or None
        McFadden's pseudo-R2 and the area under the ROC curve on the training rows, read off a noisy
        histogram of the model's own scores in 16 bins. None if noise hides it.
    pseudo_r2_interval_, auc_interval_ : ndarray of shape (2,) or None
        They cover the noise alone.
    clipped_share_ : ndarray of shape (n_features_in_ + 1,)
        At most this share of the rows was clipped in each column: a noisy share, one standard
        deviation up. The target, last, is never clipped.
    scaling_ : Scaling
        Centre, scale, low and high of each column, found privately; the target, last, stands for
        log-odds.
    spread_ : Spread
        Where the rows lie and how they vary, found privately: a row x of standardised columns
        becomes ``spread_.map @ (x - spread_.center)``, which varies alike in all directions that
        noise does not hide. Its norm is a Mahalanobis distance.
    row_norm_ : float
        Bound on that norm, to which rows are shortened in training and in prediction.
    visible_ : bool
        Whether the model stood out from the noise. If not, it is the private base rate, and nothing
        else is estimated; the budget is spent in full.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table's columns have names.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20_000.0)[:, np.newaxis] * [7.0, 11.0] % [97.0, 89.0]
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6).fit(x, x[:, 0] > x[:, 1])
    >>> model.predict([[90.0, 10.0], [10.0, 80.0]])
    array([ True, False])
    """

    base_rate_interval_: Numbers | None = None
    pseudo_r2_: float | None = None
    pseudo_r2_interval_: Numbers | None = None
    auc_: float | None = None
    auc_interval_: Numbers | None = None

    kind = "logistic model"
    _measured = ("base_rate", "auc", "pseudo_r2")
    _ledger_label = "logistic regression"
    _withheld_when_sampled = ("coef_interval_", "intercept_interval_", "base_rate_interval_")

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        classes: Sequence[object] | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, random_state)
        self.classes = classes

    @property
    def _imputes_centres(self) -> bool:
        return True

    def plan(self) -> Plan[NoisyLogistic]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        declared_classes(self.classes)
        return Plan.of(LogisticRelease(whole_mu(budget)), budget, self.random_state)

    def _rows(self, X: object, y: object) -> Table:
        table, self.classes_ = class_table(self, X, y, self.classes)
        return table

    def _store(self, released: NoisyLogistic) -> None:
        self.visible_, self.row_norm_ = released.visible, released.norm
        self.spread_ = released.spread.among(released.kept)
        self._keep_model(logistic_model(released), released.scaling)

    def _keep_model(self, model: LogisticModel, scaling: Scaling) -> None:
        """Keep a model, its intervals and its fit."""
        self.scaling_ = scaling
        self.keep_rows(scaling.rows)
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.coef_interval_ = model.coef_interval if self.visible_ else None
        unknown = bool(np.isnan(model.intercept_interval).any())
        self.intercept_interval_ = None if unknown else model.intercept_interval
        for name in ("base_rate", "pseudo_r2", "auc"):
            found = getattr(model, name)
            setattr(self, f"{name}_", None if found is None else found.value)
            setattr(self, f"{name}_interval_", None if found is None else found.interval)
        self.clipped_share_ = np.append(model.clipped_share, 0.0)

    @property
    def odds_ratio_(self) -> Numbers:
        """What one unit of a column multiplies the odds by."""
        return _exponential(self.coef_)

    @property
    def odds_ratio_interval_(self) -> Numbers | None:
        """95 % intervals of the odds ratios, NaN where none is known."""
        return None if self.coef_interval_ is None else _exponential(self.coef_interval_)

    questions = ("predict", "decision_function", "predict_proba")

    def _in_other_units(self, *_numbers: Numbers) -> dict[str, Any]:
        # Of the intercept it is no ratio.
        ratios = [_exponential(np.append(each[:-1], np.nan)) for each in _numbers]
        return dict(zip(("odds_ratio", "odds_ratio_low", "odds_ratio_high"), ratios, strict=True))

    def decision_function(self, X: ArrayLike) -> Numbers:
        """Return the log-odds of the positive class; inputs are clipped as in training.

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
        check_is_fitted(self)
        rows = prediction_rows(self, X)
        with undisturbed():
            return self._log_odds(rows)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on rows; that of private rows is not private."""
        warn_of_score(self, X)
        return float(super().score(X, y, sample_weight))

    def predict_proba(self, X: ArrayLike) -> Numbers:
        """Return the probabilities of both classes, shape (n_samples, 2); see `decision_function`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        return class_probabilities(self.decision_function(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likelier class of each row; see `decision_function`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        check_is_fitted(self)
        rows = prediction_rows(self, X)
        with undisturbed():
            return self._predict(rows)

    def _predict(self, rows: Numbers) -> NDArray[Any]:
        """Return the likelier class of rows of the fit's columns, shape (rows, features)."""
        likelier: NDArray[Any] = self.classes_[(self._log_odds(rows) > 0.0).astype(np.intp)]
        return likelier

    def _log_odds(self, rows: Numbers) -> Numbers:
        """Return log-odds for rows of the fit's columns, shape (rows, features)."""
        scaling = self.scaling_
        center, scale = scaling.center[:-1], scaling.scale[:-1]
        rows = np.where(np.isnan(rows), center, rows)
        standard = (rows.clip(scaling.low[:-1], scaling.high[:-1]) - center) / scale
        slopes = np.nan_to_num(self.coef_ * scale)
        log_odds = self.intercept_ + float(row_products(center[:, None], self.coef_)[0])
        if self.row_norm_ == math.inf:
            return log_odds + row_products(standard.T, slopes)
        log_odds += float(slopes @ self.spread_.center)
        moved = (standard - self.spread_.center).T
        squares = sum(row_products(moved, way) ** 2 for way in self.spread_.map)
        shares = np.minimum(1.0, self.row_norm_ / np.sqrt(np.maximum(squares, 1e-300)))
        return log_odds + row_products(moved, slopes) * shares

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _exponential(log_odds: Numbers) -> Numbers:
    with np.errstate(over="ignore"):
        return np.minimum(np.exp(log_odds), np.finfo(np.float64).max)
