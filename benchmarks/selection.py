"""Private selection on tables with far more columns than rows, after Swope et al. (2024).

On twelve microarray tables (the target is the class code) and a synthetic one, how many of k chosen
features are among the true k: the k largest coefficients of a Lasso of the whole table (alpha 0.1,
standardised columns, the target as it is), which is the paper's proxy; or, where the table was made
up, its true features. Every trial draws its own noise, and its own blocks for the two-stage method.
Tables already in the work folder are not computed again.

    python -m benchmarks.selection [--output FILE] [--work DIR] [--trials 100]
"""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_limits

from benchmarks import selection_figures as figures
from benchmarks.harness import DATA, main
from benchmarks.selection_quality import is_good, is_great, is_top
from nolook.algorithms.screening import Scores, rank_scores
from nolook.kernels.block_lasso import arrange_blocks, lasso_models
from nolook.privacy.mechanisms.exponential import permute_and_flip
from nolook.privacy.mechanisms.top_k import canonical_lipschitz, peeling
from nolook.privacy.noise import SeededSource, uniform_integers
from nolook.statistics.kendall import KENDALL_UNIT, kendall_sensitivity
from nolook.tables import table_from_arrays
from papers.swope2024 import published_scores

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0)
ALPHA = 0.1
SYNTHETIC = "synthetic"
# From the largest to the smallest, which two processes share best.
MICROARRAYS = (
    "chowdary", "chiaretti", "singh", "borovecki", "christensen", "golub", "su", "gravier",
    "subramanian", "alon", "khan", "sorlie",
)  # fmt: skip
TABLES = (*MICROARRAYS, SYNTHETIC)

LENGTHS = ("k = 5", "k = floor(ln p)")  # for the synthetic table, the number of true features
GAIN = 0.2

TWO_STAGE = ("two-stage, canonical Lipschitz", "two-stage, peeling")
ORACLE = "DP-SIS as published (not private)"
OURS = ("Kendall scores, canonical Lipschitz", "Kendall scores, peeling", "DPKendall")
METHODS = (*TWO_STAGE, ORACLE, *OURS)

QUALITY_TABLES = ("christensen", "sorlie")
QUALITY_K = 10
QUALITIES = {"TOP": is_top, "GREAT": is_great, "GOOD": is_good}

REPETITIONS = 1000  # of the stability experiment
SQUARE = 10  # its blocks, and the rows of each
STABLE_K = 5


def synthetic(n=100, p=2000, true=8):
    """Return a table with few true features (Swope et al., section 5), and their indices.

    The features come in decreasing order of weight.
    """
    generator = np.random.default_rng(8)
    X = generator.normal(size=(n, p))
    sign = np.where(generator.random(true) < 0.4, -1.0, 1.0)
    weights = sign * (4 * math.log(n) / math.sqrt(n) + np.abs(generator.normal(size=true)))
    features = generator.choice(p, true, replace=False)
    y = X[:, features] @ weights + generator.normal(0.0, math.sqrt(1.5), n)
    return X, y, features[np.argsort(-np.abs(weights))]


def truth_by_lasso(X, y):
    """Return the features in decreasing order of their coefficients in a Lasso of all rows."""
    spread = X.std(axis=0)
    standard = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    sizes = np.abs(Lasso(alpha=ALPHA, max_iter=20_000).fit(standard, y).coef_)
    order = np.argsort(-sizes, kind="stable")
    return order[sizes[order] > 0]


def load(name):
    """Return features, target and the true features, the best first."""
    if name == SYNTHETIC:
        return synthetic()
    frame = pd.read_parquet(DATA / f"microarray_{name}.parquet")
    X, y = np.stack(frame["x"]).astype(np.float64), frame["y"].to_numpy(np.float64)
    return X, y, truth_by_lasso(X, y)


def sizes_of_selection(name, p):
    """Return the two k of a table."""
    return (5, 8) if name == SYNTHETIC else (5, math.floor(math.log(p)))


