"""Results of tabulations and descriptions: measures of groups with their guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Places, Vector
from nolook.algorithms.group_estimates import ALL, Estimates, Groups
from nolook.algorithms.independence import independence_test
from nolook.algorithms.intervals import NORMAL_95
from nolook.algorithms.level_search import MOST_OF_A_UNIT, LevelSearch
from nolook.algorithms.margins import subsets
from nolook.algorithms.tabulation import LEVELS
from nolook.estimators.result import TableResult
from nolook.privacy.guarantee import DeltaEvent, GaussianEvent
from nolook.tables.design import declared_labels

__all__ = ["Description", "Measured", "Tabulation"]

_MOST_TESTED = 2000  # groups and margins
_CLEAR = 0.05  # the p-value that an association stays below
_ENDS = ("low", "high", "noise")
# Those with an interval in a frame.
_BOUNDED = {"count", "mean", "sum", "share", "quantile"}
_TOTALS = {"count", "estimate", "values", "missing", "sum"}


@frozen(eq=False)
class Measured:
    """One measure of every group.

    Parameters
    ----------
    name : str
        "count" of rows, its "estimate" without an interval, "values" present and "missing", "mean",
        "sum", "deviation", "share" or "quantile".
    column : str or None
        The column measured; None for rows.
    at : str, float or None
        The value that a share is of, or the share that a quantile is at.
    estimates : Estimates
        `value`, the ends `low` and `high` of the 95 % interval of noise and sampling, and those of
        the noise, all also where no number can be; NaN where noise hides a number, or there is no
        interval.
    """

    name: str
    column: str | None
    at: str | float | None
    estimates: Estimates

    @property
    def label(self) -> str:
        """The name of its column in a frame."""
        at = f"q{self.at:g}".replace(".", "_") if isinstance(self.at, float) else self.at
        name = None if self.name == "quantile" else self.name
        return "_".join(filter(None, (name, self.column, at)))

    @property
    def shown(self) -> Estimates:
        """The estimates and the ends of their intervals where they can be."""
        if self.name in {"sum", "mean", "deviation", "quantile"}:
            return self.estimates
        return self.estimates.within(0.0, 1.0 if self.name == "share" else math.inf)

    @property
    def row(self) -> tuple[Vector, ...]:
        """The values, the ends of their intervals, and half the width of those for the noise.

        Numbers of rows and their intervals are not cut off at 0, so that groups add up.
        """
        *_, least, most = self.estimates
        own = self.shown if self.name == "share" else self.estimates
        return *[*own][:3], (most - least) / 2

    def totals(self, weight: float) -> Self:
        """Return numbers of rows and sums as those of a row of another weight."""
        return evolve(self, estimates=self.estimates.times(weight if self.name in _TOTALS else 1.0))


@frozen(repr=False)
class _Table(TableResult):
    """Measures of groups with their guarantee: the base of tabulations and descriptions."""

    by: tuple[tuple[str, ...], ...]
    levels: dict[str, tuple[str, ...]]
    measured: tuple[Measured, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of groups."""
        return tuple(self.levels)

    @cached_property
    def codes(self) -> Places:
        """The level of each group, shape (groups, columns); -1 for all rows."""
        tables = [tuple(sorted(map(self.names.index, own))) for own in self.by]
        return Groups.of(subsets(tables or [()]), list(map(len, self.levels.values()))).codes

    def label(self, column: str, code: int) -> str:
        """Return the level of a code of a column; "all" for any level."""
        return "all" if code == ALL else self.levels[column][code]

    def groups_of(self, margin: Sequence[str]) -> Places:
        """Return the places of the groups of a margin, in the order of its columns' levels."""
        own = np.array([name in margin for name in self.names])
        return np.flatnonzero(((self.codes != ALL) == own).all(axis=1))


