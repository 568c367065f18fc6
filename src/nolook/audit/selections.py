"""Audited: choices of one and of k, and the selectors' scores and votes."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.kendall_selection import kendall_selection
from nolook.algorithms.screening import covariance_scores, rank_scores, screen
from nolook.algorithms.sublasso import lasso_selection
from nolook.audit.case import FEWER_RUNS, Case, Vector, one_by_one, pure_case
from nolook.audit.laws import canonical_law, exponential_law, peeling_law
from nolook.privacy.mechanisms.exponential import exponential_choice
from nolook.privacy.mechanisms.top_k import canonical_lipschitz, peeling
from nolook.privacy.noise import ByteSource
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.tables import Table, table_from_arrays

__all__ = ["cases"]

Integers: TypeAlias = NDArray[np.int64]

_UNIT = 1000  # of scores: their sensitivity

# The loss is a distance between scores, which moves by twice the sensitivity.
_APART = np.array([[0, 0, 0, 2, 2, 2], [1, -1, -1, 3, 3, 1]])
_HELD, _OTHERS = 3, 12  # of peeling


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at a privacy parameter.

    Parameters
    ----------
    epsilon : float

    Returns
    -------
    tuple of Case
    """
    pure = partial(pure_case(epsilon), runs=FEWER_RUNS)
    return (
        pure(
            name="exponential-mechanism",
            neighbours="the best of two scores falls by the sensitivity, the other rises",
            covers=("exponential_choice",),
            draw=one_by_one(partial(_exponential, epsilon)),
            law=partial(_exponential_laws, epsilon),
        ),
        pure(
            name="peeling",
            neighbours="the best three scores fall by the sensitivity, twelve others rise",
            covers=("peeling",),
            draw=one_by_one(partial(_peeling, epsilon)),
            law=partial(_peeling_laws, epsilon),
        ),
        pure(
            name="canonical-lipschitz",
            neighbours="five of six scores move by the sensitivity, the best and the worst apart",
            covers=("canonical_lipschitz",),
            draw=one_by_one(partial(_lipschitz, epsilon)),
            law=partial(_lipschitz_laws, epsilon),
        ),
        *_selectors(epsilon),
    )


