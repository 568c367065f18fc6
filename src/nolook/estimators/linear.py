"""Private linear regression with nothing to set but the budget."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from nolook._arrays import Vector
from nolook.algorithms.glm.error_inference import CutErrors
from nolook.algorithms.glm.inference import clipped_shares
from nolook.algorithms.glm.linear import LinearRelease, NoisyRegression
from nolook.algorithms.glm.linear_inference import linear_model
from nolook.algorithms.scaling import Scaling
from nolook.errors import ParameterError
from nolook.estimators._chosen import check_selected, known_k
from nolook.estimators._glm import GeneralisedLinearModel
from nolook.estimators._parameters import AtLeast1, Positive, fitted
from nolook.estimators.base import PrivateRegressor
from nolook.tables import Table
from nolook.tables.derived import INVERSES
from nolook.tables.schema import as_schema

__all__ = ["LinearRegression"]


class LeastSquares(GeneralisedLinearModel, PrivateRegressor):
    """A linear or additive model of a number, by weighted least squares.

    Attributes
    ----------
    coef_interval_, intercept_interval_ : ndarray of shape (n_features_in_, 2), and (2,) or None
        95 % intervals for sampling and noise; NaN where none is known. They are for the
        bounded-influence regression of the population (Krasker and Welsch 1982): columns clipped by
        `scaling_`, x whitened by `spread_`, rows weighted by the square of ``min(1, weight_norm_ /
        |(1, x)|)``, and errors cut where they would change a sum by more than `influence_bound_`.
        This is least squares unless errors have heavy tails; their variance may differ between
        rows. In directions dominated by noise the intervals assume effects of the usual size: a
        standard deviation of 0.7 scales of the target. A column has no interval if more than a
        tenth of its rows were clipped, or of the rows that differ from its most frequent value, if
        noise does not distinguish it from other columns, or if the interval would be too wide to
        say anything.
    median_error_, p90_error_ : float or None
        Median and 90 % quantile of the absolute errors, on the scale of the target. None if not
        distinguishable from noise.
    median_error_interval_, p90_error_interval_ : ndarray of shape (2,) or None
        95 % intervals for noise and sampling.
    r2_, rmse_ : float or None
        Fit to the clipped training rows; an error above four scales of the target counts as four.
        None if not distinguishable from noise; `rmse_` also if one error in a thousand or more is
        as large.
    r2_interval_, rmse_interval_ : ndarray of shape (2,) or None
    influence_bound_ : float
        For a weighted row ``f (1, x)``, x whitened, an error counts at most as this bound divided
        by the length of ``f x``, or by ``2 f`` if that is larger, in scales of the target. Infinite
        if the target was not detected.
    cut_errors_ : CutErrors or None
        Set if large errors, which are cut, are mostly on one side, as for incomes and costs:
        effects on the mean then differ. `below` and `above` are the shares of rows far below and
        above their predictions; `effect`, on the scale of the target, bounds the difference for one
        standard deviation of a column that is uncorrelated with the others, as far as large errors
        are distinguishable from noise; `positive` is True if no values of the target below 0 are
        detected.
    smearing_ : float or None
        For a target that the schema or a formula declares a logarithm: the mean of the exponential
        of its errors (Duan 1983). None where large errors are mostly on one side, or the model is a
        constant.
    """

    influence_bound_: Positive = fitted(math.inf)
    cut_errors_: CutErrors | None = fitted(None)
    smearing_: AtLeast1 | None = fitted(None)

    @property
    def inverse(self) -> tuple[Callable[[Vector], Vector], float] | None:
        """The inverse of the target's function and its offset, if the target is a logarithm."""
        own = as_schema(self.read_options_.get("schema")).derived.get(self.scaling_.names[-1])
        return None if own is None else INVERSES.get(own.function)

    def _hide(self) -> None:
        PrivateRegressor._hide(self)
        self.smearing_ = None

    def predict_median(self, X: ArrayLike) -> Vector:
        """Predict the median of the column of which the target is a declared logarithm.

        For ``log(y)`` that is ``exp(b_0 + x'b)``.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ParameterError
            If the target is not declared as a logarithm.
        """
        return self._undone(X, 1.0)

    def predict_mean(self, X: ArrayLike) -> Vector:
        """Predict the mean of the column of which the target is a declared logarithm.

        For ``log(y)`` that is ``smearing_ * exp(b_0 + x'b)``: the mean if errors have the same
        distribution in all rows, symmetric about 0.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ParameterError
            If the target is not declared as a logarithm, or `smearing_` is None.
        """
        return self._undone(X, self.smearing_)

    def _undone(self, X: ArrayLike, factor: float | None) -> Vector:
        predicted, inverse = self.predict(X), self.inverse
        if inverse is None:
            raise ParameterError(
                "the target is not declared as a logarithm, so predictions are on its own scale "
                "(use predict, or declare it: log_of in a schema, or log(...) in a formula)"
            )
        if factor is None:
            raise ParameterError("smearing_ is None, so no mean is known (use predict_median)")
        function, short = inverse
        with np.errstate(over="ignore"):
            return np.asarray(factor * function(predicted) + short)

    def _store(self, released: NoisyRegression | Scaling) -> None:
        if isinstance(released, Scaling):  # of a target that is not detected
            self._store_scaling(released)
            self.clipped_share_ = clipped_shares(released)[0]
            return
        model = linear_model(released, self.privacy_.unit.max_rows)
        self._store_scaling(released.scaling)
        self._keep_coefficients(model.known, released)
        self._keep_measures(model.measures)
        self.cut_errors_ = model.cut
        self.smearing_ = None if self.inverse is None else model.smearing
        self.influence_bound_ = released.clip.bound
        if released.chosen is not None:
            self.chosen_ = np.flatnonzero(released.kept)[list(released.chosen)]


