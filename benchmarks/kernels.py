"""The kernels at the sizes that decide whether they are worth having, beside plain ways.

A whole Tukey fit of 22,000 rows, 10 features and 1000 models against a plain loop over
scikit-learn's models; Kendall selection of 5 of 30 features from 100,000 rows against SciPy's taus;
and the counts of 10,000,000 values on 2^17 cells, as a distribution needs them, against one sort of
the values. The programs of each pair take turns in one process.

    python -m benchmarks.kernels [--output benchmarks/results/kernels.md] [--turns 5] [--quick]
"""

from __future__ import annotations

import math

import numpy as np

import nolook
from benchmarks import kendall, tukey
from benchmarks.harness import by_turns, main, median_ratio, medians
from nolook.algorithms.grids import LinearGrid
from nolook.privacy.noise import byte_source
from nolook.statistics.cell_counts import ColumnCells

CELLS = 2**17


def tukey_programs(rows, models):
    """Return a plain fit and ours."""
    X, y = tukey.table(rows, tukey.FEATURES)
    generator = np.random.default_rng(1)
    ours = nolook.TukeyRegressor(tukey.EPSILON, tukey.DELTA, n_models=models, on_failure="constant")
    return lambda: tukey.plain_fit(X, y, models, generator), lambda: ours.fit(X, y)


def kendall_programs(rows):
    """Return a selection on SciPy's taus and ours."""
    X, y = kendall.table(rows)
    source = byte_source(None)
    return (
        lambda: kendall.plain_selection(X, y, kendall.K, source),
        lambda: nolook.KendallSelector(kendall.K).fit(X, y),
    )


def counting_programs(values):
    """Return a sort of values and their counts on a grid's cells."""
    drawn = np.random.default_rng(0).normal(size=values)
    points = LinearGrid(-4, 4, 8 / CELLS).points()
    batches = [drawn[None, start : start + 2**16] for start in range(0, values, 2**16)]

    def counted():
        counts = ColumnCells([points])
        for batch in batches:
            counts.update(batch)

    return lambda: np.sort(drawn), counted


def report(turns, rows, values):
    """Yield the lines of the report; `rows` are those of Kendall's table."""
    models = max(2, math.ceil(tukey.MODELS * rows / kendall.ROWS))
    dealt = tukey.ROWS * models // tukey.MODELS
    pairs = {
        f"whole Tukey fit, {dealt:,} rows, {models:,} models": tukey_programs(dealt, models),
        f"Kendall selection, {rows:,} rows": kendall_programs(rows),
        f"counts of {values:,} values on {CELLS:,} cells": counting_programs(values),
    }
    yield "# Kernels"
    yield ""
    yield f"Medians of {turns} turns. Printed by `python -m benchmarks.kernels`."
    yield ""
    yield "| work | plain, s | nolook, s | plain / nolook |"
    yield "|---|---:|---:|---:|"
    for name, programs in pairs.items():
        programs[1]()  # compiles
        times = by_turns(programs, turns)
        plain, ours = medians(times)
        yield f"| {name} | {plain:.3f} | {ours:.3f} | {median_ratio(times, 0, 1):.2f} |"


if __name__ == "__main__":
    main(
        report,
        __doc__,
        quick={"turns": 1, "rows": 5_000, "values": 200_000},
        turns=5,
        rows=kendall.ROWS,
        values=10_000_000,
    )
