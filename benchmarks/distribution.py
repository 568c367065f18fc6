"""Private distributions: errors, time and memory, after Barczewski, Mawass and Ramon (2024).

X(rate) has a Poisson(rate) number of values at each of 2^15 thresholds, as in the paper's
section 6.2.1. Squared errors are means over all thresholds and all runs, of shares of the values.
The pictures are those of the paper's figures 1 to 5 and 7 to 9.

    python -m benchmarks.distribution [--output FILE] [--runs 100]
"""

from __future__ import annotations

import os
import textwrap
import time

import numpy as np

from benchmarks import distribution_figures as figures
from benchmarks import distribution_scores as scores
from benchmarks.distribution_time import SLOW_LEVELS, fit_cost, smoothing_times
from benchmarks.harness import main, median_ratio, medians
from nolook.algorithms.ecdf import ecdf_plan, release_ecdf
from nolook.algorithms.grids import LinearGrid
from nolook.algorithms.tree_smoothing import smooth
from nolook.privacy.guarantee import Budget
from nolook.privacy.mechanisms.binary_tree import tree_laplace
from nolook.privacy.noise import SeededSource
from papers.barczewski2024 import tree_counts

SIZE = 2**15
POINTS = LinearGrid(1, SIZE, 1).points()
EPSILONS = (0.1, 0.5, 1.0, 2.0)
CURVE_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
NORMS = ("l2", "isotonic", "l1")
SLOW_RUNS = 5  # of l1, the linear program, which takes a second or two

STEPS = {
    "published": "paper, unsmoothed",
    "scale": "the scale under add/remove",
    "rows": "and a private number of rows",
    "l2": "and l2 smoothing: the default",
}
LAST = "default, but for the noisy last count as the number of rows"

ROC_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EXAMPLES = {"framingham": (1, 0.5), "bank_marketing": (8, 0.2), "diabetes_readmission": (9, 0.05)}


def squared(found, exact):
    """Return the mean squared error."""
    return float(np.mean((found - exact) ** 2))


