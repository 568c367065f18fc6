"""Audits of counts with Laplace noise: alone, in cells, and what is built on them."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from nolook.algorithms.range_search import find_range, range_events
from nolook.algorithms.row_count_bound import count_rows
from nolook.audit.audit_case import (
    Case,
    Vector,
    ignore,
    one_by_one,
    outcomes,
    pure_case,
)
from nolook.audit.exact_laws import laplace_law
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import CellCounts, cell_counts_sensitivity
from nolook.statistics.group_sums import GROUP_COUNTS_SENSITIVITY, GroupSums, excess_sensitivities
from nolook.tables import Table, table_from_arrays
from nolook.tables.folding import Batches

__all__ = ["cases"]

_LIMIT = 12  # outcomes are clipped to -12..12: beyond, nothing is learned


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at an epsilon."""
    case = pure_case(epsilon)
    return (
        case(
            name="laplace-count",
            neighbours="a row more",
            covers=("laplace_release",),
            draw=partial(_counts, epsilon),
            law=lambda table: laplace_law(1 / epsilon, 1 - table, _LIMIT),
        ),
        case(
            name="row-count-bound",
            neighbours="a row more",
            covers=("count_rows",),
            draw=one_by_one(partial(_rows_counted, epsilon)),
        ),
        case(
            name="cells-replace",
            neighbours="a value moved to another cell",
            relation="replace",
            covers=("laplace_release", "cell_counts_sensitivity"),
            draw=partial(_moved_value, epsilon),
            law=partial(_moved_law, epsilon),
        ),
        case(
            name="group-sums",
            neighbours="a positive row at the right border of a group",
            covers=("laplace_release", "excess_sensitivities"),
            draw=partial(_group, epsilon),
        ),
        case(
            name="range-search",
            neighbours="one more of eight equal values",
            covers=("find_range",),
            draw=one_by_one(partial(_range, epsilon)),
            # Two releases that are audited by themselves; a search takes long, and its answer
            # keeps little of them.
            power=0.0,
            runs=2_000,
        ),
    )


def _counts(epsilon: float, table: int, runs: int, source: ByteSource) -> Vector:
    noisy = laplace_release(np.full((runs, 1), 1 - table), 1, epsilon, source)
    return outcomes(noisy, _LIMIT)


@cache
def _rows(count: int) -> Table:
    return table_from_arrays(np.zeros((count, 1)))


def _rows_counted(epsilon: float, table: int, source: ByteSource) -> float:
    return count_rows(_rows(6 + table), epsilon, source, ignore).value


def _moved_value(epsilon: float, table: int, runs: int, source: ByteSource) -> Vector:
    exact = CellCounts(np.array([0.0, 1.0])).update(np.array([float(table)])).value
    tiled = np.tile(exact, (runs, 1))
    noisy = laplace_release(tiled, cell_counts_sensitivity("replace"), epsilon, source)
    return outcomes(noisy, _LIMIT)


def _moved_law(epsilon: float, table: int) -> Vector:
    cells = [laplace_law(2 / epsilon, count, _LIMIT) for count in (1 - table, table)]
    return np.outer(*cells).ravel()


def _group(epsilon: float, table: int, runs: int, source: ByteSource) -> Vector:
    borders = np.array([0.0, 0.25, 1.0])
    width = int(excess_sensitivities(borders)[0])
    row = (np.array([[0.25], [1.0]]),)
    positives, _, excess = Batches([] if table else [row]).fold(GroupSums(borders)).value
    count = np.full(runs, positives[0])
    count = laplace_release(count, GROUP_COUNTS_SENSITIVITY, 0.6 * epsilon, source)
    total = laplace_release(np.full(runs, excess[0]), width, 0.4 * epsilon, source)
    # Beyond 0 and the row's own values the likelihood ratio does not change.
    return 0.6 * count.clip(0, 1) + 0.4 * (total / width).clip(0, 1)


def _range(epsilon: float, table: int, source: ByteSource) -> float:
    values = np.full(9 - table, 1.5)
    found = find_range(
        Batches([(values[None], None)]), range_events(epsilon), "add-remove", source, ignore
    )
    return found.high - found.low
