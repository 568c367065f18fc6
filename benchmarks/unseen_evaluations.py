"""How often the AUC of few rows is outside its interval, and how far, where noise is large.

The tables and classes of `benchmarks.unseen`. A model of nearly all rows is evaluated on some drawn
at random, with noise of its own in every run; the AUC meant is the exact one of these rows, which
the total interval should hold more often than 95 %. A normal error whose 95 % interval has the
median width is beyond it by more than .05 as often as the last column says.

    python -m benchmarks.unseen_evaluations --folder resources/rdata/csv [--runs 25]
        [--processes 1] [--output benchmarks/results/unseen_evaluations.md]
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

import nolook
from benchmarks.harness import in_parallel, main
from benchmarks.unseen import BEYOND, DELTA, TABLES, shaped

SIZES = ((500, 0.5), (1000, 0.3), (3000, 0.1))


def work(folder, name, rows, epsilon, runs):
    """Return how far outside its interval each AUC is, and the intervals' widths."""
    warnings.simplefilter("ignore")
    X, _, kept, y = shaped(folder, name)
    classes, X = y > np.median(y), X[:, kept]
    place, found = [*TABLES].index(name), []
    order = np.random.default_rng(place).permutation(len(y))
    model = nolook.LogisticRegression(3.0, DELTA, random_state=place)
    model.fit(X[order[rows:]], classes[order[rows:]])
    for run in range(runs):
        seed = int(np.random.default_rng([place, rows, run]).integers(2**31))
        judge = np.random.default_rng(seed).permutation(len(y))[:rows]
        judged = nolook.evaluate(
            model, X[judge], classes[judge], epsilon=epsilon, other_rows=True, random_state=seed
        )
        low, high = judged.roc.auc_interval_
        area = roc_auc_score(classes[judge], model.decision_function(X[judge]))
        found.append([float(max(low - area, area - high, 0.0)), float(high - low)])
    return found


def report(folder, runs, processes):
    """Yield the lines of the page."""
    tasks = [(folder, name, *size, runs) for size in SIZES for name in TABLES]
    found = in_parallel(work, tasks, processes)
    yield from ("# The AUC of few rows", "", f"{runs} evaluations of each of {len(TABLES)} tables.")
    yield ""
    beyond = f"by more than {BEYOND:g}"
    yield f"| rows | epsilon | runs | outside | {beyond} | median width | normal error: {beyond} |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for rows, epsilon in SIZES:
        own = np.concatenate([found[task] for task in tasks if task[2] == rows])
        off, width = own[:, 0], float(np.median(own[:, 1]))
        usual = 2 * len(own) * stats.norm.sf(1.96 * (1.0 + BEYOND / (width / 2)))
        yield (
            f"| {rows:,} | {epsilon:g} | {len(own)} | {np.count_nonzero(off)} | "
            f"{np.count_nonzero(off > BEYOND)} | {width:.2f} | {usual:.1f} |"
        )


if __name__ == "__main__":
    main(
        report, __doc__, folder="resources/rdata/csv", runs=25, processes=1, quick={"runs": 1}
    )  # fmt: skip
