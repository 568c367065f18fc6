"""Private standardisation without bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from nolook._arrays import Vector
from nolook.algorithms.scaling import ScaleSearch, Scaling
from nolook.estimators._chosen import offered_columns
from nolook.estimators._tables import prediction_rows, training_table
from nolook.estimators.base import PrivateEstimator
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.tables import Table

__all__ = ["QuantileScaler"]


class QuantileScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Centre, scale and clip columns whose range is confidential.

    A value x becomes ``(clip(x, low, high) - center) / scale``.

    Private histograms locate the values of each column: first in bins between the powers of two of
    all doubles, last in equal bins between tail quantiles. Centre and scale are the mean and
    standard deviation of the values kept. Proof: ``algorithms/scaling.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed. The output of `transform` is not: it is as confidential as its input.

    Attributes
    ----------
    center_, scale_ : ndarray of shape (n_features_in_,)
        Scales are positive.
    low_, high_ : ndarray of shape (n_features_in_,)
        Values are clipped to this range: five scales on either side of the centre.
    detected_ : ndarray of bool, shape (n_features_in_,)
        Whether a column was distinguishable from noise. If not, its centre and scale are guesses:
        leave it out.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    See Also
    --------
    quantiles : Quantiles of several columns.

    Examples
    --------
    >>> import numpy as np
    >>> scaler = QuantileScaler(epsilon=1.0).fit(np.arange(20_000.0).reshape(-1, 1))
    >>> scaler.transform([[1e9]])
    array([[5.]])
    """

    epsilon: float = 1.0
    delta: float = DEFAULT_DELTA

    kind = "scales"
    _ledger_label = "column scales"

    questions = ("transform",)

    def _columns(self) -> dict[str, Any]:
        found = {"column": offered_columns(self), "centre": self.center_}
        return found | {n: getattr(self, f"{n}_") for n in ("scale", "low", "high", "detected")}

    _imputes_centres = True

    def _release(self, mu: float) -> ScaleSearch:
        return ScaleSearch(mu, target=False)

    def _rows(self, X: object, y: object) -> Table:  # noqa: ARG002 -- scikit-learn's signature
        return training_table(self, X, None, target=False)

    def _store(self, released: Scaling) -> None:
        self.center_, self.scale_ = released.center, released.scale
        self.low_, self.high_ = released.low, released.high
        self.detected_ = released.detected
        self._keep_rows(released.rows)

    def transform(self, X: ArrayLike) -> Vector:
        """Clip to [`low_`, `high_`], subtract the centre and divide by the scale.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            As for :meth:`nolook.LinearRegression.predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Values in [-5, 5], up to rounding.
        """
        rows = prediction_rows(self, X)
        rows = np.where(np.isnan(rows), self.center_, rows)
        standard: Vector = rows.clip(self.low_, self.high_) - self.center_
        standard /= self.scale_
        return standard
