"""Whether the standard errors of a private distribution are as large as its errors.

Of releases, the root mean square error of histogram bins and shares over the root mean square of
the standard error stated, which itself depends on the release, and how often intervals of quantiles
hold. Bins of one width side by side, also ones that coincide with the blocks that are counted,
where least squares does most.

    python -m benchmarks.distribution_errors [--output FILE] [--runs 400]
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import main
from nolook.algorithms.ecdf import ecdf_release, release_counts
from nolook.algorithms.forest import best_forest
from nolook.algorithms.grids import LinearGrid
from nolook.privacy.guarantee import Budget
from nolook.privacy.noise import SeededSource

__all__ = ["SHAPES", "cells_of", "ratios"]

SHAPES = ("uniform", "two humps", "seven atoms", "empty middle", "exponential", "comb", "one cell")
SETTINGS = (
    (100, 5000, Budget(1.0), "add-remove"),
    (100, 200, Budget(1.0), "replace"),
    (1024, 200, Budget(1.0), "add-remove"),
    (1024, 100_000, Budget(0.3), "replace"),
    (1024, 5000, Budget(1.0, 1e-6), "add-remove"),
    (2**15, 100_000, Budget(1.0), "add-remove"),
)
MOST_BINS = 50
P = np.arange(1, 20) / 20


def cells_of(shape, size, rows, seed=1):
    """Return how many of some rows fall into each cell."""
    rng = np.random.default_rng(seed)
    side, inside = rng.random(rows) < 0.5, rng.integers(0, size // 5, rows)
    places = {
        "uniform": lambda: rng.integers(0, size, rows),
        "two humps": lambda: size * rng.normal(rng.choice([0.25, 0.7], rows), 0.05),
        "seven atoms": lambda: rng.integers(0, 7, rows) * (size // 8) + size // 16,
        "empty middle": lambda: np.where(side, inside, size - 1 - inside),
        "exponential": lambda: rng.exponential(size / 20, rows),
        "comb": lambda: rng.integers(0, size // 10 + 1, rows) * 10,
        "one cell": lambda: np.full(rows, size // 3),
    }
    found = np.bincount(np.clip(places[shape](), 0, size - 1).astype(int), minlength=size)
    return found.astype(np.int64)


def bins_of(cells, lengths):
    """Return the first and the last place of the bins of each histogram, by what they are."""
    size = len(cells)
    full = np.sort(np.argsort(-cells, kind="stable")[:7])
    found = {"fullest cells": (full[cells[full] > 0], full[cells[full] > 0] + 1)}
    widths = {f"of {w:,} cells": w for w in (1, 10, 100, size // 10, size // 4)}
    widths |= {f"of one block of {length:,}": length for length in lengths if length > 1}
    for name, width in widths.items():
        if width < size:
            starts = np.arange(0, size - width + 1, width)
            starts = starts[:: max(1, len(starts) // MOST_BINS)]
            found[name] = starts, starts + width
    return found


def ratios(shape, size, rows, budget, relation, runs):
    """Return root mean square errors over those stated: of histograms by bins, and shares.

    The second number of each is that of its worst bin. Of quantiles it is how often intervals hold.
    """
    cells = cells_of(shape, size, rows)
    plan = ecdf_release(budget, relation, [LinearGrid(1, size, 1)])
    lengths = best_forest(size, "gaussian" if budget.delta else "laplace").lengths
    edges = np.arange(size + 1) + 0.5
    few = np.unique(np.linspace(1, size - 1, 2 * MOST_BINS).astype(int))
    exact = np.append(0, np.cumsum(cells)) / rows
    true = 1 + np.searchsorted(exact[1:], P - 1e-12)
    bins = bins_of(cells, lengths)
    sums = {name: np.zeros((2, len(low))) for name, (low, _) in bins.items()}
    sums |= {"share": np.zeros((2, len(few)))}
    held = np.zeros(len(P))
    for seed in range(runs):
        (released,) = release_counts([cells], plan, SeededSource(seed))
        found = released.noise_alone
        for name, (low, high) in bins.items():
            masses, own = found.masses(np.ravel([edges[low], edges[high]], order="F"))
            add(sums[name], masses[::2] - (exact[high] - exact[low]), own[::2])
        add(sums["share"], found.cdf(few) - exact[few], found.cdf_error(few))
        low, high = found.ppf_interval(P).T
        held += (low < true) & (true <= high)
    shares = held / runs
    return {name: quotient(*pair) for name, pair in sums.items()} | {
        "quantile": (float(shares.mean()), float(shares.min()))
    }


def add(sums, errors, stated):
    """Add the squares of errors and of stated ones."""
    sums += [errors**2, stated**2]


def quotient(errors, stated):
    """Return the root of the quotient of all squares, and the largest of one place."""
    if not stated.any():
        return 0.0, 0.0
    each = np.sqrt(np.divide(errors, stated, out=np.zeros_like(errors), where=stated > 0))
    return float(np.sqrt(errors.sum() / stated.sum())), float(each.max())


def report(runs):
    """Yield the lines of the report."""
    yield "# Errors of private distributions over the standard errors stated"
    yield ""
    yield f"Noise only, {runs} runs, root mean squares. Histogram: the worst of those with"
    yield "bins of 1, 10 and 100 cells, of a tenth and a quarter of the grid, and of one block of"
    yield "cells; in brackets the worst single bin of all. Fullest: at most seven fullest cells, as"
    yield "bins. Quantiles of 0.05 to 0.95: how often 95 % intervals hold, in brackets that of"
    yield "the worst one. Printed by `python -m benchmarks.distribution_errors`."
    yield ""
    yield (
        "| cells | rows | epsilon | delta | relation | shape | histogram | fullest | shares |"
        " quantiles |"
    )
    yield "|---:|---:|---:|---:|---|---|---:|---:|---:|---:|"
    worst = dict.fromkeys(("histogram", "fullest cells", "share"), 0.0)
    held = []
    for size, rows, budget, relation in SETTINGS:
        for shape in SHAPES:
            found = ratios(shape, size, rows, budget, relation, runs)
            bins = [own for name, own in found.items() if name.startswith("of ")]
            shown = {
                "histogram": tuple(map(max, zip(*bins, strict=True))),
                **{name: found[name] for name in (*list(worst)[1:], "quantile")},
            }
            worst = {name: max(most, shown[name][0]) for name, most in worst.items()}
            held.append(found["quantile"][0])
            cells = " | ".join(f"{own:.2f} ({most:.2f})" for own, most in shown.values())
            yield (
                f"| {size:,} | {rows:,} | {budget.epsilon:g} | {budget.delta:g} | {relation}"
                f" | {shape} | {cells} |"
            )
    yield ""
    for name, most in worst.items():
        yield f"- {name}: at most {most:.3f} times the standard error stated"
    yield f"- quantile: intervals hold in at least {min(held):.3f} of the runs"


if __name__ == "__main__":
    main(report, __doc__, runs=400)
