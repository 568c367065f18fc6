"""What it takes to fit a table where it is kept: time and memory, beside one Parquet file.

31 columns of noise; a million rows are a third of a gigabyte. The first two places hold
`--rows`, all of them `--fewer`; with 0 a part is left out. Places take turns, each fit in a
process of its own: what is shown is the median of the turns.

    python -m benchmarks.sources [--output benchmarks/results/sources.md]
        [--rows 4200000] [--fewer 300000] [--turns 3] [--temporary FOLDER]
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import in_own_process, load, main

COLUMNS = 31
FILES = 32
GROUP = 1 << 17

FIT = """
import os
import nolook

def fit(source):
    start, cpu = time.perf_counter(), os.times()
    table = nolook.read_table(source, "c0", features=[f"c{i}" for i in range(1, 31)])
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(table)
    used = os.times()
    print(json.dumps({
        "seconds": time.perf_counter() - start,
        "cpu": used.user + used.system - cpu.user - cpu.system,
        "peak": memory("VmHWM"),
        "result": model.coef_.tobytes().hex(),
    }))
"""


def one_file(folder, rows):
    """The table in one file."""
    with pq.ParquetWriter(folder / "one.parquet", schema(), compression="none") as writer:
        for group in groups(rows):
            writer.write_table(group)


def hive(folder, rows):
    """The same rows in a folder of folders."""
    size = rows // FILES
    file = pq.ParquetFile(folder / "one.parquet")
    batches = file.iter_batches(batch_size=GROUP)
    left = pa.table({f"c{i}": pa.array([], pa.float64()) for i in range(COLUMNS)})
    for number in range(FILES):
        named = size if number < FILES - 1 else rows - size * (FILES - 1)
        while len(left) < named:
            left = pa.concat_tables([left, pa.Table.from_batches([next(batches)])])
        path = folder / "hive" / f"part={number:02}" / "data.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(left.slice(0, named), path, row_group_size=GROUP, compression="none")
        left = left.slice(named)


def nothing(folder, rows):
    """Read what is there already."""


#: Name, what keeps the table there, and code that gives `fit` its source in the folder `at`.
PLACES = {
    "one Parquet file": (one_file, "fit(f'{at}/one.parquet')"),
    f"hive folder, {FILES} files": (hive, "fit(f'{at}/hive')"),
    "pattern": (nothing, "fit(f'{at}/hive/*/*.parquet')"),
    "Polars LazyFrame": (nothing, "import polars\nfit(polars.scan_parquet(f'{at}/one.parquet'))"),
    "DuckDB relation": (
        nothing,
        (
            "import duckdb\n"
            "connection = duckdb.connect(config={'memory_limit': '500MB'})\n"
            "connection.execute('SET enable_progress_bar = false')\n"
            "fit(connection.read_parquet(f'{at}/one.parquet'))"
        ),
    ),
    "Arrow stream": (
        nothing,
        (
            "import pyarrow as pa, pyarrow.parquet as pq\n"
            "file = pq.ParquetFile(f'{at}/one.parquet', pre_buffer=False, buffer_size=65536)\n"
            "fit(pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(32768)))"
        ),
    ),
}


def schema():
    return pa.schema([(f"c{i}", pa.float64()) for i in range(COLUMNS)])


def groups(rows):
    rng = np.random.default_rng(0)
    for start in range(0, rows, GROUP):
        cells = rng.normal(size=(COLUMNS, min(GROUP, rows - start)))
        cells[0] += cells[1:].sum(axis=0)
        yield pa.table(list(cells), schema=schema())


def report(rows, fewer, turns, temporary):
    """Yield the lines of the report."""
    yield "# A table where it is kept"
    if rows:
        yield from table(rows, turns, dict(list(PLACES.items())[:2]), temporary)
    if fewer:
        yield from table(fewer, turns, PLACES, temporary)


def table(rows, turns, places, temporary):
    """Yield the lines of the report on some places."""
    busy = load()
    with tempfile.TemporaryDirectory(dir=temporary) as name:
        folder = Path(name)
        for keep, _ in places.values():
            keep(folder, rows)
        found = {place: [] for place in places}
        for _ in range(turns):
            for place, (_, code) in places.items():
                found[place].append(in_own_process(f"at = sys.argv[1]\n{FIT}\n{code}", folder))
        size = (folder / "one.parquet").stat().st_size / 1e9
    yield ""
    yield f"The default regression of {rows:,} rows and {COLUMNS} columns, {size:.2f} GB as one"
    yield f'file; medians of {turns} turn{"s" * (turns > 1)}, {busy}. Ratios and "more'
    yield 'MB" are to one file in that turn.'
    yield ""
    yield "| place | seconds | ratio | CPU seconds | ratio | peak MB | more MB | same bits |"
    yield "|---|---:|---:|---:|---:|---:|---:|---|"
    beside = next(iter(found.values()))
    for place, runs in found.items():
        yield f"| {place} | {line(runs, beside)} |"


def line(runs, first):
    def middle(field, scale=1.0):
        return median(run[field] for run in runs) * scale

    def ratio(field):
        return median(run[field] / one[field] for run, one in zip(runs, first, strict=True))

    more = median(run["peak"] - one["peak"] for run, one in zip(runs, first, strict=True))
    same = all(run["result"] == first[0]["result"] for run in runs)
    return " | ".join(
        [
            f"{middle('seconds'):.1f}",
            f"{ratio('seconds'):.2f}",
            f"{middle('cpu'):.1f}",
            f"{ratio('cpu'):.2f}",
            f"{middle('peak', 1e-6):.0f}",
            f"{more / 1e6:.0f}",
            "yes" if same else "NO",
        ]
    )


if __name__ == "__main__":
    main(report, __doc__, rows=4_200_000, fewer=300_000, turns=3, temporary=None)