def block_sizes(X, y, blocks, m):
    """Return the sizes of the coefficients of each block's Lasso, shape (m, features).

    Columns are standardised by the block alone.
    """
    rows, starts = arrange_blocks([np.vstack([X.T, y])], [blocks], m)
    for first, end in itertools.pairwise(starts):
        if first < end:
            own = rows[first:end, :-1]
            own -= own[0].copy()  # exactly 0 where a column is constant
            own -= own.mean(axis=0)
            spread = own.std(axis=0)
            own /= np.where(spread > 0, spread, 1.0)
    return np.abs(lasso_models(rows, starts, -ALPHA))


def count_votes(sizes, k):
    """Count the blocks whose k largest coefficients, 0 excluded, a feature is among."""
    best = np.argsort(-sizes, axis=1, kind="stable")[:, :k]
    votes = np.zeros(sizes.shape[1], dtype=np.int64)
    for own, chosen in zip(sizes, best, strict=True):
        votes[chosen[own[chosen] > 0]] += 1
    return votes


def two_stage_votes(X, y, ks, trial):
    """Return the votes of one random partition, for every k."""
    m = math.isqrt(len(y))
    blocks = uniform_integers(m, len(y), SeededSource(trial))
    sizes = block_sizes(X, y, blocks, m)
    return {k: Scores(count_votes(sizes, k), 1.0) for k in ks}


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


def accuracies(name, trials):
    """Return the mean share of the true k among those chosen: k, method, one for each epsilon."""
    X, y, truth = load(name)
    ks = sizes_of_selection(name, X.shape[1])
    table = table_from_arrays(X, y)
    ranks, published = rank_scores(table), published_scores(table)
    found = {k: {method: np.zeros(len(EPSILONS)) for method in METHODS} for k in ks}
    for trial in range(trials):
        votes = two_stage_votes(X, y, ks, trial)
        source = SeededSource(trials + trial)
        for k in ks:
            screens = (
                (votes[k], canonical_lipschitz), (votes[k], peeling),
                (published, canonical_lipschitz), (ranks, canonical_lipschitz), (ranks, peeling),
            )  # fmt: skip
            for method, (scores, top_k) in zip(METHODS, screens, strict=False):
                for place, epsilon in enumerate(EPSILONS):
                    chosen = top_k(scores.values, k, scores.sensitivity, epsilon, source)
                    found[k][method][place] += np.isin(chosen, truth[:k]).mean() / trials
    for k in ks:
        runs = kendall_selections(X, y, k, EPSILONS * trials, SeededSource(2 * trials))
        hits = np.isin(runs, truth[:k]).mean(axis=1)
        found[k][OURS[-1]][:] = hits.reshape(trials, len(EPSILONS)).mean(axis=0)
    best = {}
    for k in ks:
        orders = (np.argsort(-scores.values, kind="stable")[:k] for scores in (ranks, published))
        best[k] = [float(np.isin(order, truth[:k]).mean()) for order in orders]
    return {
        "rows": len(y),
        "features": X.shape[1],
        "accuracy": {k: {m: v.tolist() for m, v in own.items()} for k, own in found.items()},
        "without noise": best,
    }


def qualities(name, trials):
    """Return how often the selection is TOP, GREAT and GOOD by the method's own scores."""
    X, y, _ = load(name)
    table = table_from_arrays(X, y)
    found = {}
    for method, scores in ((OURS[0], rank_scores(table)), (ORACLE, published_scores(table))):
        source = SeededSource(0)
        rates = {quality: [0.0] * len(EPSILONS) for quality in QUALITIES}
        for place, epsilon in enumerate(EPSILONS):
            for _ in range(trials):
                chosen = canonical_lipschitz(
                    scores.values, QUALITY_K, scores.sensitivity, epsilon, source
                )
                for quality, holds in QUALITIES.items():
                    rates[quality][place] += holds(scores.values, chosen) / trials
        found[method] = rates
    return found


