"""Audits of choices of one and of k, and of the selectors' scores and votes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from nolook._arrays import Integers
from nolook.algorithms.kendall_selection import kendall_selection
from nolook.algorithms.per_unit_sampling import sampled_rows
from nolook.algorithms.screening import covariance_scores, rank_scores, screen
from nolook.algorithms.selection_plan import Choices, on_sample
from nolook.algorithms.sublasso import lasso_selection
from nolook.audit.audit_case import FEWER_RUNS, Case, Vector, one_by_one, pure_case, with_row
from nolook.audit.exact_laws import (
    canonical_law,
    draws_of_a_group,
    exponential_law,
    flip_law,
    peeling_law,
)
from nolook.privacy.accounting import choices_epsilon
from nolook.privacy.guarantee import BoundedRangeEvent, Budget, PureEvent
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.mechanisms.top_k import bounded_range_peeling, canonical_lipschitz, peeling
from nolook.privacy.noise import ByteSource
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.tables import Table, table_from_arrays

__all__ = ["cases"]


#: Draws an outcome's number at an epsilon, on either table; and its law.
One: TypeAlias = Callable[[float, int, ByteSource], float]
Law: TypeAlias = Callable[[float, int], Vector]

_UNIT = 1000  # of scores: their sensitivity

# The loss is a distance between scores, which moves by twice the sensitivity.
_APART = np.array([[0, 0, 0, 2, 2, 2], [1, -1, -1, 3, 3, 1]])
_HELD, _OTHERS = 3, 12  # of peeling
_HALF, _CHOICES, _DELTA = 20, 6, 1e-3  # of peeling with a delta

# Chances of a row to be kept: of all rows, and of a sample with what it adds.
_SAMPLES = (
    ("", SAMPLING_UNIT, ()),
    ("-on-a-sample", SAMPLING_UNIT // 2, ("kept_rows", "sampled_epsilon")),
)

# What one choice costs.
_PURE = partial(PureEvent, "features")
_BOUNDED = partial(BoundedRangeEvent, "features", choices=1)

_KENDALL = ("kendall_selection", "kendall_sensitivity")
_AGAINST = "a row against the order in the best of two columns, with it in the other"


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at an epsilon."""
    case = partial(_case, epsilon)
    return (
        *(
            case(
                name=name,
                neighbours="the best of two scores falls by the sensitivity, the other rises",
                covers=(choose.__name__,),
                one=partial(_choice_of_two, choose),
                law=partial(_law_of_two, law),
            )
            for name, choose, law in (
                ("exponential-mechanism", exponential_choice, exponential_law),
                ("permute-and-flip", permute_and_flip, flip_law),
            )
        ),
        case(
            name="bounded-range-peeling",
            neighbours="half of forty equal scores fall by the sensitivity, the others rise",
            covers=("bounded_range_peeling", "BoundedRangeEvent"),
            one=_bounded,
            law=_bounded_law,
            delta=_DELTA,
        ),
        case(
            name="peeling",
            neighbours="the best three scores fall by the sensitivity, twelve others rise",
            covers=("peeling",),
            one=_peeling,
            law=_peeling_law,
        ),
        case(
            name="canonical-lipschitz",
            neighbours="five of six scores move by the sensitivity, the best and the worst apart",
            covers=("canonical_lipschitz",),
            one=_lipschitz,
            law=_lipschitz_law,
        ),
        *_selectors(epsilon),
    )


def _selectors(epsilon: float) -> tuple[Case, ...]:
    case = partial(_case, epsilon)
    against = partial(case, neighbours=_AGAINST)
    return (
        *(
            against(
                name=f"{name}{suffix}",
                covers=(*own, *more),
                one=partial(_by_ranks, choose, _PURE, chances),
                law=partial(_sampled_law, chances / SAMPLING_UNIT),
            )
            for name, choose, own in (
                ("kendall-selection", kendall_selection, _KENDALL),
                ("rank-screening", _screened, ("screen", "rank_scores")),
            )
            for suffix, chances, more in _SAMPLES
        ),
        against(
            name="bounded-range-kendall",
            covers=_KENDALL,
            one=partial(_by_ranks, kendall_selection, _BOUNDED, SAMPLING_UNIT),
            law=_bounded_kendall_law,
        ),
        case(
            name="covariance-screening",
            neighbours="a row at the low end of the best column, and at the high end of the other",
            covers=("screen", "covariance_scores"),
            one=_covariance_screening,
            law=_covariance_law,
            # Of centred products one cannot fall by 1 while another rises by 1.
            power=0.4,
        ),
        *(
            case(
                name=f"lasso-votes{suffix}",
                neighbours="a row that turns the vote of its block, one of many that agree",
                covers=("lasso_selection", *more),
                one=partial(_votes, chances),
                law=partial(_vote_law, chances / SAMPLING_UNIT),
            )
            for suffix, chances, more in _SAMPLES
        ),
    )


