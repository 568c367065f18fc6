"""What releases told on simulated tables: the curves that plans are read from.

The real mechanisms run on the tables of `scripts/planning_tables.py`, for every combination of a
number of rows, a number of columns and a mu (Gaussian differential privacy; at delta = 1e-6 here,
which decides nothing else), and distributions for every product of epsilon and rows. More budget
never tells less: what chance made worse is levelled.

    python -m scripts.planning_curves [--output src/nolook/planning/curves.json]
        [--kept FILE] [--only METHOD,METHOD]

--kept is a file where results stay until all are there. With --only, other methods' curves stay.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np
from attrs import astuple
from threadpoolctl import threadpool_limits

from nolook.estimators.catalogue import CLASSIFIERS, COUNTS, MODELS
from nolook.planning.curves import WIDEST
from nolook.privacy.accounting import gaussian_epsilon
from scripts import planning_outcomes as outcomes
from scripts.planning_tables import KINDS, bent, classes, counts, simulate

LINES = ("linear", "logistic", "poisson")
CURVES = ("additive", "additive-logistic", "additive-poisson")
METHODS = (*LINES, "adassp", "boosted-adassp", *CURVES)
ROWS = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
# More rows tell a loss no more than less noise does; intervals of the default gain by them.
MOST_ROWS_OF = {"linear": 100_000}
MOST_ROWS_OF_OTHERS = 30_000
COLUMNS = (1, 3, 10, 30, 80)
MUS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
DELTA = 1e-6
MEASURES = ("interval", "median", "loss", "hidden")
#: Factors by which ranges reach further down and up, and shares by which those of hidden columns
#: do: each end then holds in 97.5 % of the fits of `python -m benchmarks.planning --others yes`.
WIDER = {
    **{(name, "interval"): (3.9, 1.4) for name in ("linear", "poisson")},
    **{(name, "median"): (3.9, 1.5) for name in ("linear", "poisson")},
    **{(name, "hidden"): (0.03, 0.23) for name in ("linear", "poisson")},
    **{(name, "loss"): (2.2, 1.0) for name in ("linear", "poisson")},
    ("logistic", "interval"): (2.2, 1.0),
    ("logistic", "median"): (2.0, 1.0),
    ("logistic", "hidden"): (0.05, 0.0),
    ("ecdf", "error"): (1.6, 1.2),
    ("roc", "error"): (2.4, 3.9),
}
ORDINARY = list(KINDS).index("ordinary")
# Tables of each kind, by the rows up to which there are so many.
TABLES = ((3_000, 3), (30_000, 2), (100_000, 1))
# What curves explain is told by other rows: among few rows they follow those they are fitted to.
HELD_OUT = 10_000

DISTRIBUTIONS = ("ecdf", "roc", "calibration", "compare-groups", "survival", "describe")
PRODUCTS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
MOST_ROWS = 100_000
RUNS = 7
DIGITS = 3
OUTPUT = Path(__file__).resolve().parents[1] / "src/nolook/planning/curves.json"


def tables_of(rows):
    """Return how many tables of each kind are simulated."""
    return next(count for most, count in TABLES if rows <= most)


def of_model(method, rows, columns):
    """Return [lowest, expected, highest] of the interval, the median, the loss and what is hidden.

    By mu. Expected is the median of ordinary tables; the ends are the least and the most of all
    tables for the last two, and of all kinds' medians for intervals.
    """
    of = "class" if method in CLASSIFIERS else "count" if method in COUNTS else "number"
    curved = method in CURVES
    found = np.empty((len(KINDS), tables_of(rows), len(MUS), 4))
    for number, kind in enumerate(KINDS.values()):
        for table in range(tables_of(rows)):
            generator = np.random.default_rng([number, rows, table])
            X, y = simulate(kind, rows + HELD_OUT * curved, columns, generator)
            if of == "class":
                y = classes(kind, y)
            elif of == "count":
                y = counts(kind, y, generator)
            held_out = (bent(X)[-HELD_OUT:], y[-HELD_OUT:], of) if curved else (X, y, of)
            X, y = (bent(X) if curved else X)[:rows], y[:rows]
            plain = outcomes.explained(outcomes.plain_line(X, y, of), *held_out)
            if curved:
                curves = outcomes.plain_curves(X, y, of)
                plain = max(plain, outcomes.explained(curves, *held_out))
            for place, mu in enumerate(MUS):
                model = made(method, mu, table).fit(X, y)
                found[number, table, place] = astuple(outcomes.of_model(model, *held_out, plain))
    medians = np.median(found, axis=1)
    lowest, highest = medians.min(axis=0), medians.max(axis=0)
    lowest[:, 2:], highest[:, 2:] = (end(found[..., 2:], axis=(0, 1)) for end in (np.min, np.max))
    if method in CLASSIFIERS:
        # Where classes are far apart no interval is given at all; no kind of table is like that.
        highest[:, :2], highest[:, 3] = WIDEST, 1.0
    return np.stack([lowest, medians[ORDINARY], highest], axis=-1).tolist()


def rows_of(method):
    """Return the numbers of rows that a method is tried with."""
    most = MOST_ROWS_OF.get(method, MOST_ROWS_OF_OTHERS)
    return [rows for rows in ROWS if rows <= most]


def columns_of(method):
    """Return the numbers of columns that a method is tried with; many curves take long."""
    return COLUMNS[:-1] if method in CURVES else COLUMNS


def made(method, mu, seed):
    """Return a method's estimator."""
    return MODELS[method].load()(gaussian_epsilon(mu, DELTA), DELTA, random_state=seed)


