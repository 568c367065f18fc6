"""Time of LassoSelector against a loop over scikit-learn's Lasso, and whether their votes agree.

The loop gets the same blocks and the same penalties, standardises each block and counts the same
votes; drawing the blocks and the choice from the votes are in both. The programs take turns in one
process, and the ratio is taken turn by turn.

    python -m benchmarks.sublasso [--output benchmarks/results/sublasso.md] [--repeats 5]
"""

from __future__ import annotations

import os

import numpy as np
from sklearn.linear_model import Lasso

import nolook
from benchmarks.harness import by_turns, main, median_ratio, medians
from nolook.kernels.block_lasso import arrange_blocks, block_votes
from nolook.privacy.mechanisms.top_k import peeling
from nolook.privacy.noise import byte_source, uniform_integers
from papers.dick2023 import RawLassoSelector

ROWS, FEATURES, MODELS, K = 50_000, 50, 500, 5
# As the kernel takes it, and who selects with it.
PENALTIES = {
    "0.1": (0.1, nolook.LassoSelector),
    "1 in raw units": (-1.0, RawLassoSelector),
}


def table(rows=ROWS, features=FEATURES):
    """Return features and target; ten features matter, some little."""
    generator = np.random.default_rng(0)
    X = 3 * generator.normal(size=(rows, features))
    weights = np.zeros(features)
    weights[::5][:10] = 2.0 / np.arange(1, len(weights[::5][:10]) + 1)
    return X, X @ weights + generator.normal(size=rows)


def plain_votes(X, y, blocks, m, penalty, k):
    """Count the votes with one scikit-learn model after the other."""
    votes = np.zeros(X.shape[1], dtype=np.int64)
    for block in range(m):
        own = blocks == block
        x, label = X[own], y[own]
        spread = x.std(axis=0), label.std()
        if penalty > 0:
            x, label = (x - x.mean(axis=0)) / spread[0], (label - label.mean()) / spread[1]
            alpha = penalty * np.abs(x.T @ label).max() / len(label)
            sizes = np.abs(Lasso(alpha).fit(x, label).coef_)
        else:
            sizes = np.abs(Lasso(-penalty).fit(x, label).coef_) * spread[0]
        best = np.argsort(-sizes, kind="stable")[:k]
        votes[best[sizes[best] > 0]] += 1
    return votes


def plain_selection(X, y, k, epsilon, m, penalty):
    """Choose features by the same algorithm on scikit-learn's models."""
    source = byte_source(None)
    blocks = uniform_integers(m, len(y), source)
    return peeling(plain_votes(X, y, blocks, m, penalty, k), k, 1, epsilon, source)


def agreement(X, y, m, penalty, k):
    """Return whether the votes of the same blocks are equal, and the most votes of a feature."""
    blocks = uniform_integers(m, len(y), byte_source(1))
    rows, starts = arrange_blocks([np.vstack([X.T, y])], [blocks], m)
    ours = block_votes(rows, starts, penalty, k)
    return bool(np.array_equal(ours, plain_votes(X, y, blocks, m, penalty, k))), int(ours.max())


def speed(X, y, m, name, repeats):
    """Return scikit-learn's and nolook's times, one pair a turn."""
    penalty, selector = PENALTIES[name]
    programs = (
        lambda: plain_selection(X, y, K, 1.0, m, penalty),
        lambda: selector(K, 1.0, m).fit(X, y),
    )
    programs[1]()
    return by_turns(programs, repeats)


def report(repeats):
    """Yield the lines of the report."""
    X, y = table()
    yield "# Lasso selection"
    yield ""
    yield (
        f"{ROWS:,} rows and {FEATURES} features of doubles in memory, {MODELS} blocks, k = {K}, "
        f"{os.cpu_count()} processors,"
    )
    yield f"medians of {repeats} turns. Printed by `python -m benchmarks.sublasso`."
    yield ""
    yield "| penalty | loop over scikit-learn | nolook | times faster | votes |"
    yield "|---|---:|---:|---:|---|"
    for name, (penalty, _) in PENALTIES.items():
        equal, most = agreement(X, y, MODELS, penalty, K)
        turns = speed(X, y, MODELS, name, repeats)
        plain, ours = medians(turns)
        ratio = median_ratio(turns, 0, 1)
        votes = f"{'equal' if equal else 'NOT equal'}, at most {most} for a feature"
        yield f"| {name} | {plain:.2f} s | {ours:.3f} s | {ratio:.0f} | {votes} |"


if __name__ == "__main__":
    main(report, __doc__, repeats=5)
