"""Tables of groups: counts, means, shares and quantiles within one budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, combinations, compress
from typing import TypeAlias, TypeVar

from attrs import evolve, frozen
from numpy.typing import ArrayLike

from nolook._defaults import SHAPE
from nolook._language import parameter_name, usage_hint
from nolook._validation import check_names
from nolook.algorithms.group_estimates import (
    Groups,
    count_of,
    estimate_of,
    moments_of,
    quantiles_of,
    share_of,
)
from nolook.algorithms.margins import Dimensions, subsets
from nolook.algorithms.tabulation import (
    MOST_NUMBERS,
    Released,
    TabulationRelease,
    tabulation,
)
from nolook.errors import ParameterError
from nolook.estimators._checks import as_table, check_budget, check_relation, check_shares
from nolook.estimators.releasing import Progress, release
from nolook.estimators.tabulated import Description, Measured, Tabulation
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget, PrivacyGuarantee, PureEvent, Relation
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.release import Plan
from nolook.tables import Table
from nolook.tables.design import Columns as SourceColumns
from nolook.tables.words import GAP, OTHERS

__all__ = [
    "Description",
    "Measured",
    "Tabulation",
    "coded_columns",
    "describe",
    "tabulate",
]

#: One table's columns, or several tables'.
By: TypeAlias = str | Sequence[str] | Sequence[Sequence[str]]
Columns: TypeAlias = str | Sequence[str]
#: Parameters and the columns they name.
Named: TypeAlias = Sequence[tuple[str, str]]

_MOST_COLUMNS = 3
_FEWEST_IN_PAIRS = 3


@frozen
class _Asked:
    """A request: the columns of groups and of measures, by name."""

    tables: tuple[tuple[str, ...], ...]
    means: tuple[str, ...] = ()
    quantiles: tuple[str, ...] = ()
    at: tuple[float, ...] = ()
    shares: tuple[tuple[str, str | None], ...] = ()
    described: bool = False
    searched: tuple[str, ...] = ()  # columns of groups whose levels are to be found
    pairs: bool = False  # whether tables are all pairs of columns, half of them counted again

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, those of groups first."""
        shares = [name for name, _ in self.shares]
        return tuple(dict.fromkeys((*chain(*self.tables), *shares, *self.means, *self.quantiles)))

    @property
    def _grouping(self) -> str:
        """The parameter that names columns of groups."""
        return "all_pairs" if self.pairs else "by"

    def _places(self, names: Sequence[str]) -> Dimensions:
        return tuple(sorted({*map(self.names.index, names)}))

    def release(self, budget: Budget, relation: Relation) -> TabulationRelease:
        """Plan the release."""
        tables = [self._places(each) for each in self.tables] or [()]
        shares = dict.fromkeys(name for name, _ in self.shares)
        split = [self._places((*each, name)) for each in self.tables or [()] for name in shares]
        if self.pairs:
            tables = subsets(tables)[1:]
        counted = dict.fromkeys((*(() if split else tables), *split))
        grouped = [()] if self.described else tables
        return tabulation(
            budget, relation, [*counted], grouped, self._places(self.means),
            self._places(self.quantiles), searched=self._places(self.searched),
            again=(len(self.tables) + 1) // 2 if self.pairs else 0,
        )  # fmt: skip

    def check(self, table: Table) -> Table:
        """Return the table of the columns as codes, or refuse columns of another type."""
        levels = [(self._grouping, name) for name in chain(*self.tables)]
        levels += [("share", name) for name, _ in self.shares]
        numbers = [("mean", name) for name in self.means]
        numbers += [("median", name) for name in self.quantiles]
        coded = coded_columns(table, levels, numbers, self.searched)
        if self.searched and coded.engine is not None:
            raise ParameterError(
                f"{parameter_name('find_levels')} is not available where {coded.engine} "
                "reads the rows (declare the levels, or leave out the engine)"
            )
        for column, value in self.shares:
            place = self.names.index(column)
            labels = coded.code_labels[place] or ()
            wanted = labels[1] if value is None and coded.binary[place] else value
            if wanted not in labels[:-1]:
                raise ParameterError(
                    f"{parameter_name('share')} is of {column!r}, whose levels do not include "
                    f"{wanted or 'true'!r}; expected a declared level "
                    f"({usage_hint('share', f'{column}={labels[len(labels) > 2]}')})"
                )
        # More numbers than fit a memory; levels are declared.
        sizes = [len(labels or ()) for labels in coded.code_labels]
        planned = evolve(self, searched=()).release(Budget(1.0), "add-remove")
        if planned.numbers_of(sizes) > MOST_NUMBERS:
            groups = sum(math.prod(sizes[d] for d in each) for each in planned.grouped)
            raise ParameterError(
                f"{parameter_name(self._grouping)} makes {groups:,} groups of the declared levels, "
                "too many for the measures asked; expected fewer columns, levels or quantiles"
            )
        return coded

    def measures(self, released: Released) -> Iterator[Measured]:
        """Return the measures that follow from a release: post-processing."""
        labels = released.labels
        sizes = [len(each or ()) for each in labels]
        groups = Groups.of(subsets([self._places(each) for each in self.tables] or [()]), sizes)
        own = Groups.of([()], sizes) if self.described else groups
        yield Measured("count", None, None, count_of(groups, released))
        if released.shrunk is not None:
            yield Measured("estimate", None, None, estimate_of(groups, released.shrunk))
        for place, known in enumerate(labels if self.described else ()):
            for code, value in enumerate(known or ()):
                one = share_of(own, released, place, code, len(known or ()))
                yield Measured("share", self.names[place], value, one)
        for name, level in self.shares:
            place = self.names.index(name)
            known = (labels[place] or ())[:-1]
            code = 1 if level is None else known.index(level)
            one = share_of(groups, released, place, code, len(known))
            yield Measured("share", name, level, one)
        for name in self.means:
            kinds, place = ("values", "missing", "mean", "sum", "deviation"), self.names.index(name)
            moments = moments_of(own, released, place)
            if self.described:
                clear = moments[2].tells_more(*quantiles_of(own, released, place, (0.25, 0.75)))
                moments = (*moments[:2], *(each.where(clear) for each in moments[2:]))
            for kind, one in zip(kinds, moments, strict=True):
                yield Measured(kind, name, None, one)
        for name in self.quantiles:
            found = quantiles_of(own, released, self.names.index(name), self.at)
            for at, one in zip(self.at, found, strict=True):
                yield Measured("quantile", name, at, one)


