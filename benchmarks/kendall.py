"""Time of Kendall selection against the same algorithm on SciPy's kendalltau, and how it grows.

SciPy's version takes tau-b of every pair the algorithm needs, as a plain loop; its tables have no
ties, where tau-b is (C - D) over the number of pairs. The programs take turns in one process, and
ratios are taken turn by turn. One pass over memory adds up all features and the target. Memory is
the peak of a whole process of its own.

    python -m benchmarks.kendall [--output benchmarks/results/kendall.md] [--repeats 5]
"""

from __future__ import annotations

import os

import numpy as np
from scipy.stats import kendalltau

import nolook
from benchmarks.harness import by_turns, in_own_process, main, median_ratio, medians
from nolook.privacy.mechanisms.exponential import permute_and_flip
from nolook.privacy.noise import byte_source

ROWS, FEATURES, K = 100_000, 30, 5
WIDE = {"rows": 500, "features": 20_000, "k": 10}

MEMORY = """
import numpy as np
import nolook
generator = np.random.default_rng(0)
small = generator.normal(size=(5000, 30))
nolook.KendallSelector(2).fit(small, small[:, 0])
X = generator.normal(size=({rows}, {features}))
y = X[:, 0] + X[:, 1]
start = time.perf_counter()
nolook.KendallSelector({k}).fit(X, y)
print(json.dumps([time.perf_counter() - start, memory("VmHWM")]))
"""


def table(rows):
    """Return features and target."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, FEATURES))
    return X, X @ generator.normal(size=FEATURES) + generator.normal(size=rows)


def plain_selection(X, y, k, source):
    """Choose features by the same algorithm, on SciPy's taus."""
    rows = len(y)
    left = list(range(X.shape[1]))
    label = {j: abs(kendalltau(X[:, j], y).statistic) for j in left}
    others = dict.fromkeys(left, 0.0)
    chosen = []
    for _ in range(k):
        for j in left if chosen else ():
            others[j] += abs(kendalltau(X[:, j], X[:, chosen[-1]]).statistic)
        scores = [label[j] - others[j] / max(len(chosen), 1) for j in left]
        sensitivity = 2.5 if chosen else 1.25
        scaled = np.array(scores) * rows / 2
        chosen.append(left.pop(permute_and_flip(scaled, sensitivity, 1.0 / k, source)))
    return chosen


def speed(rows, repeats):
    """Return SciPy's and nolook's times for a table, and that of adding it up, in each turn."""
    X, y = table(rows)
    programs = (
        lambda: plain_selection(X, y, K, byte_source(None)),
        lambda: nolook.KendallSelector(K).fit(X, y),
        lambda: X.sum() + y.sum(),
    )
    programs[1]()
    return by_turns(programs, repeats)


def growth(repeats):
    """Return nolook's times for a table and for one of ten times the rows, one pair a turn."""
    tables = [table(ROWS), table(10 * ROWS)]
    fits = [lambda t=t: nolook.KendallSelector(K).fit(*t) for t in tables]
    fits[0]()
    return by_turns(fits, repeats)


def wide():
    """Return the time of a fit of a wide table and the peak memory of its process, in bytes."""
    return in_own_process(MEMORY.format(**WIDE))


def report(repeats):
    """Yield the lines of the report."""
    yield "# Kendall selection"
    yield ""
    yield f"{FEATURES} features of doubles in memory, k = {K}, {os.cpu_count()} processors, medians"
    yield f"of {repeats} turns. Printed by `python -m benchmarks.kendall`."
    yield ""
    yield "| program | rows | seconds |"
    yield "|---|---:|---:|"
    turns = speed(ROWS, repeats)
    names = ("SciPy's kendalltau", "nolook", "one pass over memory")
    for name, middle in zip(names, medians(turns), strict=True):
        yield f"| {name} | {ROWS:,} | {middle:.3f} |"
    grown = growth(repeats)
    yield f"| nolook | {10 * ROWS:,} | {medians(grown)[1]:.2f} |"
    yield ""
    yield f"- faster than SciPy's: {median_ratio(turns, 0, 1):.1f} times"
    pairs = FEATURES * K - K * (K - 1) // 2
    ratio = median_ratio(turns, 1, 2)
    each = f"{ratio / pairs:.1f} times for each of {pairs} pairs of columns"
    yield f"- over one pass over memory: {ratio:.0f} times, or {each}"
    ratio = median_ratio(grown, 1, 0)
    yield f"- time for ten times the rows: {ratio:.1f} times"
    took, peak = wide()
    yield (
        f"- {WIDE['features']:,} features, {WIDE['rows']} rows, k = {WIDE['k']}: {took:.1f} s,"
        f" peak of the whole process {peak / 2**20:.0f} MiB"
    )


if __name__ == "__main__":
    main(report, __doc__, repeats=5)
