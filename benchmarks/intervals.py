"""What the intervals and the R2 of the default regression are worth, on real and simulated tables.

*Populations.* Six real tables, with columns that are collinear, rare or heavy-tailed, and simulated
ones of 200,000 rows are populations; rows are drawn from them with replacement. Intervals are for
the population's bounded-influence regression that a result names (`populations.bounded_truth`):
columns and target clipped and errors cut as released, rows shrunk to the released norm. How often
they hold plain least squares is shown too; that is not what they promise. Where an interval is
withheld, it does not count as one. Widths are compared with the interval that the same rows would
give without privacy.

*Fit.* R2 as reported against that of the clipped rows, on whole tables.

*Normal tables.* Features with autoregressive correlation and normal errors: the share of intervals
that hold the population's coefficient, their mean half width and the root mean squared error of the
coefficients (both in units of the coefficients' standard deviation), and the share of runs whose
interval of R2 holds that of the released model.

AdaSSP with oracle norms, which `accuracy.py` compares with, has no intervals.

    python -m benchmarks.intervals [--output benchmarks/results/intervals.md] [--runs 100]
        [--processes 2] [--only NAME,NAME] [--kept FILE]

--only names populations; --kept a file where results stay until the report is complete.
"""

from __future__ import annotations

import numpy as np

import nolook
from benchmarks.accuracy import HARD, grid
from benchmarks.harness import in_parallel, main, table
from benchmarks.populations import (
    REAL,
    SIMULATED,
    as_table,
    bounded_truth,
    clipped_shares,
    population,
    true_r2,
)

ROWS, EPSILONS, DELTA = (5_000, 20_000), (0.1, 1.0, 10.0), 1e-6
NORMAL_QUANTILE = 1.959964
# A column's coverage is judged where it was given an interval in a fifth of the runs.
JUDGED = 0.2
CLOSE = 0.03  # how far below the truth a clipped share may be reported
FIT_RUNS = 10
CUT = 4  # scales, beyond which the report of R2 counts an error as this

# rows, features, correlation of neighbouring features, noise over signal (standard deviations)
KINDS = [
    (4_000, 5, 0.0, 1.0),
    (20_000, 5, 0.5, 1.0),
    (4_000, 20, 0.5, 1.0),
    (20_000, 20, 0.5, 1.0),
    (20_000, 20, 0.9, 1.0),
    (100_000, 10, 0.5, 0.3),
]


def simulate(rows, features, correlation, noise, seed):
    """Return X, y, the population's coefficients, the features' covariance and the error's sd."""
    generator = np.random.default_rng(seed)
    place = np.arange(features)
    covariance = correlation ** np.abs(place[:, None] - place)
    slopes = np.random.default_rng(7).normal(size=features)
    sd = noise * np.sqrt(slopes @ covariance @ slopes)
    X = generator.normal(size=(rows, features)) @ np.linalg.cholesky(covariance).T
    y = 3 + X @ slopes + generator.normal(scale=sd, size=rows)
    return 10 * X + 5, y, slopes / 10, 100 * covariance, sd


def given_intervals(model):
    """Return the intervals of coefficients and intercept, NaN where withheld, shape (d + 1, 2)."""
    found = np.full((len(model.coef_) + 1, 2), np.nan)
    if model.coef_interval_ is not None:
        found[:-1] = model.coef_interval_
    if model.intercept_interval_ is not None:
        found[-1] = model.intercept_interval_
    return found


def held(intervals, values):
    """Tell which intervals hold their values: 1 or 0, NaN where there is none."""
    low, high = intervals.T
    return np.where(np.isnan(low), np.nan, (low <= values) & (values <= high))


def mean_of_given(values, axis=None):
    """Return the mean of what is not NaN; NaN if there is nothing."""
    given = ~np.isnan(values)
    count = np.where(given.any(axis), given.sum(axis), np.nan)
    return np.where(given, values, 0.0).sum(axis) / count


def one_run(kind, seed):
    """Return coverage, half width, error and coverage of R2 of one fit, NaN if nothing is given."""
    X, y, slopes, covariance, sd = simulate(*kind, seed)
    model = nolook.LinearRegression(1.0, DELTA, random_state=seed).fit(X, y)
    intervals = given_intervals(model)[:-1]
    wrong = model.coef_ - slopes
    true = 1 - (wrong @ covariance @ wrong + sd**2) / (slopes @ covariance @ slopes + sd**2)
    r2 = model.r2_interval_
    return (
        float(mean_of_given(held(intervals, slopes))),
        float(mean_of_given(intervals[:, 1] - intervals[:, 0]) / 2 / slopes.std()),
        float(np.sqrt(np.mean(wrong**2)) / slopes.std()),
        np.nan if r2 is None else float(r2[0] <= true <= r2[1]),
    )