def coded_columns(
    table: Table, levels: Named, numbers: Named, searched: Sequence[str] = ()
) -> Table:
    """Return columns as codes, those of levels first; refuse columns of another type.

    Columns are pairs of the parameter that names one and its name; `searched` are those whose
    levels are to be found.
    """
    names, both = table.as_codes().column_names, (*levels, *numbers)
    for parameter, name in both:
        if name not in names:
            SourceColumns(table._source).find(name, parameter)  # raises if there is none
            raise ParameterError(
                f"{parameter_name(parameter)} names {name!r}, which is not a column in use (add "
                f"{usage_hint('features', [name])}; a column of text also needs declared levels: "
                f"{usage_hint('categories', {name: ['A', 'B']})})"
            )
    wanted = dict.fromkeys(name for _, name in both)
    coded = table.as_codes([*wanted] or names[:1], searched)  # rows have some column
    labels = dict(zip(wanted, coded.code_labels, strict=False))
    booleans = {*compress(coded.column_names, coded.binary)}
    for parameter, name in levels:
        if labels[name] is None:
            raise ParameterError(
                f"{parameter_name(parameter)} names {name!r}, which has no declared levels "
                f"({usage_hint('categories', {name: ['A', 'B']})}; to group numbers, a schema has "
                f"a column with bins_of = {name!r} and borders, to group dates month_of or year_of)"
            )
    for parameter, name in numbers:
        if labels[name] is not None and name not in booleans:
            raise ParameterError(
                f"{parameter_name(parameter)} names {name!r}, a category; expected numbers or a "
                "boolean (two words in a schema: type = 'boolean', true = ['yes'], false = ['no'])"
            )
    return coded


