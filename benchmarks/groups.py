"""Whether tests of groups hold their level, what they find, and how often intervals are right.

Levels and power are of `Forests.differ` on the noisy blocks that `compare_groups` would release:
values are counted in cells of about equal mass, as many as for that number of rows and epsilon, and
the blocks get their share of epsilon; the search for the range, which has no part in the tests, is
left out. Power is at a shift that Mann and Whitney's test without privacy finds in 90 % of runs.
Coverage is of `compare_groups` itself, on rows drawn from populations of which the truth is known.

    python -m benchmarks.groups [--output benchmarks/results/groups.md] [--runs 1000] [--quick]
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

import nolook
from benchmarks.harness import main
from nolook.algorithms.forest import best_forest
from nolook.algorithms.group_tests import Forests
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.tabulation import BLOCKS, tabulation
from nolook.kernels.forests import block_counts
from nolook.privacy.guarantee import Budget

EPSILONS = (0.1, 0.3, 1.0)
SIZES = (500, 2_000, 20_000, 50_000)
LEVEL = 0.05
kolmogorov = partial(stats.ks_2samp, method="asymp")
NINETY = 3.24  # deviations from 0 that are found in 90 % of runs


def blocks_epsilon(epsilon):
    """Return what a comparison spends on its blocks."""
    release = tabulation(Budget(epsilon), "add-remove", [(0,)], [(0,)], [1], [1], even=True)
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


def rejected(rows, epsilon, groups, shift, runs, seed=0):
    """Return the share of runs with p-values, and of those with each below .05; SciPy's too."""
    generator = np.random.default_rng(seed)
    sizes = [rows // groups] * groups
    shown, found, peers = 0, np.zeros(2), np.zeros(2)
    for run in range(runs):
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
        elif shown == 0 and run == runs // 10:
            break  # hardly any has one
    return shown / runs, found / max(shown, 1), peers / runs


def row(*cells):
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def levels(runs):
    """Yield how often tests reject where groups do not differ."""
    yield row(
        "rows",
        "groups",
        "epsilon",
        "with a p-value",
        "ranks",
        "distance",
        "SciPy: ranks",
        "distance",
    )
    yield row(*["---"] * 8)
    for rows in SIZES:
        for groups in (2, 3) if rows in SIZES[1:3] else (2,):
            for epsilon in EPSILONS:
                shown, *both = rejected(rows, epsilon, groups, 0.0, runs)
                rates = [f"{rate:.3f}" for each in both for rate in each]
                if shown < 0.05:
                    rates = ["-"] * 4
                elif groups == 3:
                    rates[1] = rates[3] = ""
                yield row(f"{rows:,}", str(groups), f"{epsilon:g}", f"{shown:.2f}", *rates)


def power(runs):
    """Yield how often tests find a shift."""
    yield row(
        "rows", "epsilon", "with a p-value", "ranks", "over SciPy's", "distance", "over SciPy's"
    )
    yield row(*["---"] * 7)
    for rows in (2_000, 20_000):
        for epsilon in (0.3, 1.0):
            shift = NINETY * np.sqrt(4.0 / rows * np.pi / 3.0)
            shown, own, peers = rejected(rows, epsilon, 2, shift, runs, seed=1)
            rates = [f"{one:.3f}" for each in zip(own, own / peers, strict=True) for one in each]
            yield row(f"{rows:,}", f"{epsilon:g}", f"{shown:.2f}", *rates)


CASES = ((2_000, 1.0), (20_000, 0.3), (20_000, 1.0))
POPULATIONS = {
    "normal": lambda generator, group: generator.normal(0.1 * group, 1.0),
    "log-normal": lambda generator, group: np.exp(generator.normal(0.2 * group, 1.0)),
    "counts": lambda generator, group: generator.poisson(3.0 + 0.3 * group).astype(float),
}


def coverage(runs):
    """Yield how often intervals hold what they are for."""
    yield row("values", "rows", "epsilon", "difference of means", "probability of a higher value")
    yield row(*["---"] * 5)
    for (name, draw), (rows, epsilon) in zip(POPULATIONS.items(), CASES, strict=True):
        generator = np.random.default_rng(2)
        large = [draw(generator, np.full(2_000_000, group)) for group in (0, 1)]
        ranks = stats.rankdata(np.concatenate(large))[2_000_000:].mean()
        truths = large[1].mean() - large[0].mean(), (ranks - 1_000_000.5) / 2_000_000
        held = np.zeros(2)
        for _ in range(runs):
            group = generator.random(rows) < 0.4
            table = nolook.read_table(pd.DataFrame({"x": draw(generator, group), "by": group}))
            (pair,) = nolook.compare_groups(table, "x", "by", epsilon=epsilon).pairs
            found = zip((pair.difference, pair.exceeds), truths, strict=True)
            held += [each is not None and each.low <= truth <= each.high for each, truth in found]
        rates = [f"{rate:.3f}" for rate in held / runs]
        yield row(name, f"{rows:,}", f"{epsilon:g}", *rates)


def report(runs):
    """Yield the lines of the page."""
    yield "# Groups compared"
    yield ""
    yield f"Shares of {runs:,} runs with a p-value below .05 where groups do not differ."
    yield ""
    yield from levels(runs)
    yield ""
    yield "Power: groups differ by a shift that Mann and Whitney's test finds in 90 % of runs."
    yield ""
    yield from power(runs)
    yield ""
    few = runs // 4
    yield f"Share of 95 % intervals with the population's value in them, of {few} comparisons."
    yield ""
    yield from coverage(few)


if __name__ == "__main__":
    main(report, __doc__, runs=1000, quick={"runs": 8})
