"""R2 on held-out rows of private regressions and of least squares, from small budgets and few rows.

Every regression table in ../shared/data with at least 4000 rows, and isolet (1,560 rows, 617
features) at epsilon = 1: ten random 90/10 splits, each method on the same rows. Then the same
tests for models of only some of the training rows.

- least squares: scikit-learn's LinearRegression, not private.
- linear, boosted-adassp: nolook, nothing given but the budget.
- AdaSSP, oracle norms: `papers/amin2023`, the same budget for the same relation (a row added or
  removed), but with the largest norms of the table itself as bounds: not private.
- diffprivlib: its LinearRegression, given the smallest and largest value of every column of the
  training rows and of the target, which nolook does not get, and columns scaled to [-1, 1] by them.
  It spends epsilon and no delta, and protects against a row being replaced in a table of public
  length. Predictions are clipped to the bounds of the target. It runs in an environment of its own
  (--peer names the interpreter), and is left out where it cannot be installed.

    python -m benchmarks.accuracy [--output benchmarks/results/accuracy.md] [--processes 2]
        [--splits 10] [--tables NAME,NAME] [--peer PYTHON] [--kept FILE]

--kept names a file where results of single tables are kept until the report is complete, so that an
interrupted run can go on.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.metrics import r2_score

import nolook
from benchmarks.harness import DATA, in_own_process, in_parallel, interpreter_with, main, table
from nolook.privacy.accounting import gaussian_mu
from papers.amin2023 import OracleAdaSSPRegressor

# The budget that version 0.1 was measured at, and of other benchmarks.
EPSILON, DELTA = math.log(3), 1e-5
BUDGETS = [*((epsilon, 1e-6) for epsilon in (0.03, 0.1, 0.3, 1.0, 3.0)), (EPSILON, DELTA)]
SPLITS = 10
SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
SIZE_BUDGETS = [(1.0, 1e-6), (0.1, 1e-6)]
NOT_REGRESSION = ("bank_", "diabetes_", "framingham", "microarray_")
# A part of the original table only.
LEFT_OUT = ("black_friday_10pct",)
LEAST_ROWS = 4000
WIDE = "isolet_1560rows"
# Those on which private regressions lose most.
HARD = (
    "Ailerons", "Bike_Sharing_Demand", "Brazilian_houses", "MiamiHousing2016", "amin_california",
    "amin_diamonds", "amin_garbage", "amin_nba", "analcatdata_supreme", "cpu_act", "house_16H",
    "pol", "sulfur", "wine_quality",
)  # fmt: skip
BASE, OURS, BOOSTED, ORACLE = "least squares", "linear", "boosted-adassp", "AdaSSP, oracle norms"
PRIVATE = {
    OURS: nolook.LinearRegression,
    BOOSTED: nolook.BoostedAdaSSPRegressor,
    ORACLE: OracleAdaSSPRegressor,
}
PEER, PEER_NEEDS = "diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.9")
# Where the processes that measure find the interpreter that has it.
PEER_PYTHON = "NOLOOK_BENCHMARK_PEER"
BAD, BINS = -0.05, (0, 30, 150, 250, math.inf)
FORMER = Path(__file__).parent / "results" / "accuracy_0.1.md"

PEER_PROGRAM = """
import warnings
import numpy as np
from diffprivlib.models import LinearRegression
warnings.simplefilter("ignore")
held = np.load(sys.argv[1])
X, y, epsilon = held["X"], held["y"], float(held["epsilon"])
def on_unit(values, low, high):
    return 2 * (values - low) / np.where(high > low, high - low, 1.0) - 1
found = []
for split, (test, train) in enumerate(zip(held["tests"], held["trains"])):
    ends, top = (X[train].min(0), X[train].max(0)), (y[train].min(), y[train].max())
    seen, target = on_unit(X, *ends), on_unit(y, *top)
    model = LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1),
                             random_state=split)
    predicted = model.fit(seen[train], target[train]).predict(seen[test]).clip(-1, 1)
    wrong = ((target[test] - predicted) ** 2).sum()
    found.append(1 - wrong / ((target[test] - target[test].mean()) ** 2).sum())
