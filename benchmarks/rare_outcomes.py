"""Logistic regression where few rows have the outcome, few have a level, or there are few rows.

- Laws: 20,000 rows of five columns. *Slope / truth*: the first column's, the median of all runs and
  the range of eight in ten. *Covered*: of the intervals given, of all columns, those that hold the
  law's slope. *Given*: the share of slopes with one.
- Few rows: 753 of a law like that of women's work (Mroz 1987): wages of others, schooling,
  experience and its square, age, children. AUC on 20,000 other rows of `LogisticRegression` and of
  `LinearRegression` on 0 and 1, from the same rows.
- Populations: 20,000 rows drawn with replacement from a table. *Covered*: of the intervals given
  those that hold what the release is about (see ``benchmarks.logistic_coverage``); and the least
  covered column of those given in a fifth of the runs.

    python -m benchmarks.rare_outcomes [--output benchmarks/results/rare_outcomes.md] [--runs 40]
        [--processes 1]
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import nolook
from benchmarks import harness
from benchmarks.harness import in_parallel, main
from benchmarks.logistic_coverage import truth
from benchmarks.populations import as_table

EPSILON, DELTA = 1.0, 1e-6
ROWS = 20_000
#: Slopes, and log-odds at 0.
LAWS = {
    "1.1 % of rows, slope 1": ((1.0, 0.5, -0.5, 0.3, 0.0), -5.35),
    "1.1 % of rows, slope 0.5": ((0.5, 0.5, -0.5, 0.3, 0.0), -4.95),
    "1.1 % of rows, one slope of 1": ((1.0, 0.0, 0.0, 0.0, 0.0), -5.0),
    "1.1 % of rows, one slope of 2": ((2.0, 0.0, 0.0, 0.0, 0.0), -6.4),
    "half of the rows, slope 1": ((1.0, 0.5, -0.5, 0.3, 0.0), 0.0),
    "a declared level of 1 %": ((1.0, 0.5, -0.5, 0.3, 0.0), 0.0),
}
WOMEN = (-0.0213, 0.221, 0.206, -0.00315, -0.088, -1.443, 0.060)
#: Tables, and the share of rows that are of class 1 where the target is a number.
POPULATIONS = {"house_16H": 0.02, "cpu_act": 0.02, "bank_marketing": None}


def law(name, rows, seed):
    """Return rows and classes."""
    slopes, constant = LAWS[name]
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, len(slopes)))
    if "level" in name:
        X[:, 0] = generator.random(rows) < 0.01
    return X, generator.random(rows) < expit(constant + X @ slopes)


def women(rows, seed):
    """Return rows like those of married women, and whether they work for pay."""
    generator = np.random.default_rng(seed)
    income = generator.gamma(3.0, 6.7, rows)
    schooling = generator.normal(12.3, 2.3, rows).round().clip(5, 17)
    age = generator.integers(30, 61, rows)
    experience = generator.gamma(1.7, 6.2, rows).round().clip(0, 45)
    young, older = generator.poisson(0.24, rows), generator.poisson(1.35, rows)
    X = np.column_stack([income, schooling, experience, experience**2, age, young, older])
    return X, generator.random(rows) < expit(0.425 + X @ WOMEN)


def fits(name, runs):
    """Return the first slope, intervals that held, and those given, of each run of a law."""
    found, slopes = [], np.array(LAWS[name][0])
    for run in range(runs):
        X, y = law(name, ROWS, run)
        model = nolook.LogisticRegression(EPSILON, DELTA, random_state=run)
        if "level" in name:
            model.fit(as_table("rare declared level", X, y))
        else:
            model.fit(X, y)
        held, given = _held(model, slopes)
        found.append([float(model.coef_[0]), int(held.sum()), int(given.sum())])
    return found


def areas(runs):
    """Return the AUC of both models of few rows, of each run."""
    found, (others, classes) = [], women(ROWS, 10**6)
    for run in range(runs):
        X, y = women(753, run)
        models = nolook.LogisticRegression, nolook.LinearRegression
        fitted = [each(EPSILON, DELTA, random_state=run) for each in models]
        scores = [
            fitted[0].fit(X, y).predict_proba(others)[:, 1],
            fitted[1].fit(X, y.astype(float)).predict(others),
        ]
        found.append([float(roc_auc_score(classes, each)) for each in scores])
    return found


def samples(name, runs):
    """Return which intervals held and which were given, a row for each run of a population."""
    X, y = harness.table(name)
    X = harness.less_redundant(X)
    y = y.astype(bool) if POPULATIONS[name] is None else y > np.quantile(y, 1 - POPULATIONS[name])
    found = []
    for run in range(runs):
        some = np.random.default_rng(run).integers(len(y), size=ROWS)
        model = nolook.LogisticRegression(EPSILON, DELTA, random_state=run).fit(X[some], y[some])
        true = truth(model, X, y) if model.detected_ else np.zeros(len(X.T))
        found.append([each.tolist() for each in _held(model, true)])
    return found


def _held(model, values):
    """Return which intervals hold values, and which are given."""
    ends = model.coef_interval_
    ends = np.full((len(values), 2), np.nan) if ends is None else ends
    return (ends[:, 0] <= values) & (values <= ends[:, 1]), ~np.isnan(ends[:, 0])


def _of_tasks(kind, name, runs):
    if kind == "law":
        return fits(name, runs)
    return areas(runs) if kind == "women" else samples(name, runs)


def report(runs, processes):
    """Yield how slopes, intervals and AUC do."""
    tasks = [("law", name, runs) for name in LAWS] + [("women", "", runs)]
    tasks += [("population", name, max(2, runs // 2)) for name in POPULATIONS]
    found = {task[:2]: result for task, result in in_parallel(_of_tasks, tasks, processes).items()}
    yield "# Rare outcomes and few rows"
    yield ""
    yield f"epsilon = {EPSILON:g}, delta = {DELTA:g}, {runs} runs (of populations half as many)."
    yield "Printed by `python -m benchmarks.rare_outcomes`, whose docstring says what is measured."
    yield ""
    yield "| law, 20,000 rows | slope / truth | 8 of 10 runs | covered | given |"
    yield "|---|---:|---:|---:|---:|"
    for name, (slopes, _) in LAWS.items():
        first, held, given = np.array(found["law", name]).T
        ends = " to ".join(f"{end:.2f}" for end in np.quantile(first / slopes[0], [0.1, 0.9]))
        yield (
            f"| {name} | {np.median(first) / slopes[0]:.2f} | {ends} | "
            f"{held.sum() / given.sum():.3f} | {given.mean() / len(slopes):.2f} |"
        )
    ours, linear = np.array(found["women", ""]).T
    yield ""
    yield (
        f"753 rows: median AUC {np.median(ours):.3f}, of a linear model {np.median(linear):.3f}; "
        f"mean difference {(ours - linear).mean():+.3f} (standard error "
        f"{(ours - linear).std() / np.sqrt(runs - 1):.3f})."
    )
    yield ""
    yield "| population, 20,000 rows | of class 1 | covered | least covered column | given |"
    yield "|---|---:|---:|---:|---:|"
    for name, share in POPULATIONS.items():
        held, given = np.array(found["population", name]).transpose(1, 0, 2)
        often = given.sum(axis=0) >= max(1, len(given) / 5)
        of_column = held.sum(axis=0)[often] / given.sum(axis=0)[often]
        least = f"{of_column.min():.2f}" if often.any() else "-"
        covered = f"{held.sum() / given.sum():.3f}" if given.any() else "-"
        shown = "0.12" if share is None else f"{share:.2f}"
        yield f"| {name} | {shown} | {covered} | {least} | {given.mean():.2f} |"


if __name__ == "__main__":
    main(report, __doc__, runs=40, processes=1, quick={"runs": 2})
