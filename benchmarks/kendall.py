"""Time of Kendall selection beside the same algorithm on SciPy's kendalltau, and how it grows.

SciPy's version takes tau-b of every pair the algorithm needs, as a plain loop; its tables have no
ties, where tau-b is (C - D) over the number of pairs. The programs take turns in one process, and
ratios are taken turn by turn. Memory is the peak of a whole process of its own.

    python benchmarks/kendall.py [--output benchmarks/results/kendall.md] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

import nolook
from nolook.privacy.mechanisms.exponential import exponential_choice
from nolook.privacy.noise import byte_source

ROWS, FEATURES, K = 100_000, 30, 5
WIDE = {"rows": 500, "features": 20_000, "k": 10}

MEMORY = """
import json, re, time
import numpy as np
import nolook
def peak(field):
    return int(re.search(field + r":\\s+([0-9]+) kB", open("/proc/self/status").read())[1]) * 1024
generator = np.random.default_rng(0)
small = generator.normal(size=(5000, 30))
nolook.KendallSelector(2).fit(small, small[:, 0])
X = generator.normal(size=({rows}, {features}))
y = X[:, 0] + X[:, 1]
start = time.perf_counter()
nolook.KendallSelector({k}).fit(X, y)
print(json.dumps([time.perf_counter() - start, peak("VmHWM")]))
"""


def table(rows):
    """Return features and label."""
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
        sensitivity = 3.0 if chosen else 1.5
        scaled = np.array(scores) * rows / 2
        chosen.append(left.pop(exponential_choice(scaled, sensitivity, 1.0 / k, source)))
    return chosen


def seconds(work):
    """Return the time of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speed(rows, repeats):
    """Return SciPy's and nolook's times for a table, one pair a turn."""
    X, y = table(rows)
    programs = (
        lambda: plain_selection(X, y, K, byte_source(None)),
        lambda: nolook.KendallSelector(K).fit(X, y),
    )
    programs[1]()
    return [[seconds(program) for program in programs] for _ in range(repeats)]


def growth(repeats):
    """Return nolook's times for a table and for one of ten times the rows, one pair a turn."""
    tables = [table(ROWS), table(10 * ROWS)]
    fits = [lambda t=t: nolook.KendallSelector(K).fit(*t) for t in tables]
    fits[0]()
    return [[seconds(fit) for fit in fits] for _ in range(repeats)]


def wide():
    """Return the time of a fit of a wide table and the peak memory of its process, in bytes."""
    code = MEMORY.format(**WIDE)
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def report(repeats):
    """Yield the lines of the report."""
    yield "# Kendall selection"
    yield ""
    yield f"{FEATURES} features of doubles in memory, k = {K}, {os.cpu_count()} processors, medians"
    yield f"of {repeats} turns. Printed by `python benchmarks/kendall.py`."
    yield ""
    yield "| program | rows | seconds |"
    yield "|---|---:|---:|"
    turns = speed(ROWS, repeats)
    for name, column in (("SciPy's kendalltau", 0), ("nolook", 1)):
        yield f"| {name} | {ROWS:,} | {statistics.median(t[column] for t in turns):.2f} |"
    grown = growth(repeats)
    yield f"| nolook | {10 * ROWS:,} | {statistics.median(t[1] for t in grown):.2f} |"
    yield ""
    ratio = statistics.median(plain / ours for plain, ours in turns)
    yield f"- faster than SciPy's: {ratio:.1f} times (wanted: 12)"
    ratio = statistics.median(large / small for small, large in grown)
    yield f"- time for ten times the rows: {ratio:.1f} times (wanted: at most 14)"
    took, peak = wide()
    yield (
        f"- {WIDE['features']:,} features, {WIDE['rows']} rows, k = {WIDE['k']}: {took:.1f} s,"
        f" peak of the whole process {peak / 2**20:.0f} MiB (wanted: below 1024)"
    )


def main():
    """Print the report, and keep it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    lines = []
    for line in report(arguments.repeats):
        print(line, flush=True)
        lines.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
