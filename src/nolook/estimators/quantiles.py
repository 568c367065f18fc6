"""Quantiles of several columns within one budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike

from nolook._arrays import Vector
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.ecdf import ecdf_release
from nolook.algorithms.grids import Grid, LinearGrid, LogGrid
from nolook.errors import ParameterError
from nolook.estimators._checks import as_table, check_budget, check_grid, check_shares
from nolook.estimators._tables import refuse_gaps
from nolook.estimators.releasing import Progress, release
from nolook.estimators.result import TableResult
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.release import Plan
from nolook.tables import Table

__all__ = ["Quantiles", "quantiles"]

AnyGrid = LinearGrid | LogGrid | None


@frozen(repr=False)
class Quantiles(TableResult):
    """Private quantiles of several columns.

    Returned by :func:`nolook.quantiles`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    shares : ndarray of shape (k,)
        Quantiles, as shares from 0 to 1.
    values : ndarray of shape (columns, k)
        The quantiles.
    ends : ndarray of shape (columns, k, 2)
        Their 95 % intervals by noise and sampling; an end that may lie beyond the grid is infinite.
    privacy : PrivacyGuarantee
        Guarantee of the whole result.
    read_options : dict
        How the columns were read.
    rows : NoisyCount
        Private number of rows used, and of rows left out.
    grids : dict
        The public grids, by column.
    whole : tuple of bool
        Which columns were declared to hold integers.

    See Also
    --------
    quantiles : Releases the quantiles.
    ECDF : All quantiles of one column.
    """

    kind = "quantiles"
    _indexed = False

    names: tuple[str, ...]
    shares: Vector
    values: Vector
    ends: Vector
    grids: dict[str, LinearGrid | LogGrid]
    whole: tuple[bool, ...]

    def _columns(self) -> dict[str, Any]:
        return {
            "column": np.repeat(np.array(self.names, dtype=object), len(self.shares)),
            "share": np.tile(self.shares, len(self.names)),
            "quantile": self.values.ravel(),
            "low": self.ends[..., 0].ravel(),
            "high": self.ends[..., 1].ravel(),
        }


def quantiles(
    X: Table | ArrayLike,
    p: ArrayLike = (0.25, 0.5, 0.75),
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    grids: Mapping[str, AnyGrid] | None = None,
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> Quantiles:
    """Release quantiles of every column of a table within one budget.

    The quantile at share p is the smallest threshold t with ``F(t) >= p``, where F is a private
    distribution of the column as in :class:`nolook.ECDF`, or the nearer end of a gap without rows
    into which noise moved it. One release of counts, with the same
    noise for every column, has all distributions; together they give the number of rows.

    Guarantee
    ---------
    The result is (`epsilon`, `delta`)-differentially private when one row is added or removed, or
    one unit with all its rows if the table names a unit.

    Parameters
    ----------
    X : Table without a target, array or frame of shape (n_samples, columns)
        Read once. Infinite values count in the end cells.
    p : array_like, default=(0.25, 0.5, 0.75)
        Quantiles, as shares from 0 to 1.
    epsilon : float, default=1.0
        Privacy loss, above 0.
    delta : float, default=0.0
        Probability of a larger loss. Above 0 the noise is Gaussian, better for many columns.
    grids : mapping, optional
        Public grids by column; other columns need no range. Integers have whole numbers.
    ledger, progress, random_state
        As for :class:`nolook.ECDF` and its `fit`; the ledger is charged once.

    Returns
    -------
    Quantiles

    Raises
    ------
    ParameterError
        If a parameter is out of range. Nothing is charged.
    TableError
        If X is not a table of numbers. Nothing is charged.
    BudgetExceededError
        If the ledger has too little left. The data are not read.

    See Also
    --------
    ECDF : All quantiles of one column.
    describe : Means, quartiles and levels of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.random.default_rng(0).normal([50, 1e6], [10, 1e5], size=(20_000, 2))
    >>> found = quantiles(table, [0.5], epsilon=2.0)
    >>> bool(abs(found.values[1, 0] - 1e6) < 1e4)
    True
    """
    budget = check_budget(epsilon, delta, pure=True)
    shares = check_shares(p)
    table = as_table(X)
    if table.target_name is not None:
        raise ParameterError("X is a Table with a target (read it without one)")
    refuse_gaps(table, "quantiles")
    planned = ecdf_release(budget, "add-remove", _grids(grids, table.column_names))

    def read_off(found: tuple[PrivateDistribution, ...], guarantee: PrivacyGuarantee) -> Quantiles:
        known = [evolve(one, sampled=guarantee.unit.max_rows) for one in found]
        values = np.array([one.across_gaps(shares) for one in known])
        ends = np.array([one.ppf_interval(shares) for one in known])
        given = {name: grid for name, grid in (grids or {}).items() if grid is not None}
        names, read_options = table.column_names, table.read_options()
        counted = found[0].counted.totals(guarantee.unit)
        own = names, shares, values, ends, given, table.whole
        return Quantiles(*own, rows=counted, privacy=guarantee, read_options=read_options)

    plan = Plan.of(planned, budget, random_state)
    return release(plan, table.keeping_infinite, "quantiles", read_off, ledger, progress)


def _grids(grids: Mapping[str, AnyGrid] | None, names: tuple[str, ...]) -> tuple[Grid, ...]:
    """Return the grid of each column; refuse what is not a mapping from the table's columns."""
    if grids is not None and not isinstance(grids, Mapping):
        raise ParameterError(
            f"grids is a value of type {type(grids).__name__}; expected a mapping from columns to "
            "grids (for example {'age': nolook.LinearGrid(0, 120, 1)})"
        )
    given = grids or {}
    for name in {*given} - {*names}:
        raise ParameterError(f"grids names {name!r}, which is not a column of the table")
    return tuple(check_grid(given.get(name)) for name in names)
