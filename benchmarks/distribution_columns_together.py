"""Quantiles of many columns at once, beside those of a column alone with the same budget.

A rank error is the share of values up to the private median, less 1/2; shown is its median over
columns and runs. The columns are normal and independent. Time is that of the whole call.

    python -m benchmarks.distribution_columns_together [--output FILE] [--runs 3]
"""

from __future__ import annotations

import numpy as np

import nolook
from benchmarks.harness import main, timed

COLUMNS = (1, 10, 100)
ROWS, EPSILON, DELTA = 10_000, 1.0, 1e-6


def rank_errors(columns, runs):
    """Return the median rank error of private medians, and the seconds of one call."""
    errors, took = [], []
    for seed in range(runs):
        X = np.random.default_rng(seed).normal(size=(ROWS, columns))
        seconds, found = timed(
            lambda X=X, seed=seed: nolook.quantiles(
                X, 0.5, epsilon=EPSILON, delta=DELTA, random_state=seed
            )
        )
        took.append(seconds)
        errors.extend(abs(np.mean(np.ravel(found.values) >= X, axis=0) - 0.5))
    return np.median(errors), min(took)


def report(runs):
    """Yield the lines of the report."""
    yield "# Quantiles of many columns in one release"
    yield ""
    yield f"{ROWS:,} rows, epsilon = {EPSILON:g}, delta = {DELTA:g} for all columns together, no"
    yield f"range given; {runs} runs, ten times as many of fewer columns. Printed by"
    yield "`python -m benchmarks.distribution_columns_together`."
    yield ""
    yield "| columns | median rank error of the medians | seconds of the call |"
    yield "|---:|---:|---:|"
    for columns in COLUMNS:
        error, seconds = rank_errors(columns, runs if columns == max(COLUMNS) else 10 * runs)
        yield f"| {columns} | {error:.4f} | {seconds:.2f} |"


if __name__ == "__main__":
    main(report, __doc__, runs=3)