class LinearRegression(LeastSquares):
    """Linear regression under differential privacy, without bounds, norms or tuning.

    The intercept b_0 and the coefficients b solve, up to noise and shrinkage,

        ``sum_i u_i clip(f_i r_i, K / |u_i|) = 0`` with ``r_i = y_i - b_0 - x_i'b``,

    ``u_i = f_i (1, x_i)`` and ``f_i = min(1, B / |(1, x_i)|)``, for clipped and whitened rows x_i:
    weighted least squares in which unusual rows and very large errors count less.

    The rows are counted, and the centre and scale of each column are found privately. Rows are
    standardised, clipped, whitened, and weighted so that none is longer than a private norm. Their
    cross-products are released once with much noise, then eight noisy, clipped gradients with
    little. The model combines all of these, and is shrunk towards 0 where noise dominates. Proof:
    ``algorithms/glm/linear.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed; the number of rows is private too. This holds for every table of up to 2^34 rows; an
    empty one, or one with constant columns, gets an ordinary answer. Rows that lack a value are
    left out, unless the table's `missing` says otherwise.

    Parameters
    ----------
    k : int, "auto" or None, default=None
        Number of features with a coefficient. They are selected greedily, with exchanges, from the
        same release, at no further cost. "auto" adds features while another one is distinguishable
        from noise. None keeps all. After a selection there are no intervals.

    Attributes
    ----------
    chosen_ : ndarray of int, or None
        With `k`, the features chosen, each followed by the one that adds most to those before it.

    See Also
    --------
    AdditiveRegression : The same with a curve for each column that needs one.
    PoissonRegression : For counts and for amounts that are often 0.
    TukeyRegressor : A point deep among models of many small blocks of rows.

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

    k: int | str | None = None

    _ledger_label = "linear regression"

    def _release(self, mu: float) -> LinearRelease:
        if self.k is not None:
            known_k(self.k)
        return LinearRelease(mu, self.k)

    def _rows(self, X: object, y: object) -> Table:
        table: Table = super()._rows(X, y)
        if self.k is not None:
            check_selected(self.k, self.n_features_in_)
        return table
