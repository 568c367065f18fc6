"""Faults of scores, of selections by them, and of public grids."""

from __future__ import annotations

import math
from concurrent.futures import Future

import numpy as np
import pytest
from scipy.stats import kendalltau

import nolook
from nolook.algorithms import screening, sublasso
from nolook.kernels import block_lasso
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import uniform_integers
from nolook.statistics.kendall import KENDALL_UNIT
from nolook.tables import table_from_arrays
from tests.audit.planted import Fault, Release, choices, halved


def as_table(rows):
    """Return features and the target, which is the last column."""
    return table_from_arrays(rows[:, :-1], rows[:, -1])


def first_chosen(rows, scored, epsilon, draws, source):
    """Choose one feature by scores of the table; the outcome is whether it is the first one."""
    scores = scored(as_table(rows))

    def choose():
        features = PureEvent("features", epsilon)
        return int(screening.screen(scores, 1, features, "peeling", source)[0] == 0)

    return [choices(choose, draws)]


# --- Kendall scores ------------------------------------------------------------------------------

RANKS = np.array(
    [[1, 5, 6, 2, 4, 3, 7, 0, 8], [7, 6, 5, 4, 3, 2, 1, 0, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    dtype=np.float64,
).T


def ranked(epsilon):
    """Return a choice by Kendall scores."""

    def run(rows, draws, source):
        def scored(table):
            return screening.rank_scores(table)

        return first_chosen(rows, scored, epsilon, draws, source)

    return run


KENDALL = Release("choice by Kendall scores", (RANKS[:-1], RANKS), ranked(1.0), 1.0, 9_000, 0.25)

# Both features are zeros but for one 1. The last row is the first feature's.
TIES = np.zeros((201, 3))
TIES[-1, 0] = TIES[-2, 1] = 1.0
TIES[:, 2] = np.arange(201)
TIED = Release(
    "choice by Kendall scores with ties", (TIES[:-1], TIES), ranked(2.0), 2.0, 4_000, 0.05
)


def tau_b_scores(table):
    """Score by tau-b, which grows where there are ties, scaled as if it did not."""
    columns = np.concatenate(list(table.batches()), axis=1)
    n = columns.shape[1]
    scores = [
        0.0 if len(set(column)) == 1 else abs(kendalltau(column, columns[-1]).statistic) * n / 2
        for column in columns[:-1]
    ]
    whole = np.floor(KENDALL_UNIT * np.array(scores)).astype(np.int64)
    return screening.Scores(whole, screening.kendall_sensitivity(0))


# --- votes of blocks -----------------------------------------------------------------------------

BLOCKS = 8
# n = m b - 1 rows with b = 2. The target is the second feature; the row added has a vote for the
# first in any block.
VOTERS = np.zeros((16, 3))
VOTERS[:, 1] = VOTERS[:, 2] = np.arange(16.0) ** 2
VOTERS[-1] = 1e6, 0.0, 1e6


class AtOnce:
    """Does the work of a pool of threads at once, which takes a tenth of the time here."""

    def __init__(self, threads):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        pass

    def submit(self, work, *arguments):
        work(*arguments)
        done = Future()
        done.set_result(None)
        return done


def voted(rows, draws, source):
    table = as_table(rows)

    def choose():
        features = PureEvent("features", 1.0)
        return sublasso.lasso_selection(table, 1, features, BLOCKS, 0.5, source)[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_lasso, "ThreadPoolExecutor", AtOnce)
        return [choices(choose, draws)]


VOTES = Release("choice by votes of blocks", (VOTERS[:-1], VOTERS), voted, 1.0, 3_000, 0.05)


def equal_parts(patch):
    """Plant the partition into parts of n // m rows of a random order, the rest left out."""
    arrange = sublasso.arrange_blocks
    shuffled = []

    def order(m, rows, source):
        if rows:
            # A random order of the rows, in place of a block for each.
            shuffled[:] = np.argsort(uniform_integers(2**62, rows, source)).tolist()
        return uniform_integers(m, rows, source)

    def parts(batches, _, m):
        rows = np.concatenate(batches, axis=1)
        size = rows.shape[1] // m
        kept = rows[:, shuffled[: m * size]]
        return arrange([kept], [np.repeat(np.arange(m), size)], m)

    patch.setattr("nolook.algorithms.per_unit_sampling.uniform_integers", order)
    patch.setattr(sublasso, "arrange_blocks", parts)


# --- a distribution's grid -----------------------------------------------------------------------

VALUES = np.array([61.0, 64.0, 70.0, 95.0, 100.0, 20.0])


def public_grid(values):
    return nolook.LinearGrid(64, 128, 64)


def grid_of_the_data(values):
    low, high = values.min(), values.max()
    return nolook.LinearGrid(low, high, high - low)


class Grids:
    """Where a caller has the grid from."""

    choose = staticmethod(public_grid)


def distribution(values, draws, source):
    fits = [
        nolook.ECDF(2.0, Grids.choose(values), random_state=int(seed)).fit(values)
        for seed in uniform_integers(2**31, draws, source)
    ]
    found = [fit.distribution_ for fit in fits]
    return [
        np.array([one.counts[0] for one in found]),
        np.array([one.points[0] for one in found]),
    ]


DISTRIBUTION = Release("distribution", (VALUES[:-1], VALUES), distribution, 2.0, 900, 0.25)

FAULTS = (
    Fault(
        "sensitivity of Kendall scores halved",
        KENDALL,
        halved(screening, "kendall_sensitivity"),
        2.0,
    ),
    Fault(
        "tau-b instead of ties that count zero",
        TIED,
        lambda patch: patch.setattr(screening, "rank_scores", tau_b_scores),
        8.1,  # two scores move apart by 10.1, at a sensitivity of 5/4
    ),
    # No votes at all become seven for the one feature and one for the other.
    Fault("shuffled parts of equal size", VOTES, equal_parts, math.log((1 + math.exp(3)) / 2)),
    Fault(
        "grid taken from the data",
        DISTRIBUTION,
        lambda patch: patch.setattr(Grids, "choose", staticmethod(grid_of_the_data)),
    ),
)