print(json.dumps(found))
"""


def names():
    """Return the tables of at least 4000 rows."""
    found = []
    for path in sorted(DATA.glob("*.parquet")):
        if path.stem.startswith(NOT_REGRESSION) or path.stem in LEFT_OUT:
            continue
        if pq.read_metadata(path).num_rows >= LEAST_ROWS:
            found.append(path.stem)
    return found


def tables():
    """Yield name, X and y of each of them."""
    for name in names():
        yield name, *table(name)


def splits(rows, count, kept=None):
    """Yield test and training rows of each split, `kept` of the latter or all."""
    for split in range(count):
        order = np.random.default_rng(split).permutation(rows)
        train = order[rows // 10 :]
        yield order[: rows // 10], train[:kept]


def compare(X, y, budget, pairs, methods=tuple(PRIVATE)):
    """Return R2 on the test rows of each pair, by method."""
    found = {method: [] for method in (BASE, *methods)}
    for split, (test, train) in enumerate(pairs):
        for method, scores in found.items():
            # Seeded so that the report can be printed again; the noise's distribution is the same.
            model = (
                LeastSquares() if method == BASE else PRIVATE[method](*budget, random_state=split)
            )
            predicted = model.fit(X[train], y[train]).predict(X[test])
            scores.append(float(r2_score(y[test], predicted)))
    return found


def measure(name, rows, epsilon, delta, count):
    """Return R2 of each split by method, on `rows` training rows (0: all)."""
    X, y = table(name)
    pairs = list(splits(len(y), count, rows or None))
    found = compare(X, y, (epsilon, delta), pairs)
    if os.environ.get(PEER_PYTHON) and not rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.npz"
            tests, trains = zip(*pairs, strict=True)
            np.savez(path, X=X, y=y, epsilon=epsilon, tests=tests, trains=trains)
            found[PEER] = in_own_process(PEER_PROGRAM, path, python=os.environ[PEER_PYTHON])
    return found


def all_tasks(shapes, count):
    """Return the arguments of every measurement, the longest first."""
    tasks = []
    for name, (rows, _) in shapes.items():
        for budget in BUDGETS if name != WIDE else [(1.0, 1e-6)]:
            tasks.append((name, 0, *budget, count))
        for size in SIZES if name != WIDE else ():
            if size < rows - rows // 10:
                tasks.extend((name, size, *budget, count) for budget in SIZE_BUDGETS)
    return sorted(tasks, key=lambda task: -(task[1] or shapes[task[0]][0]))


class Results:
    """R2 of each split, by table, training rows (0: all), budget and method."""

    def __init__(self, found, shapes):
        self.shapes = shapes
        self.scores = {task[:4]: scores for task, scores in found.items()}
        whole = [scores for (name, rows, *_), scores in self.scores.items() if not rows]
        self.methods = [*whole[0]]
        self.many = [name for name in shapes if name != WIDE]

    def median(self, name, budget, method, rows=0):
        """Return the median over splits."""
        return float(np.median(self.scores[name, rows, *budget][method]))

    def gap(self, name, budget, method):
        """Return the median over splits of R2 of least squares less the method's."""
        scores = self.scores[name, 0, *budget]
        return float(np.median(np.subtract(scores[BASE], scores[method])))


def shown(budget):
    """Return a budget's epsilon as printed."""
    return "ln 3" if budget == (EPSILON, DELTA) else f"{budget[0]:g}"


def grid(title, heads, rows):
    """Yield a table whose first column is text."""
    yield from ("", f"| {title} | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|")
    for name, cells in rows:
        yield f"| {name} | {' | '.join(cells)} |"


def over_budgets(title, cell, methods, row="{}"):
    """Yield a table of methods by epsilon; `row` is how it calls a method."""
    heads = [f"epsilon = {shown(budget)}" for budget in BUDGETS]
    rows = [(row.format(m), [f"{cell(b, m):.3f}" for b in BUDGETS]) for m in methods]
    yield from grid(title, heads, rows)


