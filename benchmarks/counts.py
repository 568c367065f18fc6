"""Regression of counts against quasi-likelihood without privacy.

Rows are drawn with replacement from a table that stands for a population, as many as it has but at
most 20,000; delta = 1e-6. *Explained*: share of the deviance of a constant mean that is taken off,
on rows that were not drawn, medians; the peer is scikit-learn's PoissonRegressor without a penalty,
whose estimate is that of quasi-likelihood. *Covered*: of the
intervals given, those that hold the slope of the whole table (of a law: of its million rows), and
the least covered column of those given in a fifth of the runs. *Width*: medians of half widths over
those of the peer's slopes on the same rows, whatever the variance (sandwich).

randhie (doctors' visits) and fair (affairs) come with statsmodels, which is installed in an
environment of its own (--peer names an interpreter that has it); Bike_Sharing_Demand, levels left
out, is among the shared tables.

    python -m benchmarks.counts [--output benchmarks/results/counts.md] [--runs 20] [--peer PYTHON]
"""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

import nolook
from benchmarks import harness
from benchmarks.harness import interpreter_with, main

DELTA = 1e-6
BUDGETS = (0.3, 1.0, 3.0)
MOST_ROWS = 20_000
SMALL = 1e-9
NEEDS = ("statsmodels==0.15.0",)
DUMP = """
import sys, numpy as np, statsmodels.api as sm
for name, target in (("randhie", "mdvis"), ("fair", "affairs")):
    data = getattr(sm.datasets, name).load_pandas().data
    table = {"X": data.drop(columns=target).to_numpy(float), "y": data[target].to_numpy(float)}
    np.savez(f"{sys.argv[1]}/{name}.npz", **table)
"""


def law(dispersed):
    """Return rows of five normal columns, and counts."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1_000_000, 5))
    mean = np.exp(0.2 + X @ [0.5, -0.3, 0.2, 0.0, 0.1])
    if dispersed:
        return X, generator.negative_binomial(0.7, 0.7 / (0.7 + mean)).astype(float)
    return X, generator.poisson(mean).astype(float)


def tables(python):
    """Yield names, columns and counts."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-c", DUMP, folder], check=True)
        for name in ("randhie", "fair"):
            with np.load(Path(folder) / f"{name}.npz") as held:
                yield name, held["X"], held["y"]
    X, y = harness.table("Bike_Sharing_Demand")
    yield "Bike_Sharing_Demand, levels left out", harness.less_redundant(X), y
    yield "Poisson law", *law(dispersed=False)
    yield "negative binomial law of size 0.7", *law(dispersed=True)


def slopes(X, y):
    """Return the peer's slopes and their standard errors, whatever the variance; and its means."""
    deviations = X.std(axis=0)
    peer = PoissonRegressor(alpha=0.0, tol=1e-8, max_iter=2_000).fit(X / deviations, y)
    rows = np.column_stack([np.ones(len(y)), X / deviations])
    means = peer.predict(X / deviations)
    inverse = np.linalg.pinv((rows * means[:, None]).T @ rows)
    meat = (rows * (y - means)[:, None] ** 2).T @ rows
    errors = np.sqrt(np.diag(inverse @ meat @ inverse))[1:]
    return peer.coef_ / deviations, errors / deviations, lambda Z: peer.predict(Z / deviations)


def explained(y, means, constant):
    """Return the share of a constant's deviance that means take off."""
    whole = mean_poisson_deviance(y, np.full(len(y), constant))
    return 1.0 - mean_poisson_deviance(y, np.maximum(means, SMALL)) / whole


def measured(X, y, epsilon, runs):
    """Return a table's row at a budget."""
    truth, _, _ = slopes(X, y)
    shares, held, given, widths = [], [], [], []
    for run in range(runs):
        fit = np.random.default_rng(run).integers(len(y), size=min(len(y), MOST_ROWS))
        rest = np.setdiff1d(np.arange(len(y)), fit)[:MOST_ROWS]
        model = nolook.PoissonRegression(epsilon, DELTA, random_state=run).fit(X[fit], y[fit])
        _, errors, means = slopes(X[fit], y[fit])
        told = (explained(y[rest], each(X[rest]), y[fit].mean()) for each in (model.predict, means))
        shares.append(tuple(told))
        ends = model.coef_interval_
        ends = np.full((len(truth), 2), np.nan) if ends is None else ends
        given.append(~np.isnan(ends[:, 0]))
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        widths.append(0.5 * np.ptp(ends, axis=1) / (1.96 * errors))
    given, held = np.array(given), np.array(held)
    often = given.sum(axis=0) >= max(1, runs / 5)
    least = min((held[given[:, j], j].mean() for j in np.flatnonzero(often)), default=np.nan)
    ours, peers = np.median(shares, axis=0)
    cover = held[given].mean() if given.any() else np.nan
    width = np.nanmedian(np.array(widths)[given]) if given.any() else np.nan
    return ours, peers, cover, least, given.mean(), width


def report(runs, peer):
    """Yield the lines of the report."""
    yield "# Private regression of counts"
    yield ""
    yield f"{runs} samples of each table. Printed by `python -m benchmarks.counts`, whose"
    yield "docstring says what is measured."
    yield ""
    yield "| table | epsilon | explained: nolook | scikit-learn | covered | least | given | width |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    gaps, covers = {epsilon: [] for epsilon in BUDGETS}, {epsilon: [] for epsilon in BUDGETS}
    with ExitStack() as stack:
        python = stack.enter_context(interpreter_with(NEEDS, peer))
        for name, X, y in tables(python):
            for epsilon in BUDGETS:
                ours, peers, cover, least, given, width = measured(X, y, epsilon, runs)
                gaps[epsilon].append(peers - ours)
                covers[epsilon].append(cover)
                yield (
                    f"| {name} | {epsilon:g} | {ours:.4f} | {peers:.4f} | {cover:.3f} | "
                    f"{least:.2f} | {given:.2f} | {width:.1f} |"
                )
    yield ""
    for epsilon in BUDGETS:
        yield (
            f"- epsilon {epsilon:g}: median gap of the deviance explained "
            f"{np.median(gaps[epsilon]):.4f}; least covered table {np.nanmin(covers[epsilon]):.3f}"
        )


if __name__ == "__main__":
    main(report, __doc__, runs=20, peer=None, quick={"runs": 2})
