"""How time and memory of releases grow with rows, columns, groups and persons.

One of the four grows and the others stay as they are. Every figure is of a process of its own:
seconds of the processor, which other work on the machine lengthens least, of all threads, after a
release of a small table has loaded what is needed, and the peak of the whole process. Tables are
written to Parquet when they are needed and deleted after use.

*Growth* is the power of the size by which the time grew since the size before: at most 1 where all
rows are read a fixed number of times, 2 in columns for least squares, which multiplies all pairs of
them, and a little more than 1 in rows for ranks, which are sorted.

    python -m benchmarks.growth [--output benchmarks/results/growth.md] [--cells 600000000]
        [--kept FILE] [--temporary FOLDER] [--picture benchmarks/results/growth.png] [--quick]

--cells leaves out larger tables; --kept names a file where results stay, so that a run that was
stopped goes on.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from itertools import pairwise
from math import log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import in_own_process, in_parallel, main

CHUNK, SMALL = 250_000, 2_000
BASE = {"rows": 1_000_000, "columns": 10, "groups": 100, "persons": 0}
#: What grows: its sizes, what stays otherwise than in BASE, and what is released.
GROWING = {
    "rows": (
        (100_000, 1_000_000, 10_000_000, 25_000_000, 50_000_000),
        {},
        ("linear", "ecdf", "tabulate", "describe", "kendall"),
    ),
    "columns": (
        (10, 30, 100, 300, 1_000),
        {"rows": 100_000},
        ("linear", "quantiles", "describe", "kendall"),
    ),
    "groups": ((10, 100, 1_000, 10_000, 100_000), {}, ("tabulate",)),
    "persons": ((1_000, 10_000, 100_000, 1_000_000), {}, ("linear", "ecdf", "tabulate")),
}
#: Rows that can be ranked side by side in memory.
RANKED = 10_000_000
#: By what power of a size the time may grow, where it is not 1.
POWERS = {("linear", "columns"): 2.0}
WORK = {
    "linear": "nolook.LinearRegression(1.0, 1e-6).fit(nolook.read_table(path, 'y', **use))",
    "ecdf": "nolook.ECDF().fit(nolook.read_table(path, **use | {'features': ['x0']}))",
    "quantiles": "nolook.quantiles(nolook.read_table(path, **use))",
    "describe": "nolook.describe(nolook.read_table(path, **use))",
    "kendall": "nolook.KendallSelector(3).fit(nolook.read_table(path, 'y', **use))",
    "tabulate": """nolook.tabulate(nolook.read_table(
        path, unit=use['unit'], categories={'group': [f'g{i}' for i in range(shape['groups'])]}
    ), 'group', mean='y')""",
}
PROGRAM = """
import nolook
def released(path):
    {work}