@frozen(repr=False)
class Tabulation(_Table):
    """Counts and measures of groups whose margins all agree.

    The counts n of all groups solve, before those below 0 become 0,

        ``min over n of sum_t |M_t n - y_t|**2 / v_t``,

    where y_t are the noisy counts of table t, v_t is the variance of their noise, and M_t n is the
    margin of n in this table. Returned by :func:`nolook.tabulate`.

    Parameters
    ----------
    by : tuple of tuple of str
        The columns of each table.
    levels : dict
        For each column: the declared levels, then "..." for all other values unless there can be
        none or these are missing, then "missing".
    measured : tuple of Measured
        For every group.
    rows : NoisyCount
        Private number of rows (of units, if each counts once; with survey weights, their sum).
    privacy : PrivacyGuarantee
        Guarantee of the whole result.
    read_options : dict
        How the columns were read.

    See Also
    --------
    tabulate : Releases the tables.
    Description : The same measures of every column, without groups.
    """

    kind: ClassVar[str] = "tabulation"

    @property
    def searched(self) -> LevelSearch | None:
        """The search for undeclared levels, if there was one."""
        events = [each for each in self.privacy.mechanisms if isinstance(each, DeltaEvent)]
        if not events:
            return None
        (event,) = {each for each in self.privacy.mechanisms if each.name == LEVELS}
        most = 1 if self.privacy.unit.column is None else MOST_OF_A_UNIT
        return LevelSearch((), cast(GaussianEvent, event), events[0], most)

    def independence(self) -> tuple[float, float, float] | None:
        """Return the chi-square statistic of two columns, its p-value and Cramér's V.

        The statistic is ``C = sum_ij (n_ij - e_ij)**2 / e_ij``, for the noisy counts n_ij of r
        rows and c columns and ``e_ij = n_i. n_.j / n``; ``V = sqrt((C - mean C) / (n (min(r, c) -
        1)))``, where the mean is that of independent tables.

        Undeclared and missing values are left out. The null distribution is simulated with the
        noise, at no further cost. If a unit may add w to the counts, by several rows in full or by
        survey weights up to their bound, all counts are divided by w, and C with them (Rao and
        Scott 1981). The test is then conservative, as it is where rows of a unit share a weight.

        Returns
        -------
        tuple of float, or None
            None except for one table of two columns, under add-remove, with at most
            2,000 groups and margins.
        """
        if len(self.by) != 1 or len(self.names) != 2 or not self.rows.error:
            return None
        return self._tested(self.by[0]) if len(self.codes) <= _MOST_TESTED else None

    def _tested(self, by: Sequence[str]) -> tuple[float, float, float]:
        """Test the independence of two columns by their counts, in those that a unit adds."""
        normal = any(isinstance(each, GaussianEvent) for each in self.privacy.mechanisms)
        counts, most = self.measured[0], self.privacy.unit.max_rows * self.privacy.unit.row_weight
        error = counts.row[3][self.groups_of(by)].min() / NORMAL_95 / most
        # What may be known better, of one table the total, takes at most the rest of an entry's.
        sizes = [len(self.levels[name]) for name in by]
        known = sizes if len(self.by) > 1 else [math.prod(sizes)]
        error /= math.sqrt(math.prod(1.0 - 1.0 / size for size in known))
        return independence_test(self._declared(counts, by) / most, error, normal=normal)

    def associations(self) -> dict[tuple[str, ...], float]:
        """Return Cramér's V of each pair of columns, the largest first.

        It is that of :meth:`independence`; NaN where it is not distinguishable from noise, as the
        p-value is 0.05 or more. Empty unless all pairs were asked for.
        """
        if self.measured[-1].name != "estimate":
            return {}
        tested = {by: self._tested(by) for by in self.by}
        found = {by: v if p < _CLEAR else math.nan for by, (_, p, v) in tested.items()}
        return dict(sorted(found.items(), key=lambda each: np.nan_to_num(-each[1], nan=1.0)))

    def _declared(self, each: Measured, by: Sequence[str]) -> Vector:
        """Return a measure of the groups of declared levels of two columns."""
        levels = [self.levels[name] for name in self.names if name in by]
        rows, columns = (len(declared_labels(own)) for own in levels)
        values = each.estimates.value[self.groups_of(by)].reshape([*map(len, levels)])
        return values[:rows, :columns]

    @property
    def _indexed(self) -> int:  # type: ignore[override]
        return len(self.names)

    def _columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: [self.label(name, code) for code in codes]
            for name, codes in zip(self.names, self.codes.T.tolist(), strict=True)
        }
        for each in self.measured:
            labels = (each.label, *(f"{each.label}_{end}" for end in _ENDS))
            found |= zip(labels[: 4 if each.name in _BOUNDED else 1], each.row, strict=False)
        return found


@frozen(repr=False)
class Description(_Table):
    """Summary of each column of a table: mean, deviation and quartiles, or counts of levels.

    Returned by :func:`nolook.describe`. Estimates come from noisy sums over the n values present:
    the mean ``sum x_i / n``, the standard deviation ``sqrt(sum (x_i - mean)**2 / n)``.

    Parameters
    ----------
    by, levels, rows, privacy, read_options
        As for :class:`Tabulation`.
    measured : tuple of Measured
        The count of each level; for each column of numbers "values", "missing", "mean", "sum",
        "deviation" and 21 quantiles from 1 to 99 %.

    See Also
    --------
    describe : Releases the summary.
    Tabulation : The same measures by groups of rows.
    ECDF : All quantiles of one column.

    Notes
    -----
    Values are clipped at a private distance from the centre. The interval of a mean for noise and
    sampling includes the effect of clipping, as far as the released counts show it.
    """

    kind: ClassVar[str] = "description"
    _indexed: ClassVar[bool] = False

    def _columns(self) -> dict[str, Any]:
        rows, *others = self.measured
        shares = (each for each in others if each.name == "share")  # in the order of groups
        _, *counts = np.transpose(rows.row)
        listed = [(own.column, own.at, *each) for own, each in zip(shares, counts, strict=True)]
        for each in others:
            label = each.label.removesuffix(f"_{each.column}").replace(f"{each.column}_", "")
            listed.append((each.column, label, *np.ravel(each.row)))
        return dict(
            zip(("column", "what", "value", *_ENDS), zip(*listed, strict=True), strict=True)
        )
