"""The figures of Barczewski, Mawass and Ramon (2024) on private distributions, and times.

X(rate) has a Poisson(rate) number of values at each of 2^15 thresholds, as in the paper's section
6.2.1. Squared errors are means over all thresholds and all runs, of shares of the values. All
releases are under the paper's relation, replacement. Figures 1 to 5 and 7 to 9.

    python -m benchmarks.distribution_paper [--output FILE] [--runs 40]
"""

from __future__ import annotations

import os
import time

import numpy as np

from benchmarks import distribution_figures as figures
from benchmarks import distribution_scores as scores
from benchmarks.distribution_columns import poisson_cells
from benchmarks.distribution_time import (
    SLOW_LEVELS,
    fit_cost,
    smoothing_times,
)
from benchmarks.harness import main, median_ratio, medians
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.grids import LinearGrid
from nolook.algorithms.tree_smoothing import smooth
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SeededSource
from papers.barczewski2024 import tree_counts

SIZE = 2**15
GRID = LinearGrid(1, SIZE, 1)
CURVE_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
NORMS = ("l2", "isotonic", "l1")
SLOW_RUNS = 5  # of l1, the linear program, which takes a second or two

ROC_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EXAMPLES = {"framingham": (1, 0.5), "bank_marketing": (8, 0.2), "diabetes_readmission": (9, 0.05)}


def squared(found, exact):
    """Return the mean squared error."""
    return float(np.mean((found - exact) ** 2))


def exact_shares(cells):
    """Return the exact share of the values up to each threshold."""
    return np.cumsum(cells) / np.sum(cells)


def published(cells, epsilon, seed):
    """Return the counts of the paper's release; the number of values is public there."""
    return tree_counts(cells, epsilon, SeededSource(seed)).astype(float)


def ours(cells, epsilon, seed):
    """Return the shares of nolook's release under the paper's relation, replacement."""
    plan = ecdf_release(Budget(epsilon), "replace", [GRID], "isotonic")
    (found,) = release_counts([cells], plan, SeededSource(seed))
    return found.counts / found.rows


def smoothing_ratios(rate, epsilon, runs):
    """Return the squared error of the paper's release, smoothed by each norm, over unsmoothed."""
    errors = {norm: [] for norm in NORMS}
    for seed in range(runs):
        cells = poisson_cells(rate, seed)
        exact, total = exact_shares(cells), float(cells.sum())
        noisy = published(cells, epsilon, seed)
        unsmoothed = squared(noisy / total, exact)
        for norm in NORMS[: None if seed < SLOW_RUNS else -1]:
            found = squared(smooth(noisy, total, norm) / total, exact)
            errors[norm].append((found, unsmoothed))
    return {norm: np.divide(*np.sum(pairs, axis=0)) for norm, pairs in errors.items()}


def inverse(shares, p):
    """Return the places of quantiles by Algorithm 1, which searches by halves."""
    low, high = np.full(len(p), -1), np.full(len(p), len(shares) - 1)
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 0)
        below = shares[middle] < p
        low, high = np.where(below, middle, low), np.where(below, high, np.maximum(middle, low + 1))
    return high


def evaluation_errors(epsilon, runs):
    """Return squared errors of shares and of quantiles, these by the length of the grid."""
    p = (np.arange(1000) + 0.5) / 1000
    errors = {}
    for seed in range(runs):
        cells = poisson_cells(3.0, seed)
        total = cells.sum()
        exact = exact_shares(cells)
        noisy = published(cells, epsilon, seed)
        curves = {
            "paper, unsmoothed": noisy / total,
            "paper, l2": smooth(noisy, float(total)) / total,
            "nolook, replacing": ours(cells, epsilon, seed),
        }
        for name, shares in curves.items():
            own = errors.setdefault(name, np.zeros(2))
            moved = (inverse(shares, p) - inverse(exact, p)) / SIZE
            own += np.array([squared(shares, exact), np.mean(moved**2)]) / runs
    return errors


def smoothing_report(runs, draw):
    """Yield the lines on smoothing (figures 2 and 3)."""
    yield "## Squared error smoothed over unsmoothed (figures 2 and 3)"
    yield ""
    yield (
        f"The paper's release, {runs} runs, {min(SLOW_RUNS, runs)} of l1. First X(3), then X(rate)"
        " at epsilon = 1."
    )
    yield ""
    by_epsilon = [smoothing_ratios(3.0, epsilon, runs) for epsilon in CURVE_EPSILONS]
    by_rate = [smoothing_ratios(rate, 1.0, runs) for rate in RATES]
    titles = [*(f"epsilon = {e:g}" for e in CURVE_EPSILONS), *(f"rate = {r:g}" for r in RATES)]
    yield f"| smoothing | {' | '.join(titles)} |"
    yield "|---" + "|---:" * len(titles) + "|"
    for norm in NORMS:
        cells = " | ".join(f"{each[norm]:.2f}" for each in (*by_epsilon, *by_rate))
        yield f"| {norm} | {cells} |"
    yield ""
    draw("2_3_smoothing", figures.smoothing, CURVE_EPSILONS, by_epsilon, RATES, by_rate)


