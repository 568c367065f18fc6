"""What was planned against what then happened, on 12 tables that no curve was made from.

Plans know the number of rows and columns, the method and the budget. Then the real mechanisms run
on the real tables. Classes are the target's own, or whether it lies above its median. The kinds of
simulated tables were chosen by looking at others; two of those hold the same diamonds, and the same
people of Framingham, in another form.

- Intervals: half the width of the narrowest interval of a column, and that which half of the
  columns do not exceed; medians of the runs. One that is withheld, or says nothing, counts as 2.
- Hidden: the share of the columns without an interval, or with one that says nothing.
- Shares: the error of shares up to a column's percentiles, root mean square of runs and columns.
- At best: on how many tables what was expected, times the factor that fits best afterwards, would
  have been close.
- Loss: of R2 or the area under the ROC curve, the median of the runs; none if nothing is lost.

The ranges of plans were widened (`WIDER` in `scripts/planning_curves.py`) until they held on other
tables: with --others, the page is of these, with their first and last columns as further targets,
of all rows and of every fourth.

    python -m benchmarks.planning [--output benchmarks/results/planning.md] [--runs 9]
        [--processes 1] [--kept FILE] [--others yes]
"""

from __future__ import annotations

import warnings

import numpy as np
from attrs import astuple

import nolook
from benchmarks.accuracy import grid
from benchmarks.harness import in_parallel, less_redundant, main, table
from nolook.planning.curves import WIDEST
from scripts.planning_outcomes import area_error, explained, of_model, plain_line, share_error

TABLES = (
    *("house_16H", "MiamiHousing2016", "wine_quality", "Bike_Sharing_Demand"),
    *("diamonds_onehot_log", "Brazilian_houses", "pol", "amin_nba"),
    *("black_friday_10pct", "framingham", "bank_marketing", "diabetes_readmission"),
)
#: Those that ranges were widened by.
OTHERS = (
    *("Ailerons", "california", "cpu_act", "sulfur", "visualizing_soil", "amin_garbage"),
    *("analcatdata_supreme", "amin_mlb", "SGEMM_GPU_kernel_performance", "isolet_1560rows"),
)
MOST_OTHER_ROWS = 40_000
EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-6
MOST_COLUMNS = 40  # the first ones: plans know no more
SHARES_OF = 5  # columns whose distributions are released
FACTOR = 2.0
DIGITS, LEAST, NONE = 3, 1e-3, 0.99 * WIDEST  # plans show thousandths, and none from there


def shaped(name, levels, target=None, part=1):
    """Return a table's columns, target and classes; a column may be the target instead."""
    X, y = table(name)
    X, y = X[:, :MOST_COLUMNS], y if target is None else X[:, target]
    if target is not None:
        X = np.delete(X, target, axis=1)
    if name in OTHERS:
        some = np.random.default_rng(part).permutation(len(y))[:MOST_OTHER_ROWS][::part]
        X, y = X[some], y[some]
    own = np.isin(y, (0.0, 1.0)).all()
    above = y > np.median(y) if np.median(y) < y.max() else y == y.max()
    classes = (y if own else above).astype(int)
    return X if levels else less_redundant(X), y, classes


def work(name, levels, runs, target=None, part=1):
    """Return a table's shape, and for each epsilon what happened, by what was planned."""
    warnings.simplefilter("ignore")
    X, y, classes = shaped(name, levels, target, part)
    number, yes_no = (X, y, "number"), (X, classes, "class")
    plain = [explained(plain_line(*rows), *rows) for rows in (number, yes_no)]
    columns = np.linspace(0, X.shape[1] - 1, SHARES_OF).astype(int)
    scores = X @ np.linalg.lstsq(X - X.mean(axis=0), classes - classes.mean(), rcond=None)[0]

    def happened(epsilon):
        linear, logistic = [], []
        for run in range(runs):
            model = nolook.LinearRegression(epsilon, DELTA, random_state=run).fit(X, y)
            linear.append(of_model(model, *number, plain[0]))
            model = nolook.LogisticRegression(epsilon, DELTA, random_state=run).fit(X, classes)
            logistic.append(of_model(model, *yes_no, plain[1]))
        shares = [share_error(X[:, c], epsilon, run) for c in columns for run in range(runs)]
        areas = [area_error(scores, classes, epsilon, run) for run in range(runs)]
        return {
            "linear": np.median([astuple(told) for told in linear], axis=0).tolist(),
            "logistic": np.median([astuple(told) for told in logistic], axis=0).tolist(),
            "ecdf": [float(np.sqrt(np.mean(np.square(shares))))],
            "roc": [float(np.sqrt(np.mean(np.square(areas))))],
        }

    return list(X.shape), [happened(epsilon) for epsilon in EPSILONS]


