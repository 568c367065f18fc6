"""Slopes of columns that are mostly one value, and their intervals.

All columns are numbers; no levels are declared. Next to the one that is tried there are four
ordinary ones, and the truth is the law that drew the rows. *Found*: the share of runs in which the
column has a slope. *Slope / truth*: the median of all runs, 0 where it has none, and the range of
eight runs in ten. *Covered*: of the intervals given, those that hold the truth. *Named*: the report
says that many of the column's values were clipped, so that its slope is about the clipped column.

    python -m benchmarks.sparse_columns [--output benchmarks/results/sparse_columns.md]
        [--runs 40] [--processes 2] [--kept FILE]
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import nolook
from benchmarks.harness import in_parallel, main
from nolook.report.model_words import words_of

EPSILON, DELTA = 1.0, 1e-6
ROWS = (20_000, 5_000)
#: Slopes of the other columns.
OTHERS = np.array([0.05, 0.5, -0.5, 0.0])
METHODS = {"linear": nolook.LinearRegression, "logistic": nolook.LogisticRegression}
#: Columns and their slopes.
COLUMNS = {
    "0.5 % ones": 1.0,
    "1 % ones": 1.0,
    "2 % ones": 1.0,
    "3 % ones": 1.0,
    "5 % ones": 1.0,
    "10 % ones": 1.0,
    "30 % ones": 1.0,
    "3 % twos, else 1": 1.0,
    "3 % ones, else 2": 1.0,
    "4 % from 0 to 99, else 999": 0.001,
    "2 % ones, 1 % fives": 0.4,
    "3 % counts": 0.5,
    "3 % log-normal": 0.0004,
    "1,500 ones, as many tens": 0.1,
    "net wealth": 2e-7,
}


def column(name, rows, generator):
    """Return a column, shape (rows,)."""
    u, normal = generator.random(rows), generator.normal(size=rows)
    if name.endswith("% ones"):
        return np.where(u < float(name.split()[0]) / 100, 1.0, 0.0)
    return {
        "3 % twos, else 1": np.where(u < 0.03, 2.0, 1.0),
        "3 % ones, else 2": np.where(u < 0.03, 1.0, 2.0),
        "4 % from 0 to 99, else 999": np.where(u < 0.04, np.floor(2500 * u), 999.0),
        "2 % ones, 1 % fives": np.where(u < 0.02, 1.0, np.where(u < 0.03, 5.0, 0.0)),
        "3 % counts": np.where(u < 0.03, 1.0 + generator.poisson(1.0, rows), 0.0),
        "3 % log-normal": np.where(u < 0.03, 1000.0 * np.exp(normal), 0.0),
        "1,500 ones, as many tens": np.select([u < 0.075, u < 0.15], [1.0, 10.0], 0.0),
        "net wealth": np.where(u < 0.15, -0.2, 1.0) * np.exp(10.0 + 2.0 * normal),
    }[name]


def drawn(name, rows, seed, classes):
    """Return rows of the column and four ordinary ones, and a target."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 5))
    X[:, 1] = 50.0 + 10.0 * X[:, 1]
    X[:, 2] = np.exp(X[:, 2] / 2.0)
    X[:, 0] = column(name, rows, generator)
    told = X @ np.append(COLUMNS[name], OTHERS)
    if classes:
        return X, generator.random(rows) < expit(told - np.median(told))
    return X, 3.0 + told + generator.normal(size=rows)


def fits(method, name, rows, runs):
    """Return slope, end, end and whether it is named, of each run; NaN for what is not given."""
    found = []
    for run in range(runs):
        model = METHODS[method](EPSILON, DELTA, random_state=run)
        model.fit(*drawn(name, rows, run, method == "logistic"))
        ends = [np.nan, np.nan] if model.coef_interval_ is None else model.coef_interval_[0]
        slope = float(model.coef_[0])
        named = slope != 0.0 and words_of(model).marked()[0]
        found.append([slope, *map(float, ends), float(named)])
    return found


def report(runs, processes, kept):
    """Yield how slopes and intervals do."""
    tasks = [(m, name, rows, runs) for m in METHODS for rows in ROWS for name in COLUMNS]
    found = in_parallel(fits, tasks, processes, kept)
    yield "# Columns that are mostly one value"
    yield ""
    yield (
        "Five columns, one of them as named and undeclared; errors of standard deviation 1, or two "
        f"classes. epsilon = {EPSILON:g}, delta = {DELTA:g}, {runs} runs."
    )
    yield "Printed by `python -m benchmarks.sparse_columns`."
    for method in METHODS:
        for rows in ROWS:
            yield ""
            yield f"## {method}, {rows:,} rows"
            yield ""
            yield "| column | found | slope / truth | 8 of 10 runs | covered | given | named |"
            yield "|---|---:|---:|---:|---:|---:|---:|"
            for name, truth in COLUMNS.items():
                yield f"| {name} | {_shown(np.array(found[method, name, rows, runs]), truth)} |"


def _shown(runs, truth):
    slopes, low, high, named = runs.T
    given = ~np.isnan(low)
    held = ((low <= truth) & (truth <= high))[given]
    ends = " to ".join(f"{end:.2f}" for end in np.quantile(slopes / truth, [0.1, 0.9]))
    covered = f"{held.mean():.2f}" if given.any() else "-"
    return (
        f"{(slopes != 0.0).mean():.2f} | {np.median(slopes) / truth:.2f} | {ends} | {covered} | "
        f"{given.mean():.2f} | {named.mean():.2f}"
    )


if __name__ == "__main__":
    main(report, __doc__, runs=40, processes=2, kept=None)
