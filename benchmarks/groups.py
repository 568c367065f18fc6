"""Whether tests of groups hold their level, what they find, and how often intervals are right.

Levels and power are of `Forests.differ` on the noisy blocks that `compare_groups` would release:
values are counted in cells of about equal mass, as many as for that number of rows and epsilon, and
the blocks get their share of epsilon; the search for the range, which has no part in the tests, is
left out. Power is at a shift that Mann and Whitney's test without privacy finds in 90 % of runs.
Coverage is of `compare_groups` itself, on rows drawn from populations of which the truth is known:
laws, and tables of which rows are drawn with replacement.

    python -m benchmarks.groups [--output benchmarks/results/groups.md] [--runs 1000]
        [--kept FILE] [--processes 1] [--quick]

With `--kept`, what an interrupted run found is not computed again.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from scipy import stats

import nolook
from benchmarks.harness import DATA, in_parallel, main
from nolook.algorithms.forest import best_forest
from nolook.algorithms.group_tests import Forests
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.tabulation import BLOCKS, tabulation
from nolook.kernels.forests import block_counts
from nolook.privacy.guarantee import Budget

EPSILONS = (0.1, 0.3, 1.0)
SIZES = (500, 2_000, 20_000, 50_000)
LEVEL = 0.05
NINETY = 3.24  # deviations from 0 that are found in 90 % of runs


def blocks_epsilon(epsilon):
    """Return what a comparison spends on its blocks."""
    release = tabulation(Budget(epsilon), "add-remove", [(0,)], [(0,)], [1], [1], tests=True)
    return next(each.epsilon for each in release.costs if each.name == BLOCKS)


def released(groups, epsilon, generator):
    """Return what a comparison releases of the values of groups, shares of a normal law."""
    own = blocks_epsilon(epsilon)
    rows = sum(map(len, groups))
    cells = int(np.clip(2 ** round(0.5 * np.log2(rows * own)), 16, 512))
    forest = best_forest(cells, "laplace", shares=True)
    scale = forest.levels / own
    found = []
    for values in groups:
        counts = np.bincount((values * cells).astype(int), minlength=cells)
        noise = generator.laplace(scale=scale, size=forest.blocks)
        blocks = block_counts(counts, forest.lengths) + noise
        found.append(NoisyForest(forest, blocks, 2.0 * scale**2))
    return Forests(np.arange(1.0, cells + 1) / cells, tuple(found))


def rejected(rows, epsilon, groups, shift, runs):
    """Return the runs done, those with p-values, those with each below .05, and SciPy's.

    They end when so many runs have p-values.
    """
    generator = np.random.default_rng(int(shift > 0.0))
    sizes = [rows // groups] * groups
    shown, found, peers = 0, np.zeros(2, int), np.zeros(2, int)
    for run in range(10 * runs):
        parts = [generator.normal(shift * (place > 0), size=n) for place, n in enumerate(sizes)]
        if groups == 2:
            p_values = (
                stats.mannwhitneyu(*parts).pvalue,
                stats.ks_2samp(*parts, method="asymp").pvalue,
            )
        else:
            p_values = stats.kruskal(*parts).pvalue, 1.0
        peers += np.array(p_values) < LEVEL
        shares = [stats.norm.cdf(each - shift / 2) for each in parts]
        tested = released(shares, epsilon, generator).differ(range(groups))
        if tested is not None:
            shown += 1
            found += np.array([tested.ranks, tested.distance]) < LEVEL
        if shown == runs or (run == runs // 10 and not shown):
            break  # all that were asked for, or hardly any has one
    return run + 1, shown, found.tolist(), peers.tolist()


#: Values that a law draws for group 0 or 1, and columns of tables by another one.
LAWS = {
    "normal": lambda generator, group: generator.normal(0.1 * group, 1.0),
    "log-normal": lambda generator, group: np.exp(generator.normal(0.2 * group, 1.0)),
    "counts": lambda generator, group: generator.poisson(3.0 + 0.3 * group).astype(float),
}
TABLES = {
    "blood pressure of smokers": ("framingham_imputed", "sysBP", "currentSmoker"),
    "medications of men": ("diabetes_readmission", "num_medications", "male"),
}
CASES = (
    ("normal", 2_000, 1.0),
    ("log-normal", 20_000, 0.3),
    ("counts", 20_000, 1.0),
    ("blood pressure of smokers", 4_240, 1.0),
    ("medications of men", 20_000, 0.3),
    ("medications of men", 20_000, 1.0),
)


@cache
def population(name):
    """Return values and groups of which rows are drawn."""
    if name in TABLES:
        place, *columns = TABLES[name]
        content = pq.read_table(DATA / f"{place}.parquet", columns=columns)
        value, by = (content[each].to_numpy().astype(float) for each in columns)
        return value, by > 0.5
    generator = np.random.default_rng(2)
    by = np.arange(4_000_000) % 5 < 2
    return LAWS[name](generator, by), by


def covered(name, rows, epsilon, runs):
    """Return how often intervals of the difference and the probability hold the truth."""
    value, by = population(name)
    ranks, ones = stats.rankdata(value)[by].sum(), np.count_nonzero(by)
    exceeds = (ranks / ones - (ones + 1) / 2) / (len(by) - ones)
    truths, held = (value[by].mean() - value[~by].mean(), exceeds), np.zeros(2, int)
    generator = np.random.default_rng(3)
    for run in range(runs):
        chosen = generator.integers(len(by), size=rows)
        drawn = nolook.read_table(pd.DataFrame({"x": value[chosen], "by": by[chosen]}))
        (pair,) = nolook.compare_groups(drawn, "x", "by", epsilon=epsilon, random_state=run).pairs
        found = zip((pair.difference, pair.exceeds), truths, strict=True)
        held += [each is not None and each.low <= truth <= each.high for each, truth in found]
    return held.tolist()


def row(*cells):
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def head(*cells):
    """Return the first rows of a table, after an empty line."""
    return ["", row(*cells), row(*["---"] * len(cells))]


def shares(task, result):
    """Return the cells of a row: what was done, and the shares below .05, own ones and SciPy's."""
    (rows, epsilon, groups, *_), (runs, shown, found, peers) = task, result
    cells = [f"{rows:,}", str(groups), f"{epsilon:g}", f"{runs:,}", f"{shown / runs:.2f}"]
    if shown / runs < 0.05:
        return [*cells, *["-"] * 4], None
    own, others = np.array(found) / shown, np.array(peers) / runs
    rates = [f"{rate:.3f}" for pair in zip(own, others, strict=True) for rate in pair]
    rates = rates if groups == 2 else [*rates[:2], "", ""]
    return [*cells, *rates], own / np.maximum(others, 1.0 / runs)


