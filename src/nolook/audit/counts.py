"""Audited: counts with Laplace noise, alone, in cells and in trees, and what is built on them."""

from __future__ import annotations

from functools import cache, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.range_search import find_range, range_events
from nolook.algorithms.rows_bound import rows_bound
from nolook.audit.case import FEWER_RUNS, Case, Vector, ignore, one_by_one, pure_case
from nolook.audit.laws import laplace_law, tree_law
from nolook.privacy.guarantee import Relation
from nolook.privacy.mechanisms.binary_tree import tree_laplace, tree_sensitivity
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.statistics import fold
from nolook.statistics.cell_counts import CellCounts, cell_counts_sensitivity
from nolook.statistics.group_sums import (
    GROUP_COUNTS_SENSITIVITY,
    GroupSums,
    excess_sensitivities,
)
from nolook.tables import Table, table_from_arrays

__all__ = ["cases"]

Integers: TypeAlias = NDArray[np.int64]
Cells: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

_LIMIT = 12  # outcomes are clipped to -12..12: beyond, nothing is learned


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at a privacy parameter.

    Parameters
    ----------
    epsilon : float

    Returns
    -------
    tuple of Case
    """
    case = pure_case(epsilon)
    return (
        case(
            name="laplace-count",
            neighbours="a row more",
            covers=("laplace_release",),
            draw=partial(_counts, epsilon),
            law=lambda: (_law(epsilon, 1), _law(epsilon, 0)),
        ),
        case(
            name="rows-bound",
            neighbours="a row more",
            covers=("rows_bound",),
            draw=one_by_one(partial(_rows_bound, epsilon)),
        ),
        case(
            name="cells-replace",
            neighbours="a value moved to another cell",
            relation="replace",
            covers=("laplace_release", "cell_counts_sensitivity"),
            draw=partial(_moved_value, epsilon),
            law=partial(_moved_laws, epsilon),
        ),
        *_trees(epsilon),
        *_built_on_counts(epsilon),
    )


def _trees(epsilon: float) -> tuple[Case, ...]:
    case = partial(_tree_case, epsilon)
    return (
        case(
            name="tree-of-2",
            neighbours="a value in the first of two cells: one node moves",
            cells=((1, 0), (0, 0)),
        ),
        case(
            name="tree-of-2-replace",
            neighbours="a value moved from the first of two cells to the second: one node moves",
            relation="replace",
            cells=((1, 0), (0, 1)),
        ),
        case(
            name="tree-of-4",
            neighbours="a value in the second of four cells: two nodes move",
            cells=((0, 1, 0, 0), (0, 0, 0, 0)),
        ),
        case(
            name="tree-of-4-replace",
            neighbours="a value moved from the second of four cells to the last: two nodes move",
            relation="replace",
            cells=((0, 1, 0, 0), (0, 0, 0, 1)),
        ),
    )


def _built_on_counts(epsilon: float) -> tuple[Case, ...]:
    case = pure_case(epsilon)
    return (
        case(
            name="group-sums",
            neighbours="a positive row at the right border of a group",
            covers=("laplace_release", "excess_sensitivities"),
            draw=partial(_group, epsilon),
        ),
        case(
            name="range-search",
            neighbours="one more of twenty equal values",
            covers=("find_range",),
            draw=one_by_one(partial(_range, epsilon)),
            # Two releases, of which the answer keeps no more than this.
            power=0.5,
        ),
    )


def _law(epsilon: float, center: int) -> Vector:
    return laplace_law(1 / epsilon, center, _LIMIT)


def _outcomes(noisy: Integers, limit: int = _LIMIT) -> Vector:
    """Return the outcomes' numbers, the last axis being the clipped entries of one outcome."""
    width = 2 * limit + 1
    clipped = noisy.clip(-limit, limit).astype(np.int64) + limit
    powers = width ** np.arange(clipped.shape[-1])[::-1]
    return (clipped @ powers).astype(np.float64)


def _counts(epsilon: float, runs: int, source: ByteSource) -> tuple[Vector, Vector]:
    first, second = (
        _outcomes(laplace_release(np.full((runs, 1), n), 1, epsilon, source)) for n in (1, 0)
    )
    return first, second


@cache
def _rows(count: int) -> Table:
    return table_from_arrays(np.zeros((count, 1)))


def _rows_bound(epsilon: float, table: int, source: ByteSource) -> float:
    return rows_bound(_rows(6 + table), epsilon, source, ignore)


def _moved_value(epsilon: float, runs: int, source: ByteSource) -> tuple[Vector, Vector]:
    sensitivity = cell_counts_sensitivity("replace")
    both = []
    for value in (0.0, 1.0):
        exact = CellCounts(np.array([0.0, 1.0])).update(np.array([value])).value
        both.append(
            _outcomes(laplace_release(np.tile(exact, (runs, 1)), sensitivity, epsilon, source))
        )
    return both[0], both[1]


def _moved_laws(epsilon: float) -> tuple[Vector, Vector]:
    scale = 2 / epsilon
    inside, outside = laplace_law(scale, 1, _LIMIT), laplace_law(scale, 0, _LIMIT)
    return np.outer(inside, outside).ravel(), np.outer(outside, inside).ravel()


def _group(epsilon: float, runs: int, source: ByteSource) -> tuple[Vector, Vector]:
    borders = np.array([0.0, 0.25, 1.0])
    width = int(excess_sensitivities(borders)[0])
    record = np.array([0.25]), np.array([True])
    both = []
    for batches in ([record], []):
        positives, _, excess = fold(GroupSums(borders), batches).value
        count = np.full(runs, positives[0])
        count = laplace_release(count, GROUP_COUNTS_SENSITIVITY, 0.6 * epsilon, source)
        total = laplace_release(np.full(runs, excess[0]), width, 0.4 * epsilon, source)
        # Beyond 0 and the record's own values the likelihood ratio does not change.
        both.append(0.6 * count.clip(0, 1) + 0.4 * (total / width).clip(0, 1))
    return both[0], both[1]


def _tree(
    epsilon: float, relation: Relation, cells: Cells, limit: int, table: int, source: ByteSource
) -> float:
    noisy = tree_laplace(np.array(cells[table]), epsilon, relation, source)
    return float(_outcomes(noisy, limit))


def _tree_case(
    epsilon: float, *, cells: Cells, relation: Relation = "add-remove", **words: str
) -> Case:
    limit = {2: _LIMIT, 4: 10}[len(cells[0])]
    nodes = tree_sensitivity(len(cells[0]).bit_length() - 1, relation)
    return pure_case(epsilon)(
        **words,
        relation=relation,
        covers=("tree_laplace",),
        draw=one_by_one(partial(_tree, epsilon, relation, cells, limit)),
        law=lambda: (
            tree_law(cells[0], nodes / epsilon, limit),
            tree_law(cells[1], nodes / epsilon, limit),
        ),
        runs=FEWER_RUNS,
    )


def _range(epsilon: float, table: int, source: ByteSource) -> float:
    values = np.full(21 - table, 1.5)
    low, high = find_range(lambda: [values], range_events(epsilon), "add-remove", source, ignore)
    return high - low
