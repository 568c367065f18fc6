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

import math
from typing import cast

import numpy as np
from attrs import evolve, frozen

from nolook._arrays import Vector
from nolook.algorithms.cumulative_noise import ForestNoise, settled
from nolook.algorithms.forest import best_forest, count_event
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.algorithms.node_counts import (
    NoisyForest,
    Weighing,
    event_for_rows,
    release_cells,
)
from nolook.algorithms.range_search import find_range, range_events
from nolook.algorithms.roc_curve import ClassScores
from nolook.privacy.budgets import split
from nolook.privacy.guarantee import Budget, PureEvent, Relation
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.by_class import ByClass
from nolook.statistics.cell_counts import ClassCells
from nolook.tables import Table

__all__ = ["RocRelease", "class_scores", "roc_plan", "search_grid"]

_SEARCH_SHARE = 0.15  # of epsilon, for a range
_FEWEST, _MOST = 2**5, 2**12  # points in a range that was found
_NARROWEST = 2.0**-8  # width of a range, of the larger of its ends: less than of any that is found
_LEAST = 2.0**-1002  # and of this, lest the steps of a grid vanish
_ENOUGH = 100.0  # rows times the epsilon of a range, for it to be better than bounds


@frozen
class RocRelease:
    """The scores of both classes, counted up to each threshold.

    Guarantee: pure, the sum of its events' epsilons, under the relation. No table raises.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
    search : tuple of PureEvent
        The range of the scores; empty if a grid is given.
    counts : PureEvent
        Of the scores of both classes.
    grid : LinearGrid, LogGrid or None
    bounds : tuple of float
        Where scores are known to lie; public.
    """

    relation: Relation
    search: tuple[PureEvent, ...]
    counts: PureEvent
    grid: LinearGrid | LogGrid | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def progress_steps(self) -> int:
        """Number of passes over the table."""
        return 1 + len(self.search)

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released, in this order."""
        return (*self.search, self.counts)

    def for_rows_per_unit(self, most: int) -> RocRelease:
        """Return the release that costs the same for units of `most` rows."""
        *search, counts = (event_for_rows(event, most, self.relation) for event in self.events())
        return evolve(self, search=tuple(search), counts=counts)

    def run(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[LinearGrid | LogGrid, ClassScores, ClassScores]:
        """Release the grid, and the distributions of positive and negative scores."""
        grid = self.grid or search_grid(table, self, source, progress)
        progress("counts")
        cells = ByClass(table).fold(ClassCells(grid.points())).value
        weighing = Weighing.of(table, self.relation)
        (positive, negative), left_out, known = release_cells(
            cells, self.counts, self.relation, source, weighing, classes=True
        )
        first, second = class_scores(grid.points(), positive, negative, known)
        return grid, evolve(first, left_out=left_out), second


def roc_plan(
    epsilon: float, relation: Relation, points: int | None, whole: float | None = None
) -> RocRelease:
    """Split an epsilon, with a part for a range if there are no public points.

    Raises ParameterError if epsilon is too small for any noise; it names `whole`, if that is an
    epsilon of which this is a part.
    """
    search, counts = split(epsilon, _SEARCH_SHARE if points is None else 0.0)
    levels = best_forest(points or _MOST, "laplace", shares=True).levels
    # Of a budget without delta.
    event = cast("PureEvent", count_event(Budget(counts), levels, whole or epsilon))
    return RocRelease(relation, range_events(search) if points is None else (), event)


def search_grid(table: Table, plan: RocRelease, source: ByteSource, progress: OnStep) -> LinearGrid:
    """Find a range of the scores of both classes together, and lay a grid of 2^5 to 2^12 points.

    The error of cells too wide falls with the square of their number, that of the noise with
    epsilon times the number of rows: that many squared is about right for both. The range
    found is cut to bounds; the grid spans all of them where nothing is left or rows are few.
    """
    whole = table.unit.weight_scale
    found = find_range(table, plan.search, plan.relation, source, progress, whole)
    wanted = 0.5 * math.log2(found.rows * plan.counts.epsilon)
    points = int(np.clip(2 ** round(wanted), _FEWEST, _MOST))
    ends = found.low, found.high
    enough = found.rows * sum(each.epsilon for each in plan.search) > _ENOUGH
    within = np.clip(ends, *plan.bounds).tolist() if enough else plan.bounds
    ranges = within, plan.bounds, ends
    low, high = next(r for r in ranges if r[1] - r[0] > _NARROWEST * max(_LEAST, *map(abs, r)))
    return LinearGrid(low, high, (high - low) / (points - 1))


def class_scores(
    points: Vector, positive: NoisyForest, negative: NoisyForest, known: float | None
) -> tuple[ClassScores, ClassScores]:
    """Return the distributions of both classes' scores that follow from their noisy blocks.

    `known` is the number of rows of both classes together where that is public.
    """
    numbers, variance = [positive.rows, negative.rows], positive.rows_variance
    if known is not None:
        # Both classes together have a public number of rows: they are off by the same.
        off = (known - sum(numbers)) / 2
        numbers, variance = [each + off for each in numbers], variance / 2
    noise = ForestNoise(positive.forest, positive.variance, variance)
    first, second = (
        (points, settled(forest.cells, forest.forest, number), noise)
        for forest, number in zip((positive, negative), numbers, strict=True)
    )
    return ClassScores.of_both(first, second, rows_known=known is not None)
