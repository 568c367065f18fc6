"""A fit whose rows Spark's workers read, against the same fit of the same files without Spark.

One folder of files, 30 features. The fit without Spark, with two threads; with `local[2]` where
Spark only says who reads which part; and of a table of Spark. One session, taking turns. A pass
over the table of Spark is compared with a bare sum of all columns by Spark itself. Sizes of states
are those of 10,000 rows, as they are held and as they travel. What longer tables take is worked
out from the passes of this run, as if cores were as fast and nothing waited for another.

    python -m benchmarks.spark [--output benchmarks/results/spark.md] [--rows 10000000]
        [--files 40] [--turns 3] [--quick]
"""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nolook
from benchmarks.harness import by_turns, main, median_ratio, medians, timed
from nolook.algorithms.grids import LinearGrid
from nolook.kernels.histogram import magnitude_counts, row_counts
from nolook.spark.cluster import packed
from nolook.spark.frames import start_session
from nolook.statistics.cell_counts import ColumnCells
from nolook.statistics.design_moments import DesignMoments
from nolook.statistics.histograms import Histograms

FEATURES = [f"x{i}" for i in range(30)]
PART = 100_000
CORES = 2  # of the session
PASSES = 18  # of a fit that keeps no rows
PART_ROWS = 1_000_000
#: How many rows, and on how many cores.
LONGER = ((1e9, 100), (1e12, 10_000))


def rows(count, random):
    x = random.normal(size=(len(FEATURES), count))
    columns = dict(zip([*FEATURES, "y"], [*x, x.sum(axis=0)], strict=True))
    return pa.table({**columns, "id": random.integers(0, count // 3 + 1, count)})


def write(folder, count, files, random):
    ends = np.linspace(0, count, files + 1).astype(int)
    for i, size in enumerate(np.diff(ends)):
        pq.write_table(rows(size, random), folder / f"{i:03}.parquet", row_group_size=PART)


def fit(source, **more):
    table = nolook.read_table(source, "y", features=FEATURES, **more)
    return nolook.LinearRegression(1.0, 1e-6, random_state=0).fit(table).coef_


def a_pass(source, **more):
    table = nolook.read_table(source, "y", features=FEATURES, **more)
    return table.fold(Histograms(row_counts))


def states():
    """Yield what states are of, their bytes as they are held, and as they travel."""
    random = np.random.default_rng(0)
    for columns in (31, 1_000):
        batch = random.normal(size=(columns, 10_000))
        whole = np.round(batch * 2**10)
        made = {
            "magnitudes": Histograms(magnitude_counts).update(batch),
            "moments": DesignMoments(columns, 2**40).update(whole),
        }
        if columns == 31:
            points = LinearGrid(-4, 4, 8 / 2**16).points()
            made["each column's distribution over 65,536 cells"] = ColumnCells(
                [points] * columns
            ).update(batch)
        for name, statistic in made.items():
            yield f"{name}, {columns} columns", len(pickle.dumps(statistic)), len(packed(statistic))


def on_paper(rows, files_pass, frame_pass, sent):
    """Yield what longer tables take: passes grow with rows and shrink with cores."""
    yield (
        "| rows | cores | a pass over files, min | a fit, hours | a pass over a table of Spark, "
        "min | a fit, hours | states of a pass, MB |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for many, cores in LONGER:
        share = many / rows * CORES / cores / 60
        cells = [
            f"{minutes:.1f} | {minutes * PASSES / 60:.1f}"
            for minutes in (files_pass * share, frame_pass * share)
        ]
        states = sent * many / PART_ROWS / 2**20
        yield f"| {many:.0e} | {cores:,} | {cells[0]} | {cells[1]} | {states:,.0f} |"
    yield ""
    yield f"A fit is {PASSES} passes. A part has {PART_ROWS:,} rows, and the state of the moments."


def report(rows, files, turns):
    warnings.simplefilter("ignore")  # of versions of pandas
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = start_session("local[2]")
    yield "# Fits whose rows Spark reads"
    yield ""
    yield f"{rows:,} rows of {len(FEATURES)} features, {files} files, local[2], {turns} turns."
    yield ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows, files, np.random.default_rng(0))
        frame = session.read.parquet(name)
        work = {
            "a fit without Spark, two threads": partial(fit, folder, threads=2),
            "a fit, Spark's workers read the files": partial(fit, folder, engine=session),
            "a fit of a table of Spark": partial(fit, frame),
            "a fit by unit without Spark, two threads": partial(fit, folder, threads=2, unit="id"),
            "a fit by unit of a table of Spark": partial(fit, frame, unit="id"),
            "a pass over a table of Spark": partial(a_pass, frame),
            "a pass over files that workers read": partial(a_pass, folder, engine=session),
            # Made anew, or Spark would only look up what it has shuffled before.
            "a bare sum of all its columns": lambda: frame.drop("id").groupBy().sum().collect(),
        }
        first = {name: timed(each) for name, each in work.items()}  # compiles, starts workers
        fits = [coefficients for _, coefficients in list(first.values())[:5]]
        alike = all((f == fits[0]).all() for f in fits[:3]) and (fits[3] == fits[4]).all()
        times = by_turns(work.values(), turns)
    yield "| | seconds |"
    yield "|---|---:|"
    for name, each in zip(work, medians(times), strict=True):
        yield f"| {name} | {each:.1f} |"
    yield ""
    yield f"- the same coefficients, to the last bit: {bool(alike)}"
    yield f"- scheduled files / without Spark: {median_ratio(times, 1, 0):.2f}"
    yield f"- table of Spark / without Spark: {median_ratio(times, 2, 0):.2f}"
    yield f"- by unit, table of Spark / without Spark: {median_ratio(times, 4, 3):.2f}"
    yield f"- pass / bare sum: {median_ratio(times, 5, 7):.2f}"
    yield ""
    yield "| state | bytes | bytes sent |"
    yield "|---|---:|---:|"
    sizes = list(states())
    for name, held, sent in sizes:
        yield f"| {name} | {held:,} | {sent:,} |"
    session.stop()
    yield ""
    passes = medians(times)
    yield from on_paper(rows, passes[6], passes[5], sizes[1][2])


if __name__ == "__main__":
    main(
        report,
        __doc__,
        quick={"rows": 20_000, "files": 2, "turns": 1},
        rows=10_000_000,
        files=40,
        turns=3,
    )
