"""Private additive models: a curve for each column, with nothing to set but the budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from nolook._arrays import Array
from nolook._language import parameter_name
from nolook._validation import check_choice, check_names
from nolook.algorithms.glm.additive_inference import additive_curves
from nolook.algorithms.glm.counts import CountRelease
from nolook.algorithms.glm.inference import Coefficients
from nolook.algorithms.glm.linear import LinearRelease
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.errors import ParameterError
from nolook.estimators._chosen import check_features
from nolook.estimators._glm import GeneralisedLinearModel
from nolook.estimators.linear import LeastSquares
from nolook.estimators.logistic import LogisticRegression
from nolook.estimators.poisson import PoissonRegression
from nolook.tables import Table

__all__ = ["AdditiveClassifier", "AdditivePoissonRegression", "AdditiveRegression"]


class _Curved(GeneralisedLinearModel):
    """A model with a curve for each column."""

    straight: list[str] | None = None
    monotone: dict[str, str] | None = None

    def _straight(self) -> tuple[str, ...]:
        """Check the columns named; return those whose effect is a line."""
        monotone: object = {} if self.monotone is None else self.monotone
        if not isinstance(monotone, dict):
            raise ParameterError(
                f"{parameter_name('monotone')} is {monotone!r}; expected a dict with 'up' or "
                "'down' for each of some columns"
            )
        for way in monotone.values():
            check_choice("monotone", way, ("up", "down"))
        none = self.straight is None or np.size(self.straight) == 0
        return () if none else check_names(self.straight, "straight")

    def _rows(self, X: object, y: object) -> Table:
        table: Table = super()._rows(X, y)
        for parameter in ("straight", "monotone"):
            check_features(table, parameter, getattr(self, parameter) or ())
        return table

    def _keep_coefficients(self, known: Coefficients, frame: Any) -> None:  # noqa: ANN401
        super()._keep_coefficients(known, frame)
        self.intercept_, self.intercept_interval_, curves = additive_curves(frame)
        ways = self.monotone or {}
        self.curves_ = tuple(
            curve.monotone(rising=ways[name] == "up") if name in ways else curve
            for name, curve in zip(frame.scaling.names, curves, strict=False)
        )

    def _linear_predictor(self, rows: Array) -> Array:
        total = np.full(len(rows), self.intercept_)
        for curve, column in zip(self.curves_, self._clipped(rows).T, strict=False):
            total += curve.at(column)
        return total


class AdditiveRegression(_Curved, LeastSquares):
    """Additive regression under differential privacy, without bounds, knots or tuning.

    The prediction is ``b_0 + sum_j g_j(x_j)``, where g_j is a line, or a smooth curve if the effect
    of the column is detected not to be linear; fitted like :class:`nolook.LinearRegression`.

    Rows are counted, and columns scaled and clipped, as for :class:`nolook.LinearRegression`. Knots
    come from a noisy histogram of each column. A noisy gradient shows which effects are not linear;
    these columns get smooth deviations from their lines, as many as rows and budget allow. The fit
    is then that of a linear regression. A curve that is not distinguishable from a line is a line.
    Proof: ``algorithms/glm/additive.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed; the number of rows is private too. This holds for every table of up to 2^34 rows; an
    empty one, or one with constant columns, gets an ordinary answer. Rows that lack a value are
    left out, unless the table's `missing` says otherwise.

    Parameters
    ----------
    straight : list of str, default=None
        Columns whose effect is a line.
    monotone : dict of str, default=None
        Columns whose curves must only rise, "up", or only fall, "down". This costs nothing: the
        nearest such curve is computed from the release.

    Attributes
    ----------
    curves_ : tuple of ColumnCurve, one for each feature
        A curve has `heights`, on the scale of the target, at increasing `places`; it is linear
        between them and constant beyond. The prediction is `intercept_` plus all curves. `band` has
        both ends of the 95 % intervals of the heights, or is None if they are not known. `straight`
        is True for a line, and `share` is its share of the sum of the curves' variances. `below`
        has the shares of rows below the places, None for a column without a histogram.
    coef_ : ndarray of shape (n_features_in_,)
        Slope of the line nearest to each curve, in least squares over the distribution of the
        column.
    intercept_ : float
        The prediction where every curve is at its mean.

    See Also
    --------
    LinearRegression : A line for each column.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = (x[:, 0] - 488) ** 2 / 1e4 + x[:, 1] / 100
    >>> model = AdditiveRegression(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.curves_[0].straight
    False
    """

    kind = "additive model"

    _ledger_label = "additive regression"

    def _release(self, mu: float) -> LinearRelease:
        return LinearRelease(mu, straight=self._straight())


class AdditiveClassifier(_Curved, LogisticRegression):
    """Additive logistic regression under differential privacy, without bounds, knots or tuning.

    The log-odds of the positive class are ``b_0 + sum_j g_j(x_j)``, with curves g_j as for
    :class:`nolook.AdditiveRegression`, fitted like :class:`nolook.LogisticRegression`. Proof:
    ``algorithms/glm/additive.md``.

    Guarantee
    ---------
    That of :class:`nolook.LogisticRegression`.

    Parameters
    ----------
    classes : sequence of two numbers, booleans or strings, default=None
        The negative class, then the positive one, as for :class:`nolook.LogisticRegression`.
    straight : list of str, default=None
        Columns whose effect is a line.
    monotone : dict of str, default=None
        Columns whose curves must only rise, "up", or only fall, "down".

    Attributes
    ----------
    curves_ : tuple of ColumnCurve, one for each feature
        As for :class:`nolook.AdditiveRegression`; heights are log-odds. A difference of heights is
        the logarithm of an odds ratio.
    coef_ : ndarray of shape (n_features_in_,)
        Slope of the line nearest to each curve, in least squares over the distribution of the
        column.
    intercept_ : float
        The log-odds where every curve is at its mean.

    See Also
    --------
    LogisticRegression : A line for each column.
    evaluate : ROC curve and calibration of a fitted model, on other rows.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=(20_000, 2))
    >>> y = generator.random(20_000) < 1 / (1 + np.exp(2 - 2 * x[:, 0] ** 2))
    >>> model = AdditiveClassifier(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.predict([[0, 0], [2, 0]])
    array([False,  True])
    """

    kind = "additive logistic model"

    _ledger_label = "additive logistic regression"

    def _release(self, mu: float) -> LogisticRelease:
        return LogisticRelease(mu, straight=self._straight())


class AdditivePoissonRegression(_Curved, PoissonRegression):
    """Additive regression of counts under differential privacy, without bounds, knots or tuning.

    The mean is ``exp(b_0 + sum_j g_j(x_j))``, times the exposure if there is one, with curves g_j
    as for :class:`nolook.AdditiveRegression`, fitted like :class:`nolook.PoissonRegression`. Proof:
    ``algorithms/glm/additive.md``.

    Guarantee
    ---------
    That of :class:`nolook.PoissonRegression`.

    Parameters
    ----------
    exposure : str, default=None
        Column that the mean is in proportion to, as for :class:`nolook.PoissonRegression`.
    straight : list of str, default=None
        Columns whose effect is a line.
    monotone : dict of str, default=None
        Columns whose curves must only rise, "up", or only fall, "down".

    Attributes
    ----------
    curves_ : tuple of ColumnCurve, one for each feature
        As for :class:`nolook.AdditiveRegression`; heights are logarithms of the mean. A difference
        of heights is the logarithm of a rate ratio.
    coef_ : ndarray of shape (n_features_in_,)
        Slope of the line nearest to each curve, in least squares over the distribution of the
        column.
    intercept_ : float
        The logarithm of the mean, per unit of exposure, where every curve is at its mean.

    See Also
    --------
    PoissonRegression : A line for each column.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> visits = np.floor(np.abs(x[:, 0] - 488) / 50)
    >>> model = AdditivePoissonRegression(epsilon=1.0, delta=1e-6).fit(x, visits)
    >>> model.curves_[0].straight
    False
    """

    kind = "additive count model"

    _ledger_label = "additive regression of counts"

    def _release(self, mu: float) -> CountRelease:
        return CountRelease(mu, exposure=self.exposure, straight=self._straight())
