"""Comparisons of groups: means, ranks and distributions of a value within one budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from nolook._language import parameter_name
from nolook._validation import check_epsilon, refusal
from nolook.algorithms.group_estimates import Estimates, Groups, moments_of
from nolook.algorithms.group_tests import Forests, PValues
from nolook.algorithms.intervals import Measure
from nolook.algorithms.tabulation import Released, tabulation
from nolook.errors import ParameterError
from nolook.estimators._checks import as_table, check_relation
from nolook.estimators.releasing import Progress, release
from nolook.estimators.result import TableResult
from nolook.estimators.tabulation import coded_columns
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.release import Plan
from nolook.tables import Table
from nolook.tables.design import declared_labels
from nolook.tables.views import with_levels_in_use

__all__ = ["SHARED", "GroupComparison", "Pair", "check_columns", "compare_groups", "known_levels"]

_MOST_GROUPS = 20
#: Of what the half-width of a mean allows for clipping, what two means share: it may move them
#: apart by half of it.
SHARED = math.sqrt(2.0 - 0.5**2)


@frozen
class Pair:
    """A group compared with the first one.

    Parameters
    ----------
    group : str
    difference : Measure or None
        Of the means, or of shares from 0 to 1; None where noise hides one.
    exceeds : Measure or None
        How likely a value of the group exceeds one of the first group, a tie counting half (the
        area under the ROC curve, the statistic of Mann and Whitney).
    p_values : PValues or None
        `ranks`, Mann and Whitney's, and `distance`; None if there are too few rows for this budget.
    distance : float or None
        Kolmogorov's: the largest difference of both distribution functions, where it is tested.
    """

    group: str
    difference: Measure | None = None
    exceeds: Measure | None = None
    p_values: PValues | None = None
    distance: float | None = None


@frozen(eq=False, repr=False)
class GroupComparison(TableResult):
    """Comparison of a value between groups, each with the first.

    Returned by :func:`nolook.compare_groups`.

    Parameters
    ----------
    value, by : str
        Column of numbers, and column of groups.
    groups : tuple of str
        The declared levels; rows with other or missing values are not compared.
    boolean : bool
        Whether the values are boolean; means are then shares of true.
    forests : Forests
        The values of each group: `distribution(place)` returns a group's.
    means : Estimates
        Of the groups.
    shared : float
        What the half-widths of two means allow for that clipping moves both alike.
    rows : NoisyCount
        Private number of rows (of units, if each counts once; with survey weights, their sum).
    privacy : PrivacyGuarantee
        Guarantee of the whole result.
    read_options : dict
        How the columns were read.

    See Also
    --------
    compare_groups : Releases the comparison.
    SurvivalCurve : Times to an event, by group.
    """

    value: str
    by: str
    groups: tuple[str, ...]
    boolean: bool
    forests: Forests
    means: Estimates
    shared: float

    kind: ClassVar[str] = "group comparison"

    @cached_property
    def _of_units(self) -> Forests:
        return self.forests.of_units(self.privacy.unit.max_rows)

    @property
    def shown(self) -> Estimates:
        """The means; those that are shares end at 0 and 1."""
        return self.means.within(0.0, 1.0) if self.boolean else self.means

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every group but the first, compared with it."""
        return tuple(self._pair(place) for place in range(1, len(self.groups)))

    @cached_property
    def p_value(self) -> float | None:
        """Of Kruskal and Wallis's test that all groups have one distribution; None as for pairs."""
        found = self._of_units.differ(range(len(self.groups)))
        return found.ranks if found and not np.isnan(self.means.low).all() else None

    def _pair(self, place: int) -> Pair:
        forests, places = self._of_units, (0, place)
        group = self.groups[place]
        mean, low, high, *_ = self.means
        both = math.hypot(*(high - low)[[*places]]) / 2.0
        half = math.sqrt(max(both - self.shared, 0.0)) * math.sqrt(both + self.shared)
        value = float(mean[place] - mean[0])
        difference = None if math.isnan(half) else Measure(value, value - half, value + half)
        # Where noise hides all means, it hides the range: all values may be in one cell.
        if np.isnan(low).all() or not all(map(forests.enough, places)):
            return Pair(group, difference)
        p_values = forests.differ(places)
        distance = None if p_values is None else forests.distance(place, 0)
        return Pair(group, difference, forests.exceeds(place, 0), p_values, distance)

    def _columns(self) -> dict[str, Any]:
        rows = [self.privacy.unit.row_weight * each.rows for each in self.forests.groups]
        found: dict[str, Any] = {self.by: list(self.groups), "values": rows}
        found |= zip(("mean", "mean_low", "mean_high"), self.shown, strict=False)
        pairs = Pair(self.groups[0]), *self.pairs  # the first is compared with no other
        ends = ("", "value"), ("_low", "low"), ("_high", "high")
        for name, (end, part) in product(("difference", "exceeds"), ends):
            found[name + end] = [getattr(getattr(pair, name), part, math.nan) for pair in pairs]
        tests = [pair.p_values for pair in pairs]
        found["p_value"] = [getattr(one, "ranks", math.nan) for one in tests]
        found["distance"] = [math.nan if one.distance is None else one.distance for one in pairs]
        found["distance_p_value"] = [getattr(one, "distance", math.nan) for one in tests]
        return found


