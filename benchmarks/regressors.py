"""R2 of every private regressor against least squares, on the papers' tables and others.

In sample, as the papers report it, at epsilon = ln 3 and delta = 1e-5, medians over runs. Where a
Tukey fit fails, its run counts as R2 = 0 for the median, and the share of failures is shown.

    python -m benchmarks.regressors [--output benchmarks/results/regressors.md]
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from benchmarks import harness
from benchmarks.harness import main
from papers.amin2023 import DPSGDRegressor

EPSILON, DELTA = math.log(3), 1e-5
RUNS = 20

METHODS = {
    "linear": nolook.LinearRegression,
    "tukey": nolook.TukeyRegressor,
    "boosted-adassp": nolook.BoostedAdaSSPRegressor,
    "adassp": nolook.AdaSSPRegressor,
    "dpsgd": DPSGDRegressor,
}

# R2 of the Tukey regression as its paper has it.
PUBLISHED = {
    "make_regression": 0.997,
    "amin_nba": 0.618,
    "amin_garbage": 0.534,
    "amin_mlb": 0.721,
    "visualizing_soil": None,
    "amin_california": 0.099,
    "amin_diamonds": 0.307,
}
OTHERS = (
    "Ailerons", "Bike_Sharing_Demand", "Brazilian_houses", "MiamiHousing2016",
    "SGEMM_GPU_kernel_performance", "california", "cpu_act", "diamonds_onehot_log", "house_16H",
    "houses", "pol", "sulfur", "wine_quality",
)  # fmt: skip


def table(name):
    """Return X and y."""
    if name == "make_regression":
        return make_regression(22_000, n_features=10, n_informative=10, noise=10, random_state=0)
    return harness.table(name)


def scores(method, X, y, runs=RUNS):
    """Return R2 of each run, NaN where it failed."""
    found = np.full(runs, np.nan)
    for run in range(runs):
        # Seeded so that the table can be printed again; the noise's distribution is the same.
        model = METHODS[method](EPSILON, DELTA, random_state=run)
        try:
            found[run] = r2_score(y, model.fit(X, y).predict(X))
        except nolook.PrivateFitFailed:
            continue
    return found


def report():
    """Yield the lines of the report."""
    yield "# Private regressors against least squares"
    yield ""
    yield (
        f"In-sample R2, medians of {RUNS} runs, epsilon = ln 3, delta = 1e-5, default settings. "
        "A failed run of `tukey`"
    )
    yield "counts as 0; the last column is how many of its runs failed."
    yield "Printed by `python -m benchmarks.regressors`."
    yield ""
    yield f"| table | rows | features | least squares | {' | '.join(METHODS)} | failed |"
    yield "|---" + "|---:" * (len(METHODS) + 4) + "|"
    medians = {}
    for name in (*PUBLISHED, *OTHERS):
        X, y = table(name)
        ols = r2_score(y, LeastSquares().fit(X, y).predict(X))
        found = {method: scores(method, X, y) for method in METHODS}
        medians[name] = {m: float(np.median(np.nan_to_num(s))) for m, s in found.items()}
        row = " | ".join(f"{value:.3f}" for value in medians[name].values())
        failed = int(np.isnan(found["tukey"]).sum())
        yield f"| {name} | {len(y)} | {X.shape[1]} | {ols:.3f} | {row} | {failed} |"
    yield ""
    yield "| table | tukey | published |"
    yield "|---|---:|---:|"
    for name, published in PUBLISHED.items():
        paper = "" if published is None else f"{published:.3f}"
        yield f"| {name} | {medians[name]['tukey']:.4f} | {paper} |"
    yield ""
    best = dict.fromkeys(METHODS, 0)
    for row in medians.values():
        best[max(row, key=row.get)] += 1
    counts = ", ".join(f"{method} {count}" for method, count in best.items())
    yield f"Best of the private ones, number of tables: {counts}."
    gaps = {
        method: np.median([row["linear"] - row[method] for row in medians.values()])
        for method in METHODS
    }
    text = ", ".join(f"{method} {gap:.4f}" for method, gap in gaps.items() if method != "linear")
    yield f"Median over tables of (linear - method): {text}."


if __name__ == "__main__":
    main(report, __doc__)
