"""Private standardisation without bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nolook.algorithms.scaling import ROUNDS, find_scaling, scaling_events
from nolook.estimators._private import (
    PrivateEstimator,
    Progress,
    check_budget,
    gaussian_guarantee,
    progress_steps,
    spending,
)
from nolook.estimators._tables import prediction_rows, training_table
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["QuantileScaler"]


class QuantileScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Centre, scale and clip columns whose range nobody may look up.

    Private histograms find where each column's values lie, from the powers of two of the whole
    range of doubles down to equal bins between the tail quantiles; centre and scale are the mean
    and standard deviation of what is kept. See ``algorithms/scaling.md`` for the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed. What `transform` returns is not: it is as confidential as its input.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1).
    random_state : int or None, default=None
        For experiments only: any value but None makes the result NOT private.

    Attributes
    ----------
    center_, scale_ : ndarray of shape (n_features_in_,)
        Scales are positive.
    low_, high_ : ndarray of shape (n_features_in_,)
        Values are clipped to them: five scales on either side of the centre.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the columns were read: arguments for :func:`nolook.read_table` on another table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for tables whose columns have names.

    Examples
    --------
    >>> import numpy as np
    >>> scaler = QuantileScaler(epsilon=1.0).fit(np.arange(20_000.0).reshape(-1, 1))
    >>> scaler.transform([[1e9]])
    array([[5.]])
    """

    def _plan(self) -> tuple[float, PrivacyGuarantee]:
        budget = check_budget(self.epsilon, self.delta)
        return gaussian_guarantee(budget, scaling_events, self.random_state)

    def fit(
        self,
        X: Table | ArrayLike,
        y: object = None,  # noqa: ARG002 -- scikit-learn's signature
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Find centre and scale of every column.

        Parameters
        ----------
        X : Table without a target, array or frame of shape (n_samples, n_features)
        y : ignored
        ledger : Ledger, optional
            Is charged before the data are read.
        progress : callable, optional
            Called with a step's name, the steps done and their number.

        Returns
        -------
        self
        """
        mu, guarantee = self._plan()
        table = training_table(self, X, None, target=False)
        step = progress_steps(progress, ROUNDS + 1)
        with spending(ledger, guarantee, "column scales", table, step):
            scaling, _ = find_scaling(table, mu, byte_source(self.random_state), step)
        self.privacy_ = guarantee
        self.center_, self.scale_ = scaling.center, scaling.scale
        self.low_, self.high_ = scaling.low, scaling.high
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Clip to ``[low_, high_]``, subtract the centre and divide by the scale.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Values in [-5, 5], up to rounding.
        """
        check_is_fitted(self)
        rows = prediction_rows(self, X)
        standard: NDArray[np.float64] = rows.clip(self.low_, self.high_) - self.center_
        standard /= self.scale_
        return standard
