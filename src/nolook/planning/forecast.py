"""The accuracy to expect of a release, and the smallest budget that reaches a goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias, cast

from attrs import evolve, frozen

from nolook._language import parameter_name
from nolook._unit import RowsPerUnit, Weighting, check_rows_per_unit
from nolook._validation import check_choice, check_count, check_delta, check_epsilon, one_line
from nolook.algorithms.tabulation import tabulation
from nolook.algorithms.weights import GAUSSIAN_PART, PURE_PART, weighted
from nolook.errors import ParameterError
from nolook.estimators.catalogue import CLASSIFIERS, COUNTS, MODELS
from nolook.estimators.result import Result, Summary
from nolook.estimators.tukey import TukeyRegressor
from nolook.planning.curves import WIDEST, Curve, Range, curve_of
from nolook.planning.noise import GroupNoise, group_noise
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget

__all__ = ["EPSILONS", "MEASURES", "PLANNED", "Expected", "Forecast", "Wanted", "plan"]

#: Planned where no epsilon is given.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)

#: What can be expected of a method, in the order in which it is shown.
MEASURES = ("interval", "median", "hidden", "loss", "error", "quantile")

_LINES = ("interval", "median", "hidden", "loss")
#: The measures of each method, whether they are known or not.
PLANNED = {
    **dict.fromkeys(("linear", "logistic", "poisson"), _LINES),
    **dict.fromkeys(("additive", "additive-logistic", "additive-poisson"), ("loss",)),
    "adassp": ("loss",),
    "boosted-adassp": ("loss",),
    "tukey": ("loss",),
    "ecdf": ("error", "quantile"),
    "quantiles": ("error", "quantile"),
    "roc": ("error",),
    "calibration": ("error",),
    "compare-groups": ("error",),
    "survival": ("error",),
    "describe": ("error", "quantile"),
    "tabulate": ("error", "quantile"),
}
# Quantiles are read off distributions, which share the budget.
_CURVES = {"quantiles": "ecdf", "tabulate": "describe"}
_GROUPED = frozenset({"describe", "tabulate"})
_PURE = frozenset({*PLANNED}) - MODELS.keys() - _GROUPED
_SHARED = frozenset({"ecdf", "quantiles", "describe", "tabulate"})
_WEIGHTED = _SHARED | {"compare-groups", "survival", "linear", "additive"}
_WEIGHTED |= {*PLANNED} & {*CLASSIFIERS, *COUNTS}

# Standard deviations: a mean of more noise is not shown.
_SHOWN = 1 / 3
_MOST_ROWS, _MOST_COLUMNS = 2**34, 2**20
# Where the smallest epsilon is looked for, so many steps a decade.
_FROM, _DECADES, _STEPS = 0.01, 4, 40

Epsilons: TypeAlias = float | Sequence[float] | None


@frozen
class Expected:
    """The accuracy to expect of one budget; None where nothing is known.

    Parameters
    ----------
    epsilon : float
    interval, median : Range or None
        Half the width of a column's 95 % interval, the narrowest one and the median: for the effect
        of one standard deviation of the column, in standard deviations of the target, in log-odds
        (``logistic``) or in logarithms of the mean (``poisson``). 2 stands for no interval, or one
        that says nothing.
    hidden : Range or None
        Share of the columns whose effects have no such interval.
    loss : Range or None
        Difference in R2, in the area under the ROC curve (models of two classes) or in the share of
        deviance explained (models of counts) to the same model without privacy; for additive
        models, to the better of lines and boosted steps, on other rows.
    error : Range or None
        Root mean square error of a share of the rows (``ecdf``, ``quantiles``), the area under the
        curve (``roc``), the share of positive rows in a group (``calibration``), the probability of
        a higher value (``compare-groups``, two groups), the curve (``survival``, one group), or a
        mean in standard deviations of the column (``describe``, ``tabulate``).
    quantile : Range or None
        The error of quartiles, in standard deviations of the column.
    rows_needed : int or None
        Number of rows that ``tukey`` needs.
    """

    epsilon: float
    interval: Range | None = None
    median: Range | None = None
    hidden: Range | None = None
    loss: Range | None = None
    error: Range | None = None
    quantile: Range | None = None
    rows_needed: int | None = None


@frozen
class Wanted:
    """A goal, and the smallest epsilon for it; None if not known.

    `epsilon` is for an ordinary table, `hardest` for the hardest of those that were simulated.
    """

    measure: str
    most: float
    epsilon: float | None
    hardest: float | None


@frozen(repr=False)
class Forecast:
    """Expected accuracy of a release for several budgets, computed without any table.

    Parameters
    ----------
    method : str
    rows, columns : int
    delta : float
        0 for distributions, which need no delta.
    rows_per_unit : "weights" or int
    lines : tuple of Expected
        One for each epsilon, rising.
    wanted : Wanted or None
    weighted : bool
        Whether rows have survey weights.
    where : str or None
        Which rows of a table these are, in words.
    """

    method: str
    rows: int
    columns: int
    delta: float
    rows_per_unit: RowsPerUnit
    lines: tuple[Expected, ...]
    wanted: Wanted | None = None
    weighted: bool = False
    where: str | None = None

    def at(self, epsilons: Sequence[float]) -> tuple[Expected, ...]:
        """Return the accuracy to expect of other budgets."""
        most = 1 if self.rows_per_unit == "weights" else int(self.rows_per_unit)
        shape = _Shape(self.method, self.rows, self.columns, self.delta, most, self.weighted)
        return tuple(map(shape.expected, epsilons))

    def summary(self) -> Summary:
        """Return the plan as the command line prints it; a table in a notebook."""
        shown: Summary = import_module("nolook.report.plan_page").plan_summary(self)
        return shown

    __repr__, _repr_html_ = Result.__repr__, Result._repr_html_


def plan(
    rows: int,
    columns: int = 1,
    *,
    method: str = "linear",
    epsilon: Epsilons = None,
    delta: float = DEFAULT_DELTA,
    rows_per_unit: RowsPerUnit = "weights",
    want: str | None = None,
    weighted: bool = False,
) -> Forecast:
    """Estimate a release's accuracy before spending any budget.

    The real mechanisms were run on simulated tables from easy to hard, and their results are
    interpolated. No table is read: the accuracy on a real one depends on correlations and extreme
    values, which are confidential. The range is likely, not guaranteed.

    Parameters
    ----------
    rows : int
        Number of rows. If units count once, the number of units; with at most C rows of each unit,
        the number of rows kept; for ``tabulate``, the number of rows of one group. With survey
        weights, their sum divided by the largest.
    columns : int, default=1
        Number of features or, for quantiles, descriptions and tabulations, of columns of numbers
        that share the budget (times the number of tables).
    method : str, default="linear"
        ``linear``, ``logistic``, ``poisson``, ``additive``, ``additive-logistic``,
        ``additive-poisson``, ``adassp``, ``boosted-adassp``, ``tukey``, ``ecdf``, ``quantiles``,
        ``roc``, ``calibration``, ``compare-groups``, ``survival``, ``describe`` or ``tabulate``.
    epsilon : float or sequence of float, optional
        Budgets to compare; by default from 0.1 to 10.
    delta : float, default=1e-6
        Not used for distributions.
    rows_per_unit : "weights" or int, default="weights"
        An int C plans for at most C rows of each unit, counted in full: the noise is C times as
        large.
    want : str, optional
        A goal for an ordinary table: a measure of the method and its largest value, such as
        ``"interval 0.1"``, ``"loss 0.05"`` or ``"error 0.01"``. The smallest epsilon for it is
        rounded up to two digits.
    weighted : bool, default=False
        Whether rows have survey weights. Their bound takes a part of the budget, and all count as
        rows of the largest weight; with varying weights the real accuracy is a little better.

    Returns
    -------
    Forecast

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> import nolook
    >>> found = nolook.plan(20_000, 8, epsilon=[0.5, 2.0], want="interval 0.1")
    >>> found.lines[0].interval.expected > found.lines[1].interval.expected
    True
    >>> found.wanted.epsilon < 10
    True
    """
    check_choice("method", method, PLANNED)
    if weighted and method not in _WEIGHTED:
        raise ParameterError(
            f"{parameter_name('method')} is {method!r}, which takes no survey weights "
            f"({', '.join(sorted(_WEIGHTED))} do)"
        )
    check_count(rows, "rows", _MOST_ROWS)
    check_count(columns, "columns", _MOST_COLUMNS)
    counted = check_rows_per_unit(rows_per_unit)
    kept = 0.0 if method in _PURE else check_delta(delta)
    wanted = None if want is None else _wanted(want, method)
    # Checked in full before anything is computed.
    budgets = sorted({check_epsilon(each) for each in _listed(epsilon)})
    most = 1 if counted == "weights" else int(counted)
    shape = _Shape(method, rows, columns, kept, most, weighted)
    found = None
    if wanted is not None:
        found = Wanted(*wanted, *(_smallest(shape, *wanted, end) for end in ("expected", "high")))
    lines = tuple(shape.expected(each) for each in budgets)
    return Forecast(method, rows, columns, kept, counted, lines, found, weighted)


@frozen
class _Shape:
    """The settings of a plan other than epsilon."""

    method: str
    rows: int
    columns: int
    delta: float
    max_rows: int  # of a unit that count in full
    weighted: bool

    def expected(self, epsilon: float) -> Expected:
        known = {name: self.measure(name, epsilon) for name in PLANNED[self.method]}
        needed = None
        if self.method == "tukey":
            needed = TukeyRegressor(epsilon, self.delta).rows_needed(self.columns)
        return Expected(epsilon, **known, rows_needed=needed)

    def measure(self, name: str, epsilon: float) -> Range | None:
        """Return a measure at an epsilon, or None."""
        curve = curve_of(_CURVES.get(self.method, self.method), name)
        # Rows of a unit that count in full are not independent: no interval is given.
        if curve is None or (self.max_rows > 1 and name in _LINES[:3]):
            return None
        if self.method in _GROUPED:
            return self._of_groups(name, epsilon, curve)
        if self.method in _PURE:
            shared = self.max_rows * (self.columns if self.method in _SHARED else 1)
            part = PURE_PART if self.weighted else 1.0
            return curve.at(**{"epsilon times rows": part * epsilon * self.rows / shared})
        mu = gaussian_mu(Budget(epsilon, self.delta)) / self.max_rows
        mu *= GAUSSIAN_PART if self.weighted else 1.0
        return curve.at(rows=self.rows, columns=self.columns, mu=mu)

    def _of_groups(self, name: str, epsilon: float, curve: Curve) -> Range | None:
        """Return the error of a mean by the noise that a dry run states, or that of a quartile."""
        own, alone = self._noise(name, epsilon, self.columns), self._noise(name, 1.0, 1)
        likely = own.deviation / self.rows
        found: Range | None = Range(likely / 2.0, likely, 2.0 * likely)
        if name == "quantile":
            likely = 0.0
            found = curve.at(**{"epsilon times rows": own.blocks / alone.blocks * self.rows})
        if likely > _SHOWN or (self.method == "describe" and self.rows <= own.seen):
            return Range(WIDEST, WIDEST, WIDEST)
        # A group may be all rows that have values, or a part of them.
        return evolve(found, high=WIDEST) if found and self.rows <= 2.0 * own.seen else found

    def _noise(self, name: str, epsilon: float, columns: int) -> GroupNoise:
        """Return the noise of a release of what a measure is of."""
        numbers, described = [*range(1, columns + 1)], self.method == "describe"
        read = [numbers if described or name == each else [] for each in ("error", "quantile")]
        groups = [()] if described else [(0,)]
        release: Any = tabulation(Budget(epsilon, self.delta), "add-remove", [(0,)], groups, *read)
        if self.weighted:
            release = weighted(release, Weighting(""))
        return cast("GroupNoise", group_noise(release.for_rows_per_unit(self.max_rows)))


def _smallest(shape: _Shape, name: str, most: float, end: str) -> float | None:
    """Return the smallest epsilon from which on a measure's end is at most `most`, rounded up."""
    enough = None
    for step in range(_DECADES * _STEPS, -1, -1):
        epsilon = _FROM * 10.0 ** (step / _STEPS)
        found = shape.measure(name, epsilon)
        if found is None or getattr(found, end) > most:
            break
        enough = epsilon
    if enough is None:
        return None
    digits = 10.0 ** (math.floor(math.log10(enough)) - 1)
    return float(f"{math.ceil(enough / digits - 1e-9) * digits:.2g}")


def _listed(epsilon: Epsilons) -> Sequence[float]:
    if epsilon is None:
        return EPSILONS
    # A text is one value, which the check of numbers refuses.
    several = isinstance(epsilon, Sequence) and not isinstance(epsilon, str | bytes)
    return epsilon if several and epsilon else (epsilon,)  # type: ignore[return-value]


def _wanted(want: object, method: str) -> tuple[str, float]:
    """Split what is wanted into a measure and a number."""
    words = want.split() if isinstance(want, str) else []
    own = _CURVES.get(method, method)
    names = [each for each in PLANNED[method] if each != "hidden" and curve_of(own, each)]
    if not names:
        raise ParameterError(
            f"{parameter_name('want')} is given, but there are no forecasts for {method} "
            "(leave it out, or choose another method)"
        )
    most = 0.0
    if len(words) == 2 and words[0] in names:
        try:
            most = float(words[1])
        except ValueError:
            most = 0.0
    if not 0.0 < most < math.inf:
        raise ParameterError(
            f"{parameter_name('want')} is {one_line(want)!r}; expected one of {', '.join(names)} "
            f"and the most it may be (for example '{names[0]} 0.1')"
        )
    return words[0], most
