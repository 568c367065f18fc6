"""Times to an event: survival curves of groups within one budget."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray

from nolook._language import parameter_name
from nolook._validation import check_epsilon
from nolook.algorithms.group_tests import Forests
from nolook.algorithms.survival import Curve, Times, log_rank
from nolook.algorithms.tabulation import Released, tabulation
from nolook.errors import ParameterError
from nolook.estimators._checks import as_table, check_relation
from nolook.estimators.comparison import check_columns, known_levels
from nolook.estimators.releasing import Progress, release
from nolook.estimators.result import TableResult
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.release import Plan
from nolook.tables import Table
from nolook.tables.views import with_levels_in_use

__all__ = ["SurvivalCurve", "survival"]


@frozen(eq=False, repr=False)
class SurvivalCurve(TableResult):
    """Survival curves of groups (Kaplan and Meier 1958), as far as noise allows.

    ``S(t) = prod over t_i <= t of (1 - d_i / n_i)``

    where d_i is the noisy number of events at time t_i, and n_i the noisy number of rows at risk
    just before it. A cell of the grid with several times contributes ``(1 - g_i / n_i) ** (d_i /
    g_i)`` instead, where g_i counts its events and censored times.

    Parameters
    ----------
    time, event : str
        The columns of times and of events.
    level : str
        The level of `event` that counts as the event.
    by : str or None
        The column of groups.
    groups : tuple of str
        The declared levels of `by`; "all" without it.
    whole : bool
        Whether times are whole numbers.
    forests : Forests
        Distributions of the events, then of the censored times, of each group.
    rows : NoisyCount
        Private number of rows (of units, if each counts once; with survey weights, their sum).
    privacy : PrivacyGuarantee
        Guarantee of the whole result.
    read_options : dict
        How the columns were read.

    See Also
    --------
    survival : Releases the curves.
    GroupComparison : Compares a value between groups.

    Notes
    -----
    The 95 % interval is ``S ± 1.96 sqrt(v + S**2 sum(d_i / (n_i (n_i - d_i))))``, where v is the
    variance of the noise, from simulated releases, and the rest Greenwood's variance of sampling.
    If up to C rows of a unit count in full, Greenwood's variance is multiplied by C. A curve ends
    where the noise in the number at risk is too large.
    """

    time: str
    event: str
    level: str
    by: str | None
    groups: tuple[str, ...]
    whole: bool
    forests: Forests

    kind: ClassVar[str] = "survival curve"
    _indexed: ClassVar[int] = 2

    @property
    def _times(self) -> tuple[Times, ...]:
        points = self.forests.points
        forests = self.forests.of_units(self.privacy.unit.max_rows).groups
        single = np.diff(points, prepend=points[0] - 2.0) == 1.0
        pairs = (Forests(points, pair) for pair in zip(forests[::2], forests[1::2], strict=True))
        return tuple(Times(each, single & self.whole, self.whole) for each in pairs)

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """The curve of each group, with 95 % intervals and the number at risk."""
        shown = self.privacy.unit.max_rows * self.privacy.unit.row_weight
        found = map(Times.curve, self._times)
        return tuple(evolve(each, at_risk=shown * each.at_risk) for each in found)

    @cached_property
    def p_value(self) -> float | None:
        """P-value of the log-rank test; None for one group or few rows."""
        return log_rank(self._times) if len(self.groups) > 1 else None

    questions = ("survival_at",)

    def survival_at(self, times: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Return survival and its 95 % interval at times, by group.

        Parameters
        ----------
        times : array-like of shape (n_times,)

        Returns
        -------
        dict of ndarray of shape (3, n_times)
            Survival, and the ends of its interval; NaN beyond a curve.
        """
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        return {name: each.at(at) for name, each in zip(self.groups, self.curves, strict=True)}

    def _columns(self) -> dict[str, Any]:
        # From time 0 on: noise may have events before.
        kept = [np.diff(each.times.clip(0.0), append=np.inf) > 0.0 for each in self.curves]
        found: dict[str, Any] = {self.by or "group": np.repeat(self.groups, [*map(sum, kept)])}
        for name in ("times", "survival", "low", "high", "at_risk"):
            own = [getattr(each, name)[rows] for each, rows in zip(self.curves, kept, strict=True)]
            found[self.time if name == "times" else name] = np.concatenate(own)
        found[self.time] = found[self.time].clip(0.0)
        return found


