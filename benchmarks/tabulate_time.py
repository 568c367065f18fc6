"""Time and memory of tables by groups and of a description, against DuckDB on the same file.

20 columns in Parquet, 18 of numbers and two of text; a table is of 1,000 groups with declared
levels. DuckDB's GROUP BY counts rows and takes the same measures, its SUMMARIZE describes columns.
Both may use all cores, and programs take turns. "Inside" leaves out the start of the process and
imports, "whole" does not. Seconds of the processor are inside; other work lengthens them least.

    python -m benchmarks.tabulate_time [--output benchmarks/results/tabulate_time.md]
        [--rows 10000000] [--turns 3] [--temporary FOLDER] [--quick]
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import in_own_process, load, main, timed

GROUP, WORDS = 500_000, [f"g{i:04d}" for i in range(1000)]
ENDS = """
taken = time.perf_counter() - start, time.process_time() - used
print(json.dumps([*taken, memory("VmHWM") / 1e6]))
"""
NOLOOK = """
import nolook
import nolook.estimators.tabulation
start, used = time.perf_counter(), time.process_time()
levels = {"group": [f"g{i:04d}" for i in range(1000)], "sex": ["f", "m"]}
"""
DUCKDB = """
import duckdb
start, used = time.perf_counter(), time.process_time()
connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
"""
TABULATE = """
table = nolook.read_table(sys.argv[1], categories={"group": levels["group"]})
nolook.tabulate(table, "group", %s)
"""
GROUP_BY = """
connection.sql(f'''SELECT "group", count(*), %s FROM '{sys.argv[1]}' GROUP BY ALL''').fetchall()
"""
DESCRIBE = "nolook.describe(nolook.read_table(sys.argv[1], categories=levels))"
SUMMARIZE = """connection.sql(f"SUMMARIZE SELECT * FROM '{sys.argv[1]}'").fetchall()"""

#: Tasks of nolook and of DuckDB, and whether they take turns.
TASKS = {
    "mean by 1,000 groups": (TABULATE % 'mean="m"', GROUP_BY % "avg(m)", True),
    "mean and median by 1,000 groups": (
        TABULATE % 'mean="m", median="m"',
        GROUP_BY % "avg(m), median(m)",
        True,
    ),
    "description": (DESCRIBE, SUMMARIZE, False),
}


def write(path, rows):
    """Write the table, a row group at a time."""
    generator, writer = np.random.default_rng(0), None
    for start in range(0, rows, GROUP):
        size = min(GROUP, rows - start)
        columns = {f"x{i}": generator.normal(size=size) * 10.0 ** (i % 4) for i in range(16)}
        columns["k"] = generator.integers(0, 50, size)
        columns["m"] = generator.exponential(100.0, size).round(2)
        for name, words in (("group", WORDS), ("sex", ["f", "m"])):
            codes = generator.integers(0, len(words), size).astype(np.int32)
            columns[name] = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def measured(path, work, turns):
    """Return seconds inside, of the processor, of the whole process, and MB, of both programs."""
    codes = [begin + task + ENDS for begin, task in zip((NOLOOK, DUCKDB), work, strict=True)]
    runs = [[timed(lambda c=code: in_own_process(c, path)) for code in codes] for _ in range(turns)]
    found = [[(*taken, whole, peak) for whole, (*taken, peak) in turn] for turn in runs]
    return [[median(each) for each in zip(*own, strict=True)] for own in zip(*found, strict=True)]


def report(rows, turns, temporary):
    """Yield the lines of the page."""
    yield "# Time of tables by groups"
    yield ""
    yield f"Seconds, medians of {turns} turns (descriptions: one), {load()}. Allowed: three times"
    yield "DuckDB's and 2 s."
    yield ""
    heads = "nolook", "DuckDB", "allowed"
    heads = [f"{of}: {each}" for of in ("inside", "processor", "whole") for each in heads]
    yield f"| rows | task | {' | '.join(heads)} | peak MB: nolook | DuckDB |"
    yield "|" + "---|" * 13
    with tempfile.TemporaryDirectory(dir=temporary) as folder:
        path = Path(folder) / "t.parquet"
        for size in (rows // 10, rows):
            write(path, size)
            for task, (*work, often) in TASKS.items():
                own, peer = measured(path, work, turns if often else 1)
                cells = [
                    f"{each:.2f}"
                    for mine, other in zip(own[:3], peer[:3], strict=True)
                    for each in (mine, other, 3.0 * other + 2.0)
                ]
                peaks = f"{own[3]:,.0f} | {peer[3]:,.0f}"
                yield f"| {size:,} | {task} | {' | '.join(cells)} | {peaks} |"


if __name__ == "__main__":
    main(report, __doc__, rows=10_000_000, turns=3, temporary=None, quick={"rows": 20_000})
