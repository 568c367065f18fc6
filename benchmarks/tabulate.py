"""How far counts, means and medians by groups are off, against OpenDP told the true range.

A row is the unit, epsilon is 1; nolook may take delta = 1e-6 where that helps. OpenDP's noise is
Laplace's, which is less than its Gaussian noise for one number a row. Its means are a sum and a
count with half of epsilon each, of values less the middle of their true range; its medians are of
the values that occur in the group, all of which it is told. nolook is told levels only. Errors are
means of absolute ones over runs, those of means and medians over cells of at least 200 rows; the
ratio of these is the median over cells, if no error is 0.

Independence is of 4 by 5 levels: the share of p-values below .05 where there is none, and where the
test without privacy finds an association in 80 % of runs.

    python -m benchmarks.tabulate [--output benchmarks/results/tabulate.md] [--runs 150]
        [--tests 400] [--quick]
"""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp
import pandas as pd
from scipy import stats

import nolook
from benchmarks.harness import DATA, main

EPSILON, LEAST, LEVEL, SAMPLE = 1.0, 200, 0.05, 20_000
NUMBERS = dp.vector_domain(dp.atom_domain(T=float, nan=False))
# The noncentrality of chi-square with 12 degrees of freedom found in 80 % of runs.
EIGHTY = 17.4

dp.enable_features("contrib")


def row(*cells):
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def laplace(values, changed, epsilon):
    """Return values with OpenDP's noise; a row changes one of them by at most `changed`."""
    space = NUMBERS, dp.l1_distance(T=float)
    return np.array((space >> dp.m.then_laplace(changed / epsilon))(list(map(float, values))))


def median(values):
    """Return OpenDP's median, its candidates the values that occur."""
    candidates = np.unique(values).tolist()
    found = dp.binary_search_chain(
        lambda scale: (
            (NUMBERS, dp.symmetric_distance())
            >> dp.m.then_private_quantile(dp.max_divergence(), candidates, alpha=0.5, scale=scale)
        ),
        d_in=1,
        d_out=EPSILON,
    )
    return lambda: found(values.tolist())


def errors(solve, true, runs):
    """Return the mean of absolute errors over runs, by cell, and that of the worst cell."""
    found = np.abs([np.asarray(solve()) - true for _ in range(runs)])
    return found.mean(axis=0), found.max(axis=1).mean()


def compared(what, solve, peer, true, runs):
    """Yield the row of a task; `peer` is how OpenDP solves it."""
    (own, _), (other, _) = (errors(each, true, runs) for each in (solve, peer))
    ratio = f"{np.median(own / other):.2f}" if other.all() else "-"
    yield row(what, f"{own.mean():.3g}", f"{other.mean():.3g}", ratio)


def counts(frame, by, runs):
    """Yield the rows of counts: the worst cell and the mean of all."""
    table = nolook.read_table(frame[by], categories={n: sorted(frame[n].unique()) for n in by})
    true = frame.groupby(by).size()
    both = [
        errors(solve, true, runs)
        for solve in (
            lambda: nolook.tabulate(table, by).to_frame()["count"][true.index],
            lambda: laplace(true, 1.0, EPSILON),
        )
    ]
    for place, size in enumerate(("mean", "worst")):
        own, other = (float(np.mean(each[place])) for each in both)
        task = f"rows by {', '.join(by)} ({len(true)} cells): {size}"
        yield row(task, f"{own:.3g}", f"{other:.3g}", f"{own / other:.2f}")


def numbers(frame, by, name, runs):
    """Yield the rows of means and medians of a column by groups."""
    levels = {each: sorted(frame[each].unique()) for each in by}
    table = nolook.read_table(frame[[*by, name]], categories=levels)
    values = frame.groupby(by)[name] if by else frame.assign(all="all").groupby("all")[name]
    kept = values.size()[lambda sizes: sizes >= LEAST].index
    groups = [values.get_group(key).to_numpy(float) for key in kept]
    low, high = frame[name].min(), frame[name].max()
    middle, half = (low + high) / 2, (high - low) / 2

    def peer_means():
        sums = laplace([(each - middle).sum() for each in groups], half, EPSILON / 2)
        return middle + sums / laplace([len(each) for each in groups], 1.0, EPSILON / 2).clip(1.0)

    def means():
        found = nolook.tabulate(table, by, mean=name).to_frame()[f"mean_{name}"]
        return found[kept] if by else [found.iloc[0]]

    def medians():
        found = nolook.tabulate(table, by, median=name).to_frame()[f"{name}_q0_5"]
        return found[kept] if by else [found.iloc[0]]

    of = f"{name} by {', '.join(by)} ({len(groups)} cells)" if by else name
    yield from compared(f"mean of {of}", means, peer_means, [g.mean() for g in groups], runs)
    peers = [median(each) for each in groups]
    true = [np.quantile(each, 0.5, method="inverted_cdf") for each in groups]
    yield from compared(f"median of {of}", medians, lambda: [each() for each in peers], true, runs)


