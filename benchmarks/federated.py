"""The error of a federated ROC curve against the central one.

A logistic regression, fitted without privacy on the whole of bank_marketing, scores the same rows.
That only shows the size of the noise; on rows that matter it would give them away. Both releases
are under replacement. Every row is an owner: real reports are made once, both servers check them
and add them up, and every run is an answer of both with other keys.

    python -m benchmarks.federated [--output benchmarks/results/federated.md] [--runs 1000]
"""

from __future__ import annotations

import hashlib

import numpy as np

from benchmarks.harness import DATA, main
from benchmarks.roc import GRID
from nolook.algorithms.evaluation import scores_release
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.roc_curve import RocCurve, area
from nolook.federated.answers import block_variance
from nolook.federated.batch import Batch
from nolook.federated.reports import make_reports
from nolook.federated.sealing import new_private_key, public_key
from nolook.federated.shares import check_reports, noisy_blocks
from nolook.privacy.noise import SeededSource, SystemEntropy
from nolook.tables import table_from_arrays
from papers.barczewski2024.scores import scored
from papers.barczewski2024.unsmoothed import unsmoothed_curve

EPSILONS = (0.1, 1.0)
MEASURES = {
    "counts": "counts of both classes, not smoothed",
    "area": "AUC, not smoothed",
    "smooth area": "AUC, smoothed",
    "curve": "true positive rate at 201 false positive rates, smoothed",
}
PLACES = np.linspace(0.0, 1.0, 201)
PRIVATE = [new_private_key(SystemEntropy()) for _ in range(2)]


def batch_of(kind, epsilon, grid):
    """Return a batch of two servers whose keys are known here."""
    keys = tuple(public_key(one) for one in PRIVATE)
    return Batch("benchmark", kind, epsilon, grid, servers=("a", "b"), keys=keys)


def federated(batch, shares, n, seed):
    """Return the curve that follows from both servers' answers."""
    keys = [hashlib.sha256(b"%d %d" % (role, seed)).digest() for role in range(2)]
    pair = [noisy_blocks(batch, own, key) for own, key in zip(shares, keys, strict=True)]
    forests = (
        NoisyForest(
            batch.forest,
            (pair[0][name] + pair[1][name]).view(np.int64).astype(float),
            2 * block_variance(batch),
        )
        for name in ("positive", "negative")
    )
    return RocCurve.of_forests(batch.points(), [*forests], None, float(n))


def central(table, batch, seed):
    """Return the same of a central release."""
    plan = scores_release(batch.epsilon, "replace", batch.grid)
    rows = table_from_arrays(table.scores[:, np.newaxis], table.positive)
    return plan.run(rows, SeededSource(seed), lambda _: None).curve


def errors_of(smooth, exact, truth):
    """Return the error of each measure."""
    noisy = np.stack([smooth.positive.noisy, smooth.negative.noisy])
    inner = (noisy - exact)[:, :-1]
    curves = [one.rates for one in (unsmoothed_curve(smooth), smooth)]
    fpr, tpr = (np.maximum.accumulate(rates) for rates in curves[1])
    heights = np.interp(PLACES, fpr, tpr) - np.interp(PLACES, *truth)
    return {
        "counts": np.sqrt(np.mean(inner**2)),
        "area": area(*curves[0]) - area(*truth),
        "smooth area": area(*curves[1]) - area(*truth),
        "curve": np.sqrt(np.mean(heights**2)),
    }


def compared(table, shares, exact, epsilon, runs):
    """Yield the lines of one epsilon."""
    batch = batch_of("roc", epsilon, GRID)
    truth = central_exact(batch, exact).rates
    n, found, others = len(table.scores), [], []
    for seed in range(runs):
        found.append(errors_of(federated(batch, shares, n, seed), exact, truth))
        others.append(errors_of(central(table, batch, seed), exact, truth))
    for measure, name in MEASURES.items():
        squares = [np.array([one[measure] for one in each]) ** 2 for each in (found, others)]
        means = [each.mean() for each in squares]
        ratio = np.sqrt(means[0] / means[1])
        spread = [each.std() / each.mean() / np.sqrt(runs) for each in squares]
        error = ratio * np.hypot(*spread) / 2
        sizes = " | ".join(f"{np.sqrt(mean):.4g}" for mean in means)
        yield f"| {epsilon:g} | {name} | {sizes} | {ratio:.3f} ± {error:.3f} |"


def central_exact(batch, exact):
    """Return the curve of exact counts."""
    forest = batch.forest
    cells = [np.diff(one, prepend=0.0) for one in exact]
    none = np.zeros(forest.padded - forest.cells)
    blocks = []
    for each in cells:
        padded = np.append(each, none)
        levels = [padded.reshape(-1, length).sum(axis=1) for length in forest.lengths]
        blocks.append(np.concatenate(levels))
    forests = [NoisyForest(forest, one, 1e-12) for one in blocks]
    return RocCurve.of_forests(batch.points(), forests, None, float(exact[:, -1].sum()))


def report(runs):
    """Yield the lines of the report."""
    table = scored("bank_marketing", DATA)
    batch = batch_of("roc", 1.0, GRID)
    halves = make_reports(batch, table.scores, table.positive, SystemEntropy())[1:]
    shares = [check_reports(batch, role, half).counts for role, half in enumerate(halves)]
    # Positive rows first, as everywhere else.
    exact = np.cumsum((shares[0] + shares[1]).view(np.int64), axis=1).astype(float)[::-1]
    about = __doc__.split("\n\n")[1].strip()
    yield from ("# Federated ROC curves: error", "", about, "")
    yield from (
        f"{len(table.scores):,} owners, 256 thresholds, {runs} runs: root mean squared",
        "errors against the exact counts on these thresholds. Each server adds all the noise, so",
        f"those of counts should be the root of 2, {np.sqrt(2):.3f}, times the central ones; those",
        "of an AUC about so. ± is one standard error.",
        "",
        "| epsilon | of | federated | central | ratio |",
        "|---:|---|---:|---:|---:|",
    )
    for epsilon in EPSILONS:
        yield from compared(table, shares, exact, epsilon, runs)


if __name__ == "__main__":
    main(report, __doc__, runs=1000)