def on_population(name, rows, epsilon, runs):
    """Return of each run and coefficient, the intercept last, what :func:`of_population` names."""
    X, y = population(name)
    design = np.column_stack([X, np.ones(len(y))])
    plain = np.linalg.lstsq(design, y, rcond=None)[0]
    found = []
    for run in range(runs):
        chosen = np.random.default_rng(run).integers(len(y), size=rows)
        model = nolook.LinearRegression(epsilon, DELTA, random_state=run)
        model.fit(as_table(name, X[chosen], y[chosen]))
        truth, intervals = bounded_truth(model, X, y), given_intervals(model)
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = NORMAL_QUANTILE * truth.errors / np.sqrt(rows)
            width = (intervals[:, 1] - intervals[:, 0]) / 2 / usual
        released = [*model.coef_, model.intercept_]
        columns = held(intervals, truth.values), held(intervals, plain), width, released
        found.append([np.asarray(column, dtype=float).tolist() for column in columns])
    return found


def on_table(name, runs):
    """Return of each run R2 as reported, as it is, with errors cut, and clipped shares likewise."""
    X, y = table(name)
    found = []
    for run in range(runs):
        model = nolook.LinearRegression(1.0, DELTA, random_state=run).fit(X, y)
        said, shares = model.r2_, getattr(model, "clipped_share_", None)
        found.append(
            [
                np.nan if said is None else float(said),
                true_r2(model, X, y),
                true_r2(model, X, y, CUT),
                [] if shares is None else np.asarray(shares, dtype=float).tolist(),
                clipped_shares(model, X, y).tolist(),
            ]
        )
    return found


def work(what, *task):
    """Do a task: one of the three kinds of measurement."""
    if what == "population":
        return on_population(*task)
    if what == "table":
        return on_table(*task)
    kind, runs = task
    return [one_run(KINDS[kind], seed) for seed in range(runs)]


def percent(share):
    """Return a share as printed, nothing for NaN."""
    return "" if np.isnan(share) else f"{share:.3f}"


def of_real(found, runs):
    """Yield how intervals do on the real populations."""
    heads = ["rows", "epsilon", "covered", "least column", "given", "half width", "plain covered",
             "intercept covered", "intercept given"]  # fmt: skip
    lines, pooled, judged, shares = [], [], [], {}
    for (name, rows, epsilon), own in found.items():
        covered, plain, width, _ = np.array(own, dtype=float).transpose(1, 0, 2)
        given = ~np.isnan(covered[:, :-1])
        often = given.sum(axis=0) >= JUDGED * runs
        columns = mean_of_given(covered[:, :-1], axis=0)[often]
        judged.extend(columns)
        pooled.append(covered[:, :-1].ravel())
        if epsilon == 1.0:
            shares[name, rows] = given.mean()
        cells = [
            f"{rows:,}",
            f"{epsilon:g}",
            percent(mean_of_given(pooled[-1])),
            percent(columns.min(initial=np.inf) if len(columns) else np.nan),
            f"{given.mean():.2f}",
            f"{np.median(width[:, :-1][given]):.3g}" if given.any() else "",
            percent(mean_of_given(plain[:, :-1])),
            percent(mean_of_given(covered[:, -1])),
            f"{np.mean(~np.isnan(covered[:, -1])):.2f}",
        ]
        lines.append((name, cells))
    yield from grid("population", heads, lines)
    low = [column for column in judged if column < 0.85]
    yield ""
    yield f"- covered, of all intervals given: {mean_of_given(np.concatenate(pooled)):.3f}"
    yield (
        f"- columns given an interval in a fifth of the runs: {len(judged)}, of which covered less "
        f"than .85: {len(low)}"
    )
    yield f"- least coverage of such a column: {min(judged, default=np.nan):.3f}"
    if shares:
        yield f"- share given at epsilon = 1: {np.mean(list(shares.values())):.3f}"
        least = min(shares, key=shares.get)
        name, rows = min(shares, key=shares.get)
        least = shares[name, rows]
        yield f"- least share given at epsilon = 1: {least:.3f} ({name}, {rows:,} rows)"


def of_simulated(found):
    """Yield how intervals and coefficients do where the effects are known."""
    heads = [
        "effect",
        "error, root mean square",
        "covered",
        "plain covered",
        "given",
        "half width",
    ]
    lines = []
    for (name, rows, _), own in found.items():
        covered, plain, width, coef = np.array(own, dtype=float).transpose(1, 0, 2)
        for place, effect in SIMULATED[name].items():
            given = ~np.isnan(covered[:, place])
            cells = [
                f"{effect:g}",
                f"{np.sqrt(np.mean((coef[:, place] - effect) ** 2)):.3g}",
                percent(mean_of_given(covered[:, place])),
                percent(mean_of_given(plain[:, place])),
                f"{given.mean():.2f}",
                f"{np.median(width[given, place]):.3g}" if given.any() else "",
            ]
            lines.append((f"{name}, {rows:,} rows", cells))
    yield from grid("population", heads, lines)