MODELS = "linear", "logistic"
PARTS = (
    *(part for model in MODELS for part in (
        (f"Narrowest interval of the {model} regression", model, "interval", 0),
        (f"Narrowest interval of the {model} regression, all levels", model, "interval", 0, True),
        (f"Intervals of the {model} regression, half of the columns", model, "median", 1),
        (f"Columns hidden by the {model} regression", model, "hidden", 3),
    )),
    ("Loss of R2", "linear", "loss", 2),
    ("Loss of the area under the ROC curve", "logistic", "loss", 2),
    ("Errors of shares", "ecdf", "error", 0),
    ("Errors of the area under the ROC curve", "roc", "error", 0),
)  # fmt: skip
# Which may be nothing: no factor is close to it.
MAY_BE_NONE = "loss", "hidden"


def close(planned, happened):
    """Tell whether what happened is within the factor of what was expected."""
    return planned.expected / FACTOR <= happened <= planned.expected * FACTOR


def at_best(ratios):
    """Return how many of what happened one number, known afterwards, could have been close to."""
    places = np.sort(np.log(ratios))
    ends = np.searchsorted(places, places + 2.0 * np.log(FACTOR), side="right")
    return int(np.max(ends - np.arange(len(places))))


def held(planned, happened, columns, measure):
    """Tell whether the range that a plan shows, in whole columns if they count, holds it."""
    ends = planned.low, min(happened, NONE), planned.high
    if measure == "hidden":
        ends = (round(columns * each) for each in ends)
    low, value, high = (round(each, DIGITS) for each in ends)
    return low <= value <= high


def part(found, tables, method, measure, place, levels=False):
    """Yield a table of what was planned and what happened, and how often they agree."""
    lines, near, within, widths, ratios, ends = [], [], [], [], [], []
    for name, *which in tables:
        cells = []
        (rows, columns), told = found[name, levels, *which]
        for epsilon, own in zip(EPSILONS, told, strict=True):
            shape = {"columns": columns if method in {"linear", "logistic"} else 1}
            plan = nolook.plan(rows, method=method, epsilon=epsilon, delta=DELTA, **shape)
            planned = getattr(plan.lines[0], measure)
            happened = own[method][place]
            near.append(close(planned, happened))
            ratios.append(happened / max(planned.expected, LEAST))
            within.append(held(planned, happened, columns, measure))
            widths.append(planned.high - planned.low)
            ends.append((planned.low / max(happened, LEAST), happened / max(planned.high, LEAST)))
            shown = f"{planned.low:.2g} to {planned.high:.2g}"
            cells.append(f"{planned.expected:.2g} ({shown}): {happened:.2g}")
        lines.append((" ".join(map(str, [name, *which])), cells))
    yield from grid("table", [f"epsilon = {epsilon:g}" for epsilon in EPSILONS], lines)
    yield ""
    for what, hits in ((f"within a factor {FACTOR:g}", near), ("held by the range", within)):
        by_epsilon = np.reshape(hits, (len(tables), -1)).sum(axis=0)
        counts = ", ".join(map(str, by_epsilon))
        yield f"- {what}: {counts} of {len(tables)} tables; at least {min(by_epsilon)}"
    if measure not in MAY_BE_NONE:
        most = map(at_best, np.reshape(ratios, (len(tables), -1)).T)
        yield f"- at best: {', '.join(map(str, most))} of {len(tables)} tables"
    yield f"- mean width of the range: {np.mean(widths):.2g}"
    if tables[0][0] in OTHERS:
        for what, own in zip(("below", "above"), np.transpose(ends), strict=True):
            most = ", ".join(f"{each:.2f}" for each in np.quantile(own, (0.9, 0.95, 1.0)))
            yield f"- {what} the range by a factor: {most} (90 %, 95 %, all)"


def report(runs, processes, kept, others):
    """Yield the lines of the report."""
    tables = [(name,) for name in TABLES]
    if others:
        targets = (None, 0, -1)
        tables = [
            (name, target, every) for name in OTHERS for target in targets for every in (1, 4)
        ]
    works = [
        (t[0], levels, runs, *t[1:]) for t in tables for levels in (False, True)[: 2 - bool(others)]
    ]
    found = in_parallel(work, works, processes, kept)
    found = {(name, levels, *rest): own for (name, levels, _, *rest), own in found.items()}
    yield "# What was planned and what then happened"
    yield ""
    yield f"{runs} runs, delta = 1e-6. Printed by `python -m benchmarks.planning`. Each cell has"
    yield "what was expected of an ordinary table (the easiest to the hardest): what happened."
    yield "At best: on how many tables that number, times the factor that fits best afterwards,"
    yield f"would have been within a factor {FACTOR:g} of what happened."
    yield ""
    yield f"The first {MOST_COLUMNS} columns of each, less those that follow from the ones before:"
    yield "five tables have all levels of a category as columns, and nolook's own coding leaves one"
    yield 'out. "All levels" is with them. The kinds of simulated tables were chosen by looking at'
    yield "others, two of which hold the same diamonds and the same Framingham people; ranges were"
    yield "widened until they held on ten more."
    for heading, *rest in PARTS:
        if others and rest[-1] is True:
            continue
        yield ""
        yield f"## {heading}"
        yield from part(found, tables, *rest)


if __name__ == "__main__":
    main(report, __doc__, runs=9, processes=1, kept=None, others="")