def _case(epsilon: float, *, one: One, law: Law, **words: Any) -> Case:  # noqa: ANN401
    """Return a case of other fields."""
    draw, laws = one_by_one(partial(one, epsilon)), partial(law, epsilon)
    return pure_case(epsilon)(draw=draw, law=laws, runs=FEWER_RUNS, **words)


def _lead(epsilon: float) -> int:
    """Return the lead of the best, in sensitivities, at which the other is chosen rarely."""
    return round(2 + 4 / epsilon)


def _two_scores(epsilon: float) -> Integers:
    return np.array([[_lead(epsilon), 0], [_lead(epsilon) - 1, 1]])


def _choice_of_two(
    choose: Callable[..., int], epsilon: float, table: int, source: ByteSource
) -> float:
    return float(choose(_two_scores(epsilon)[table] * _UNIT, _UNIT, epsilon, source))


def _law_of_two(law: Callable[..., Vector], epsilon: float, table: int) -> Vector:
    return law(_two_scores(epsilon)[table], 1, epsilon)


@cache
def _each(epsilon: float) -> float:
    """Return the epsilon of a choice that an epsilon of all buys."""
    least = epsilon / _CHOICES * (1 - 2**-40)
    return choices_epsilon(_CHOICES, (), Budget(epsilon, _DELTA), least)


def _bounded(epsilon: float, table: int, source: ByteSource) -> float:
    scores = np.repeat([1 - table, table], _HALF) * _UNIT
    chosen = bounded_range_peeling(scores, _CHOICES, _UNIT, _each(epsilon), source)
    return float((chosen < _HALF).sum())


def _bounded_law(epsilon: float, table: int) -> Vector:
    heavy = math.exp(_each(epsilon) / 2)
    weights = (heavy, 1.0) if table == 0 else (1.0, heavy)
    return draws_of_a_group(weights, (_HALF, _HALF), _CHOICES)


def _many_scores(epsilon: float) -> Integers:
    lead = round(1 + 10 / epsilon)
    return np.array(
        [[lead] * _HELD + [0] * _OTHERS, [lead - 1] * _HELD + [1] * _OTHERS], dtype=np.int64
    )


def _peeling(epsilon: float, table: int, source: ByteSource) -> float:
    scores = _many_scores(epsilon)[table] * _UNIT
    first, second = peeling(scores, 2, _UNIT, epsilon, source) < _HELD
    return float(2 * first + second)


def _peeling_law(epsilon: float, table: int) -> Vector:
    law = np.zeros(4)
    for (first, second), chance in peeling_law(_many_scores(epsilon)[table], 2, epsilon).items():
        law[2 * (first < _HELD) + (second < _HELD)] += chance
    return law


def _subset(chosen: Integers | tuple[int, ...]) -> int:
    """Return a subset's number: a bit for each member."""
    return sum(1 << int(i) for i in chosen)


def _lipschitz(epsilon: float, table: int, source: ByteSource) -> float:
    return _subset(canonical_lipschitz(_APART[table] * _UNIT, 3, _UNIT, epsilon, source))


def _lipschitz_law(epsilon: float, table: int) -> Vector:
    law = np.zeros(2**6)
    for subset, chance in canonical_law(_APART[table], 3, epsilon).items():
        law[_subset(subset)] = chance
    return law


def _ordered(epsilon: float, chance: float) -> int:
    """Return the number of rows that agree; the one that differs was not counted."""
    return round((20 if chance == 1.0 else 30) / epsilon)