small, path, shape = *sys.argv[1:3], json.loads(sys.argv[3])
use = {{"features": [f"x{{i}}" for i in range(shape["columns"])]}}
use["unit"] = "person" if shape["persons"] else None
released(small)
used = time.process_time()
released(path)
print(json.dumps([time.process_time() - used, memory("VmHWM") / 1e6]))
"""


def write(path, rows, columns, groups, persons):
    """Write a table a row group at a time."""
    generator, writer = np.random.default_rng(0), None
    size = min(CHUNK, max(SMALL, 25_000_000 // columns))
    words = pa.array([f"g{i}" for i in range(groups)])
    for start in range(0, rows, size):
        many = min(size, rows - start)
        X = generator.normal(size=(columns, many)) * 3.0 + 10.0
        stored = {f"x{i}": column for i, column in enumerate(X)}
        stored["y"] = X[:5].sum(axis=0) + generator.normal(size=many)
        stored["group"] = words.take(pa.array(generator.integers(0, groups, many)))
        if persons:
            stored["person"] = generator.integers(0, persons, many)
        piece = pa.table(stored)
        writer = writer or pq.ParquetWriter(path, piece.schema, use_dictionary=["group"])
        writer.write_table(piece)
    writer.close()


def table(folder, name, shape):
    """Return the path of a table, written in place of the one of that name that was there."""
    path = folder / f"{name} {' '.join(map(str, shape.values()))}.parquet"
    if not path.is_file():
        for former in folder.glob(f"{name} *"):
            former.unlink()
        write(path, **shape)
    return path


def shape_of(grows, size):
    """Return the shape of a table."""
    return BASE | GROWING[grows][1] | {grows: size}


def measure(folder, grows, size, task):
    """Return seconds of the processor and megabytes of a release."""
    shape = shape_of(grows, size)
    small = shape | {"rows": SMALL, "persons": min(SMALL // 2, shape["persons"])}
    paths = table(folder, "small", small), table(folder, "large", shape)
    return in_own_process(PROGRAM.format(work=WORK[task]), *paths, json.dumps(shape))


def tasks(cells):
    """Yield what grows, its size and the task, a table after the other."""
    for grows, (sizes, _, names) in GROWING.items():
        for size in sizes:
            shape = shape_of(grows, size)
            if shape["rows"] * shape["columns"] <= cells:
                ranked = shape["rows"] <= RANKED
                yield from ((grows, size, each) for each in names if ranked or each != "kendall")


def curves(found):
    """Return sizes, seconds and megabytes, by what grows and task."""
    lines = {}
    for (grows, size, task), measured in found.items():
        lines.setdefault((grows, task), []).append((size, *measured))
    return lines


def drawn(lines, path):
    """Draw time over size, with the straight line through the largest."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(GROWING), figsize=(14, 7), sharey="row", sharex="col")
    for (grows, task), line in lines.items():
        sizes, *measured = np.array(line).T
        for each, own in zip(axes[:, list(GROWING).index(grows)], measured, strict=True):
            colour = f"C{list(WORK).index(task)}"
            each.loglog(sizes, own, "o-", ms=4, color=colour, label=task)
            if each in axes[0]:
                straight = own[-1] * (sizes / sizes[-1]) ** POWERS.get((task, grows), 1.0)
                each.loglog(sizes, straight, ":", color=colour, lw=1)
    for each, (name, (_, other, _)) in zip(axes[0], GROWING.items(), strict=True):
        stays = BASE | other
        about = f"{stays['rows']:,} rows" if name != "rows" else f"{stays['columns']} columns"
        each.set_title(f"{name} ({about})", fontsize=10)
        each.legend(fontsize=8)
    for each, label in zip(axes[:, 0], ("seconds of the processor", "peak, MB"), strict=True):
        each.set_ylabel(label)
    axes[0, 0].set_ylim(bottom=0.01)
    figure.savefig(path, bbox_inches="tight", dpi=110)


def report(cells, kept, temporary, picture):
    """Yield the lines of the page."""
    yield "# How time and memory grow"
    yield ""
    yield f"Otherwise {BASE['rows']:,} rows (100,000 where columns grow), {BASE['columns']} columns"
    yield f"of doubles, {BASE['groups']} groups, in Parquet. Seconds of the processor, all threads"
    yield "together, after a release of a small table; peak of the whole process. Growth: the power"
    yield "of the size by which the time grew since the size before. The straight line is 1, and 2"
    yield "for least squares, which multiplies all pairs of columns. Tables of more than 256 MB of"
    yield "numbers are not kept in memory and are read again in each pass: one step, and a straight"
    yield "line again beyond it. Printed by `python -m benchmarks.growth`."
    with tempfile.TemporaryDirectory(dir=temporary) as folder:
        found = in_parallel(partial(measure, Path(folder)), [*tasks(cells)], 1, kept)
    for (grows, task), line in curves(found).items():
        yield from ("", f"## {task}: {grows}", "", f"| {grows} | seconds | growth | peak, MB |")
        yield "|---:|---:|---:|---:|"
        growth = [""] + [
            f"{log(later / former) / log(size / less):.2f}"
            for (less, former, _), (size, later, _) in pairwise(line)
        ]
        for (size, taken, peak), power in zip(line, growth, strict=True):
            yield f"| {size:,} | {taken:.2f} | {power} | {peak:,.0f} |"
    if picture:
        drawn(curves(found), picture)
        yield ""
        title = "Seconds and megabytes by size; dotted: the straight line through the largest"
        yield f"![{title}]({Path(picture).name})"


if __name__ == "__main__":
    main(
        report,
        __doc__,
        cells=600_000_000,
        kept="",
        temporary=None,
        picture="",
        quick={"cells": 1_000_000},
    )