def evaluation_report(runs, draw):
    """Yield the lines on the function and its inverse (figure 4)."""
    yield "## The distribution and its inverse on X(3) (figure 4)"
    yield ""
    yield "Squared error of the share at a threshold, then of the quantile by N, under replacement;"
    yield f"{runs} runs."
    yield ""
    found = [evaluation_errors(epsilon, runs) for epsilon in CURVE_EPSILONS]
    yield f"| release | {' | '.join(f'epsilon = {e:g}' for e in CURVE_EPSILONS)} |"
    yield "|---" + "|---:" * len(CURVE_EPSILONS) + "|"
    for name in found[0]:
        for place, kind in enumerate(("share", "quantile")):
            cells = " | ".join(f"{each[name][place]:.1e}" for each in found)
            yield f"| {name}: {kind} | {cells} |"
    yield ""
    draw("4_inverse", figures.inverse, CURVE_EPSILONS, found)


def roc_report(runs, draw):
    """Yield the lines on ROC curves (figures 1, 5, 8 and 9)."""
    yield "## ROC curves of logistic regressions (figures 1, 5, 8 and 9)"
    yield ""
    yield "Each cell: mean error of the AUC, mean area between the private and the exact curve;"
    yield f"{runs} runs, all under the paper's relation, replacement. Grid:"
    yield "LinearGrid(1/256, 1, 1/256)."
    yield ""
    yield f"| table | release | {' | '.join(f'epsilon = {e:g}' for e in ROC_EPSILONS)} |"
    yield "|---|---" + "|---:" * len(ROC_EPSILONS) + "|"
    lines, sweeps = [], {}
    for name, (number, epsilon) in EXAMPLES.items():
        table = scores.scored(name)
        curves = {kind: scores.rates(table, kind, epsilon, 0) for kind in figures.ROC_STYLES}
        draw(f"{number}_roc_{name}", figures.roc, table, curves, f"{name}, epsilon = {epsilon:g}")
        sweeps[name] = {}
        for method in scores.METHODS:
            found = [scores.roc_errors(table, method, e, runs) for e in ROC_EPSILONS]
            sweeps[name][method] = np.array(found)
            cells = " | ".join(f"{auc:.4f}, {between:.4f}" for between, auc in found)
            yield f"| {name} | {method} | {cells} |"
        error, searched, paper = (
            sweeps[name][method][ROC_EPSILONS.index(0.1), 1]
            for method in ("grid", "no grid", scores.PUBLISHED)
        )
        lines.append(
            f"- {name} (AUC {table.auc:.3f}), epsilon = 0.1, with the grid: error {error:.4f}"
            f", without {searched:.4f}, with the paper's constants {paper:.4f}"
        )
    yield ""
    yield from lines
    yield ""
    draw("5_roc_errors", figures.roc_errors, ROC_EPSILONS, sweeps)


def time_report(draw):
    """Yield the lines on time and memory (figure 7)."""
    yield "## Seconds of smoothing X(3) at epsilon = 0.5 (figure 7)"
    yield ""
    times = smoothing_times()
    sizes = [1 << level for level in (*SLOW_LEVELS, 18, 20)]
    yield f"| program | {' | '.join(f'N = {size:,}' for size in sizes)} |"
    yield "|---" + "|---:" * len(sizes) + "|"
    for name, own in times.items():
        cells = (f"{own[size]:.2g}" if size in own else "" for size in sizes)
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    ratio = times["cvxopt, p = 2"][SIZE] / times["nolook, p = 2"][SIZE]
    yield f"- p = 2 at N = {SIZE:,}: {ratio:.0f} times faster than cvxopt"
    yield "- more shapes of data, and how well the two agree: `smoothing.md`"
    yield ""
    draw("7_smoothing_time", figures.times, times)
    yield "## Time and memory of ECDF(1.0, grid).fit(values)"
    yield ""
    yield "Values are normal, in memory already; medians of 3 turns in one process."
    yield ""
    yield "| values | grid | fit, s | numpy.sort, s | fit over sort | memory added, MiB |"
    yield "|---:|---|---:|---:|---:|---:|"
    for rows in (10**6, 10**7):
        for title, grid in {
            "the default": "None",
            "2^15 thresholds": f"nolook.LinearGrid(1, {SIZE}, 1)",
        }.items():
            turns, added = fit_cost(rows, grid)
            sort, fit = medians(turns)
            ratio = median_ratio(turns, 1, 0)
            yield f"| {rows:,} | {title} | {fit:.2f} | {sort:.2f} | {ratio:.1f} | {added:.0f} |"
    yield ""


def report(runs, folder):
    """Yield the lines of the report, and draw the figures if there is a folder for them."""

    def draw(*arguments):
        if folder:
            figures.draw(folder, *arguments)

    start = time.perf_counter()
    yield "# Private distributions: the figures of the paper"
    yield ""
    yield f"{os.cpu_count()} processors. Printed, with the figures `distribution_*.svg`, by"
    yield "`python -m benchmarks.distribution_paper`."
    yield ""
    yield from smoothing_report(max(1, runs // 2), draw)
    yield from evaluation_report(max(1, runs // 2), draw)
    yield from roc_report(max(1, runs // 2), draw)
    yield from time_report(draw)
    yield f"All of it took {(time.perf_counter() - start) / 60:.0f} minutes."


if __name__ == "__main__":
    main(report, __doc__, figures=True, runs=40)
