"""Time of releases and of smoothing, and time and memory of a fit of nolook.ECDF.

python -m benchmarks.distribution_time
"""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.harness import in_own_process, seconds
from benchmarks.smoothing import by_cvxopt, cvxopt_problem, noisy_counts
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.grids import LinearGrid
from nolook.algorithms.tree_smoothing import smooth
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import byte_source

LEVELS = tuple(range(8, 21))
SLOW_LEVELS = (8, 10, 12, 14, 15)
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
turns = [[seconds(lambda: np.sort(values)), seconds(fit)] for _ in range({turns})]
print(json.dumps([turns, added]))
"""


def smoothing_times():
    """Return seconds of smoothing by number of counts: ours for both norms, and cvxopt's."""
    times = {"nolook, p = 2": {}, "nolook, p = 1 (HiGHS)": {}, "cvxopt, p = 2": {}}
    smooth(np.zeros(2), 1.0)
    for level in LEVELS:
        noisy, counts = noisy_counts("Poisson(3) a cell", level, 0.5, 0)
        top, size = counts[-1], 1 << level
        programs = {"nolook, p = 2": lambda n=noisy, t=top: smooth(n, t)}
        if level in SLOW_LEVELS:
            problem = cvxopt_problem(size)
            programs["nolook, p = 1 (HiGHS)"] = lambda n=noisy, t=top: smooth(n, t, "l1")
            programs["cvxopt, p = 2"] = lambda p=problem, n=noisy, t=top: by_cvxopt(p, n, t)
        for name, program in programs.items():
            repeats = 3 if name == "nolook, p = 2" else 1
            times[name][size] = statistics.median(seconds(program) for _ in range(repeats))
    return times


def release_times():
    """Return seconds of a default release, from exact cells to rising counts, by their number."""
    found = {}
    for level in RELEASE_LEVELS:
        size = 1 << level
        cells = np.random.default_rng(0).poisson(3, size)
        plan = ecdf_release(Budget(1.0), "add-remove", [LinearGrid(1, size, 1)], "isotonic")
        work = lambda c=cells, p=plan: release_counts([c], p, byte_source(None))  # noqa: E731
        work()
        found[size] = min(seconds(work) for _ in range(RELEASE_TURNS))
    return found


def fit_cost(rows, grid, turns=3):
    """Return the times of a sort and of a fit, turn by turn, and the memory it adds in MiB."""
    return in_own_process(FIT.format(rows=rows, grid=grid, turns=turns))


if __name__ == "__main__":
    for size, took in release_times().items():
        print(f"{size:,} cells: {took:.4f} s, {took / size * 1e9:.0f} ns a cell")
