"""AdaSSP: private ridge regression from noisy sufficient statistics."""

from __future__ import annotations

import math

from nolook._language import parameter_name, usage_hint
from nolook._validation import check_positive
from nolook.algorithms.adassp import AdaSSP
from nolook.algorithms.bounded_design import BoundedModel
from nolook.errors import ParameterError
from nolook.estimators.base import PrivateRegressor, check_budget, whole_mu
from nolook.privacy.release import Plan

__all__ = ["AdaSSPRegressor"]


class AdaSSPRegressor(PrivateRegressor):
    """AdaSSP (Wang, UAI 2018): linear regression from three noisy sufficient statistics.

    The coefficients are ``(A + ridge I)^-1 c``, for noisy cross-products A of the features, and c
    of features and target.

    The smallest eigenvalue of X'X, X'X itself and X'y are released with Gaussian noise. The model
    is a ridge regression; its penalty has the size of the noise, and is smaller if the eigenvalue
    is large. By default the columns are first standardised privately. Proof:
    ``algorithms/adassp.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed, for every table of up to 2^34 rows.

    Parameters
    ----------
    bound_X : float or None, default=None
        A public bound on the Euclidean norm of a row of features, not standardised; longer rows are
        shrunk to it. Together with `bound_y` it replaces the private scaling. It must not come from
        the table.
    bound_y : float or None, default=None
        A public bound on the target's absolute value, to which the target is clipped.

    See Also
    --------
    LinearRegression : Usually more accurate, and returns intervals.
    BoostedAdaSSPRegressor : The same matrix, with many rounds of gradients.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = AdaSSPRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    bound_X: float | None = None  # noqa: N815
    bound_y: float | None = None

    _ledger_label = "AdaSSP"

    @property
    def _imputes_centres(self) -> bool:
        return self.bound_X is None

    def plan(self) -> Plan[BoundedModel]:
        """Check the parameters; return what a fit will release and cost."""
        bounds = self._checked_bounds()
        budget = check_budget(self.epsilon, self.delta)
        return Plan.of(AdaSSP(whole_mu(budget), bounds), budget, self.random_state)

    def _store(self, released: BoundedModel) -> None:
        design = released.design
        self._store_model(design.scaling, design.scaling.all_features(released.theta))
        self.row_norm_ = design.norm
        if design.scaling.limit == math.inf:  # public bounds: the target's is its scale
            bound = float(design.scaling.scale[-1])
            least, most = (0.0, 1.0) if design.scaling.binary[-1] else (-bound, bound)
            self.target_range_ = (least, min(most, bound))

    def _checked_bounds(self) -> tuple[float, float] | None:
        """Return the public bounds, or None if none are given."""
        bounds = {"bound_X": self.bound_X, "bound_y": self.bound_y}
        if all(bound is None for bound in bounds.values()):
            return None
        for name, bound in bounds.items():
            if bound is None:
                raise ParameterError(
                    f"{parameter_name(name)} is not given, but the other bound is (give both "
                    f"or neither, for example {usage_hint(name, 10.0)})"
                )
        return check_positive(self.bound_X, "bound_X"), check_positive(self.bound_y, "bound_y")
