"""Every release withstands the replay attack, on tables that take each of its branches."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nolook
from tests.contracts.replay import attack, drawn_and_stated, recorded
from tests.contracts.test_costs import (
    RELEASES,
    UNDIVIDED,
    classes,
    data,
    exposed,
    scored,
)
from tests.report.hand_made import probable

EXTREME = [0.0, -0.0, 5e-324, 1e308, -1.7e308, 1e-300, 2.0**53 + 2, -1e15, 2.0**-1000, -3.7]
#: Rows, features and a number that targets follow, before they become those of a kind of model.
TABLES = {
    "ordinary": lambda g: (g.normal(size=(250, 4)) * [1.0, 20.0, 1e-3, 1.0], None),
    "no rows": lambda _: (np.empty((0, 4)), None),
    "one row": lambda g: (g.normal(size=(1, 4)), None),
    "nothing varies": lambda _: (np.zeros((200, 4)), np.zeros(200)),
    "no feature varies": lambda g: (np.zeros((250, 4)), g.normal(size=250)),
    "the target varies not": lambda g: (g.normal(size=(250, 4)), np.zeros(250)),
    "binary columns": lambda g: (g.integers(0, 2, size=(250, 4)).astype(float), None),
    "equal columns": lambda g: (np.repeat(g.normal(size=(250, 1)), 4, axis=1), None),
    "extreme": lambda g: (
        np.where(g.random((200, 4)) < 0.2, g.choice(EXTREME, (200, 4)), g.normal(size=(200, 4))),
        None,
    ),
}
#: Features, and the number that a target follows, of the row or rows that a neighbour has more.
MORE = {
    "far out": lambda _, rows: (np.full((rows, 4), 1e300), np.full(rows, -1e300)),
    "opposite": lambda _, rows: (
        np.tile([9.0, -200.0, 0.009, 5.0], (rows, 1)),
        np.full(rows, -9.0),
    ),
    "zeros": lambda _, rows: (np.zeros((rows, 4)), np.zeros(rows)),
    "any": lambda g, rows: (g.choice(EXTREME, (rows, 4)), g.choice(EXTREME, rows)),
}
#: What is protected: how many rows a unit has at most, how many the one more has, how they count.
UNITS = {
    "rows": None,
    "units": (4, 30, "weights"),
    "some rows of units": (4, 30, 2),
}


def _judged(table, epsilon, **_):
    return nolook.evaluate(probable(1.0, 0.0), table, epsilon=epsilon, other_rows=True)


def _folded(table, epsilon, model=nolook.LinearRegression, **_):
    return nolook.cross_validate(model(), table, folds=3, epsilon=epsilon)


def _quantiles(table, epsilon, delta=0.0):
    return nolook.quantiles(table, [0.1, 0.5], epsilon=epsilon, delta=delta)


def _fitted(make, table, epsilon):
    return make().set_params(epsilon=epsilon).fit(table)


#: What releases; which columns it reads. Samples cost less than what is drawn from them.
ATTACKED = {
    **{
        name: (partial(_fitted, make), arguments)
        for name, (make, _, arguments) in RELEASES.items()
        if "sample" not in name
    },
    "evaluate": (_judged, scored),
    "quantiles": (_quantiles, None),
    "quantiles-gaussian": (partial(_quantiles, delta=1e-6), None),
    "cross-validated": (_folded, data),
    "cross-validated-logistic": (partial(_folded, model=nolook.LogisticRegression), classes),
}
#: Parts of which a row takes part in some only, so that more is drawn than it costs.
PARALLEL = ("evaluate", "hosmer-lemeshow", "cross-validated", "cross-validated-logistic")
#: Whose number of rows is public: neighbours differ in one row.
REPLACES = ("ecdf-replace", "roc-replace")


def columns(kind, X, follows):
    """Return the columns that a kind of model reads, the target last."""
    if kind in {data, None}:
        return {f"x{j}": X[:, j] for j in range(4)} | ({} if kind is None else {"y": follows})
    named = {f"x{j}": X[:, j] for j in range(4)}
    if kind is classes:
        return named | {"y": follows > 0}
    if kind is exposed:
        with np.errstate(all="ignore"):
            return named | {"y": np.floor(np.abs(follows))}
    score = {"p": np.clip(np.nan_to_num(X[:, 0]), -1e300, 1e300)}
    return score | ({"y": follows > 0} if kind is scored else {})


def neighbours(kind, case, more, unit, replaces=False, seed=0):
    """Return two tables that differ in one row, or in one unit with all its rows."""
    generator = np.random.default_rng(seed)
    X, follows = TABLES[case](generator)
    if follows is None:
        with np.errstate(all="ignore"):
            follows = np.clip(X[:, 0] / max(1e-300, np.abs(X[:, 0]).max(initial=0.0)) * 3, -3, 3)
            follows = follows + generator.normal(size=len(X))
    most, extra, how = UNITS[unit] or (1, 1, None)
    ids = np.repeat(np.arange(len(X)), generator.integers(1, most + 1, len(X)))[: len(X)]
    row, target = MORE[more](generator, extra)
    other = MORE["zeros"](generator, extra)
    tables = []
    for rows in ([other] * replaces, [(row, target)]):
        parts = [(X, follows), *rows]
        made = columns(kind, *(np.concatenate(part) for part in zip(*parts, strict=True)))
        features = [name for name in made if name != "y"]
        options: dict[str, Any] = {"target": "y"} if "y" in made else {}
        if how is not None:
            made["id"] = np.append(ids, np.full(extra * len(rows), 10**6))
            options |= {"unit": "id", "rows_per_unit": how}
        tables.append(nolook.read_table(pa.table(made), features=features, **options))
    return tables


#: Of each release, every table, row more, unit and budget is tried every day, all of them in turn.
EVERY_DAY = {(i, i % 4, i % 3) for i in range(len(TABLES))}


def combinations():
    for n, name in enumerate(ATTACKED):
        for i, case in enumerate(TABLES):
            for j, more in enumerate(MORE):
                for k, unit in enumerate(UNITS):
                    if name in REPLACES and unit != "rows":
                        continue
                    daily = (i, (j + n) % 4, (k + n // 4) % 3) in EVERY_DAY
                    marks = [] if daily else [pytest.mark.slow]
                    yield pytest.param(name, case, more, unit, marks=marks)


@pytest.mark.parametrize(("name", "case", "more", "unit"), list(combinations()))
def test_neighbours_are_told_apart_by_what_the_guarantee_states_alone(name, case, more, unit):
    release, kind = ATTACKED[name]
    first, second = neighbours(kind, case, more, unit, name in REPLACES)
    for epsilon in (0.3, 30.0):
        replay = attack(partial(release, epsilon=epsilon), first, second)
        if replay.guarantee is not None and name not in PARALLEL:
            divided = UNITS[unit] is not None and UNITS[unit][2] != "weights"
            rows = UNITS[unit][2] if divided and name not in UNDIVIDED else 1
            (square, squares), (epsilons, sum_of_epsilons) = drawn_and_stated(replay)
            assert square * rows**2 <= squares * (1 + 1e-9), "more is drawn than is stated"
            assert epsilons * rows <= sum_of_epsilons * (1 + 1e-9), "more is drawn than is stated"
