"""Six tasks on one table, for any library: what is asked, what is known, how far off an answer is.

A library's file has a function for each task it can do, and calls `measure`. It needs NumPy and
PyArrow besides the library, since each library runs in an environment of its own.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

TABLE = pq.read_table(Path(__file__).parents[2] / "examples" / "data" / "diamonds.parquet")
EPSILON = 1.0
DELTA = 1e-6

# Columns of the tasks.
CARAT = TABLE["carat"].to_numpy()
CUT = TABLE["cut"].to_pylist()
FEATURES = ["carat", "depth", "table", "x", "y", "z"]
X = np.column_stack([TABLE[name].to_numpy() for name in FEATURES])
LOG_PRICE = TABLE["log_price"].to_numpy()
EXPENSIVE = LOG_PRICE > 8.0

# Known without the table: the grades of a cut.
CUTS = ["Fair", "Good", "Very Good", "Premium", "Ideal"]
# Guessed without the table, for those who must: carats, lengths in millimetres, proportions in
# percent, logarithms of prices from 1 to 160,000 dollars; classes of scores.
CARATS = (0.0, 10.0)
RANGES = [(0.0, 10.0), (0.0, 100.0), (0.0, 100.0), (0.0, 20.0), (0.0, 20.0), (0.0, 20.0)]
LOG_PRICES = (0.0, 12.0)
CLASSES = 64

PROBABILITIES = (0.25, 0.5, 0.75)


def class_of(score):
    """Return the class of a score, one of `CLASSES` in the range that was guessed."""
    share = (np.asarray(score) - CARATS[0]) / (CARATS[1] - CARATS[0])
    return np.clip((share * CLASSES).astype(int), 0, CLASSES - 1)


def auc_of_counts(positive, negative):
    """Return the area under the curve of two histograms; equal classes count half."""
    positive, negative = (np.maximum(np.asarray(one, float), 0) for one in (positive, negative))
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / max(positive.sum() * negative.sum(), 1.0))


def exact_auc():
    """Return the area under the curve of carat, for expensive diamonds."""
    values, order = np.unique(CARAT, return_inverse=True)
    classes = (order[rows] for rows in (EXPENSIVE, ~EXPENSIVE))
    return auc_of_counts(*(np.bincount(one, minlength=len(values)) for one in classes))


def r2(predicted):
    """Return the share of the variance of the target that predictions explain."""
    rest = np.sum((LOG_PRICE - predicted) ** 2)
    return 1 - rest / np.sum((LOG_PRICE - LOG_PRICE.mean()) ** 2)


QUARTILES = np.quantile(CARAT, PROBABILITIES)
COUNTS = np.array([CUT.count(cut) for cut in CUTS])
AUC = exact_auc()
# Of each task: how an answer is judged.
TASKS = {
    "rows": lambda found: abs(found - len(CARAT)),
    "mean": lambda found: abs(found - CARAT.mean()),
    "quartiles": lambda found: float(np.max(np.abs(np.asarray(found) - QUARTILES))),
    "groups": lambda found: float(np.max(np.abs(np.asarray(found) - COUNTS))),
    "regression": r2,
    "auc": lambda found: abs(found - AUC),
}


def measure(solutions, runs=20):
    """Print, for each task, the median of what its runs are judged, and the seconds of one.

    `solutions` has for a task a function of no argument and what had to be guessed for it.
    """
    for task, (solve, guessed) in solutions.items():
        solve()  # what is compiled or started on first use
        start = time.perf_counter()
        judged = [float(TASKS[task](solve())) for _ in range(runs)]
        seconds = (time.perf_counter() - start) / runs
        line = {"task": task, "value": float(np.median(judged)), "seconds": seconds}
        print(json.dumps({**line, "guessed": guessed}), flush=True)