def stability():
    """Count how often each of 100 features is chosen without any noise (section 3, figure 1)."""
    d, n = SQUARE**2, SQUARE**2
    first, last = np.zeros(d), np.zeros(d)
    first[:STABLE_K], last[-STABLE_K:] = 1.0, 1.0
    found = {}
    for kind, other in (("W1", first), ("W1/W2", last)):
        generator = np.random.default_rng(1)
        counts = {"two-stage": np.zeros(d, dtype=int), "SIS": np.zeros(d, dtype=int)}
        for _ in range(REPETITIONS):
            X = generator.normal(size=(n, d))
            weights = np.tile(first, (n, 1))
            weights[SQUARE - 1 :: SQUARE] = other  # one row of every block
            y = (X * weights).sum(axis=1) + generator.normal(0.0, math.sqrt(0.1), n)
            sizes = block_sizes(X, y, np.arange(n) // SQUARE, SQUARE)
            votes = count_votes(sizes, STABLE_K) + generator.random(d) / 2  # ties by chance
            correlations = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / X.std(axis=0)
            for method, scores in (("two-stage", votes), ("SIS", correlations)):
                counts[method][np.argsort(-scores)[:STABLE_K]] += 1
        found[kind] = {method: own.tolist() for method, own in counts.items()}
    return found


def kept(folder, name, work):
    """Return what a file of the work folder holds; make it first if it is not there."""
    path = folder / f"{name}.json"
    if not path.exists():
        with threadpool_limits(1):
            text = json.dumps(work())
        path.with_suffix(".part").write_text(text, encoding="utf-8")
        path.with_suffix(".part").replace(path)
        print(f"done: {name}", flush=True)
    return json.loads(path.read_text(encoding="utf-8"))


def measure(folder, trials):
    """Return all results by name, on two processes."""
    folder.mkdir(parents=True, exist_ok=True)
    work = {name: partial(accuracies, name, trials) for name in TABLES}
    work |= {f"quality-{name}": partial(qualities, name, trials) for name in QUALITY_TABLES}
    work["stability"] = stability
    with ProcessPoolExecutor(2) as pool:
        results = {name: pool.submit(kept, folder, name, own) for name, own in work.items()}
        return {name: result.result() for name, result in results.items()}


def best_of(results, methods):
    """Return the method with the largest mean over all tables, k and epsilons, and the means."""
    means = {
        method: float(np.mean([own[method] for name in TABLES for own in accuracy(results, name)]))
        for method in methods
    }
    return max(means, key=means.get), means


def accuracy(results, name):
    """Return a table's accuracies, for one k after the other."""
    return list(results[name]["accuracy"].values())


def gains(results, place, ours, two_stage):
    """Return ours less two-stage's for one of the two k, shape (tables, epsilons)."""
    found = [accuracy(results, name)[place] for name in TABLES]
    return np.array([np.subtract(own[ours], own[two_stage]) for own in found])


def verdict(results, ours, two_stage):
    """Yield how ours compares with two-stage."""
    usual = np.array(EPSILONS) >= 1
    both = np.array([gains(results, place, ours, two_stage) for place in (0, 1)])
    place, table, epsilon = np.unravel_index(both.argmin(), both.shape)
    yield (
        f"- ours less two-stage, the least of all: {both.min():+.3f} ({TABLES[table]}, "
        f"{LENGTHS[place]}, epsilon = {EPSILONS[epsilon]:g})"
    )
    for title, own in (*zip(LENGTHS, both, strict=True), ("either k", both.max(axis=0))):
        most = own[:, usual].max(axis=1)
        above = [f"{n} ({m:+.3f})" for n, m in zip(TABLES, most, strict=True) if m >= GAIN]
        below = [f"{n} ({m:+.3f})" for n, m in zip(TABLES, most, strict=True) if m < GAIN]
        yield (
            f"- {title}: at least {GAIN} above two-stage for some epsilon from 1 to 20 on "
            f"{len(above)} of {len(TABLES)} tables: {', '.join(above)}"
        )
        yield f"- {title}: not so on {', '.join(below)}"


def accuracy_table(results, place):
    """Yield the accuracies of all methods for one of the two k."""
    head = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    yield f"| table | k | method | {head} |"
    yield "|---|---:|---|" + "---:|" * len(EPSILONS)
    for name in TABLES:
        k, own = list(results[name]["accuracy"].items())[place]
        for method in METHODS:
            cells = " | ".join(f"{value:.2f}" for value in own[method])
            yield f"| {name} | {k} | {method} | {cells} |"


def report(trials, work, folder):
    """Yield the lines of the report, and draw the figures if there is a folder for them."""
    results = measure(work / f"{trials}-trials", trials)
    if folder:
        pictures(results, folder)
    yield from lines_of(results, trials)


def lines_of(results, trials):
    """Yield the lines of the report."""
    ours, means = best_of(results, OURS)
    two_stage, two_means = best_of(results, TWO_STAGE)
    yield from (
        "# Private selection, far more columns than rows",
        "",
        f"Share of the true k among k chosen, mean of {trials} trials, pure epsilon, no delta.",
        "The truth is the k largest coefficients of a Lasso of the whole table (alpha 0.1, columns",
        "standardised, class codes as the target; it has at least k on every table), for the",
        "synthetic table its features of largest weight. Two-stage: a Lasso (alpha 0.1) on each of",
        "floor(sqrt n) random blocks, standardised by itself, and votes for its k largest",
        "coefficients. Printed by `python -m benchmarks.selection`.",
        "",
        "| method | mean over all tables, k and epsilons |",
        "|---|---:|",
    )
    _, published = best_of(results, [ORACLE])
    for method, mean in (two_means | published | means).items():
        yield f"| {method} | {mean:.4f} |"
    yield from ("", f"Two-stage below is: {two_stage}. Ours is: {ours}, on every table.", "")
    yield from verdict(results, ours, two_stage)
    yield from ("", "Without any noise the scores choose this share of the true k:", "")
    yield "| table | rows | features | k | Kendall scores | as published (not private) |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name in TABLES:
        own = results[name]
        for k, (ranks, published) in own["without noise"].items():
            size = f"{own['rows']} | {own['features']}"
            yield f"| {name} | {size} | {k} | {ranks:.2f} | {published:.2f} |"
    for place, title in enumerate(LENGTHS):
        yield from ("", f"## {title}", "", *accuracy_table(results, place))
    yield from ("", *quality_lines(results), "", *stability_lines(results["stability"]))


def quality_lines(results):
    """Yield how often selections are TOP, GREAT and GOOD."""
    yield f"## TOP, GREAT and GOOD by a method's own scores, k = {QUALITY_K}"
    yield ""
    yield f"| table | method | | {' | '.join(f'{epsilon:g}' for epsilon in EPSILONS)} |"
    yield "|---|---|---|" + "---:|" * len(EPSILONS)
    for name in QUALITY_TABLES:
        for method, rates in results[f"quality-{name}"].items():
            for kind, own in rates.items():
                cells = " | ".join(f"{value:.2f}" for value in own)
                yield f"| {name} | {method} | {kind} | {cells} |"


def stability_lines(results):
    """Yield what the stability experiment found."""
    yield f"## Stability without noise, {REPETITIONS} repetitions"
    yield ""
    yield "| weights | method | least of the five true features | most of any other |"
    yield "|---|---|---:|---:|"
    for kind, methods in results.items():
        for method, counts in methods.items():
            yield f"| {kind} | {method} | {min(counts[:STABLE_K])} | {max(counts[STABLE_K:])} |"


def pictures(results, folder):
    """Draw all figures."""
    ours, two_stage = best_of(results, OURS)[0], best_of(results, TWO_STAGE)[0]
    methods = {"ours": ours, "two-stage": two_stage, "as published, not private": ORACLE}
    figures.draw(folder, "curves", figures.curves, results, methods, EPSILONS)
    for place, (name, title) in enumerate(zip(("k5", "logp"), LENGTHS, strict=True)):
        arguments = TABLES, gains(results, place, ours, two_stage), EPSILONS
        figures.draw(folder, f"gain_{name}", figures.heat_map, *arguments, title)
    quality = {name: results[f"quality-{name}"] for name in QUALITY_TABLES}
    figures.draw(folder, "quality", figures.quality, quality, EPSILONS)
    figures.draw(folder, "stability", figures.stability, results["stability"])


if __name__ == "__main__":
    main(report, __doc__, figures=True, trials=100, work=Path(tempfile.gettempdir()) / "selection")