def summary(results):
    """Yield what all tables show together."""
    hard = [name for name in HARD if name in results.shapes]
    many, private = results.many, results.methods[1:]

    def mean(budget, method):
        return np.mean([max(-1.0, results.median(name, budget, method)) for name in hard])

    yield from over_budgets(f"mean over {len(hard)} tables", mean, results.methods, "R2 of {}")
    yield f"\nMean of the median R2, a median below -1 counted as -1, over {', '.join(hard)}."

    def gap(budget, method):
        return np.median([results.gap(name, budget, method) for name in many])

    yield from over_budgets(f"median over {len(many)} tables", gap, private, "gap of {}")
    yield "\nMedian over splits of R2 of least squares less that of the method."

    def lead(budget, left_out):
        kept = [name for name in many if name not in left_out]
        ours = [max(-1.0, results.median(n, budget, OURS)) for n in kept]
        theirs = [max(-1.0, results.median(n, budget, BOOSTED)) for n in kept]
        return np.mean(ours) - np.mean(theirs)

    titles = {f"all {len(many)} tables": (), "SGEMM apart": ("SGEMM_GPU_kernel_performance",)}
    yield from over_budgets(
        "mean of linear less boosted-adassp",
        lambda budget, title: lead(budget, titles[title]),
        titles,
    )
    yield "\nOf the medians, one below -1 counted as -1 again."
    yield ""
    for title, left_out in titles.items():
        yield f"- the least of these, {title}: {min(lead(b, left_out) for b in BUDGETS):.3f}"
    yield from losses(results)


def losses(results):
    """Yield the tables where `linear` loses by more than .01."""
    former = dict(
        re.findall(r"^\| (\w+) \|(?: \S+ \|){3} (\S+) \|", FORMER.read_text(), re.MULTILINE)
    )
    for budget in BUDGETS:
        lost = {n: results.median(n, budget, BOOSTED) for n in results.many}
        yield from lost_to(results, budget, BOOSTED, lost)
    lost = {name: float(former[name]) for name in results.many if name in former}
    yield from lost_to(results, BUDGETS[-1], "version 0.1", lost)


def lost_to(results, budget, other, scores):
    """Yield the tables where `linear` is more than .01 below some scores."""
    lost = {n: results.median(n, budget, OURS) - score for n, score in scores.items()}
    named = ", ".join(f"{name} ({by:+.3f})" for name, by in lost.items() if by < -0.01)
    yield f"- epsilon = {shown(budget)}, linear more than .01 below {other}: {named or 'nowhere'}"


def bad_runs(results):
    """Yield the shares of runs below -.05 by mu n, of all budgets and numbers of rows."""
    runs = {}
    for (name, rows, epsilon, delta), scores in results.scores.items():
        if name == WIDE:
            continue
        total = results.shapes[name][0]
        train = rows or total - total // 10
        place = np.searchsorted(BINS, gaussian_mu(nolook.Budget(epsilon, delta)) * train) - 1
        for method, own in scores.items():
            runs.setdefault((method, place), []).extend(own)
    heads = ["mu n below 30", "30 to 150", "150 to 250", "above 250"]
    rows = []
    for method in (OURS, BOOSTED, ORACLE):
        found = [np.array(runs.get((method, place), [])) for place in range(4)]
        cells = [
            f"{np.mean(own < BAD):.1%} of {len(own)}, worst {own.min():.3g}" if len(own) else ""
            for own in found
        ]
        rows.append((f"bad runs of {method}", cells))
    yield from grid("runs below R2 = -.05", heads, rows)


