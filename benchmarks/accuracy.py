"""R2 on held-out rows of the default private regression against ordinary least squares.

Ten random 90/10 splits of every regression table in ../shared/data with at least 4000 rows, at
epsilon = ln 3 and delta = 1e-5. The baseline is scikit-learn's LinearRegression on the same rows.

    python -m benchmarks.accuracy [--output benchmarks/results/accuracy.md]
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from benchmarks.harness import DATA, main

EPSILON, DELTA = math.log(3), 1e-5
SPLITS = 10
NOT_REGRESSION = ("bank_", "diabetes_", "framingham", "microarray_")
# A part of the original table only.
LEFT_OUT = ("black_friday_10pct",)
LEAST_ROWS = 4000


def tables():
    """Yield name, X and y of each table."""
    for path in sorted(DATA.glob("*.parquet")):
        if path.stem.startswith(NOT_REGRESSION) or path.stem in LEFT_OUT:
            continue
        table = pq.read_table(path)
        if table.num_rows < LEAST_ROWS:
            continue
        features = [name for name in table.column_names if name != "target"]
        X = np.column_stack([table[name].to_numpy().astype(float) for name in features])
        yield path.stem, X, table["target"].to_numpy().astype(float)


def compare(X, y):
    """Return R2 of least squares and of nolook on each split, shape (2, SPLITS)."""
    scores = np.empty((2, SPLITS))
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        # Seeded so that the table can be printed again; the noise's distribution is the same.
        private = nolook.LinearRegression(EPSILON, DELTA, random_state=split)
        for row, model in enumerate((LeastSquares(), private)):
            predicted = model.fit(X[train], y[train]).predict(X[test])
            scores[row, split] = r2_score(y[test], predicted)
    return scores


def report():
    """Yield the lines of the report."""
    yield "# Default regression against ordinary least squares"
    yield ""
    yield f"R2 on held-out rows, {SPLITS} random 90/10 splits, epsilon = ln 3, delta = 1e-5."
    yield "The gap is the median over splits of (R2 of least squares - R2 of nolook)."
    yield "Printed by `python -m benchmarks.accuracy`."
    yield ""
    yield "| table | rows | features | least squares | nolook | nolook, worst split | gap |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    gaps, typical, worst = [], [], []
    for name, X, y in tables():
        ols, ours = compare(X, y)
        gaps.append(np.median(ols - ours))
        typical.append(np.median(ours))
        worst.append(ours.min())
        yield (
            f"| {name} | {len(y)} | {X.shape[1]} | {np.median(ols):.3f} | {typical[-1]:.3f}"
            f" | {worst[-1]:.3f} | {gaps[-1]:.4f} |"
        )
    count = len(gaps)
    yield ""
    yield f"- median gap over {count} tables: {np.median(gaps):.4f} (wanted: at most 0.01)"
    yield (
        f"- gap at most 0.10: {np.sum(np.array(gaps) <= 0.10)} of {count} tables (wanted: 17 of 20)"
    )
    yield f"- R2 above 0: {np.sum(np.array(typical) > 0)} of {count} tables (wanted: all)"
    yield f"- worst single run: {min(worst):.3f} (wanted: no run below -0.5)"


if __name__ == "__main__":
    main(report, __doc__)
