"""Time of releases, and time and memory of a fit of nolook.ECDF.

python -m benchmarks.distribution_time [--output FILE]
"""

from __future__ import annotations

import os

import numpy as np

from benchmarks.harness import in_own_process, main, median_ratio, medians, seconds
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.grids import LinearGrid
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import byte_source

SIZE = 2**15
RELEASE_LEVELS = (14, 16, 18, 20, 22)
RELEASE_TURNS = 5

FIT = """
import numpy as np
import nolook
from pathlib import Path
values = np.random.default_rng(0).normal(16384.0, 4096.0, {rows})
grid = {grid}
def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
def fit():
    nolook.ECDF(1.0, grid).fit(values)
nolook.ECDF(1.0, grid).fit(values[:1000])
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
fit()
added = (memory("VmHWM") - before) / 2**20
works = lambda: np.sort(values), fit, values.sum
turns = [[seconds(work) for work in works] for _ in range({turns})]
print(json.dumps([turns, added]))
"""


def release_times():
    """Return seconds of a default release, from exact cells to rising counts, by their number."""
    found = {}
    for level in RELEASE_LEVELS:
        size = 1 << level
        cells = np.random.default_rng(0).poisson(3, size)
        plan = ecdf_release(Budget(1.0), "add-remove", [LinearGrid(1, size, 1)])
        work = lambda c=cells, p=plan: release_counts([c], p, byte_source(None))  # noqa: E731
        work()
        found[size] = min(seconds(work) for _ in range(RELEASE_TURNS))
    return found


def fit_cost(rows, grid, turns=3):
    """Return times of a sort, a fit and a sum, turn by turn, and the MiB that the fit adds."""
    return in_own_process(FIT.format(rows=rows, grid=grid, turns=turns))


def report():
    """Yield the lines of the report."""
    yield "# Private distributions: time and memory"
    yield ""
    yield f"{os.cpu_count()} processors. Printed by `python -m benchmarks.distribution_time`."
    yield ""
    yield "| cells | seconds of a release | nanoseconds a cell |"
    yield "|---:|---:|---:|"
    for size, took in release_times().items():
        yield f"| {size:,} | {took:.4f} | {took / size * 1e9:.0f} |"
    yield ""
    yield "ECDF(1.0, grid).fit(values); values are normal, in memory already; medians of 3 turns in"
    yield "one process. One pass over memory is values.sum()."
    yield ""
    yield (
        "| values | grid | fit, s | numpy.sort, s | fit over sort | one pass, s | "
        "fit over one pass | memory added, MiB |"
    )
    yield "|---:|---|---:|---:|---:|---:|---:|---:|"
    for rows in (10**6, 10**7):
        for title, grid in {
            "the default": "None",
            "2^15 thresholds": f"nolook.LinearGrid(1, {SIZE}, 1)",
        }.items():
            turns, added = fit_cost(rows, grid)
            sort, fit, once = medians(turns)
            ratio, passes = median_ratio(turns, 1, 0), median_ratio(turns, 1, 2)
            yield (
                f"| {rows:,} | {title} | {fit:.3f} | {sort:.3f} | {ratio:.2f} | {once:.4f} | "
                f"{passes:.0f} | {added:.0f} |"
            )


if __name__ == "__main__":
    main(report, __doc__)