def per_table(results, budget):
    """Yield the results of each table at one budget, and of isolet."""
    heads = ["rows", "features", *results.methods, "linear, worst split", "gap of linear"]
    rows = []
    for name in results.many:
        medians = [f"{results.median(name, budget, method):.3f}" for method in results.methods]
        worst = min(results.scores[name, 0, *budget][OURS])
        gap = results.gap(name, budget, OURS)
        rows.append(
            (name, [*map(str, results.shapes[name]), *medians, f"{worst:.3f}", f"{gap:.4f}"])
        )
    yield from grid("table", heads, rows)
    if (WIDE, 0, *budget) in results.scores:
        yield ""
        for method, own in results.scores[WIDE, 0, *budget].items():
            yield f"- {WIDE}, {method}: median {np.median(own):.3f}, worst {min(own):.3f}"


def least_squares_gaps(results):
    """Yield how far `linear` is from least squares at the budget of version 0.1."""
    budget, count = BUDGETS[-1], len(results.many)
    gaps = np.array([results.gap(name, budget, OURS) for name in results.many])
    typical = np.array([results.median(name, budget, OURS) for name in results.many])
    worst = min(min(results.scores[name, 0, *budget][OURS]) for name in results.many)
    yield ""
    yield f"- median gap over {count} tables: {np.median(gaps):.4f}"
    yield f"- largest gap: {gaps.max():.4f}"
    yield f"- gap at most 0.10: {np.sum(gaps <= 0.10)} of {count} tables"
    yield f"- R2 above 0: {np.sum(typical > 0)} of {count} tables"
    yield f"- worst single run: {worst:.3f}"


def fewer_rows(results, budget):
    """Yield R2 of `linear` on tables and on parts of them."""
    rows = []
    for name in results.many:
        cells = []
        for size in (*SIZES, 0):
            own = results.scores.get((name, size, *budget), {}).get(OURS)
            cells.append(f"{np.median(own):.3f} ({min(own):.3g})" if own else "")
        rows.append((name, cells))
    yield from grid("table", [*(f"{size:,} rows" for size in SIZES), "all"], rows)


def report(processes, splits, tables, peer, kept):
    """Yield the lines of the report."""
    chosen = tables.split(",") if tables else [*names(), WIDE]
    shapes = {}
    for name in chosen:
        found = pq.read_metadata(DATA / f"{name}.parquet")
        shapes[name] = found.num_rows, found.num_columns - 1
    with ExitStack() as stack:
        try:
            python = stack.enter_context(interpreter_with(PEER_NEEDS, peer))
        except subprocess.CalledProcessError:
            print(f"{PEER} cannot be installed and is left out", file=sys.stderr)
            python = ""
        os.environ[PEER_PYTHON] = python
        found = in_parallel(measure, all_tasks(shapes, splits), processes, kept)
    yield from lines_of(Results(found, shapes), splits)


def lines_of(results, count):
    """Yield the lines of the report on what was measured."""
    yield "# Private regressions against least squares"
    yield ""
    yield f"R2 on held-out rows, medians of {count} random 90/10 splits; delta = 1e-6, and 1e-5 at"
    yield "epsilon = ln 3. nolook gets the budget and nothing else, AdaSSP the largest norms of the"
    yield "table (which is not private), and diffprivlib the smallest and the largest value"
    yield "of every column; its guarantee is for rows that are replaced, and its delta 0."
    yield "Printed by `python -m benchmarks.accuracy`."
    yield ""
    yield "## All tables"
    yield from summary(results)
    yield ""
    yield "## Runs that fail"
    yield ""
    yield "Runs at all budgets and numbers n of training rows; mu of Gaussian differential privacy."
    yield from bad_runs(results)
    for budget in BUDGETS:
        yield ""
        yield f"## epsilon = {shown(budget)}"
        yield from per_table(results, budget)
    yield from least_squares_gaps(results)
    for budget in SIZE_BUDGETS:
        yield ""
        yield f"## Fewer rows, epsilon = {shown(budget)}"
        yield ""
        yield "linear on a part of the training rows: the median and, in brackets, the worst split."
        yield from fewer_rows(results, budget)


if __name__ == "__main__":
    main(report, __doc__, processes=2, splits=SPLITS, tables=None, peer=None, kept=None)
