"""Releases of every kind of file, and the bits of everything they say."""

from __future__ import annotations

import functools
import struct

import attrs
import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator

import nolook
from tests.report.hand_made import counted, current, fitted, probable, unclipped, withheld

ROWS = 400
GRID = nolook.LinearGrid(0.125, 1, 0.125)


# No test may fail by chance.
SEED = {"random_state": 1}
GENERATOR = np.random.default_rng(0)
SCORES, _OTHER = GENERATOR.random((2, ROWS))
X = np.column_stack([SCORES, _OTHER])
HAPPENED = GENERATOR.random(ROWS) < SCORES
COUNTS = GENERATOR.poisson(4.0 * SCORES)
ANSWERS = np.where(HAPPENED, "yes", "no")
TABLE = pa.table({
    "a": SCORES,
    "b": _OTHER,
    "c": ["Bern", "Basel"] * (ROWS // 2),
    "y": SCORES * 9,
    "z": ANSWERS,
})  # fmt: skip


def read(target, others=(None,), **options):
    """Open the table, with a column of categories."""
    columns = ["a", "b", "c"]
    levels = {"c": ["Bern", "Basel", *others]}
    return nolook.read_table(TABLE, target, features=columns, categories=levels, **options)


def three_groups():
    """Open numbers and three groups, which differ in them."""
    names = np.array(["low", "middle", "high"])
    rows = pa.table({"a": SCORES, "g": names[np.digitize((SCORES + _OTHER) / 2, [0.4, 0.6])]})
    return nolook.read_table(rows, False, features=["a", "g"], categories={"g": [*names]})


def of_pairs():
    """Open counts of which both rows of every unit count in full."""
    who = np.arange(ROWS) // 2
    rows = pa.table({"a": COUNTS, "z": HAPPENED, "y": SCORES > 0.5, "who": who})
    return nolook.read_table(rows, features=["a", "z", "y"], unit="who", rows_per_unit=2)


def crossed():
    """A table of three columns of true and false, two of which go together."""
    columns = {"a": HAPPENED, "b": SCORES > 0.5, "c": _OTHER > 0.5}
    return nolook.read_table(pa.table(columns), False)


def bent():
    """A table whose target is bent in its first column."""
    x = np.random.default_rng(0).normal(size=(5_000, 2))
    return x, x[:, 0] ** 2 + 0.1 * x[:, 1]


def extreme():
    """A linear model with ends far away, intervals of NaN, and zeros of either sign."""
    model = counted(current(unclipped(fitted(("a", "b", "c", "y")))))
    model.coef_ = np.array([-0.0, 5e-324, -1.7976931348623157e308])
    model.intercept_ = -0.0
    model.target_range_ = (-1.7976931348623157e308, 0.1 + 0.2)
    model.weight_norm_ = np.inf
    return withheld(model, 0, -1)


def pipeline(selector, model):
    """Put a selection and a model together."""
    return nolook.PrivatePipeline(selector, model, epsilon=8.0, delta=1e-6)


def seeded():
    """A model that is not private."""
    return nolook.LinearRegression(random_state=1).fit(X, HAPPENED)


_MAKERS = {
    "linear model": [
        extreme,
        lambda: nolook.LinearRegression(8.0, 1e-6, k=2, **SEED).fit(read("y")),
        lambda: nolook.LinearRegression(0.01, 1e-6, **SEED).fit(X, SCORES),
        lambda: nolook.TukeyRegressor(1.0, 1e-6, on_failure="constant", **SEED).fit(X, SCORES),
        lambda: nolook.AdaSSPRegressor(**SEED).fit(X, SCORES),
    ],
    "additive model": [
        lambda: nolook.AdditiveRegression(8.0, 1e-6, **SEED).fit(*bent()),
        lambda: nolook.AdditiveRegression(
            8.0, 1e-6, straight=["a"], monotone={"b": "down"}, **SEED
        ).fit(read("y")),
        lambda: nolook.AdditiveRegression(0.01, 1e-6, **SEED).fit(X, SCORES),
    ],
    "logistic model": [
        lambda: nolook.LogisticRegression(8.0, 1e-6, **SEED).fit(
            read("z", positive="yes", negative="...")
        ),
        lambda: nolook.LogisticRegression(8.0, 1e-6, classes=("no", "yes"), **SEED).fit(X, ANSWERS),
        lambda: nolook.LogisticRegression(0.01, 1e-6, **SEED).fit(X, HAPPENED),
    ],
    "additive logistic model": [
        lambda: nolook.AdditiveClassifier(8.0, 1e-6, **SEED).fit(bent()[0], bent()[1] > 0.0),
        lambda: nolook.AdditiveClassifier(8.0, 1e-6, straight=["a"], **SEED).fit(
            read("z", positive="yes", negative="...")
        ),
        lambda: nolook.AdditiveClassifier(0.01, 1e-6, **SEED).fit(X, HAPPENED),
    ],
    "additive count model": [
        lambda: nolook.AdditivePoissonRegression(8.0, 1e-6, **SEED).fit(
            bent()[0], np.floor(np.exp(bent()[1]))
        ),
        lambda: nolook.AdditivePoissonRegression(
            8.0, 1e-6, exposure="b", monotone={"a": "up"}, **SEED
        ).fit(read("y")),
        lambda: nolook.AdditivePoissonRegression(0.01, 1e-6, **SEED).fit(X, COUNTS),
    ],
    "count model": [
        lambda: nolook.PoissonRegression(8.0, 1e-6, exposure="b", **SEED).fit(read("y")),
        lambda: nolook.PoissonRegression(8.0, 1e-6, **SEED).fit(X, COUNTS),
        lambda: nolook.PoissonRegression(0.01, 1e-6, **SEED).fit(X, COUNTS),
        lambda: nolook.PoissonRegression(0.01, 1e-6, "b", **SEED).fit(read("y")),
    ],
    "pipeline": [
        lambda: pipeline(nolook.KendallSelector(k=1, **SEED), nolook.LinearRegression(**SEED)).fit(
            read("y")
        ),
        lambda: pipeline(nolook.SISSelector(k=1, **SEED), nolook.LogisticRegression(**SEED)).fit(
            X, HAPPENED
        ),
        lambda: pipeline(nolook.KendallSelector(k=1, **SEED), nolook.PoissonRegression(**SEED)).fit(
            X, COUNTS
        ),
        lambda: pipeline(nolook.LassoSelector(k=1, **SEED), nolook.AdaSSPRegressor(**SEED)).fit(
            X, SCORES
        ),
        lambda: pipeline(nolook.MomentSelector(k=1, **SEED), nolook.AdaSSPRegressor(**SEED)).fit(
            read("y")
        ),
    ],
    "selection": [
        lambda: nolook.KendallSelector(k=2, **SEED).fit(read("y")),
        lambda: nolook.MomentSelector(k=1, **SEED).fit(X, SCORES),
    ],
    "distribution": [
        lambda: nolook.ECDF(1.0, **SEED).fit(SCORES),
        lambda: nolook.ECDF(1.0, GRID, 1e-6, **SEED).fit(SCORES),
        lambda: nolook.ECDF(1.0, nolook.LogGrid(1, 9, 0.1), relation="replace", **SEED).fit(SCORES),
        lambda: nolook.ECDF(1.0, GRID, **SEED).fit(
            nolook.read_table(TABLE, features=["a"], weights="b")
        ),
    ],
    "quantiles": [
        lambda: nolook.quantiles(X, grids={"x1": GRID}, **SEED),
        lambda: nolook.quantiles(X, [0.0, 1.0], **SEED),
    ],
    "ROC curve": [
        lambda: nolook.ROCCurve(**SEED).fit(SCORES, HAPPENED),
        lambda: nolook.ROCCurve(1.0, GRID, "yes", "replace", **SEED).fit(SCORES, ANSWERS),
    ],
    "calibration": [lambda: nolook.HosmerLemeshow(5.0, groups=4, **SEED).fit(SCORES, HAPPENED)],
    "evaluation": [
        lambda: nolook.evaluate(probable(1.0), SCORES[:, np.newaxis], HAPPENED, groups=3, **SEED),
        lambda: nolook.evaluate(seeded(), X, HAPPENED, other_rows=True, **SEED),
    ],
    "tabulation": [
        lambda: nolook.tabulate(read(False, ()), "c", mean="a", median="b", share="c=Bern", **SEED),
        lambda: nolook.tabulate(read("y"), [["c"], []], mean=["y"], epsilon=8.0, **SEED),
        lambda: nolook.tabulate(X, mean="x0", quantiles=[0.1], median="x1", delta=0.0, **SEED),
        lambda: nolook.tabulate(crossed(), all_pairs=[*"abc"], epsilon=4.0, **SEED),
    ],
    "description": [
        lambda: nolook.describe(read("y", ()), **SEED),
        lambda: nolook.describe(X, epsilon=0.001, **SEED),
    ],
    "group comparison": [
        lambda: nolook.compare_groups(read(False, ()), "a", "c", epsilon=8.0, **SEED),
        lambda: nolook.compare_groups(read(False), "b", "c", epsilon=0.1, **SEED),
        lambda: nolook.compare_groups(three_groups(), "a", "g", epsilon=8.0, **SEED),
    ],
    "survival curve": [
        lambda: nolook.survival(read(False, ()), "a", "c", epsilon=8.0, **SEED),
        lambda: nolook.survival(
            pa.table({"a": COUNTS, "z": HAPPENED, "y": SCORES > 0.5}),
            "a",
            "z",
            "y",
            epsilon=4.0,
            **SEED,
        ),
        lambda: nolook.survival(
            pa.table({"a": SCORES, "z": HAPPENED, "y": SCORES > 0.5}),
            "a",
            "z",
            "y",
            epsilon=0.1,
            **SEED,
        ),
        lambda: nolook.survival(
            pa.table({"a": SCORES, "z": SCORES < 0.05}), "a", "z", epsilon=8.0, **SEED
        ),
        lambda: nolook.survival(of_pairs(), "a", "z", "y", epsilon=8.0, **SEED),
    ],
    "cross-validation": [
        lambda: nolook.cross_validate(
            nolook.LinearRegression(**SEED), X, SCORES, epsilon=8, folds=2, **SEED
        ),
        lambda: nolook.cross_validate(nolook.TukeyRegressor(**SEED), X, SCORES, folds=2, **SEED),
        lambda: nolook.cross_validate(
            nolook.LogisticRegression(**SEED), X, HAPPENED, epsilon=8, folds=2, **SEED
        ),
    ],
}
KINDS = list(_MAKERS)
EVERY = [(kind, place) for kind in KINDS for place in range(len(_MAKERS[kind]))]


@functools.cache
def _release(kind, place):
    return _MAKERS[kind][place]()


def release(kind, place=0):
    """Return a release of a kind, one of several."""
    return _release(kind, place)


# What a file does not keep: seeds, the models judged, the working counts of a fit, and parameters
# that others repeat (the guarantee has the budget, labels the classes).
_NOT_KEPT = frozenset({
    *("random_state", "model", "models", "histograms", "median", "n_models_"),
    *("epsilon", "delta", "classes", "selector", "regressor"),
})  # fmt: skip


def bits(value, path=""):
    """Yield all that a release says, given or derived, by its place; numbers bit for bit."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path, str(value.dtype), value.shape, value.tobytes()
    elif isinstance(value, bool | np.bool_):
        yield path, bool(value)
    elif isinstance(value, int | float | np.number):
        yield path, struct.pack("<d", value)
    elif isinstance(value, list | tuple | np.ndarray):
        yield path, len(value)
        for place, entry in enumerate(value):
            yield from bits(entry, f"{path}[{place}]")
    elif isinstance(value, str) or value is None:
        yield path, value
    else:
        named = value if isinstance(value, dict) else _attributes(value)
        yield path, type(value).__name__
        for key in sorted(named.keys() - _NOT_KEPT):
            yield from bits(named[key], f"{path}.{key}")


def _attributes(value):
    """Return what an object says by name; what it does not know is as if it were not there."""
    if attrs.has(type(value)) and not isinstance(value, BaseEstimator):
        return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    names = [name for name in dir(value) if name.endswith("_") and not name.startswith("_")]
    found = {name: getattr(value, name, None) for name in names} | value.get_params(deep=False)
    return {k: v for k, v in found.items() if v is not None and not callable(v)}