def span(ratios):
    """Return the least and the largest of some ratios in words."""
    ends = [f"{end(ratios):.2f}" for end in (min, max)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def poisson_cells(rate, seed):
    """Return how many values X(rate) has at each threshold."""
    return np.random.default_rng(seed).poisson(rate, SIZE)


def released(cells, epsilon, smoothing, seed):
    """Return the shares that our release gives at every threshold."""
    plan = ecdf_plan(Budget(epsilon), "add-remove")
    values = np.repeat(POINTS, cells)
    distribution = release_ecdf([values], POINTS, plan, smoothing, SeededSource(seed))
    return distribution.counts / distribution.rows


def published(cells, epsilon, seed):
    """Return the counts of the paper's release; the number of values is public there."""
    return tree_counts(cells, epsilon, SeededSource(seed)).astype(float)


def step_errors(epsilon, runs):
    """Return the squared error of the paper's release, and after each step towards ours."""
    errors = dict.fromkeys((*STEPS, "last"), 0.0)
    for seed in range(runs):
        cells = poisson_cells(3.0, seed)
        total = cells.sum()
        exact = np.cumsum(cells) / total
        noisy = tree_laplace(cells, epsilon, "add-remove", SeededSource(seed)).astype(float)
        last = max(1.0, noisy[-1])
        found = {
            "published": published(cells, epsilon, seed) / total,
            "scale": noisy / total,
            "rows": released(cells, epsilon, None, seed),
            "l2": released(cells, epsilon, "l2", seed),
            "last": smooth(noisy, last) / last,
        }
        for name, shares in found.items():
            errors[name] += squared(shares, exact) / runs
    return errors


def smoothing_ratios(rate, epsilon, runs):
    """Return the squared error of our release over the unsmoothed one, for each norm."""
    errors = {norm: [] for norm in NORMS}
    for seed in range(runs):
        cells = poisson_cells(rate, seed)
        exact = np.cumsum(cells) / cells.sum()
        unsmoothed = squared(released(cells, epsilon, None, seed), exact)
        for norm in NORMS[: None if seed < SLOW_RUNS else -1]:
            found = squared(released(cells, epsilon, norm, seed), exact)
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
        exact = np.cumsum(cells) / total
        noisy = published(cells, epsilon, seed)
        curves = {
            "paper, unsmoothed": noisy / total,
            "paper, l2": smooth(noisy, float(total)) / total,
            "nolook's default": released(cells, epsilon, "l2", seed),
        }
        for name, shares in curves.items():
            own = errors.setdefault(name, np.zeros(2))
            moved = (inverse(shares, p) - inverse(exact, p)) / SIZE
            own += np.array([squared(shares, exact), np.mean(moved**2)]) / runs
    return errors


def poisson_report(runs):
    """Yield the lines on X(3), release by release."""
    yield "## Squared error on X(3), N = 2^15"
    yield ""
    yield f"Over that of the paper's unsmoothed release at the same epsilon; {runs} runs."
    yield ""
    yield f"| release | {' | '.join(f'epsilon = {e:g}' for e in EPSILONS)} |"
    yield "|---" + "|---:" * len(EPSILONS) + "|"
    found = [step_errors(epsilon, runs) for epsilon in EPSILONS]
    for name, title in {**STEPS, "last": LAST}.items():
        cells = " | ".join(f"{each[name] / each['published']:.3f}" for each in found)
        yield f"| {title} | {cells} |"
    cells = " | ".join(f"{np.sqrt(each['l2']):.1e}" for each in found)
    yield f"| root of the default's squared error, as a share | {cells} |"
    yield ""
    shares = {e: own["l2"] / own["published"] for e, own in zip(EPSILONS, found, strict=True)}
    worst = max(shares[epsilon] for epsilon in (0.1, 0.5, 1.0))
    yield f"- default over the paper's, epsilon in {{0.1, 0.5, 1}}: at most {worst:.2f}"
    smoothed = [own["l2"] / own["rows"] for own in found]
    yield f"- l2-smoothed over unsmoothed, epsilon <= 2: at most {max(smoothed):.2f}"
    yield ""
    scale = span([own["scale"] / own["published"] for own in found])
    rows = span([own["rows"] / own["scale"] for own in found])
    last = span([own["last"] / own["l2"] for own in found])
    yield from textwrap.wrap(
        f"The scale under add/remove leaves {scale} of the paper's error. A private number of rows"
        f" at 5 % of epsilon makes it {rows} times that, and smoothing leaves {span(smoothed)} of"
        f" it. With the noisy last count as the number of rows, which leaves all of epsilon to the"
        f" counts, the error would be {last} times the default's.",
        width=100,
    )
    yield ""


def smoothing_report(runs, draw):
    """Yield the lines on smoothing (figures 2 and 3)."""
    yield "## Squared error smoothed over unsmoothed (figures 2 and 3)"
    yield ""
    yield (
        f"nolook's release, {runs} runs, {min(SLOW_RUNS, runs)} of l1. First X(3), then X(rate) at"
        " epsilon = 1."
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
    yield f"Squared error of the share at a threshold, then of the quantile by N; {runs} runs."
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
    yield f"{runs} runs. Grid: LinearGrid(1/256, 1, 1/256)."
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
            for method in ("grid, l2", "no grid", scores.PUBLISHED)
        )
        hits = scores.covered(table, 0.1, runs)
        lines.append(
            f"- {name} (AUC {table.auc:.3f}), epsilon = 0.1, with the grid: error {error:.4f}"
            f", without {searched:.4f}, with the paper's constants {paper:.4f};"
            f" {hits} of {runs} intervals hold the AUC on the grid"
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
    yield "# Private distributions"
    yield ""
    yield f"{os.cpu_count()} processors. Printed, with the figures `distribution_*.svg`, by"
    yield "`python -m benchmarks.distribution`."
    yield ""
    yield from poisson_report(runs)
    yield from smoothing_report(runs, draw)
    yield from evaluation_report(max(1, runs // 4), draw)
    yield from roc_report(runs, draw)
    yield from time_report(draw)
    yield f"All of it took {(time.perf_counter() - start) / 60:.0f} minutes."


if __name__ == "__main__":
    main(report, __doc__, figures=True, runs=100)
