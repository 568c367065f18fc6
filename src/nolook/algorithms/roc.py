"""Private ROC curves (Barczewski, Mawass and Ramon 2024, section 5.1).

The scores of either class are counted up to each threshold, as in ``ecdf.py``. Adding or removing
a row changes one class only, so each has the whole budget. The curve, the area under it and
every threshold cost nothing more. The proof is ``roc.md``.

==============  ===========================================================================
name here       in the paper
==============  ===========================================================================
``positive``    F of phi_TP over its last value; a positive has a HIGH score here
``negative``    F of phi_FP over its last value
==============  ===========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.ecdf import SMALLEST_SHARE
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.algorithms.range_search import find_range, range_events
from nolook.algorithms.tree_smoothing import Smoothing, smoothed_counts
from nolook.privacy.budgets import split, too_small
from nolook.privacy.guarantee import PureEvent, Relation
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance, tree_laplace
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Announce
from nolook.statistics.cell_counts import CellCounts, cell_counts_sensitivity
from nolook.tables.scored import ScoredRows, ScoredTable

__all__ = ["RocPlan", "RocRelease", "class_rows", "release_roc", "roc_plan", "search_grid"]

_ROWS_SHARE = 0.05  # of epsilon, for the numbers of rows
_SEARCH_SHARE = 0.1  # of epsilon, for a range
_POINTS = 2**7  # in a range that was found

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RocPlan:
    """How epsilon is split, fixed without the data."""

    relation: Relation
    search: tuple[PureEvent, PureEvent] | None  # the range of the scores, unless a grid is given
    rows: PureEvent  # of each class; of the positive one if the number of all rows is public
    curves: PureEvent  # the counts of each class up to each threshold

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released, in this order."""
        return (*(self.search or ()), self.rows, self.curves)

    @property
    def class_epsilon(self) -> float:
        """What the counts of one class cost when a row is added or removed."""
        # A replaced row leaves one class and enters the same or the other one.
        return self.curves.epsilon / cell_counts_sensitivity(self.relation)


def roc_plan(epsilon: float, relation: Relation, *, search: bool) -> RocPlan:
    """Split an epsilon, with a part for a range if one has to be found.

    Raises ParameterError if epsilon is too small for any noise.
    """
    if epsilon * _ROWS_SHARE < SMALLEST_SHARE:
        raise too_small(epsilon)
    range_part, rows, curves = split(epsilon, _SEARCH_SHARE if search else 0.0, _ROWS_SHARE)
    whose = "each class" if relation == "add-remove" else "the positive class"
    return RocPlan(
        relation,
        range_events(range_part) if search else None,
        PureEvent(f"number of rows of {whose}", rows),
        PureEvent("counts of each class up to each threshold", curves),
    )


@dataclass(frozen=True, slots=True)
class RocRelease:
    """The scores of both classes, counted up to each threshold.

    Guarantee: pure, the sum of the plan's epsilons, under its relation. No table raises.

    Parameters
    ----------
    plan : RocPlan
        With a search if no grid is given.
    grid : LinearGrid, LogGrid or None
    smoothing : {"l2", "l1"} or None
    """

    plan: RocPlan
    grid: LinearGrid | LogGrid | None
    smoothing: Smoothing

    @property
    def stages(self) -> int:
        """How often the table is read."""
        return 1 + len(self.plan.search or ())

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released."""
        return self.plan.events()

    def run(
        self, table: ScoredTable, source: ByteSource, announce: Announce
    ) -> tuple[LinearGrid | LogGrid, PrivateDistribution, PrivateDistribution]:
        """Release the grid, and the distributions of positive and negative scores."""
        grid = self.grid
        if grid is None:
            grid = search_grid(table.rows, self.plan, source, announce)
        announce("counts")
        return grid, *release_roc(table.rows, grid.points(), self.plan, self.smoothing, source)


def search_grid(
    rows: ScoredRows, plan: RocPlan, source: ByteSource, announce: Announce
) -> LinearGrid:
    """Find a range of the scores of both classes together, and lay a grid of 2^7 points in it."""
    if plan.search is None:
        raise ValueError("the plan has no search")
    low, high = find_range(
        lambda: (scores for scores, _ in rows()), plan.search, plan.relation, source, announce
    )
    return LinearGrid(low, high, (high - low) / (_POINTS - 1))


def release_roc(
    rows: ScoredRows, points: Vector, plan: RocPlan, smoothing: Smoothing, source: ByteSource
) -> tuple[PrivateDistribution, PrivateDistribution]:
    """Count the scores of each class up to each threshold: the positives' distribution comes first.

    Guarantee: costs the plan's events but for the search, under its relation. `points` are a grid's
    thresholds: public, or found by :func:`search_grid`.
    """
    levels = (len(points) - 1).bit_length()
    cells = np.zeros((2, 2**levels), dtype=np.int64)
    counted = CellCounts(points), CellCounts(points)
    for scores, positives in rows():
        counted[0].update(scores[positives])
        counted[1].update(scores[~positives])
    cells[:, : len(points)] = [each.value for each in counted]
    epsilon = plan.class_epsilon
    noisy = [tree_laplace(each, epsilon, "add-remove", source) for each in cells]
    tops = _private_rows(cells.sum(axis=1), plan, source)
    node_variance = laplace_node_variance(levels, epsilon, "add-remove")
    positive, negative = (
        PrivateDistribution(
            points,
            smoothed_counts(counts.astype(np.float64), top, len(points), smoothing),
            top,
            levels,
            node_variance,
            laplace_node_variance(0, plan.rows.epsilon, "add-remove"),
        )
        for counts, top in zip(noisy, tops, strict=True)
    )
    return positive, negative


def _private_rows(exact: NDArray[np.int64], plan: RocPlan, source: ByteSource) -> tuple[float, ...]:
    """Release the numbers of rows of both classes, each at least 1."""
    if plan.relation == "add-remove":
        noisy = laplace_release(exact, 1, plan.rows.epsilon, source).astype(np.float64)
        return tuple(float(rows) for rows in np.maximum(noisy, 1.0))
    # The number of all rows is public, and a replaced row moves at most one.
    noisy = laplace_release(exact[:1], 1, plan.rows.epsilon, source)
    return class_rows(float(noisy[0]), float(exact.sum()))


def class_rows(positive: float, rows: float) -> tuple[float, float]:
    """Return possible numbers of positive and negative rows, each at least 1.

    `positive` is the noisy number of positive rows, `rows` the public number of all.
    """
    within = min(max(positive, 0.0), rows)
    return max(within, 1.0), max(rows - within, 1.0)
