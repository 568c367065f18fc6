"""SubLasso with scikit-learn's penalty on the columns in their own units (Algorithm 2)."""

from __future__ import annotations

from typing import cast

from attrs import evolve

from nolook._validation import check_positive
from nolook.algorithms.selection_plan import Selected
from nolook.algorithms.sublasso import LassoSelection
from nolook.estimators.lasso import LassoSelector
from nolook.privacy.release import Plan

__all__ = ["RawLassoSelector"]


class RawLassoSelector(LassoSelector):
    """SubLasso as published, but for its blocks: the columns' units decide what is voted for.

    Blocks are drawn and not cut from a shuffled table, and votes go to the largest coefficients in
    standard deviations, as in :class:`nolook.LassoSelector`.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed: the penalty is public, and votes have sensitivity 1 with any penalty.

    Parameters
    ----------
    k : int or "auto", default=5
    epsilon : float, default=1.0
    n_models : int or "auto", default="auto"
        All as those of :class:`nolook.LassoSelector`.
    alpha : float, default=1.0
        scikit-learn's penalty, above 0.
    random_state : int or None, default=None

    Attributes
    ----------
    support_, order_, k_, n_models_, privacy_
        As those of :class:`nolook.LassoSelector`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> RawLassoSelector(k=1).fit(x, x[:, 2] + 5).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        k: int | str = 5,
        epsilon: float = 1.0,
        n_models: int | str = "auto",
        alpha: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, n_models, random_state=random_state)
        self.alpha = alpha

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        plan = super().plan()
        # The kernel takes a negative number for a penalty in raw units.
        penalty = -check_positive(self.alpha, "alpha")
        return evolve(plan, release=evolve(cast("LassoSelection", plan.release), penalty=penalty))