def covered(frame, by, name, runs):
    """Yield how often intervals of groups hold what they are for, of rows drawn from a table."""
    levels = {each: sorted(frame[each].unique()) for each in by}
    measures = {"count": "size", f"mean_{name}": "mean", f"{name}_q0_5": "median"}
    whole = frame.groupby(by)[name].agg([*measures.values()])
    held = np.zeros((len(measures), 2))
    cells, draws = 0, np.random.default_rng(0)
    for _ in range(runs):
        rows = frame.iloc[draws.integers(0, len(frame), SAMPLE)]
        own = rows.groupby(by)[name].agg([*measures.values()])
        own = own[own["size"] >= LEAST]
        table = nolook.read_table(rows[[*by, name]], categories=levels)
        released = nolook.tabulate(table, by, mean=name, median=name)
        places = released.to_frame().index.get_indexer(own.index)
        found = {each.label: each.shown for each in released.measured}
        cells += len(own)
        expected = whole.loc[own.index]
        expected["size"] *= SAMPLE / len(frame)
        for place, (label, what) in enumerate(measures.items()):
            for column, (ends, true) in enumerate((("noise_", own[what]), ("", expected[what]))):
                low, high = (getattr(found[label], ends + end)[places] for end in ("low", "high"))
                held[place, column] += ((low <= true) & (true <= high)).sum()
    for label, shares in zip(measures, held / cells, strict=True):
        yield row(f"{label} by {', '.join(by)}", f"{cells:,}", *(f"{each:.3f}" for each in shares))


def rejected(rows, epsilon, strength, tests):
    """Return the share of runs in which a test rejects, and that of the test without privacy."""
    generator = np.random.default_rng(0)
    shift = np.outer([1, -1, 1, -1], [1, -1, 0, 1, -1]) / 20.0
    shares = 0.05 + shift * np.sqrt(strength / rows / (20.0 * np.square(shift).sum()))
    levels, found = {"a": [*"abcd"], "b": [*"vwxyz"]}, np.zeros(2)
    for _ in range(tests):
        own = generator.multinomial(rows, shares.ravel())
        first, second = np.divmod(np.repeat(np.arange(20), own), 5)
        frame = pd.DataFrame({"a": np.take([*"abcd"], first), "b": np.take([*"vwxyz"], second)})
        table = nolook.read_table(frame, categories=levels)
        _, chance, _ = nolook.tabulate(table, ["a", "b"], epsilon=epsilon).independence()
        plain = stats.chi2_contingency(own.reshape(4, 5)).pvalue
        found += np.array([chance, plain]) < LEVEL
    return found / tests


def independence(tests):
    """Yield how often tests reject."""
    yield row("rows", "epsilon", "level", "without privacy", "power", "without privacy")
    yield row(*["---"] * 6)
    for rows in (2_000, 20_000):
        for epsilon in (0.1, 0.3, 1.0):
            both = [rejected(rows, epsilon, strength, tests) for strength in (0.0, EIGHTY)]
            rates = [f"{rate:.3f}" for each in both for rate in each]
            yield row(f"{rows:,}", f"{epsilon:g}", *rates)


def bank():
    """Return job, education and balance of bank_marketing."""
    frame = pd.read_parquet(DATA / "bank_marketing.parquet")
    for name in ("job", "education"):
        own = [column for column in frame if column.startswith(f"{name}_")]
        frame[name] = np.take(own, frame[own].to_numpy().argmax(axis=1))
    return frame[["job", "education", "balance"]]


def report(runs, tests):
    """Yield the lines of the page."""
    diamonds = pd.read_parquet("examples/data/diamonds.parquet")
    yield "# Tables by groups"
    yield ""
    yield f"Mean absolute errors at epsilon 1, of {runs} runs (counts: {10 * runs:,}, mean of"
    yield f"carat: {16 * runs}); OpenDP is told true ranges."
    yield ""
    yield row("task", "nolook", "OpenDP", "ratio")
    yield row(*["---"] * 4)
    for by in (["cut"], ["cut", "color", "clarity"]):
        yield from counts(diamonds, by, 10 * runs)
    yield from numbers(diamonds, [], "carat", 16 * runs)
    yield from numbers(bank(), ["job", "education"], "balance", runs)
    yield ""
    few = max(1, runs // 2)
    yield f"95 % intervals of {few} releases of {SAMPLE:,} rows drawn from each table, of groups of"
    yield f"at least {LEAST} rows: how many of the noise hold the rows' own number, and how many"
    yield "in total the table's."
    yield ""
    yield row("intervals", "cells", "of the noise", "in total")
    yield row(*["---"] * 4)
    yield from covered(diamonds, ["cut", "color"], "carat", few)
    yield from covered(bank(), ["job", "education"], "balance", few)
    yield ""
    yield f"Independence of 4 by 5 levels: shares of {tests} p-values below .05."
    yield ""
    yield from independence(tests)


if __name__ == "__main__":
    main(report, __doc__, runs=150, tests=1000, quick={"runs": 2, "tests": 40})
