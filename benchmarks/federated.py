"""What two servers cost: the error of a federated ROC curve against the central one, and time.

A logistic regression, fitted without privacy on the whole of bank_marketing, scores the same rows.
That only shows the size of the noise; on rows that matter it would give them away. Both releases
are under replacement. Every row is an owner: real reports are made once, both servers add them up,
and every run is an answer of both with other keys.

    python -m benchmarks.federated [--output benchmarks/results/federated.md] [--runs 2000]
"""

from __future__ import annotations

import hashlib
import os

import numpy as np

import nolook
from benchmarks.harness import DATA, main, seconds
from benchmarks.roc import GRID
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.roc import class_rows, release_roc, roc_plan
from nolook.algorithms.roc_curve import RocCurve, area
from nolook.algorithms.tree_smoothing import smoothed_counts
from nolook.federated.batch import Batch
from nolook.federated.owners import make_reports
from nolook.federated.shares import curve_sums, noisy_curves
from nolook.federated.wire import report_bytes
from nolook.privacy.noise import SeededSource, SystemEntropy
from papers.barczewski2024.scores import scored

EPSILONS = (0.1, 1.0)
MEASURES = {
    "counts": "counts of both classes, not smoothed",
    "area": "AUC, not smoothed",
    "smooth area": "AUC, smoothed",
    "curve": "true positive rate at 201 false positive rates, smoothed",
}
PLACES = np.linspace(0.0, 1.0, 201)
TIMED = {8: 4096, 16: 256}  # levels and reports
SENT = 4096


def counted(noisy, tops, points, smoothing):
    """Return the curve of noisy counts; what a variance would be does not matter here."""
    levels = (len(points) - 1).bit_length()
    return RocCurve(
        *(
            PrivateDistribution(
                points,
                smoothed_counts(one.astype(float), top, len(points), smoothing),
                top,
                levels,
                0.0,
                0.0,
            )
            for one, top in zip(noisy, tops, strict=True)
        )
    )


def federated(batch, sums, n, seed):
    """Return the noisy counts of both classes, and their private numbers of rows."""
    keys = (hashlib.sha256(b"%d %d" % (role, seed)).digest() for role in range(2))
    first, second = (noisy_curves(batch, own, key) for own, key in zip(sums, keys, strict=True))
    found = {name: (first[name] + second[name]).view(np.int64) for name in first}
    return [found["positive"], found["negative"]], class_rows(float(found["rows"][0]), n)


def central(table, batch, seed):
    """Return the same of a central release."""
    plan = roc_plan(batch.epsilon, "replace", search=False)
    found = release_roc(table, batch.points(), plan, None, SeededSource(seed))
    return [one.counts for one in found], [one.rows for one in found]


def errors_of(noisy, tops, exact, truth):
    """Return the root mean square error of each measure."""
    points = GRID.points()
    plain, smooth = (counted(noisy, tops, points, one) for one in (None, "l2"))
    inner = np.stack(noisy)[:, : len(points) - 1] - exact[:, : len(points) - 1]
    fpr, tpr = (np.maximum.accumulate(rates) for rates in smooth.rates)
    heights = np.interp(PLACES, fpr, tpr) - np.interp(PLACES, *truth.rates)
    auc = area(*truth.rates)
    return {
        "counts": np.sqrt(np.mean(inner**2)),
        "area": area(*plain.rates) - auc,
        "smooth area": area(*smooth.rates) - auc,
        "curve": np.sqrt(np.mean(heights**2)),
    }


def compared(table, sums, exact, epsilon, runs):
    """Yield the lines of one epsilon."""
    batch = Batch("bank-marketing", "roc", epsilon, GRID)
    truth = counted(exact, exact[:, -1].astype(float), GRID.points(), None)
    found = [
        errors_of(*federated(batch, sums, len(table.scores), seed), exact, truth)
        for seed in range(runs)
    ]
    others = [errors_of(*central(table, batch, seed), exact, truth) for seed in range(runs)]
    for measure, name in MEASURES.items():
        squares = [np.array([one[measure] for one in each]) ** 2 for each in (found, others)]
        means = [each.mean() for each in squares]
        ratio = np.sqrt(means[0] / means[1])
        spread = [each.std() / each.mean() / np.sqrt(runs) for each in squares]
        error = ratio * np.hypot(*spread) / 2
        sizes = " | ".join(f"{np.sqrt(mean):.4g}" for mean in means)
        yield f"| {epsilon:g} | {name} | {sizes} | {ratio:.3f} ± {error:.3f} |"


def quickest(work, repeats=3):
    """Return the shortest time of a piece of work, in seconds; a first time warms up."""
    work()
    return min(seconds(work) for _ in range(repeats))


def line_of_times(levels, reports):
    """Return a line of the table of times."""
    batch = Batch("timed", "roc", 1.0, nolook.LinearGrid(1, 2**levels, 1))
    values = np.random.default_rng(0).uniform(1, 2**levels, SENT)
    labels = values > 2 ** (levels - 1)
    made = quickest(lambda: make_reports(batch, values, labels, SystemEntropy()))
    first = make_reports(batch, values[:reports], labels[:reports], SystemEntropy())[1]
    added = quickest(lambda: curve_sums(batch, 0, first))
    return (
        f"| {levels} | {report_bytes(batch):,} | {SENT / made:,.0f} | {len(first) / added:,.0f} | "
        f"{2 * len(first) * 2**levels / added / 1e6:,.0f} |"
    )


def report(runs):
    """Yield the lines of the report."""
    table = scored("bank_marketing", DATA)
    batch = Batch("bank-marketing", "roc", 1.0, GRID)
    both = make_reports(batch, table.scores, table.positive, SystemEntropy())[1:]
    sums = [curve_sums(batch, role, reports) for role, reports in enumerate(both)]
    exact = (sums[0] + sums[1]).view(np.int64)
    about = __doc__.split("\n\n")[1].strip()
    yield from ("# Federated ROC curves: error and time", "", about, "", "## Error", "")
    yield from (
        f"{len(table.scores):,} owners, 256 thresholds, {runs} runs: root mean squared",
        "errors against the exact counts on these thresholds. Each server adds all the noise, so",
        f"those of counts should be the root of 2, {np.sqrt(2):.3f}, times the central ones; those",
        "of an AUC about so; smoothing takes more away where there is more noise. ± is one",
        "standard error.",
        "",
        "| epsilon | of | federated | central | ratio |",
        "|---:|---|---:|---:|---:|",
    )
    for epsilon in EPSILONS:
        yield from compared(table, sums, exact, epsilon, runs)
    yield from (
        "",
        "## Time",
        "",
        f"One process, {os.cpu_count()} processors, the best of 3. A report for an ROC curve has",
        "two curves of 2^L thresholds; a server adds up the whole curves of each.",
        "",
        "| L | bytes of a report | reports made / s | added up / s | leaves / s (millions) |",
        "|---:|---:|---:|---:|---:|",
        *(line_of_times(*one) for one in TIMED.items()),
    )


if __name__ == "__main__":
    main(report, __doc__, runs=2000)
