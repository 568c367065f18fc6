"""Boosted AdaSSP without scales: rows and residuals clipped to norm 1 (Tang et al. 2023)."""

from __future__ import annotations

from typing import cast

from nolook.algorithms.boosted_adassp import BoostedAdaSSP
from nolook.algorithms.bounded_design import BoundedDesign, BoundedModel
from nolook.estimators._checks import check_budget
from nolook.estimators.boosted import BoostedAdaSSPRegressor
from nolook.privacy.release import Plan, Release
from papers.public_design import PublicDesign

__all__ = ["UnscaledBoostedAdaSSP", "UnscaledBoostedAdaSSPRegressor"]

_UNIT = 2**14  # of the rows' grid: a norm of 1 fits 16 bits


class UnscaledBoostedAdaSSP(BoostedAdaSSP):
    """The published rule: no scales, B_x = B_y = 1 in raw units, the last of the models.

    Guarantee: ``mu``-GDP, by the product's proof for a public design.

    Parameters
    ----------
    mu : float
    rounds : int
    """

    residual = 1
    averaged = 0.0
    share = 1.0
    for_rows_per_unit = None  # type: ignore[assignment]  # the paper speaks of rows

    def design(self) -> Release[BoundedDesign]:
        """Say that rows (1, x) are shrunk to norm 1."""
        return PublicDesign(1.0, 1.0, 1.0, _UNIT)


class UnscaledBoostedAdaSSPRegressor(BoostedAdaSSPRegressor):
    """Boosted AdaSSP on the columns as they are, as the paper compares with it.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed, for tables of up to 2^34 rows.

    Parameters
    ----------
    epsilon, delta : float
    n_rounds : int, default=100
    random_state : int or None, default=None

    Attributes
    ----------
    coef_, intercept_, scaling_, row_norm_, target_range_, privacy_
        All as those of :class:`nolook.BoostedAdaSSPRegressor`; no private range of the target is
        known, so predictions are not clipped.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977 / 977
    >>> UnscaledBoostedAdaSSPRegressor().fit(x, x @ [2.0, -1.0]).row_norm_
    1.0
    """

    def plan(self) -> Plan[BoundedModel]:
        """Check the parameters; return what a fit will release and cost."""
        scaled = cast("BoostedAdaSSP", super().plan().release)
        release = UnscaledBoostedAdaSSP(scaled.mu, scaled.rounds)
        return Plan.of(release, check_budget(self.epsilon, self.delta), self.random_state)
