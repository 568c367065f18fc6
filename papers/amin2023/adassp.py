"""AdaSSP with the norms of the table itself, as the paper compares with it: NOT private."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Flags
from nolook.algorithms.adassp import AdaSSP, BoundedModel
from nolook.algorithms.glm.designs import Blocks
from nolook.algorithms.scaling import Scaling
from nolook.estimators._checks import check_budget
from nolook.estimators.adassp import AdaSSPRegressor
from nolook.kernels.moments import UNIT
from nolook.privacy.accounting import whole_mu
from nolook.privacy.guarantee import Event, GaussianEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep, Plan
from nolook.tables import Table
from papers import not_private
from papers.public_design import public_design

__all__ = ["BoundedAdaSSP", "OracleAdaSSP", "OracleAdaSSPRegressor"]


@frozen
class BoundedAdaSSP(AdaSSP):
    """AdaSSP given bounds, as published.

    Guarantee: ``mu``-GDP if the bounds are public, by the product's proof for a public design.

    Parameters
    ----------
    mu : float
    bounds : pair of float
        On the norm of a row of features, which is shrunk to it, and on the size of a target.
    """

    bounds: tuple[float, float]

    COMMON: ClassVar = {}
    OWN: ClassVar = {
        part: (1.0, AdaSSP.OWN[part][1]) for part in ("gram", "eigenvalue", "products")
    }
    LARGEST: ClassVar = 1
    progress_steps = 2  # no search

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that will be released."""
        return self._parts()

    def _designed(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[Scaling, Flags, Blocks]:
        """Say that rows (1, x / bound) have at most norm sqrt(2)."""
        del source, progress
        return public_design(table, *self.bounds, math.sqrt(2.0), UNIT)


@frozen
class OracleAdaSSP:
    """AdaSSP with bounds read off the table. Its events leave that out, so they promise nothing.

    Parameters
    ----------
    mu : float
    """

    mu: float

    @property
    def progress_steps(self) -> int:
        """How often the table is read."""
        return 2

    def events(self) -> tuple[Event, ...]:
        """State what AdaSSP releases with public bounds; it is the same for all of them."""
        return BoundedAdaSSP(self.mu, (1.0, 1.0)).events()

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> BoundedModel:
        """Fit a table with a target."""
        progress("norms")
        return BoundedAdaSSP(self.mu, _largest_norms(table)).run(table, source, progress)


def _largest_norms(table: Table) -> tuple[float, float]:
    """Return the largest norm of a row of features and the largest target, 1 instead of 0."""
    largest = np.zeros(2)
    for batch in table.batches():
        found = np.array([_norms(batch[:-1]).max(initial=0.0), np.abs(batch[-1]).max(initial=0.0)])
        largest = np.maximum(largest, found)
    largest[largest == 0.0] = 1.0
    bound_x, bound_y = largest.clip(max=np.finfo(np.float64).max)
    return float(bound_x), float(bound_y)


def _norms(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    peak = np.maximum(np.abs(columns).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        norms: NDArray[np.float64] = peak * np.sqrt(((columns / peak) ** 2).sum(axis=0))
    return norms


class OracleAdaSSPRegressor(AdaSSPRegressor):
    """AdaSSP with the table's own largest norm and largest target as bounds.

    That is how section 5.1 of the paper runs it. A single row can decide both bounds and so be
    seen in the model, which is why `privacy_` says that the result is NOT private.

    Parameters
    ----------
    epsilon, delta : float
        What the noise would be worth if the bounds were public.
    random_state : int or None, default=None

    Attributes
    ----------
    coef_, intercept_, scaling_, row_norm_, target_range_, privacy_
        As those of :class:`nolook.AdaSSPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> OracleAdaSSPRegressor().fit(x, x @ [2.0, -1.0]).privacy_.private
    False
    """

    def __init__(
        self, epsilon: float = 1.0, delta: float = 1e-6, random_state: int | None = None
    ) -> None:
        super().__init__(epsilon, delta, random_state=random_state)

    def plan(self) -> Plan[BoundedModel]:
        """Check the parameters; return what a fit will release."""
        budget = check_budget(self.epsilon, self.delta)
        release = OracleAdaSSP(whole_mu(budget))
        return not_private(Plan.of(release, budget, self.random_state))

    def _store(self, released: BoundedModel) -> None:
        super()._store(released)
        scaling = released.scaling  # of the target, the scale is the bound
        bound = float(scaling.scale[-1])
        least, most = (0.0, 1.0) if scaling.binary[-1] else (-bound, bound)
        self.target_range_ = (least, min(most, bound))