def compare_groups(
    X: Table | ArrayLike,
    value: str = "",
    by: str = "",
    *,
    epsilon: float = 1.0,
    relation: str = "add-remove",
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> GroupComparison:
    """Compare a value between groups: means, ranks and distributions, with tests.

    For each group g and the first group 1, it estimates the difference of means ``mean(y_g) -
    mean(y_1)``, the probability ``P(y_g > y_1) + P(y_g = y_1) / 2`` of a higher value, and the
    largest difference ``max_t |F_g(t) - F_1(t)|`` of the distributions. No range is needed. All
    groups together cost as much as one. P-values come from simulated releases, including noise, in
    which the groups do not differ.

    Guarantee
    ---------
    The result is (`epsilon`, 0)-differentially private when one row is added or removed (or
    replaced), or one unit with all its rows if the table names a unit. Proof:
    ``algorithms/tabulation.md``.

    Parameters
    ----------
    X : Table, array or frame of shape (n_samples, columns)
    value : str
        A column of numbers, or a boolean.
    by : str
        A column with at most 20 declared levels (:func:`nolook.read_table`), or a boolean. All
        groups are compared with the first level. Rows with other values are not compared, nor are
        levels that the conditions on the table's rows exclude.
    epsilon : float, default=1.0
        Privacy loss, above 0.
    relation : {"add-remove", "replace"}, default="add-remove"
    ledger, progress, random_state
        As for :class:`nolook.ECDF` and its `fit`; the ledger is charged once.

    Returns
    -------
    GroupComparison

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
    tabulate : Means, shares and quantiles of every group.
    survival : Times to an event, by group.

    Notes
    -----
    Intervals are 95 % intervals for noise and sampling. If each unit counts once, their widths and
    p-values are upper bounds; so they are if up to C rows of a unit count in full (as if each unit
    had C identical rows), and with survey weights (as if there were fewer rows, all of the largest
    weight). There is no p-value if noise hides all means, or if the variance of the noise in a
    group's number of values is more than 2.5 times that number.

    Examples
    --------
    >>> import nolook, numpy as np, pandas as pd
    >>> generator = np.random.default_rng(0)
    >>> visits = pd.DataFrame({"treated": generator.random(20_000) < 0.5})
    >>> visits["cost"] = generator.normal(np.where(visits.treated, 120.0, 100.0), 50.0)
    >>> found = nolook.compare_groups(nolook.read_table(visits), "cost", "treated", epsilon=1.0)
    >>> (pair,) = found.pairs
    >>> pair.difference.low < 20.0 < pair.difference.high
    True
    >>> pair.p_values.ranks
    0.001
    """
    budget, relation = Budget(check_epsilon(epsilon)), check_relation(relation)
    table = with_levels_in_use(as_table(X), by)
    coded = check_columns(table, {"by": by}, {"value": value})
    planned = tabulation(budget, relation, [(0,)], [(0,)], [1], [1], tests=True)
    labels = coded.code_labels[0] or ()
    groups = known_levels(labels, "by")

    def read_off(released: Released, guarantee: PrivacyGuarantee) -> GroupComparison:
        _, _, means, *_ = moments_of(Groups.of([(0,)], [len(labels)]), released, 1)
        kept = len(groups)
        values, sums = released.values[1], released.sums[1]
        return GroupComparison(
            value,
            by,
            groups,
            coded.code_labels[1] is not None,
            Forests(values.points, tuple(values.of((0,), (code,)) for code in range(kept))),
            Estimates(*(each[:kept] for each in means)),
            0.0 if np.isnan(means.low).all() else SHARED * released.deviations * sums.clipped,
            rows=released.rows.totals(guarantee.unit),
            privacy=guarantee,
            read_options=table.read_options(),
        )

    plan = Plan.of(planned, budget, random_state, relation=relation)
    return release(plan, lambda: coded, GroupComparison.kind, read_off, ledger, progress)


def check_columns(table: Table, levels: Mapping[str, Any], numbers: Mapping[str, Any]) -> Table:
    """Return columns, by the parameters that name them, as codes; refuse one named twice."""
    named = {**levels, **numbers}
    for parameter, name in named.items():
        if not isinstance(name, str) or not name:
            raise refusal(parameter, name, "the name of a column", "for example 'age'")
        if [*named.values()].count(name) > 1:
            raise ParameterError(
                f"{parameter_name(parameter)} names {name!r} again (name another column)"
            )
    return coded_columns(table, [*levels.items()], [*numbers.items()])


def known_levels(labels: tuple[str, ...], parameter: str) -> tuple[str, ...]:
    """Return the declared levels of a column by the labels of its codes; 2 to 20."""
    known = declared_labels(labels)
    if not 2 <= len(known) <= _MOST_GROUPS:
        raise ParameterError(
            f"{parameter_name(parameter)} has {len(known)} declared levels in use; expected 2 "
            f"to {_MOST_GROUPS}"
        )
    return known
