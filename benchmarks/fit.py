"""Time and memory of the default regression from Parquet, against scikit-learn on the same table.

Tables of 1,000,000 and 10,000,000 rows with 30 features and a target, all doubles, written to a
temporary folder, in one row group and in many. Every figure is of a whole process of its own; the
two programs take turns, and the ratio is taken pair by pair. The baseline reads the file into
memory and fits scikit-learn's LinearRegression. Once more both run while another process keeps one
core busy.

    python -m benchmarks.fit [--output benchmarks/results/fit.md] [--repeats 3]
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import in_own_process, main, median_ratio, medians

FEATURES = 30
CHUNK = 250_000
MILLION = 1_000_000

BASELINE = """
import numpy as np, pyarrow.parquet as pq
from sklearn.linear_model import LinearRegression
def work(path):
    table = pq.read_table(path)
    X = np.column_stack([table[f"x{j}"].to_numpy() for j in range({features})])
    LinearRegression().fit(X, table["y"].to_numpy())
"""

OURS = """
import nolook
from nolook.estimators.linear import LinearRegression
def work(path):
    LinearRegression(1.0, 1e-6).fit(nolook.read_table(path, "y"))
"""

# Imports stay outside the time; the peak is the whole process's.
MEASURE = """
{program}
start = time.perf_counter()
work(sys.argv[1])
print(json.dumps([time.perf_counter() - start, memory("VmHWM") / 2**20]))
"""


def write_table(path, rows, row_group):
    """Write a table of correlated doubles piece by piece."""
    generator = np.random.default_rng(0)
    mixing = np.eye(FEATURES) + 0.1 * generator.normal(size=(FEATURES, FEATURES))
    slopes = generator.normal(size=FEATURES)
    names = [f"x{j}" for j in range(FEATURES)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    pieces = []
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(0, rows, CHUNK):
            X = generator.normal(size=(CHUNK, FEATURES)) @ mixing * 3 + 10
            y = X @ slopes + generator.normal(size=CHUNK)
            piece = pa.table([*X.T, y], schema=schema)
            if row_group == "many":
                writer.write_table(piece, row_group_size=CHUNK)
            else:
                pieces.append(piece)
        if pieces:
            writer.write_table(pa.concat_tables(pieces), row_group_size=rows)


def run(program, path):
    """Return seconds and peak memory in MB of a process of its own."""
    code = MEASURE.format(program=program.replace("{features}", str(FEATURES)))
    return in_own_process(code, path)


@contextmanager
def busy_core():
    """Keep one core busy."""
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        spinning.kill()
        spinning.wait()


def measure(path, repeats, beside=nullcontext):
    """Return both programs' median seconds, the ratio and nolook's peak memory in MB."""
    with beside():
        pairs = [(run(BASELINE, path), run(OURS, path)) for _ in range(repeats)]
    turns = [[theirs, ours] for (theirs, _), (ours, _) in pairs]
    peak = max(peak for _, (_, peak) in pairs)
    return *medians(turns), median_ratio(turns, 1, 0), peak


def report(repeats):
    """Yield the lines of the report."""
    yield "# Time and memory of a fit"
    yield ""
    yield f"{FEATURES} features and a target, doubles in Parquet, medians of {repeats} pairs,"
    yield f"Python {platform.python_version()}, {os.cpu_count()} processors. scikit-learn: reading"
    yield "into memory, then fitting. Busy: another process spins on one core all the while."
    yield "Printed by `python -m benchmarks.fit`."
    yield ""
    yield "| rows | row groups | machine | scikit-learn, s | nolook, s | ratio | peak of ours, MB |"
    yield "|---:|---|---|---:|---:|---:|---:|"
    found = {}
    quiet, busy = ("quiet", nullcontext), ("busy", busy_core)
    for rows, groups, machines in (
        (MILLION, "one", (quiet, busy)),
        (MILLION, "many", (quiet, busy)),
        (10 * MILLION, "many", (quiet,)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            write_table(path, rows, groups)
            for machine, beside in machines:
                theirs, ours, ratio, peak = measure(path, repeats, beside)
                found[rows, groups, machine] = ours, peak
                yield (
                    f"| {rows:,} | {groups} | {machine} | {theirs:.2f} | {ours:.2f} | {ratio:.2f}"
                    f" | {peak:.0f} |"
                )
    large, small = (found[rows, "many", "quiet"] for rows in (10 * MILLION, MILLION))
    yield ""
    yield f"- ten times the rows take {large[0] / small[0]:.1f} times the time"
    yield f"- ten times the rows take {large[1] / small[1]:.2f} times the memory"


if __name__ == "__main__":
    main(report, __doc__, repeats=3)