def of_distribution(method, product):
    """Return [lowest, expected, highest] errors of each measure; the root mean square of runs."""
    rows = int(min(product, MOST_ROWS))
    epsilon = product / rows
    found = []
    for number, kind in enumerate(KINDS.values()):
        generator = np.random.default_rng([number, rows])
        X, y = simulate(kind, rows, 2, generator)
        target = classes(kind, y)
        own = []
        for run in range(RUNS):
            # Errors of the second column are those of skewed values in two of the kinds.
            if method == "ecdf":
                own.append(
                    [
                        outcomes.share_error(X[:, 1], epsilon, run),
                        outcomes.quantile_error(X[:, 1], epsilon, run),
                    ]
                )
            elif method == "describe":
                own.append(outcomes.description_errors(X[:, 1], epsilon, run))
            elif method in {"roc", "compare-groups"}:
                scores = y + generator.normal(size=rows)
                error = outcomes.area_error if method == "roc" else outcomes.comparison_error
                own.append([error(scores, target, epsilon, run)])
            elif method == "survival":
                ends, seen = np.abs(X[:, 1]), np.abs(generator.permutation(X[:, 1]))
                own.append([outcomes.curve_error(ends, seen, epsilon, run)])
            else:
                chances = np.clip(kind.positive + 0.3 * kind.positive * X[:, 0], 0.0, 1.0)
                happened = (generator.random(rows) < chances).astype(float)
                own.append([outcomes.group_error(chances, happened, epsilon, run)])
        found.append(np.sqrt(np.mean(np.square(own), axis=0)))
    found = np.array(found)
    return np.array([found.min(axis=0), found[ORDINARY], found.max(axis=0)]).T.tolist()


def rounded(values):
    """Return falling curves (the last axis but one is the budget) with few digits."""
    falling = np.minimum.accumulate(np.asarray(values, dtype=float), axis=-2)
    return [_short(each) for each in falling.tolist()]


def _short(value):
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else value


def widened(method, name, values):
    """Return curves with a wider range."""
    low, expected, high = np.moveaxis(np.array(values), -1, 0)
    below, above = WIDER.get((method, name), (0.0, 0.0) if name == "hidden" else (1.0, 1.0))
    if name == "hidden":
        low, high = np.maximum(low - below, 0.0), np.minimum(high + above, 1.0)
    else:
        low, high = low / below, high * above
    if method == "roc":
        high = np.minimum(high, 1.0)  # an area is off by no more
    return rounded(np.stack([low, expected, high], axis=-1))


def curve(method, known):
    """Return a method's part of the file; `known` computes a point or remembers it."""
    if method in DISTRIBUTIONS:
        points = np.array([known(method, product) for product in PRODUCTS])
        names = dict.fromkeys(("ecdf", "describe"), ("error", "quantile")).get(method, ("error",))
        curves = {name: widened(method, name, points[:, place]) for place, name in enumerate(names)}
        return {"epsilon times rows": PRODUCTS, **curves}
    points = np.array(
        [[known(method, n, d) for d in columns_of(method)] for n in rows_of(method)], dtype=float
    )
    names = MEASURES if method in LINES else ("", "", "loss")
    curves = {
        name: widened(method, name, points[..., i, :]) for i, name in enumerate(names) if name
    }
    return {"rows": rows_of(method), "columns": columns_of(method), "mu": MUS, **curves}


def main():
    """Compute what is not kept yet, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--only", default=",".join((*METHODS, *DISTRIBUTIONS)))
    given = parser.parse_args()
    kept = {}
    if given.kept and given.kept.exists():
        kept = {tuple(k): v for k, v in map(json.loads, given.kept.read_text().splitlines())}

    def known(*point):
        if point not in kept:
            work = of_distribution if point[0] in DISTRIBUTIONS else of_model
            kept[point] = work(*point)
            if given.kept:
                with given.kept.open("a") as file:
                    file.write(json.dumps([point, kept[point]]) + "\n")
        return kept[point]

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = {method: curve(method, known) for method in given.only.split(",")}
    # The curves of other methods stay as they are.
    before = json.loads(given.output.read_text("utf-8")) if given.output.exists() else {}
    document = before | found
    given.output.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
