"""How many columns the default selector, `moments`, is good for: choices and times by columns.

Ten columns are chosen at epsilon = 1 and delta = 1e-6, by `moments` and by `kendall`. Ten of all,
drawn at random, explain half of the target. In tables of neighbours, neighbouring columns correlate
(.5) and every other one is lognormal; in those of a factor all columns are normal and correlate
(.5), and three of the ten effects are negative, so columns without an effect correlate with the
target as well. What a choice keeps is R2 of least squares on it, on the same rows, as a share of
that on the ten; "of chance" is what ten columns drawn at random keep.

    python -m benchmarks.selection_columns [--trials 5] [--output FILE]
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np

import nolook
from benchmarks.harness import main, timed

ROWS, COLUMNS = (2_000, 10_000, 50_000), (30, 100, 300, 500, 1_000)
KINDS = ("neighbours", "factor")
K, DELTA = 10, 1e-6
SELECTORS = {"moments": nolook.MomentSelector, "kendall": nolook.KendallSelector}


def drawn(kind, rows, columns, generator):
    """Return columns, a target, and the columns that explain it."""
    X, signs = generator.standard_normal((rows, columns)), generator.choice([-1.0, 1.0], K)
    if kind == "factor":
        X = np.sqrt(0.5) * (X + generator.standard_normal((rows, 1)))
        signs = np.where(np.arange(K) < 3, -1.0, 1.0)
    else:
        for place in range(1, columns):
            X[:, place] = 0.5 * X[:, place - 1] + np.sqrt(0.75) * X[:, place]
        X[:, 1::2] = np.exp(X[:, 1::2])
    truth = generator.choice(columns, K, replace=False)
    signal = X[:, truth] / X[:, truth].std(axis=0) @ signs
    return X, signal + generator.normal(0.0, signal.std(), rows), truth


def kept(X, y, chosen):
    """Return R2 of least squares on some columns."""
    own = np.column_stack([np.ones(len(y)), X[:, chosen]])
    return 1.0 - np.var(y - own @ np.linalg.lstsq(own, y, rcond=None)[0]) / np.var(y)


def shares_and_times(kind, rows, columns, trial):
    """Return what each selector keeps, what chance does, and each selector's seconds."""
    generator = np.random.default_rng([KINDS.index(kind), rows, columns, trial])
    X, y, truth = drawn(kind, rows, columns, generator)
    best, own, times = kept(X, y, truth), [], []
    for selector in SELECTORS.values():
        took, fitted = timed(lambda one=selector: one(K, delta=DELTA, random_state=trial).fit(X, y))
        own.append(kept(X, y, fitted.get_support()) / best)
        times.append(took)
    return [*own, kept(X, y, generator.choice(columns, K, replace=False)) / best, *times]


def report(trials):
    """Yield the lines of the page."""
    warnings.simplefilter("ignore")
    yield from ("# Selections by the number of columns", "")
    yield f"Shares of R2 kept and seconds, means of {trials} tables each."
    yield ""
    yield "| tables | rows | columns | moments | kendall | of chance | moments, s | kendall, s |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for kind, rows, columns in product(KINDS, ROWS, COLUMNS):
        found = [shares_and_times(kind, rows, columns, trial) for trial in range(trials)]
        numbers = np.mean(found, axis=0)
        shares = " | ".join(f"{each:.2f}" for each in numbers[:3])
        times = " | ".join(f"{each:.1f}" for each in numbers[3:])
        yield f"| {kind} | {rows:,} | {columns:,} | {shares} | {times} |"


if __name__ == "__main__":
    main(report, __doc__, trials=5, quick={"trials": 1})