@cache
def _ranks(rows: int, table: int) -> Table:
    y = np.arange(rows, dtype=np.float64)
    X = np.column_stack([y, np.zeros(rows)])
    return table_from_arrays(*with_row(X, y, [-1.0, 1.0], rows)[table])


def _sampled_law(chance: float, epsilon: float, table: int) -> Vector:
    """Return the law by the formula for scores, over how many of the rows are kept."""
    rows = _ordered(epsilon, chance)
    inner = math.log1p(math.expm1(epsilon) / chance)
    law = np.zeros(2)
    for kept in range(rows + 1):
        weight = math.comb(rows, kept) * chance**kept * (1 - chance) ** (rows - kept)
        pairs = kept * (kept - 1) / 2
        without = flip_law(np.array([pairs / max(kept - 1, 1), 0.0]), 1.25, inner)
        # The row disagrees with every other in one column, and agrees in the next.
        scores = [abs(pairs - kept) / max(kept, 1), kept / max(kept, 1)]
        beside = flip_law(np.array(scores), 1.25, inner)
        law += weight * (((1 - chance) * without + chance * beside) if table else without)
    return law


def _by_ranks(
    choose: Callable[..., Any],
    event: Callable[[float], Choices],
    chances: int,
    epsilon: float,
    table: int,
    source: ByteSource,
) -> float:
    ranks = _ranks(_ordered(epsilon, chances / SAMPLING_UNIT), table)
    features = on_sample(event(epsilon), chances)
    return float(choose(sampled_rows(ranks, chances, source), 1, features, source)[0])


def _bounded_kendall_law(epsilon: float, table: int) -> Vector:
    rows = _ordered(epsilon, 1.0)
    agreeing, other = (rows / 2, 0) if table == 0 else ((rows - 3) / 2, 1)
    return exponential_law(np.array([agreeing, other], dtype=np.float64), 1.25, epsilon)


def _screened(rows: Table, k: int, features: Choices, source: ByteSource) -> Integers:
    return screen(rank_scores(rows), k, features, "peeling", source)


_PER_ONE = 40  # rows


@cache
def _ones(epsilon: float, table: int) -> Table:
    ones = _lead(epsilon)
    X, y = np.zeros((_PER_ONE * ones, 2)), np.zeros(_PER_ONE * ones)
    X[:ones, 0] = y[:ones] = 1.0
    return table_from_arrays(*with_row(X, y, [0.0, 1.0], 1.0)[table])


def _covariance_screening(epsilon: float, table: int, source: ByteSource) -> float:
    scores = covariance_scores(_ones(epsilon, table), np.zeros(3), np.ones(3))
    return float(screen(scores, 1, _PURE(epsilon), "peeling", source)[0])


def _covariance_law(epsilon: float, table: int) -> Vector:
    ones = _lead(epsilon)
    sums = np.array([ones, table])
    return flip_law(sums - sums * (ones + table) / (_PER_ONE * ones + table), 1, epsilon)


_PER_BLOCK = 30  # rows: nearly never does a block lack either kind


@cache
def _agreeing(blocks: int, table: int) -> Table:
    # Half of the rows are ones: every block votes for the first column.
    X, y = np.zeros((_PER_BLOCK * blocks, 2)), np.zeros(_PER_BLOCK * blocks)
    X[::2, 0] = y[::2] = 1.0
    return table_from_arrays(*with_row(X, y, [0.0, 1e6], 1e6)[table])


def _votes(chances: int, epsilon: float, table: int, source: ByteSource) -> float:
    blocks = _lead(epsilon)
    rows = _agreeing(blocks * SAMPLING_UNIT // chances, table)
    features = on_sample(_PURE(epsilon), chances)
    return float(lasso_selection(rows, 1, features, blocks, 0.1, source, chances)[0])


def _vote_law(chance: float, epsilon: float, table: int) -> Vector:
    inner, lead = math.log1p(math.expm1(epsilon) / chance), _lead(epsilon)
    agreed, turned = (flip_law(np.array([lead - v, v]), 1, inner) for v in (0, 1))
    return chance * turned + (1 - chance) * agreed if table else agreed