def of_tables(found):
    """Yield how the reported fit and clipped shares do on whole tables."""
    heads = ["R2 reported", "given", "true", "true, errors cut", "error, root mean square"]
    lines, errors, cut, close = [], [], [], []
    for name, own in found.items():
        said, true, true_cut = np.array([run[:3] for run in own], dtype=float).T
        given = ~np.isnan(said)
        errors.extend((said - true)[given])
        cut.extend((said - true_cut)[given])
        rms = np.sqrt(mean_of_given((said - true) ** 2))
        cells = [percent(np.median(said[given])) if given.any() else "", f"{given.mean():.2f}"]
        cells += [f"{np.median(true):.3f}", f"{np.median(true_cut):.3f}", percent(rms)]
        lines.append((name, cells))
        for *_, reported, actual in own:
            close.extend(np.greater_equal(reported, np.array(actual[: len(reported)]) - CLOSE))
    yield from grid("table", heads, lines)
    yield ""
    yield f"- error of R2 over {len(found)} tables, root mean square where given: {rms_of(errors)}"
    yield f"- the same of R2 with errors cut at {CUT} scales: {rms_of(cut)}"
    if close:
        yield f"- clipped shares reported within .03 of the truth or above it: {np.mean(close):.3f}"
    else:
        yield "- clipped shares are not reported"


def rms_of(errors):
    """Return the root mean square as printed."""
    return f"{np.sqrt(np.mean(np.square(errors))):.3f}" if len(errors) else "never given"


def of_kinds(found):
    """Yield how intervals do on normal tables."""
    heads = ["features", "correlation", "noise/signal", "coverage", "half width", "error",
             "coverage of R2"]  # fmt: skip
    lines = []
    for kind, own in found.items():
        mean = mean_of_given(np.array(own, dtype=float), axis=0)
        rows, *rest = KINDS[kind]
        cells = [f"{value:.3f}" for value in mean[:3]] + [f"{mean[3]:.2f}"]
        lines.append((f"{rows:,}", [*map(str, rest), *cells]))
    yield from grid("rows", heads, lines)


def all_tasks(runs, only):
    """Return the arguments of every measurement."""
    names = only.split(",") if only else [*REAL, *SIMULATED]
    tasks = []
    for name in names:
        settings = [(n, e) for n in ROWS for e in EPSILONS] if name in REAL else [(ROWS[1], 1.0)]
        tasks += [("population", name, *setting, runs) for setting in settings]
    tables = [name for name in HARD if not only or name in names]
    tasks += [("table", name, min(runs, FIT_RUNS)) for name in tables]
    return tasks + [("normal", kind, max(1, 2 * runs // 5)) for kind in range(len(KINDS))]


def report(runs, processes, only, kept):
    """Yield the lines of the report."""
    found = in_parallel(work, all_tasks(runs, only), processes, kept)
    real = {task[1:4]: own for task, own in found.items() if task[1] in REAL and len(task) == 5}
    made = {task[1:4]: own for task, own in found.items() if task[1] in SIMULATED}
    yield "# What the intervals are worth"
    yield ""
    yield f"95 % intervals, {runs} runs, delta = 1e-6. Printed by `python -m benchmarks.intervals`."
    yield ""
    yield "## Real tables as populations"
    yield ""
    yield "Rows drawn with replacement. Covered: of the intervals given, those that hold the"
    yield "bounded-influence regression they are for; in the least column, of those given in a"
    yield "fifth of the runs. Half width: the median, over that without privacy. Plain covered:"
    yield "those that hold plain least squares, which they do not promise."
    yield from of_real(real, runs)
    yield ""
    yield "## Simulated populations, epsilon = 1"
    yield from of_simulated(made)
    yield ""
    yield "## Fit as reported, epsilon = 1"
    yield ""
    yield f"Medians of {min(runs, FIT_RUNS)} runs on the whole table. True: of the rows as clipped."
    yield from of_tables({task[1]: own for task, own in found.items() if task[0] == "table"})
    yield ""
    yield f"## Normal tables, epsilon = 1, {max(1, 2 * runs // 5)} runs"
    yield from of_kinds({task[1]: own for task, own in found.items() if task[0] == "normal"})


if __name__ == "__main__":
    main(report, __doc__, runs=100, processes=2, only=None, kept=None)
