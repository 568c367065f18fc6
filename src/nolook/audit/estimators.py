"""Audits of every public estimator, from the table to a number that its users see.

A whole release reveals less of a row than its parts: they share the budget, and one number of the
result says little. So these audits have less power than those of the parts, and claim none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from nolook.algorithms.grids import LinearGrid
from nolook.audit.audit_case import (
    Case,
    Neighbours,
    gaussian_case,
    one_by_one,
    pure_case,
    with_row,
)
from nolook.estimators.adassp import AdaSSPRegressor
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.catalogue import COUNTS, METHODS
from nolook.estimators.comparison import GroupComparison, compare_groups
from nolook.estimators.cross_validation import cross_validate
from nolook.estimators.ecdf import ECDF
from nolook.estimators.kendall import KendallSelector
from nolook.estimators.lasso import LassoSelector
from nolook.estimators.logistic import LogisticRegression
from nolook.estimators.moment import MomentSelector
from nolook.estimators.pipeline import PrivatePipeline
from nolook.estimators.quantiles import quantiles
from nolook.estimators.roc import ROCCurve
from nolook.estimators.scaler import QuantileScaler
from nolook.estimators.sis import SISSelector
from nolook.estimators.survival import SurvivalCurve, survival
from nolook.estimators.tabulation import tabulate
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import ByteSource
from nolook.tables import Table, read_table
from nolook.tables.read import read_scores

__all__ = ["cases"]

#: Fits on each table.
_RUNS = 2_000

# Budgets are large: smaller ones cannot be seen with so few fits.
_EPSILON = 8.0
_DELTA = 1e-2
_PURE_EPSILON = 2.0

#: Rows of the unit that is added, removed or replaced.
_UNIT_ROWS = 1_000

Score: TypeAlias = Callable[[Any], Any]


@frozen
class _Audited:
    """An estimator, the tables it sees, and the number of a result that tells them apart."""

    name: str
    make: partial[Any]
    tables: Neighbours
    score: Score
    neighbours: str
    mu: float | None = None  # claimed instead of the budget
    scored: bool = False  # the tables are scores and classes


# What few fits can show, and in little time.
_PARAMETERS: dict[str, dict[str, object]] = {
    "boosted-adassp": {"n_rounds": 10},
    "tukey": {"n_models": 100, "on_failure": "constant"},
}
# On so few rows there are no curves: what these draw is what the models of lines draw.
_ALIKE = {
    "LogisticRegression": ("AdditiveClassifier",),
    "PoissonRegression": ("AdditivePoissonRegression",),
}
# Methods with Gaussian noise alone: their budget is a mu.
_GAUSSIAN = ("linear", "additive", "adassp", "boosted-adassp", "poisson")


def cases() -> tuple[Case, ...]:
    """Return the cases; their budgets are fixed."""
    mu = gaussian_mu(Budget(_EPSILON, _DELTA))
    scaler = _Audited(
        name="QuantileScaler",
        make=_whole(QuantileScaler),
        neighbours="one more of two equal rows",
        tables=((np.full((2, 1), 1.5),), (np.full((3, 1), 1.5),)),
        score=lambda fitted: fitted.scale_[0],
        mu=mu,
    )
    line = np.linspace(-1.0, 1.0, 300)
    near, far_row = with_row(line[:, np.newaxis], line, [1e6], -1e6)
    far = partial(
        _Audited,
        neighbours="a row far from all others, with a target as far on the other side",
        tables=(near, far_row),
    )
    methods = (
        far(
            name=entry.kind,
            make=_whole(entry.load(), **_PARAMETERS.get(name, {})),
            score=lambda fitted: fitted.coef_[0],
            mu=mu if name in _GAUSSIAN else None,
        )
        for name, entry in (METHODS | COUNTS).items()
        if entry.kind not in chain(*_ALIKE.values())
    )
    logistic = far(
        name="LogisticRegression",
        make=_whole(LogisticRegression),
        neighbours="a row far from all others, of the class of the other side",
        tables=((near[0], near[1] > 0.0), (far_row[0], far_row[1] > 0.0)),
        score=lambda fitted: fitted.coef_[0],
        mu=mu,
    )
    folds = far(
        name="cross_validate",
        make=_whole(partial(_Fitted, cross_validate, AdaSSPRegressor(), folds=2)),
        score=lambda found: found.models[0].coef_[0],
        mu=mu,
    )
    rows = (scaler, *methods, logistic, folds, *_selectors(mu), *_distributions(), *_scores())
    return tuple(_case(each) for each in (*rows, *_weighted(), *map(_of_units, rows)))


def _selectors(mu: float) -> tuple[_Audited, ...]:
    order, votes = np.arange(6.0), np.arange(120) % 2 == 0
    chosen = partial(_Audited, score=lambda fitted: fitted.support_[0])
    ordered = partial(
        chosen,
        neighbours="a row against the order in the best of two columns, with it in the other",
        tables=with_row(np.outer(order, [1.0, 0.0]), order, [-1.0, 1.0], 6.0),
    )
    return (
        ordered(name="PrivatePipeline", make=_whole(_pipeline)),
        ordered(name="KendallSelector", make=_pure(KendallSelector, k=1)),
        ordered(name="SISSelector", make=_pure(SISSelector, k=1)),
        ordered(name="MomentSelector", make=_whole(MomentSelector, k=1), mu=mu),
        chosen(
            name="LassoSelector",
            make=_pure(LassoSelector, k=1, n_models=4),
            neighbours="a row that turns the vote of its block",
            tables=with_row(np.outer(votes, [1.0, 0.0]), 1.0 * votes, [0.0, 1e6], 1e6),
        ),
    )


def _distributions() -> tuple[_Audited, ...]:
    grid = LinearGrid(0.0, 1.0, 1.0)
    one_more = (np.zeros((8, 2), np.bool_),), (np.arange(9)[:, np.newaxis] // [8, 9] == 1,)
    ecdf = partial(_Audited, score=lambda fitted: fitted.distribution_.counts[0])
    return (
        ecdf(
            name="ECDF",
            make=_pure(ECDF, grid=grid),
            neighbours="a value more in the first of two cells",
            tables=((np.zeros(3),), (np.zeros(4),)),
        ),
        ecdf(
            name="ECDF-replace",
            make=_pure(ECDF, grid=grid, relation="replace"),
            neighbours="a value moved from the first of two cells to the second",
            tables=((np.array([0.0, 0.0, 0.0]),), (np.array([0.0, 0.0, 1.0]),)),
        ),
        _Audited(
            name="quantiles",
            make=_pure(partial(_Fitted, quantiles, p=[0.1], grids={"x0": grid})),
            neighbours="a value below all others",
            tables=((np.ones((8, 1)),), (np.append(np.ones(8), 0.0)[:, np.newaxis],)),
            score=lambda found: np.ravel(found.values)[0],
        ),
        _Audited(
            name="tabulate",
            make=_pure(partial(_Fitted, tabulate, by="x0")),
            neighbours="a row more, alone in its group",
            tables=((np.zeros((8, 1), np.bool_),), (np.arange(9)[:, np.newaxis] == 8,)),
            score=lambda found: found.measured[0].estimates.value[2],
        ),
        _Audited(
            name="compare_groups",
            make=_pure(partial(_Fitted, compare_groups, value="x1", by="x0")),
            neighbours="a row more, alone in its group",
            tables=one_more,
            score=partial(_last_cell, place=1),
        ),
        _Audited(
            name="survival",
            make=_pure(partial(_Fitted, survival, time="x1", event="x0")),
            neighbours="a row more, the only event",
            tables=one_more,
            score=partial(_last_cell, place=0),
        ),
    )


def _weighted() -> tuple[_Audited, ...]:
    """Return the cases of rows whose survey weights are far above all others."""
    rows = pa.table({"x0": np.zeros(5), "w": [1.0] * 3 + [1e300] * 2, "id": [0, 1, 2, 3, 3]})
    read = partial(read_table, features=["x0"], weights="w")
    several = partial(read, unit="id", rows_per_unit=2)
    weighted = partial(
        _Audited,
        make=_pure(ECDF, grid=LinearGrid(0.0, 1.0, 1.0)),
        score=lambda fitted: fitted.distribution_.counts[0],
    )
    return (
        weighted(
            name="ECDF-weights",
            neighbours="a value more in the first of two cells, of weight 1e300",
            tables=((read(rows[:3]),), (read(rows[:4]),)),
        ),
        weighted(
            name="ECDF-weights-units",
            neighbours="two such values more, of one unit, both in full",
            tables=((several(rows[:3]),), (several(rows),)),
        ),
    )


def _last_cell(found: GroupComparison | SurvivalCurve, place: int) -> float:
    """Return the number of rows of a group in the cell that holds 1."""
    cells = found.forests.groups[place].cells
    return float(cells[min(int(np.searchsorted(found.forests.points, 1.0)), cells.size - 1)])


def _scores() -> tuple[_Audited, ...]:
    grid = LinearGrid(0.0, 1.0, 1.0)
    scores, target = np.repeat([0.0, 1.0], 4), np.tile([0, 1], 4)
    scored = partial(
        _Audited,
        scored=True,
        tables=((scores, target), (np.append(scores, 0.0), np.append(target, 1))),
    )
    roc = partial(scored, score=lambda fitted: fitted.positive_.cdf(0.0) * fitted.n_positive_)
    return (
        roc(
            name="ROCCurve",
            make=_pure(ROCCurve, grid=grid),
            neighbours="a positive row more with the lowest score",
        ),
        roc(
            name="ROCCurve-replace",
            make=_pure(ROCCurve, grid=grid, relation="replace"),
            neighbours="the target of a row with the lowest score",
            tables=((scores, target), (scores, np.append(1, target[1:]))),
        ),
        scored(
            name="HosmerLemeshow",
            make=_pure(HosmerLemeshow, groups=2),
            neighbours="a positive row more with the lowest probability",
            score=lambda fitted: fitted.table_.positives[0],
        ),
    )


def _whole(make: Callable[..., Any], **parameters: object) -> partial[Any]:
    return partial(make, epsilon=_EPSILON, delta=_DELTA, **parameters)


def _pure(make: Callable[..., Any], **parameters: object) -> partial[Any]:
    return partial(make, epsilon=_PURE_EPSILON, **parameters)


def _case(audited: _Audited) -> Case:
    """Return the case of one estimator; it claims its budget, or the mu of it."""
    given, tables = audited.make.keywords, audited.tables
    name = audited.name.removesuffix("-units").removesuffix("-replace")
    promised = (
        gaussian_case(audited.mu)
        if audited.mu is not None
        else partial(pure_case(given["epsilon"]), delta=given.get("delta", 0.0))
    )

    def one(table: int, source: ByteSource) -> float:
        seed = int(source.words(1)[0])
        return float(audited.score(audited.make(random_state=seed).fit(*tables[table])))

    return promised(
        name=audited.name,
        neighbours=audited.neighbours,
        relation=given.get("relation", "add-remove"),
        covers=(name, *_ALIKE.get(name, ())),
        draw=one_by_one(one),
        runs=_RUNS,
        power=0.0,
    )


def _of_units(audited: _Audited) -> _Audited:
    """Return the same where every row is a unit, the one that differs with many equal rows."""
    first, second = audited.tables
    if len(first[0]) < len(second[0]):
        place = len(second[0]) - 1
    else:
        unlike = [np.asarray(one) != other for one, other in zip(first, second, strict=True)]
        place = int(np.flatnonzero(np.any([np.ravel(each) for each in unlike], axis=0))[0])
    return evolve(
        audited,
        name=f"{audited.name}-units",
        neighbours=f"{audited.neighbours}: a unit of {_UNIT_ROWS:,} rows",
        tables=(
            (_opened(first, place, audited.scored),),
            (_opened(second, place, audited.scored),),
        ),
    )


def _opened(columns: tuple[Any, ...], place: int, scored: bool) -> Table:
    """Open columns with one row many times; its unit is one, all others have a row."""
    times = np.ones(len(columns[0]), dtype=np.int64)
    times[place : place + 1] = _UNIT_ROWS
    X, *target = (np.repeat(each, times, axis=0) for each in columns)
    cells = {f"x{i}": column for i, column in enumerate(X.reshape(len(X), -1).T)}
    own = {"id": np.repeat(np.arange(times.size), times), **dict(zip(["y"], target, strict=False))}
    rows = pa.table(own | cells)
    how: dict[str, Any] = {"unit": "id", "missing": "zero"}  # no row may be left out
    if scored:
        return read_scores(rows, "x0", "y", "1", "...", **how)
    return read_table(rows, "y" if target else None, features=list(cells), **how)


def _pipeline(epsilon: float, delta: float, random_state: int) -> PrivatePipeline:
    return PrivatePipeline(
        KendallSelector(1, random_state=random_state),
        AdaSSPRegressor(random_state=random_state),
        epsilon=epsilon,
        delta=delta,
        split=0.9,
    )


class _Fitted:
    """A function of a table as an estimator."""

    def __init__(self, ask: Callable[..., Any], *given: object, **parameters: object) -> None:
        self.fit = partial(ask, *given, **parameters)