def report(runs, processes, kept):
    """Yield the lines of the page."""

    def measured(work, tasks, name):
        return in_parallel(work, tasks, processes, kept and f"{kept}.{name}").items()

    columns = "rows", "groups", "epsilon", "runs", "with a p-value", "ranks", "SciPy's"
    columns = *columns, "distance", "SciPy's"
    yield "# Groups compared"
    yield ""
    yield "Printed by `python -m benchmarks.groups`: shares of runs with a p-value below .05, where"
    yield "groups do not differ. SciPy's are without privacy, on the same values."
    yield from head(*columns)
    tasks = [
        (rows, epsilon, groups, 0.0, runs)
        for rows in SIZES
        for groups in (2, 3)
        for epsilon in EPSILONS
    ]
    for task, result in measured(rejected, tasks, "levels"):
        yield row(*shares(task, result)[0])
    yield ""
    yield "Power: groups differ by a shift that Mann and Whitney's test finds in 90 % of runs."
    yield from head(*columns, "ranks over SciPy's", "distance over SciPy's")
    tasks = [
        (rows, epsilon, 2, float(NINETY * np.sqrt(4.0 / rows * np.pi / 3.0)), runs)
        for rows in SIZES[1:3]
        for epsilon in EPSILONS[1:]
    ]
    for task, result in measured(rejected, tasks, "power"):
        cells, ratios = shares(task, result)
        yield row(*cells, *(["-"] * 2 if ratios is None else (f"{each:.3f}" for each in ratios)))
    few = max(2, 2 * runs // 5)
    yield ""
    yield f"Share of 95 % intervals with the population's value in them, of {few} comparisons."
    yield from head(
        "values", "rows", "epsilon", "difference of means", "probability of a higher value"
    )
    tasks = [(*each, few) for each in CASES]
    for (name, rows, epsilon, _), held in measured(covered, tasks, "covered"):
        yield row(name, f"{rows:,}", f"{epsilon:g}", *(f"{each / few:.3f}" for each in held))


if __name__ == "__main__":
    main(report, __doc__, runs=1000, processes=1, kept="", quick={"runs": 5})