def _selectors(epsilon: float) -> tuple[Case, ...]:
    pure = partial(pure_case(epsilon), runs=FEWER_RUNS)
    return (
        pure(
            name="kendall-selection",
            neighbours="a row against the order in the best of two columns, with it in the other",
            covers=("kendall_selection", "kendall_sensitivity"),
            draw=one_by_one(partial(_kendall, epsilon, SAMPLING_UNIT)),
            law=partial(_sampled_laws, epsilon, 1.0),
        ),
        pure(
            name="kendall-selection-on-a-sample",
            neighbours="a row against the order in the best of two columns, with it in the other",
            covers=("kendall_selection", "kept_rows", "sampled_epsilon"),
            draw=one_by_one(partial(_kendall, epsilon, SAMPLING_UNIT // 2)),
            law=partial(_sampled_laws, epsilon, 0.5),
        ),
        pure(
            name="rank-screening",
            neighbours="a row against the order in the best of two columns, with it in the other",
            covers=("screen", "rank_scores"),
            draw=one_by_one(partial(_rank_screening, epsilon)),
            law=partial(_sampled_laws, epsilon, 1.0),
        ),
        pure(
            name="covariance-screening",
            neighbours="a row at the low end of the best column, and at the high end of the other",
            covers=("screen", "covariance_scores"),
            draw=one_by_one(partial(_covariance_screening, epsilon)),
            law=partial(_covariance_laws, epsilon),
            # Of centred products one cannot fall by 1 while another rises by 1.
            power=0.4,
        ),
        pure(
            name="lasso-votes",
            neighbours="a row that turns the vote of its block, one of many that agree",
            covers=("lasso_selection",),
            draw=one_by_one(partial(_votes, epsilon)),
            law=partial(_vote_laws, epsilon),
        ),
    )


def _lead(epsilon: float) -> int:
    """Return how far, in sensitivities, the best is ahead: then the other is chosen rarely."""
    return round(2 + 4 / epsilon)


def _two_scores(epsilon: float) -> Integers:
    return np.array([[_lead(epsilon), 0], [_lead(epsilon) - 1, 1]])


def _exponential(epsilon: float, table: int, source: ByteSource) -> float:
    return float(exponential_choice(_two_scores(epsilon)[table] * _UNIT, _UNIT, epsilon, source))


def _exponential_laws(epsilon: float) -> tuple[Vector, Vector]:
    first, second = (exponential_law(scores, 1, epsilon) for scores in _two_scores(epsilon))
    return first, second


def _many_scores(epsilon: float) -> Integers:
    lead = round(1 + 10 / epsilon)
    return np.array(
        [[lead] * _HELD + [0] * _OTHERS, [lead - 1] * _HELD + [1] * _OTHERS], dtype=np.int64
    )


def _peeling(epsilon: float, table: int, source: ByteSource) -> float:
    scores = _many_scores(epsilon)[table] * _UNIT
    first, second = peeling(scores, 2, _UNIT, epsilon, source) < _HELD
    return float(2 * first + second)


def _peeling_laws(epsilon: float) -> tuple[Vector, Vector]:
    both = []
    for scores in _many_scores(epsilon):
        law = np.zeros(4)
        for (first, second), chance in peeling_law(scores, 2, epsilon).items():
            law[2 * (first < _HELD) + (second < _HELD)] += chance
        both.append(law)
    return both[0], both[1]


def _subset(chosen: Integers | tuple[int, ...]) -> int:
    """Return a subset's number: a bit for each member."""
    return sum(1 << int(i) for i in chosen)


def _lipschitz(epsilon: float, table: int, source: ByteSource) -> float:
    return _subset(canonical_lipschitz(_APART[table] * _UNIT, 3, _UNIT, epsilon, source))


def _lipschitz_laws(epsilon: float) -> tuple[Vector, Vector]:
    both = []
    for scores in _APART:
        law = np.zeros(2**6)
        for subset, chance in canonical_law(scores, 3, epsilon).items():
            law[_subset(subset)] = chance
        both.append(law)
    return both[0], both[1]


def _ordered(epsilon: float, chance: float) -> int:
    """Return how many rows agree; the row that does not was not counted."""
    return round((20 if chance == 1.0 else 30) / epsilon)


@cache
def _ranks(rows: int, table: int) -> Table:
    X = np.column_stack([np.arange(rows), np.zeros(rows)])
    y = np.arange(rows, dtype=np.float64)
    if table == 1:
        X, y = np.vstack([X, [-1.0, 1.0]]), np.append(y, rows)
    return table_from_arrays(X, y)


def _sampled_laws(epsilon: float, chance: float) -> tuple[Vector, Vector]:
    """Return the laws by the formula for scores, over how many of the rows are kept."""
    rows = _ordered(epsilon, chance)
    inner = math.log1p(math.expm1(epsilon) / chance)
    first, second = np.zeros(2), np.zeros(2)
    for kept in range(rows + 1):
        weight = math.comb(rows, kept) * chance**kept * (1 - chance) ** (rows - kept)
        pairs = kept * (kept - 1) / 2
        without = exponential_law(np.array([pairs / max(kept - 1, 1), 0.0]), 1.5, inner)
        # The row disagrees with every other in one column, and agrees in the next.
        scores = [abs(pairs - kept) / max(kept, 1), kept / max(kept, 1)]
        beside = exponential_law(np.array(scores), 1.5, inner)
        first += weight * without
        second += weight * ((1 - chance) * without + chance * beside)
    return first, second


def _kendall(epsilon: float, chances: int, table: int, source: ByteSource) -> float:
    ranks = _ranks(_ordered(epsilon, chances / SAMPLING_UNIT), table)
    return float(kendall_selection(ranks, 1, epsilon, chances, source)[0])


def _rank_screening(epsilon: float, table: int, source: ByteSource) -> float:
    scores = rank_scores(_ranks(_ordered(epsilon, 1.0), table))
    return float(screen(scores, 1, epsilon, "peeling", source)[0])


def _ones_and_rows(epsilon: float) -> tuple[int, int]:
    ones = _lead(epsilon)
    return ones, 40 * ones


@cache
def _ones(epsilon: float, table: int) -> Table:
    ones, rows = _ones_and_rows(epsilon)
    X, y = np.zeros((rows, 2)), np.zeros(rows)
    X[:ones, 0] = y[:ones] = 1.0
    if table:
        X, y = np.vstack([X, [0.0, 1.0]]), np.append(y, 1.0)
    return table_from_arrays(X, y)


def _covariance_screening(epsilon: float, table: int, source: ByteSource) -> float:
    scores = covariance_scores(_ones(epsilon, table), np.zeros(3), np.ones(3))
    return float(screen(scores, 1, epsilon, "peeling", source)[0])


def _covariance_laws(epsilon: float) -> tuple[Vector, Vector]:
    ones, rows = _ones_and_rows(epsilon)
    before = np.array([ones - ones * ones / rows, 0.0])
    after = np.array([ones, 1.0]) - np.array([ones, 1.0]) * (ones + 1) / (rows + 1)
    return exponential_law(before, 1, epsilon), exponential_law(after, 1, epsilon)


_PER_BLOCK = 30  # rows: nearly never does a block lack either kind


@cache
def _agreeing(blocks: int, table: int) -> Table:
    # Half of the rows are ones: every block votes for the first column.
    X, y = np.zeros((_PER_BLOCK * blocks, 2)), np.zeros(_PER_BLOCK * blocks)
    X[::2, 0] = y[::2] = 1.0
    if table:
        X, y = np.vstack([X, [0.0, 1e6]]), np.append(y, 1e6)
    return table_from_arrays(X, y)


def _votes(epsilon: float, table: int, source: ByteSource) -> float:
    blocks = _lead(epsilon)
    rows = _agreeing(blocks, table)
    chosen = lasso_selection(rows, 1, epsilon, blocks, 0.1, source)
    return float(chosen[0])


def _vote_laws(epsilon: float) -> tuple[Vector, Vector]:
    blocks = _lead(epsilon)
    agreed = exponential_law(np.array([blocks, 0]), 1, epsilon)
    return agreed, exponential_law(np.array([blocks - 1, 1]), 1, epsilon)
