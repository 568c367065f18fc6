"""Errors of counts from two servers in formats 2 and 1, against one curator's, under replacement.

Root mean squares over all thresholds and runs, at epsilon 1. What owners report is given to the
servers as sums, so that many runs are quick; the noise and all that follows is the real thing.

    python -m benchmarks.point_errors [--output benchmarks/results/point_errors.md] [--runs 300]
"""

from __future__ import annotations

import hashlib

import numpy as np

from benchmarks.harness import main
from nolook import ECDF, LinearGrid
from nolook.federated import answers, point_answers, point_shares, shares
from nolook.federated.answers import Answer
from nolook.federated.batch import Batch
from nolook.federated.point_batch import PointBatch

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


def both(batch, numbers):
    """Answers of both servers."""
    return [Answer(b, batch.digest, bytes(32), ROWS, numbers(b)) for b in (0, 1)]


def format_2(batch, counts, run, smoothing):
    """Counts up to each threshold."""
    known = np.stack([counts[np.newaxis], np.zeros((1, len(counts)), np.uint64)])
    pair = both(batch, lambda b: point_shares.noisy_blocks(batch, known[b], key(2, run, b)))
    return point_answers.distribution(batch, *pair, smoothing).distribution_.counts


def format_1(batch, counts, run, smoothing):
    """Counts up to each threshold."""
    known = np.stack([np.cumsum(counts)[np.newaxis], np.zeros((1, len(counts)), np.uint64)])
    pair = both(batch, lambda b: shares.noisy_curves(batch, known[b], key(1, run, b)))
    return answers.distribution(batch, *pair, smoothing).distribution_.counts


def errors(cells, lumpy, smooth, runs):
    """Root mean squares in rows: format 2, format 1, one curator."""
    grid, table = LinearGrid(0, cells - 1, 1), values(cells, lumpy)
    counts = np.bincount(table.astype(int), minlength=cells).astype(np.uint64)
    exact = np.cumsum(counts).astype(float)
    new = PointBatch(
        "errors",
        "ecdf",
        EPSILON,
        grid,
        servers=("a", "b"),
        keys=("0" * 64, "1" * 64),
        nonce="0" * 32,
    )
    old = Batch("errors", "ecdf", EPSILON, grid)
    isotonic, l2 = ("isotonic", "l2") if smooth else (None, None)
    squares = []
    for run in range(runs):
        central = ECDF(EPSILON, grid, relation="replace", smoothing=isotonic).fit(table)
        found = (
            format_2(new, counts, run, isotonic),
            format_1(old, counts, run, l2),
            central.distribution_.counts,
        )
        squares.append([np.mean((one - exact) ** 2) for one in found])
    return np.sqrt(np.mean(squares, axis=0))


def report(runs):
    """Yield the lines of the report."""
    yield "# Errors of counts from two servers"
    yield ""
    yield f"Root mean squares in rows over all thresholds and {runs} runs, {ROWS:,} reports,"
    yield f"epsilon {EPSILON:g} under replacement. Printed by `python -m benchmarks.point_errors`."
    yield ""
    yield "| cells | values | counts | format 2 | format 1 | one curator | over it | over 1 |"
    yield "|---:|---|---|---:|---:|---:|---:|---:|"
    ratios = []
    for cells in CELLS:
        for lumpy in (False, True):
            for smooth in (False, True):
                new, old, one = errors(cells, lumpy, smooth, runs)
                ratios.append((new / one, new / old))
                yield (
                    f"| {cells:,} | {'lumpy' if lumpy else 'a hump'} | "
                    f"{'made to rise' if smooth else 'as they are'} | {new:.1f} | {old:.1f} | "
                    f"{one:.1f} | {new / one:.2f} | {new / old:.2f} |"
                )
    plain = ratios[::2]
    yield ""
    yield f"- as they are, at most {max(r[0] for r in plain):.3f} times one curator's error"
    yield f"- as they are, at most {max(r[1] for r in plain):.3f} times that of format 1"
    yield f"- made to rise, at most {max(r[0] for r in ratios[1::2]):.3f} times one curator's error"
    yield f"- made to rise, at most {max(r[1] for r in ratios[1::2]):.3f} times that of format 1"


if __name__ == "__main__":
    main(report, __doc__, runs=300)
