"""Private regression of counts with nothing to set but the budget."""

from __future__ import annotations

import numpy as np

from nolook._arrays import Array, Flags, Interval
from nolook.algorithms.glm.counts import CountRelease, NoisyCounts
from nolook.algorithms.glm.counts_inference import counts_model, log_mean
from nolook.estimators._chosen import check_features
from nolook.estimators._glm import GeneralisedLinearModel
from nolook.estimators._parameters import AtMost1, Positive, fitted
from nolook.estimators.base import PrivateRegressor, exponential
from nolook.statistics.grid_models import LARGEST_MEAN
from nolook.tables import Table

__all__ = ["PoissonRegression"]


class PoissonRegression(GeneralisedLinearModel, PrivateRegressor):
    """Regression of counts under differential privacy, without bounds, norms or tuning.

    The intercept b_0 and the coefficients b solve, up to noise and shrinkage,

        ``sum_i u_i clip(f_i (y_i - m_i), K / |u_i|) = 0`` with ``m_i = exp(b_0 + x_i'b)``,

    times the exposure of the row if there is one; ``u_i = f_i (1, x_i)``, rows x_i are clipped and
    whitened, and the weight ``f_i`` is below 1 for unusual rows.

    The mean is the exponential of a linear function of the columns. Use it for numbers of events,
    and for amounts that are often 0, such as costs. No distribution of the target is assumed
    (quasi-likelihood). Rows are counted, standardised, clipped, whitened and weighted as for
    :class:`nolook.LinearRegression`; noisy, clipped gradients are followed as by
    :class:`nolook.LogisticRegression`. Proof: ``algorithms/glm/counts.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed; the number of rows is private too. This holds for every table of up to 2^34 rows; an
    empty one gets an ordinary answer. Rows that lack a value are left out, unless the table's
    `missing` says otherwise.

    Parameters
    ----------
    exposure : str, default=None
        Column that the mean is proportional to, such as days at risk: an offset without a slope.
        Exposures are clipped to `exposure_range_`; a row whose exposure is not above 0 has no
        weight.

    Attributes
    ----------
    exposure_range_ : tuple of float, or None
        Exposures are clipped to this range, in training and in prediction; found privately.
    coef_ : ndarray of shape (n_features_in_,)
        Change in the logarithm of the mean if the column is one higher.
        One without an interval may be noise only: it is for predictions, and
        :meth:`to_frame` has NaN there.
    intercept_ : float
    coef_interval_, intercept_interval_ : ndarray of shape (n_features_in_, 2), and (2,) or None
        95 % intervals for sampling and noise; NaN where none is known. They are for the weighted
        regression of the population: columns clipped by `scaling_`, x whitened by `spread_`, rows
        weighted by the square of ``min(1, weight_norm_ / |(1, x)|)``, and errors cut where they
        would change a sum by more than `influence_bound_`. They hold for any distribution of the
        target around its mean. A column has no interval if more than a tenth of its rows were
        clipped, if noise does not distinguish it from other columns, if the descent did not
        converge, or if the interval would be too wide to say anything.
    deviance_explained_ : float or None
        Share of the deviance explained, compared with a constant mean, on the training rows; a
        deviance above 16 squared scales of the target counts as 16. None if not distinguishable
        from noise.
    deviance_explained_interval_ : ndarray of shape (2,) or None
        95 % interval; it covers only the noise.
    influence_bound_ : float
        For a weighted row ``f (1, x)``, x whitened, an error counts at most as this bound divided
        by the length of ``f x``, or by ``2 f`` if that is larger, in scales of the target.
    detected_ : bool
        Whether the model was distinguishable from noise. If not, it still predicts, shrunk towards
        the mean, but its coefficients have no intervals; if `deviance_explained_` was surely not
        above 0 it predicts the mean. The budget is spent all the same.

    See Also
    --------
    LinearRegression : For amounts that are not counts.
    LogisticRegression : For two classes.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20_000.0)[:, np.newaxis] * [7.0, 11.0] % [97.0, 89.0]
    >>> visits = np.floor(np.exp(x[:, 0] / 40.0))
    >>> model = PoissonRegression(epsilon=1.0, delta=1e-6).fit(x, visits)
    >>> model.coef_.shape
    (2,)
    """

    deviance_explained_: AtMost1 | None = fitted(None)
    deviance_explained_interval_: Interval | None = fitted(None)
    influence_bound_: Positive = fitted()
    exposure_range_: tuple[float, float] | None = fitted(None)

    kind = "count model"
    _measured = ("deviance_explained",)
    _gain = "deviance_explained"
    _ratio = "rate_ratio"
    _ledger_label = "regression of counts"

    exposure: str | None = None

    def _release(self, mu: float) -> CountRelease:
        return CountRelease(mu, exposure=self.exposure)

    def _rows(self, X: object, y: object) -> Table:
        table: Table = super()._rows(X, y)
        check_features(table, "exposure", () if self.exposure is None else (self.exposure,))
        return table

    _model = staticmethod(counts_model)

    def _store(self, released: NoisyCounts) -> None:
        super()._store(released)
        self._log_mean = log_mean(released)
        most = LARGEST_MEAN * float(released.scaling.scale[-1])
        self.target_range_ = (0.0, 1.0 if released.scaling.binary[-1] else most)
        self.influence_bound_ = released.clip
        if self.exposure is not None:
            self.exposure_range_ = released.exposures[1:]

    def _replace_by_constant(self) -> None:
        self.detected_ = False
        self._keep_constant(self._log_mean)

    @property
    def considered(self) -> Flags:
        """Mask of the features that may have a coefficient: all except that of exposures."""
        return np.array([name != self.exposure for name in self.scaling_.names[:-1]])

    def _predict(self, rows: Array) -> Array:
        """Return the means of rows of the fit's columns, shape (rows, features)."""
        means = exponential(self._linear_predictor(rows))
        if self.exposure_range_ is not None:
            place = self.scaling_.names.index(self.exposure or "")
            own = np.where(np.isnan(rows[:, place]), self.scaling_.center[place], rows[:, place])
            means *= own.clip(*self.exposure_range_)
        return np.asarray(means.clip(*self.target_range_))
