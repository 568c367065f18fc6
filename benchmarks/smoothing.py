"""Time of the smoothing of tree-noise counts, against cvxopt's sparse solver.

cvxopt is given problem (3) with p = 2 in its sparsest form: the unknowns are each node's noise
with all above it, so that a row has at most three entries. The objective of both results is taken
in the Haar basis. The programs take turns in one process, and ratios are taken turn by turn.
Memory is the peak of a whole process of its own. The number of rows is known here.

    python -m benchmarks.smoothing [--output benchmarks/results/smoothing.md] [--repeats 3]
"""

from __future__ import annotations

import os

import numpy as np

from benchmarks.harness import in_own_process, main, median_ratio, medians, timed
from papers.barczewski2024.cvxopt_smoothing import by_cvxopt, cvxopt_problem
from papers.barczewski2024.tree_smoothing import smooth

EPSILONS = (0.1, 0.5, 1.0)
SHAPES = ("Poisson(3) a cell", "uniform", "two humps", "7 values")
LEVEL = 15

LARGE = """
from benchmarks.smoothing import noisy_counts, smooth
noisy, _ = noisy_counts({shape!r}, 20, 0.5, 0)
smooth(noisy[:1024], 3.0, {norm!r})
start = time.perf_counter()
smooth(noisy, float(3 * 2**20), {norm!r})
print(json.dumps([time.perf_counter() - start, memory("VmHWM")]))
"""


def noisy_counts(shape, level, epsilon, seed):
    """Return cumulative counts with and without tree noise under addition and removal."""
    rng = np.random.default_rng(seed)
    size = 1 << level
    rows = 3 * size
    if shape == "Poisson(3) a cell":
        cells = rng.poisson(3, size)
    else:
        places = {
            "uniform": lambda: rng.integers(0, size, rows),
            "two humps": lambda: size * rng.normal(rng.choice([0.25, 0.7], rows), 0.05),
            "7 values": lambda: rng.integers(0, 7, rows) * (size // 8) + size // 16,
        }[shape]()
        cells = np.bincount(np.clip(places, 0, size - 1).astype(int), minlength=size)
    counts = np.cumsum(cells).astype(float)
    scale = (level + 2) // 2 / epsilon
    noisy = counts.copy()
    for k in range(level + 1):
        noisy += np.repeat(rng.laplace(scale=scale, size=size >> k), 1 << k)
    return noisy, counts


def objective(residuals):
    """Return the least sum of squares of nodes' noises, in the Haar basis."""
    total, support = 0.0, 1
    while len(residuals) > 1:
        left, right = residuals[::2], residuals[1::2]
        residuals, details = (left + right) / np.sqrt(2), (left - right) / np.sqrt(2)
        support *= 2
        total += details @ details / (support - 1)
    return total + residuals[0] ** 2 / (2 * support - 1)


def speed(level, shape, epsilon, repeats):
    """Return times of cvxopt and nolook turn by turn, and the relative gap of objectives."""
    problem = cvxopt_problem(1 << level)
    turns, gaps = [], []
    for seed in range(repeats):
        noisy, counts = noisy_counts(shape, level, epsilon, seed)
        theirs, their_counts = timed(lambda n=noisy, c=counts: by_cvxopt(problem, n, c[-1]))
        ours, our_counts = timed(lambda n=noisy, c=counts: smooth(n, c[-1]))
        turns.append((theirs, ours))
        gaps.append(objective(noisy - our_counts) / objective(noisy - their_counts) - 1)
    return turns, max(gaps, key=abs)


def large(shape, norm):
    """Return the time for 2^20 counts and the peak memory of the process, in bytes."""
    return in_own_process(LARGE.format(shape=shape, norm=norm))


def report(repeats):
    """Yield the lines of the report."""
    smooth(np.zeros(2), 1.0)
    yield "# Smoothing of tree-noise counts"
    yield ""
    yield "Laplace noise of scale ceil((L + 1) / 2) / epsilon in each node of the tree over N = 2^L"
    yield f"counts, {os.cpu_count()} processors, medians of {repeats} turns. Printed by"
    yield "`python -m benchmarks.smoothing`."
    yield ""
    yield "## Problem (3), p = 2"
    yield ""
    yield "Gap: the objective over that of cvxopt's result, less 1."
    yield ""
    yield "| counts | N | epsilon | cvxopt, s | nolook, s | times faster | gap |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    slowest = np.inf
    for level in (10, LEVEL):
        for shape in SHAPES:
            for epsilon in EPSILONS:
                turns, gap = speed(level, shape, epsilon, repeats)
                theirs, ours = medians(turns)
                ratio = median_ratio(turns, 0, 1)
                if level == LEVEL:
                    slowest = min(slowest, ratio)
                yield (
                    f"| {shape} | {1 << level:,} | {epsilon} | {theirs:.3f} | {ours:.5f}"
                    f" | {ratio:.0f} | {gap:.0e} |"
                )
    yield ""
    yield f"- faster than cvxopt at N = {1 << LEVEL:,}: at least {slowest:.0f} times"
    took, peak = map(max, zip(*(large(shape, "l2") for shape in SHAPES), strict=True))
    yield (
        f"- N = {1 << 20:,}: at most {took:.2f} s, peak of the whole process {peak / 2**20:.0f} MiB"
    )
    noisy, counts = noisy_counts(SHAPES[0], LEVEL, 0.5, 0)
    took, _ = timed(lambda: smooth(noisy, counts[-1], "l1"))
    yield f"- p = 1 at N = {1 << LEVEL:,}, by HiGHS: {took:.1f} s"


if __name__ == "__main__":
    main(report, __doc__, repeats=3)