def survival(  # noqa: PLR0913 -- what may be asked
    X: Table | ArrayLike,
    time: str = "",
    event: str = "",
    by: str | None = None,
    *,
    epsilon: float = 1.0,
    relation: str = "add-remove",
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> SurvivalCurve:
    """Release survival curves with medians, and the log-rank test of groups.

    The curve is ``S(t) = prod over t_i <= t of (1 - d_i / n_i)``, for the noisy number of events
    d_i at time t_i and the noisy number of rows at risk n_i just before it. No range is needed. All
    groups together cost as much as one.

    Guarantee
    ---------
    The result is (`epsilon`, 0)-differentially private when one row is added or removed (or
    replaced), or one unit with all its rows if the table names a unit. Proof:
    ``algorithms/tabulation.md``.

    Parameters
    ----------
    X : Table, array or frame of shape (n_samples, columns)
    time : str
        A column of numbers: time to the event, or to the last observation without it.
    event : str
        A boolean, or a column with two declared levels, of which the second is the event. Rows with
        other values are left out.
    by : str, optional
        A column with at most 20 declared levels, or a boolean.
    epsilon : float, default=1.0
        Privacy loss, above 0.
    relation : {"add-remove", "replace"}, default="add-remove"
    ledger, progress, random_state
        As for :class:`nolook.ECDF` and its `fit`; the ledger is charged once.

    Returns
    -------
    SurvivalCurve

    Raises
    ------
    ParameterError
        If a parameter is out of range, or names a column of another type. Nothing is charged.
    TableError
        If X is not a table of numbers. Nothing is charged.
    BudgetExceededError
        If the ledger has too little left. The data are not read.

    See Also
    --------
    compare_groups : Compares a value between groups.
    tabulate : Counts and means of groups.

    Notes
    -----
    If each unit counts once, curves describe units, and the widths of intervals and the p-values
    are upper bounds; so they are if up to C rows of a unit count in full (as if each unit had C
    identical rows), and with survey weights (as if there were fewer rows, all of the largest
    weight).

    Examples
    --------
    >>> import nolook, numpy as np, pandas as pd
    >>> generator = np.random.default_rng(0)
    >>> days, end = generator.exponential(300.0, 20_000), generator.uniform(100.0, 900.0, 20_000)
    >>> seen = pd.DataFrame({"days": np.minimum(days, end).round(), "died": days <= end})
    >>> found = nolook.survival(nolook.read_table(seen), "days", "died", epsilon=1.0)
    >>> middle, low, high = found.curves[0].median()
    >>> bool(low < 300.0 * np.log(2.0) < high)
    True
    """
    budget, relation = Budget(check_epsilon(epsilon)), check_relation(relation)
    table = with_levels_in_use(as_table(X), by)
    levels = {"event": event} if by is None else {"by": by, "event": event}
    coded = check_columns(table, levels, {"time": time})
    labels = [each or () for each in coded.code_labels]
    groups = ("all",) if by is None else known_levels(labels[0], "by")
    events = known_levels(labels[len(levels) - 1], "event")
    if len(events) != 2:
        raise ParameterError(
            f"{parameter_name('event')} has {len(events)} declared levels; expected 2 (the "
            "second is the event)"
        )
    dimensions, place = tuple(range(len(levels))), len(levels)
    planned = tabulation(budget, relation, [dimensions], [dimensions], [], [place], tests=True)

    def read_off(released: Released, guarantee: PrivacyGuarantee) -> SurvivalCurve:
        values = released.values[place]
        codes = [() if by is None else (code,) for code in range(len(groups))]
        forests = tuple(values.of(dimensions, (*code, seen)) for code in codes for seen in (1, 0))
        return SurvivalCurve(
            *(time, event, events[1], by, groups, coded.whole[place]),
            Forests(values.points, forests),
            rows=released.rows.totals(guarantee.unit),
            privacy=guarantee,
            read_options=table.read_options(),
        )

    plan = Plan.of(planned, budget, random_state, relation=relation)
    return release(plan, lambda: coded, SurvivalCurve.kind, read_off, ledger, progress)
