"""Boosted AdaSSP without scales: rows and residuals clipped to norm 1 (Tang et al. 2023)."""

from __future__ import annotations

from typing import ClassVar, cast

from nolook._arrays import Flags
from nolook.algorithms.adassp import BoostedAdaSSP, BoundedModel
from nolook.algorithms.glm.designs import Blocks
from nolook.algorithms.scaling import Scaling
from nolook.estimators._checks import check_budget
from nolook.estimators.boosted import BoostedAdaSSPRegressor
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep, Plan
from nolook.tables import Table
from papers.public_design import public_design

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

    COMMON: ClassVar = {}
    OWN: ClassVar = {
        part: (1.0, BoostedAdaSSP.OWN[part][1]) for part in ("gram", "eigenvalue", "products")
    }
    LARGEST: ClassVar = 1
    AVERAGED: ClassVar = 0.0
    for_rows_per_unit = None  # type: ignore[assignment]  # the paper speaks of rows

    @property
    def progress_steps(self) -> int:
        """Number of progress steps of `run`."""
        return 1 + self.rounds

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that will be released."""
        return self._parts()

    def _designed(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[Scaling, Flags, Blocks]:
        """Say that rows (1, x) are shrunk to norm 1."""
        del source, progress
        return public_design(table, 1.0, 1.0, 1.0, _UNIT)


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
