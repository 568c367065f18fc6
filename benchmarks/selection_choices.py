"""Permute-and-flip against the exponential mechanism, for features chosen one after the other.

Five features at the same pure epsilon, in one run, by Kendall scores: peeled, and by DPKendall.
Before, the exponential mechanism chose, and a score counted with the largest change of one, 3/2 and
then 3; now it is permute-and-flip, and half of what two can move apart, 5/4 and then 5/2. Both
steps are shown by themselves, and DPKendall also with shares of epsilon in proportion to these
sensitivities. Recall is the share of the true five among those chosen (`papers/swope2024`).
Then: what a delta adds, by planning alone.

    python -m benchmarks.selection_choices [--output FILE] [--trials 2000]
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

import nolook
from benchmarks.harness import DATA, main, timed
from nolook.algorithms.screening import rank_scores
from nolook.privacy.guarantee import BoundedRangeEvent
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.mechanisms.top_k import bounded_range_peeling, peeling
from nolook.privacy.noise import SeededSource
from nolook.statistics.kendall import KENDALL_UNIT, kendall_sensitivity
from nolook.tables import table_from_arrays
from papers.swope2024.experiments import EPSILONS
from papers.swope2024.tables import SYNTHETIC, VARIANTS, load, proxy

TABLES = (SYNTHETIC, "sorlie")
K = 5
MECHANISMS = (
    "exponential, 3/2",
    "permute-and-flip, 3/2",
    "permute-and-flip, 5/4",
    "permute-and-flip, 5/4, shares by sensitivity",
)
BEFORE = 1.5 / 1.25
STEPS = 100  # of DPKendall's trials at a time
LENGTHS = (2, 5, 10, 20, 50)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def kendall_selections(X, y, k, epsilons, source, choose=permute_and_flip, weights=None):
    """Run DPKendall once for every epsilon, all in step, on tables with few rows.

    The same law as `nolook.KendallSelector`, unless another mechanism or other shares of epsilon
    are given: the orders of all pairs of rows are kept, so that one matrix product gives what every
    run needs.
    """
    shares = np.ones(k) / k if weights is None else np.array(weights) / sum(weights)
    n, d = X.shape
    i, j = np.triu_indices(n, 1)
    ranks = rankdata(np.column_stack([X, y]), method="dense", axis=0).astype(np.float32)
    orders = ranks[i]
    orders -= ranks[j]
    np.sign(orders, out=orders)  # their products add up to whole numbers below 2^24
    label = np.abs(orders[:, :d].T @ orders[:, d]).astype(np.int64)
    orders = orders[:, :d]
    others = np.zeros((d, len(epsilons)), dtype=np.float32)
    chosen = np.empty((len(epsilons), k), dtype=np.int64)
    for turn in range(k):
        if turn:
            last, place = np.unique(chosen[:, turn - 1], return_inverse=True)
            others += np.abs(orders.T @ orders[:, last])[:, place]
        parts = max(turn, 1)
        for run, epsilon in enumerate(epsilons):
            exact = parts * label - others[:, run].astype(np.int64)
            left = np.delete(np.arange(d), chosen[run, :turn])
            scores = KENDALL_UNIT * exact[left] // (parts * (n - 1))
            drawn = choose(scores, kendall_sensitivity(turn), epsilon * shares[turn], source)
            chosen[run, turn] = left[drawn]
    return chosen


def peeled(scores, truth, trials):
    """Return the recalls of all mechanisms, shape (mechanisms, epsilons, trials)."""
    found = np.empty((3, len(EPSILONS), trials))
    source = SeededSource(1)
    values, width = scores.values, scores.sensitivity
    for place, epsilon in enumerate(EPSILONS):
        for trial in range(trials):
            each = (
                # Peeling by the exponential mechanism with epsilon / k each is epsilon-DP too.
                bounded_range_peeling(values, K, BEFORE * width, epsilon / K, source),
                peeling(values, K, BEFORE * width, epsilon, source),
                peeling(values, K, width, epsilon, source),
            )
            for which, chosen in enumerate(each):
                found[which, place, trial] = np.isin(chosen, truth).mean()
    return found


def by_kendall(X, y, truth, trials):
    """Return the same for DPKendall, and with shares by sensitivity."""

    def before(choose):
        return lambda scores, width, *rest: choose(scores, BEFORE * width, *rest)

    shares = [kendall_sensitivity(turn) for turn in range(K)]
    source = SeededSource(2)
    parts = []
    for start in range(0, trials, STEPS):
        runs = min(STEPS, trials - start)
        each = (
            kendall_selections(X, y, K, EPSILONS * runs, source, before(exponential_choice)),
            kendall_selections(X, y, K, EPSILONS * runs, source, before(permute_and_flip)),
            kendall_selections(X, y, K, EPSILONS * runs, source),
            kendall_selections(X, y, K, EPSILONS * runs, source, weights=shares),
        )
        hits = [np.isin(one, truth).mean(axis=1).reshape(runs, -1).T for one in each]
        parts.append(np.array(hits))
    return np.concatenate(parts, axis=2)


def lines_of(name, method, found):
    """Yield the rows of one table and method, and what they come to."""
    trials = found.shape[2]
    means = 100 * found.mean(axis=2)
    errors = 100 * np.sqrt((found[[0, 2]].var(axis=2, ddof=1) / trials).sum(axis=0))
    gain = means[2] - means[0]
    for which, own in zip(MECHANISMS, means, strict=False):
        cells = " | ".join(f"{value:.1f}" for value in own)
        yield f"| {name} | {method} | {which} | {cells} | {own.mean():.1f} |"
    cells = " | ".join(f"{g:+.1f}" for g in gain)
    yield f"| {name} | {method} | third less first | {cells} | {gain.mean():+.2f} |"
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.nan_to_num(gain / errors).min()
    yield f"| {name} | {method} | least difference in standard errors | {least:+.2f} |"


def sharpness():
    """Yield what a delta does to the epsilon of one choice, and how long planning takes."""
    yield "| k | a selector with delta | before a linear regression (split .2) | seconds to plan |"
    yield "|---:|---:|---:|---:|"
    for k in LENGTHS:
        alone = nolook.SISSelector(k, delta=BUDGET["delta"], epsilon=BUDGET["epsilon"])
        own = alone.plan().release.features
        shared = isinstance(own, BoundedRangeEvent)
        times = f"{own.epsilon * k:.2f}" if shared else "permute-and-flip"
        pipeline = nolook.PrivatePipeline(
            nolook.SISSelector(k), nolook.LinearRegression(), **BUDGET
        )
        spent, plan = timed(pipeline.plan)
        chosen = plan.release.selector.plan().release.features
        ratio = chosen.epsilon * k / (0.2 * BUDGET["epsilon"])
        yield f"| {k} | {times} | {ratio:.2f} | {spent:.2f} |"


def report(trials):
    """Yield the lines of the report."""
    nolook.SISSelector(7, delta=1e-5).plan()  # loads what planning needs
    head = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    yield from (
        "# Choices one after the other",
        "",
        f"Percent of the true five among five features chosen at a pure epsilon, mean of {trials}",
        "trials, and differences in points. Printed by `python -m benchmarks.selection_choices`.",
        "",
        f"| table | method | mechanism | {head} | mean |",
        "|---|---|---|" + "---:|" * (len(EPSILONS) + 1),
    )
    notes = []
    with threadpool_limits(1):
        for name in TABLES:
            table = load(name, DATA)
            X, y = table.X, table.y
            truth = proxy(X, y, VARIANTS[0])[0] if table.truth is None else table.truth
            scores = rank_scores(table_from_arrays(X, y))
            for method, found in (
                ("peeling", peeled(scores, truth[:K], trials)),
                ("DPKendall", by_kendall(X, y, truth[:K], math.ceil(trials / 5))),
            ):
                *rows, note = lines_of(name, method, found)
                yield from rows
                notes.append(note)
    yield from ("", "| table | method | | |", "|---|---|---|---:|", *notes, "")
    yield from (
        "How many times the epsilon of one choice is that of pure choices, at epsilon = 1 and",
        "delta = 1e-6; the regression keeps the budget it has beside pure choices. Where a",
        "selector alone would gain less than a fifth, permute-and-flip is better.",
        "",
        *sharpness(),
    )


if __name__ == "__main__":
    main(report, __doc__, trials=2000)