def tabulate(  # noqa: PLR0913 -- what may be asked
    X: Table | ArrayLike,
    by: By = (),
    *,
    mean: Columns = (),
    median: Columns = (),
    quantiles: Sequence[float] = (),
    share: Columns = (),
    find_levels: bool = False,
    all_pairs: Columns = (),
    epsilon: float = 1.0,
    delta: float = DEFAULT_DELTA,
    relation: str = "add-remove",
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> Tabulation:
    """Release counts, means, shares and quantiles of groups, with all margins and the total.

    For each group g, the count ``n_g = #{i in g}``, the mean ``sum_{i in g} y_i / n_g``, shares and
    quantiles.

    All groups of a table together cost as much as one. Groups come from declared levels, so an
    empty group also has a noisy count. No range is needed, and all margins agree. Without `mean`,
    `median`, `quantiles` or `share`, rows are counted.

    Guarantee
    ---------
    The result is (`epsilon`, `delta`)-differentially private when one row is added or removed (or
    replaced), or one unit with all its rows, in any number of groups, if the table names a unit.

    Parameters
    ----------
    X : Table, array or frame of shape (n_samples, columns)
        The columns of groups are booleans or have declared levels (:func:`nolook.read_table`).
        Missing values are a group of their own, and so are undeclared ones, unless a schema
        declares these missing.
    by : str, sequence of str, or sequence of these
        At most three columns, or several tables of at most three columns each.
    mean : str or sequence of str
        Columns of numbers, for which the number of values, mean, sum and standard deviation are
        released.
    median : str or sequence of str
        Columns of numbers whose medians are released.
    quantiles : sequence of float
        Further quantiles of the columns in `median`, as shares from 0 to 1.
    share : str or sequence of str
        Booleans, whose share of true is released, or "column=level".
    find_levels : bool, default=False
        For columns of groups without declared levels (``{"city": [None]}`` as `categories`): find
        the levels that enough rows or units have, with half of delta.
    all_pairs : sequence of str
        Instead of all of these: release the table of every pair of these columns. The half of the
        tables that are furthest from independence are counted a second time. In addition to the
        counts there are estimates, shrunk towards independence where noise dominates.
    epsilon : float, default=1.0
        Privacy loss, above 0.
    delta : float, default=1e-6
        Probability of a larger loss. The noise is Gaussian or Laplace, whichever is smaller;
        Laplace noise does not use delta, and the guarantee then has delta = 0.
    relation : {"add-remove", "replace"}, default="add-remove"
    ledger, progress, random_state
        As for :class:`nolook.ECDF` and its `fit`; the ledger is charged once.

    Returns
    -------
    Tabulation

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
    describe : Every column, without groups.
    compare_groups : Tests whether groups differ.

    Notes
    -----
    There are two 95 % intervals: for the noise, and in total, for noise and sampling. If up to C
    rows of a unit count in full, the part for sampling is an upper bound, sqrt(C) times that of
    independent rows: C identical rows of each unit need it. The total interval of a count or sum is
    for a sample of as many rows. The interval of a quantile ends at most at the range that was
    found. A mean is over the values present, clipped at a distance from the centre; its intervals
    include the effect of clipping, as far as the released counts show it.

    Examples
    --------
    >>> import nolook, numpy as np, pandas as pd
    >>> generator = np.random.default_rng(0)
    >>> visits = pd.DataFrame({"ward": generator.choice(["A", "B"], 5000)})
    >>> visits["cost"] = generator.normal(np.where(visits.ward == "A", 100.0, 200.0), 10.0)
    >>> table = nolook.read_table(visits, categories={"ward": ["A", "B"]})
    >>> found = nolook.tabulate(table, "ward", mean="cost", epsilon=2.0)
    >>> found.to_frame().mean_cost.round(-1).to_dict()
    {'all': 150.0, 'A': 100.0, 'B': 200.0, '...': nan, 'missing': nan}
    """
    budget = check_budget(epsilon, delta, pure=True)
    relation = check_relation(relation)
    table = as_table(X)
    columns = _names(median, "median")
    at = check_shares(quantiles, "quantiles").tolist()
    if at and not columns:
        raise ParameterError(
            f"{parameter_name('quantiles')} needs columns; give them as {parameter_name('median')}"
        )
    asked = _Asked(
        _by(by),
        _names(mean, "mean"),
        columns,
        tuple(sorted({0.5, *at})),
        tuple(_share(each, table.as_codes().column_names) for each in _names(share, "share")),
    )
    if pairs := _names(all_pairs, "all_pairs"):
        asked = _all_pairs(pairs, asked, find_levels=find_levels)
    elif find_levels:
        asked = evolve(asked, searched=_searched(asked, table, budget, relation))
    return _released(Tabulation, asked, table, budget, relation, ledger, progress, random_state)


def describe(
    X: Table | ArrayLike,
    *,
    epsilon: float = 1.0,
    delta: float = DEFAULT_DELTA,
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> Description:
    """Describe each column of a table within one budget.

    For numbers: the count, the mean ``sum x_i / n``, the sum, the standard deviation and quartiles.
    For categories and booleans: the number of rows with each level, with other values, and with
    missing values.

    Guarantee
    ---------
    That of :func:`tabulate`, when one row or unit is added or removed.

    Parameters
    ----------
    X : Table, array or frame of shape (n_samples, columns)
    epsilon, delta, ledger, progress, random_state
        As for :func:`tabulate`.

    Returns
    -------
    Description

    Raises
    ------
    ParameterError, TableError, BudgetExceededError
        As for :func:`tabulate`.

    See Also
    --------
    tabulate : The same measures by groups of rows.
    ECDF : All quantiles of one column.

    Examples
    --------
    >>> import nolook, numpy as np
    >>> found = nolook.describe(np.random.default_rng(0).normal(50.0, 10.0, (5000, 1)), epsilon=2.0)
    >>> frame = found.to_frame().set_index("what")
    >>> bool(abs(frame.value["mean"] - 50.0) < 1.0)
    True
    """
    budget = check_budget(epsilon, delta, pure=True)
    table = as_table(X)
    coded = table.as_codes()
    kinds = dict(zip(coded.column_names, coded.code_labels, strict=True))
    numbers = tuple(name for name, labels in kinds.items() if labels is None)
    tables = tuple((name,) for name in kinds if name not in numbers)
    asked = _Asked(tables, numbers, numbers, SHAPE, described=True)
    return _released(
        Description, asked, table, budget, "add-remove", ledger, progress, random_state
    )


_Kind = TypeVar("_Kind", Tabulation, Description)


def _released(
    kind: type[_Kind],
    asked: _Asked,
    table: Table,
    budget: Budget,
    relation: Relation,
    ledger: AnyLedger,
    progress: Progress | None,
    random_state: int | None,
) -> _Kind:
    planned = asked.release(budget, relation)
    if all(isinstance(each, PureEvent) for each in planned.costs):
        budget = Budget(budget.epsilon)  # Laplace noise needs no delta
    coded = asked.check(table)

    def read_off(released: Released, guarantee: PrivacyGuarantee) -> _Kind:
        unit = guarantee.unit
        # Sums of units' means would be taken for totals.
        measured = tuple(each.totals(unit.row_weight) for each in asked.measures(released)
                         if each.name != "sum" or not unit.is_shared)  # fmt: skip
        # Columns of groups come first.
        pairs = zip(dict.fromkeys(chain(*asked.tables)), released.labels, strict=False)
        levels = {name: labels or () for name, labels in pairs}
        read_options = table.read_options()
        for searched in asked.searched:
            *named, _, _ = levels[searched]
            read_options["categories"][searched] = [*named, None]
        own, rows = (asked.tables, levels, measured), released.rows.totals(unit)
        return kind(*own, rows=rows, privacy=guarantee, read_options=read_options)

    plan = Plan.of(planned, budget, random_state, relation=relation)
    return release(plan, lambda: coded, kind.kind, read_off, ledger, progress)


def _all_pairs(names: tuple[str, ...], others: _Asked, *, find_levels: bool) -> _Asked:
    """Return the request for all pairs of columns, next to which nothing else may be asked."""
    what = parameter_name("all_pairs")
    if others.names or find_levels:
        raise ParameterError(f"{what} is given next to other tables or measures; leave those out")
    if len(names) < _FEWEST_IN_PAIRS:
        raise ParameterError(
            f"{what} has {len(names)} columns; expected at least {_FEWEST_IN_PAIRS} (for two of "
            f"them: {usage_hint('by', [*names])})"
        )
    return _Asked(tuple(combinations(names, 2)), pairs=True)


def _searched(asked: _Asked, table: Table, budget: Budget, relation: Relation) -> tuple[str, ...]:
    """Return the columns of groups without declared levels; refuse where none can be found."""
    coded = table.as_codes()
    labels = dict(zip(coded.column_names, coded.code_labels, strict=True))
    groups = dict.fromkeys(chain(*asked.tables))
    found = tuple(name for name in groups if labels.get(name) == (OTHERS, GAP))
    what = parameter_name("find_levels")
    if not found:
        raise ParameterError(
            f"{what} is set, but all columns of groups have declared levels (leave it out)"
        )
    if budget.delta == 0.0:
        raise ParameterError(f"{what} needs a delta above 0 (for example 1e-6)")
    if relation == "replace":
        raise ParameterError(f"{what} needs {usage_hint('relation', 'add-remove')}")
    return found


def _names(given: object, parameter: str) -> tuple[str, ...]:
    """Return columns, one of them without a list."""
    listed = (given,) if isinstance(given, str) else given
    return () if isinstance(listed, Sized) and not len(listed) else check_names(listed, parameter)


def _by(given: object) -> tuple[tuple[str, ...], ...]:
    """Return the columns of each table."""
    tables: Iterable[object] = [given]
    if isinstance(given, Iterable) and not all(isinstance(each, str) for each in given):
        tables = given
    found = tuple(_names(each, "by") for each in tables)
    for each in found:
        if len(each) > _MOST_COLUMNS:
            raise ParameterError(
                f"{parameter_name('by')} has {len(each)} columns; expected at most {_MOST_COLUMNS} "
                "a table (several tables cost one release)"
            )
    return tuple(each for each in dict.fromkeys(found) if each or len(found) == 1)


def _share(given: str, columns: Sequence[str]) -> tuple[str, str | None]:
    """Return the column of a share, and its level where one is named."""
    name, equals, value = given.rpartition("=")
    return (given, None) if given in columns or not equals else (name, value)
