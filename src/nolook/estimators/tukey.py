"""Linear regression by the Tukey mechanism."""

from __future__ import annotations

from typing import cast

from nolook._validation import check_choice, check_count_or_auto
from nolook.algorithms.moment_estimates import r2_estimate
from nolook.algorithms.tukey import (
    TukeyPlan,
    TukeyResult,
    rows_needed,
    tukey_plan,
)
from nolook.errors import PrivateFitFailed, TooFewRows
from nolook.estimators._checks import check_budget
from nolook.estimators.base import PrivateRegressor
from nolook.privacy.release import Plan

__all__ = ["TukeyRegressor"]

_MOST_MODELS = 2**20
_ADVICE = "use a larger epsilon, fewer features or the default method; the budget stays spent"


class TukeyRegressor(PrivateRegressor):
    """Linear regression by a deep point among many models, TukeyEM (Amin et al., ICLR 2023).

    For models b_1, ..., b_m of m disjoint blocks of rows, a point b is drawn with a probability
    that grows exponentially with its depth,

        ``D(b) = min_k min(#{j : b_jk <= b_k}, #{j : b_jk >= b_k})``.

    Each row draws its block at random, independently of the others, and a least-squares model is
    fitted to each block. A private test checks whether the models are close together; if they are,
    a point in their middle is released. The noise does not depend on the scale of the columns, and
    a few outliers affect only a few models. The method needs a few hundred models, each with a few
    more rows than coefficients: see :meth:`rows_needed`. Features that are not distinguishable from
    noise have the coefficient 0. Proofs: ``algorithms/tukey.md`` and
    ``privacy/mechanisms/tukey_depth.md``.

    Guarantee
    ---------
    Everything `fit` stores, and the outcome of its test, is (`epsilon`, `delta`)-differentially
    private when one row is added or removed, for every table.

    Parameters
    ----------
    n_models : int or "auto", default="auto"
        Number of blocks. "auto" spends 5 % of `epsilon` on a lower bound on the number of rows and
        uses a number of blocks that passes the test if there are enough rows. A number must not
        come from the table. Memory grows with n_models times the squared number of columns.
    on_failure : {"raise", "constant"}, default="raise"
        If the test fails or there are too few rows: raise an error, or predict the private median
        of the target everywhere. The budget is spent in either case.

    Attributes
    ----------
    n_models_ : int or None
        Number of blocks; None if there were too few rows for any.
    r2_, rmse_ : float or None, and None
        Fit to the training rows, clipped at five scales, estimated from the second moments.
    r2_interval_, rmse_interval_ : ndarray of shape (2,) or None, and None

    See Also
    --------
    LinearRegression : Needs far fewer rows, and returns intervals.
    AdaSSPRegressor : Ridge regression from noisy moments.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = TukeyRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    n_models: int | str = "auto"
    on_failure: str = "raise"

    _ledger_label = "Tukey regression"

    def plan(self) -> Plan[TukeyResult]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        check_choice("on_failure", self.on_failure, ("raise", "constant"))
        models = check_count_or_auto(self.n_models, "n_models", _MOST_MODELS)
        return Plan.of(tukey_plan(budget, models), budget, self.random_state)

    def rows_needed(self, n_features: int) -> int:
        """Return the number of rows a table needs, or of units with weights, from parameters only.

        With this many rows ``n_models="auto"`` finds them enough with probability 0.9999. Whether
        the test then passes depends on the data; it is likely unless they are very uneven.

        Parameters
        ----------
        n_features : int
            Number of features, not counting the target.

        Returns
        -------
        int

        Examples
        --------
        >>> TukeyRegressor(epsilon=1.0, delta=1e-6).rows_needed(5)
        6168
        """
        release = cast("TukeyPlan", self.plan().release)
        if release.models is None:
            return rows_needed(n_features + 1, release)
        return release.models * (n_features + 1)

    def _store(self, released: TukeyResult) -> None:
        basis, point = released.basis, released.point
        if self.on_failure == "raise" and point is None:
            self._fail(released.models)
        self.n_models_ = released.models
        self.failed_ = point is None
        theta = basis.constant() if point is None else basis.matrix @ point
        scaling = basis.scaling
        self._store_model(scaling, scaling.all_features(theta, scaling.detected[:-1]))
        if basis.moments is None or self.failed_:
            return
        if fit := r2_estimate(basis.moments, theta):
            self.r2_, self.r2_interval_ = fit

    def _fail(self, models: int | None) -> None:
        if models is None:
            features = self.n_features_in_
            needed, counted = self.rows_needed(features), f"{self.privacy_.unit.counted}s"
            raise TooFewRows(
                f"the private lower bound on the number of {counted} is too low: the Tukey "
                f"mechanism needs about {needed:,} {counted} for {features} "
                f"feature{'s' * (features > 1)} at epsilon = {self.epsilon:g} ({_ADVICE})"
            )
        raise PrivateFitFailed(
            f"the private test of the Tukey mechanism failed with {models} models ({_ADVICE})"
        )
