"""Errors of counts from two servers against one curator's, under replacement.

Root mean squares over all thresholds and runs, at epsilon 1. What owners report is given to the
servers as sums, so that many runs are quick; the noise and all that follows is the real thing.

    python -m benchmarks.federated_errors [--output benchmarks/results/federated_errors.md]
        [--runs 300]
"""

from __future__ import annotations

import hashlib

import numpy as np

from benchmarks.harness import main
from nolook import ECDF, LinearGrid
from nolook.federated.answers import distribution
from nolook.federated.batch import Batch
from nolook.federated.shares import Answer, noisy_blocks

ROWS, EPSILON = 100_000, 1.0
CELLS = (2**10, 2**13, 2**16)


def key(*words):
    """A key of a run and a server."""
    return hashlib.sha256(repr(words).encode("ascii")).digest()


def values(cells, lumpy):
    """A hump of whole numbers from 0 to below `cells`, or one of which most lie on few values."""
    chance = np.random.default_rng(1)
    found = chance.normal(0.4 * cells, 0.1 * cells, ROWS).clip(0, cells - 1)
    if lumpy:
        few = chance.uniform(0, cells, 20)
        found = np.where(chance.uniform(size=ROWS) < 0.8, few[chance.integers(0, 20, ROWS)], found)
    return np.floor(found)


def two_servers(batch, counts, run):
    """Counts up to each threshold."""
    known = np.stack([counts[np.newaxis], np.zeros((1, len(counts)), np.uint64)])
    pair = [
        Answer(b, batch.digest, bytes(32), ROWS, noisy_blocks(batch, known[b], key(run, b)))
        for b in (0, 1)
    ]
    return distribution(batch, *pair).distribution_.counts


def errors(cells, lumpy, runs):
    """Root mean squares in rows: two servers, one curator."""
    grid, table = LinearGrid(0, cells - 1, 1), values(cells, lumpy)
    counts = np.bincount(table.astype(int), minlength=cells).astype(np.uint64)
    exact = np.cumsum(counts).astype(float)
    names = {"servers": ("a", "b"), "keys": ("0" * 64, "1" * 64), "nonce": "0" * 32}
    batch = Batch("errors", "ecdf", EPSILON, grid, **names)
    squares = []
    for run in range(runs):
        central = ECDF(EPSILON, grid, relation="replace").fit(table)
        found = two_servers(batch, counts, run), central.distribution_.counts
        squares.append([np.mean((one - exact) ** 2) for one in found])
    return np.sqrt(np.mean(squares, axis=0))


def report(runs):
    """Yield the lines of the report."""
    yield "# Errors of counts from two servers"
    yield ""
    yield f"Root mean squares in rows over all thresholds and {runs} runs, {ROWS:,} reports,"
    yield f"epsilon {EPSILON:g} under replacement. Printed by"
    yield "`python -m benchmarks.federated_errors`."
    yield ""
    yield "| cells | values | two servers | one curator | ratio |"
    yield "|---:|---|---:|---:|---:|"
    ratios = []
    for cells in CELLS:
        for lumpy in (False, True):
            two, one = errors(cells, lumpy, runs)
            ratios.append(two / one)
            name = "lumpy" if lumpy else "a hump"
            yield f"| {cells:,} | {name} | {two:.1f} | {one:.1f} | {two / one:.2f} |"
    yield ""
    yield f"- at most {max(ratios):.3f} times one curator's error"


if __name__ == "__main__":
    main(report, __doc__, runs=300)
