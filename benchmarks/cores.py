"""What a second thread gains in a default fit, against what it gains in decoding the same files.

10,000,000 rows of 30 features and a target, doubles in Parquet: one file of many row groups, and
40 files. Every figure is of a process of its own with a number of threads; the variants take turns.
Decoding reads every column once as often as a fit reads the table, each thread a part of the files
at a time. Busy: another process keeps one core. With ``--long 50000000`` one more folder, of so
many rows (12 GB in the folder of temporary files), shows that memory stays flat and time grows with
the rows. Files that the page cache does not keep are read from the disk in every pass: by the clock
that is time, but not processor time. Both are told, and how much was read.

    python -m benchmarks.cores [--output benchmarks/results/cores.md] [--repeats 3]
        [--long 50000000] [--quick]
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
from contextlib import nullcontext
from pathlib import Path

from benchmarks.fit import FEATURES, MILLION, busy_core, write_table
from benchmarks.harness import in_own_process, main

FIT = """
import nolook
from nolook.estimators.linear import LinearRegression
def work(path):
    LinearRegression(1.0, 1e-6).fit(nolook.read_table(path, "y", threads={threads}))
"""

DECODE = """
from concurrent.futures import ThreadPoolExecutor
import nolook
def decoded(part):
    return sum(batch.num_rows for batch in part.batches([c.name for c in part.columns]))
def work(path):
    source = nolook.read_table(path, "y")._source
    for _ in range({passes}):
        with ThreadPoolExecutor({threads}) as pool:
            list(pool.map(decoded, source.parts()))
"""
MEASURE = """
import resource
{program}
start = time.perf_counter()
work(sys.argv[1])
took, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
busy = used.ru_utime + used.ru_stime
print(json.dumps([took, memory("VmHWM") / 2**20, busy, used.ru_inblock * 512 / 1e9]))
"""
PASSES = 5  # of a fit whose rows are not kept, and its eight gradients beside it


def run(program, path, threads):
    """Return seconds, peak MB, processor seconds and GB from the disk of a process of its own."""
    code = MEASURE.replace("{program}", program)
    code = code.replace("{threads}", str(threads)).replace("{passes}", str(PASSES))
    return in_own_process(code, path)


def measure(path, repeats, beside=nullcontext):
    """Return medians by program and threads: seconds, the largest peak, processor seconds, GB."""
    kinds = [(name, threads) for name in ("decode", "fit") for threads in (1, 2)]
    programs = {"decode": DECODE, "fit": FIT}
    with beside():
        turns = [{k: run(programs[k[0]], path, k[1]) for k in kinds} for _ in range(repeats)]
    seconds, busy, read = (
        {k: statistics.median(turn[k][place] for turn in turns) for k in kinds}
        for place in (0, 2, 3)
    )
    peaks = {k: max(turn[k][1] for turn in turns) for k in kinds}
    return seconds, peaks, busy, read


def write_files(folder, rows, files):
    """Write a table as one file, or as many of them in a folder."""
    if files == 1:
        path = folder / "table.parquet"
        write_table(path, rows, "many")
        return path
    parts = folder / "parts"
    parts.mkdir()
    for i in range(files):
        write_table(parts / f"{i:04}.parquet", rows // files, "many")
    return parts


def longer(long, rows, files, alike):
    """Yield how a fit of a longer table compares with one of this length."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_files(Path(folder), long, max(2, files * long // rows))
        took, high, busy, read = run(FIT, path, 2)
    seconds, peak, processor, short = alike
    times = long / rows
    yield f"- {long:,} rows, two threads: {took:.0f} s, {high:.0f} MB"
    yield f"- processor time a row against {rows:,} rows: {busy / processor / times:.2f}"
    yield (
        f"- time a row against {rows:,} rows: {took / seconds / times:.2f}, with {read:.0f} GB "
        f"read from the disk against {short:.0f} GB"
    )
    yield f"- memory against {rows:,} rows: {high / peak:.2f}"


def report(repeats, rows, files, long):
    """Yield the lines of the report."""
    yield "# More than one core"
    yield ""
    yield f"A default fit of {rows:,} rows, {FEATURES} features and a target, doubles in Parquet;"
    yield f"medians of {repeats} turns, Python {platform.python_version()}, {os.cpu_count()}"
    yield "processors. Decoding: the same files read as often, and nothing else. Busy: another"
    yield "process spins on one core. Printed by `python -m benchmarks.cores`."
    yield ""
    yield (
        "| files | machine | decoding, s: 1 thread | 2 | gain | fit, s: 1 thread | 2 | gain | "
        "gain over decoding's | memory, MB: 1 | 2 | ratio |"
    )
    yield "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    fits = {}
    for count, machine, beside in (
        (1, "quiet", nullcontext),
        (files, "quiet", nullcontext),
        (files, "busy", busy_core),
    ):
        with tempfile.TemporaryDirectory() as folder:
            told = measure(write_files(Path(folder), rows, count), repeats, beside)
        seconds, peaks, _, _ = told
        gains = {name: seconds[name, 1] / seconds[name, 2] for name in ("decode", "fit")}
        yield (
            f"| {count} | {machine} | {seconds['decode', 1]:.2f} | {seconds['decode', 2]:.2f} | "
            f"{gains['decode']:.2f} | {seconds['fit', 1]:.2f} | {seconds['fit', 2]:.2f} | "
            f"{gains['fit']:.2f} | {gains['fit'] / gains['decode']:.2f} | "
            f"{peaks['fit', 1]:.0f} | {peaks['fit', 2]:.0f} | "
            f"{peaks['fit', 2] / peaks['fit', 1]:.2f} |"
        )
        fits[count, machine] = [each["fit", 2] for each in told]
    yield ""
    ratio = fits[files, "busy"][0] / fits[files, "quiet"][0]
    yield f"- beside a busy process a fit with two threads takes {ratio:.2f} times as long"
    if long:
        yield from longer(long, rows, files, fits[files, "quiet"])


if __name__ == "__main__":
    main(
        report,
        __doc__,
        quick={"repeats": 1, "rows": 100_000, "files": 4, "long": 200_000},
        repeats=3,
        rows=10 * MILLION,
        files=40,
        long=0,
    )
