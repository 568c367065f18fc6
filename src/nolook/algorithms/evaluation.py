"""One release that judges scores: the ROC curve, and the calibration of probabilities.

The scores of either class are counted up to each threshold, as in ``ecdf.py`` (Barczewski, Mawass
and Ramon 2024, section 5.1). Adding or removing a row changes one class only, so each has the
whole budget. The ROC curve, the precision-recall curve, the areas under them and every threshold
cost nothing more. Groups of probabilities lie between quantiles that follow from the same counts,
so all of the second part goes to the sums of each group, as in ``hosmer_lemeshow.py``. The proofs
are ``roc.md`` and ``evaluation.md``.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import cast

import numpy as np
from attrs import evolve, frozen

from nolook._defaults import QUANTILE
from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.cross_validation import Estimate
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import best_forest, count_event
from nolook.algorithms.grids import PROBABILITIES, LinearGrid, LogGrid
from nolook.algorithms.hosmer_lemeshow import quantile_borders, release_sums
from nolook.algorithms.node_counts import Weighing, event_for_rows, release_cells
from nolook.algorithms.range_search import find_range, range_events
from nolook.algorithms.roc_curve import RocCurve
from nolook.algorithms.scaling import NoisyCount
from nolook.privacy.budgets import split
from nolook.privacy.guarantee import Budget, PureEvent, Relation
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.cell_counts import ClassCells, cell_counts_sensitivity
from nolook.tables import Table

__all__ = [
    "BORDERS_SHARE",
    "CALIBRATION_SHARE",
    "Calibrated",
    "Judged",
    "ScoresRelease",
    "calibration_release",
    "scores_release",
    "search_grid",
]

#: Share of epsilon for the sums of groups: about where the noise of the areas and that of the
#: groups add least to what sampling does (`benchmarks/evaluation.py`).
CALIBRATION_SHARE = 0.35
#: Share of epsilon for the groups' borders where nothing else is wanted of the scores.
BORDERS_SHARE = 0.2

_SEARCH_SHARE = 0.15  # of the epsilon of the counts, for a range
_FEWEST, _MOST = 2**5, 2**12  # points in a range that was found
_NARROWEST = 2.0**-8  # width of a range, of the larger of its ends: less than of any that is found
_LEAST = 2.0**-1002  # and of this, lest the steps of a grid vanish
_ENOUGH = 100.0  # rows times the epsilon of a range, for it to be better than bounds


@frozen
class Calibrated:
    """The released distribution and groups of probabilities."""

    scores: PrivateDistribution
    table: CalibrationTable


@frozen
class Judged:
    """The released counts of scores: thresholds and curve, then the groups if there are any."""

    grid: LinearGrid | LogGrid
    curve: RocCurve
    table: CalibrationTable | None = None

    @cached_property
    def scores(self) -> PrivateDistribution:
        """The distribution of the scores of both classes."""
        return self.curve.scores

    @property
    def counted(self) -> NoisyCount:
        """The number of rows by the release that tells it best."""
        counted = self.scores.counted
        return counted if self.table is None else counted.or_better(self.table.counted)

    def score(self, alike: int = 1) -> Estimate | None:
        """Return the area under the curve; None where the noise may be all of a class."""
        area = self.curve.sampled(alike).intervals().area
        if (area.low, area.high) == (0.0, 1.0):
            return None
        # An end at 0 or 1 is cut off.
        return Estimate(area.value, max(area.value - area.low, area.high - area.value) / QUANTILE)


@frozen
class ScoresRelease:
    """The scores of both classes, counted up to each threshold, then the sums of groups.

    Guarantee: pure, the sum of its events' epsilons, under the relation. No table raises.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
    search : tuple of PureEvent
        The range of the scores; empty if a grid is given.
    counts : PureEvent
        Of the scores of both classes.
    sums : PureEvent or None
        Of groups of probabilities; None for scores of any other kind.
    grid : LinearGrid, LogGrid or None
    groups : int or None
        How many are wanted.
    bounds : tuple of float
        Where scores are known to lie; public.
    """

    relation: Relation
    search: tuple[PureEvent, ...]
    counts: PureEvent
    sums: PureEvent | None
    grid: LinearGrid | LogGrid | None
    groups: int | None
    bounds: tuple[float, float]

    @property
    def progress_steps(self) -> int:
        """Number of passes over the table."""
        return len(self.events())

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released, in this order."""
        return (*self.search, self.counts, *(() if self.sums is None else (self.sums,)))

    def for_rows_per_unit(self, most: int) -> ScoresRelease:
        """Return the release that costs the same for units of `most` rows."""
        *search, counts = (
            event_for_rows(event, most, self.relation) for event in (*self.search, self.counts)
        )
        sums = self.sums and event_for_rows(self.sums, most, self.relation)
        return evolve(self, search=tuple(search), counts=counts, sums=sums)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> Judged:
        """Release the counts, then the sums of groups between quantiles that follow from them."""
        grid = self.grid or search_grid(table, self, source, progress)
        progress("counts")
        points, relation = grid.points(), self.relation
        cells, weighing = table.fold(ClassCells(points)).value, Weighing.of(table, relation)
        forests, left_out, known = release_cells(
            cells, self.counts, relation, source, weighing, classes=True
        )
        curve = RocCurve.of_forests(points, forests, left_out, known, whole=table.whole[0])
        judged = Judged(grid, curve)
        if self.sums is None or self.groups is None:
            return judged
        progress("groups")
        borders = quantile_borders(judged.scores, self.groups)
        # A replaced row leaves one group and enters the same or another one.
        each = self.sums.epsilon / cell_counts_sensitivity(relation)
        return evolve(judged, table=release_sums(table, borders, each, source, weighing))


def scores_release(
    epsilon: float,
    relation: Relation = "add-remove",
    grid: LinearGrid | LogGrid | None = None,
    groups: int | None = None,
    *,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    share: float = CALIBRATION_SHARE,
) -> ScoresRelease:
    """Split an epsilon, with a part for a range if there is no grid, and one for groups, if any.

    Raises ParameterError if it is too small for any noise.
    """
    share = 0.0 if groups is None else share
    searched = 0.0 if grid else (1.0 - share) * _SEARCH_SHARE
    sums, search, counts = split(epsilon, share, searched)
    levels = best_forest(len(grid.points()) if grid else _MOST, "laplace", shares=True).levels
    # Of budgets without delta.
    event = cast("PureEvent", count_event(Budget(counts), levels, epsilon))
    looks, of_groups = () if grid else range_events(search), None
    if groups is not None:
        of_groups = cast("PureEvent", count_event(Budget(sums), 1, epsilon, "sums of each group"))
    return ScoresRelease(relation, looks, event, of_groups, grid, groups, bounds)


def calibration_release(
    epsilon: float, groups: int, relation: Relation = "add-remove"
) -> ScoresRelease:
    """Split an epsilon between probabilities on a public grid, for the borders, and the groups."""
    return scores_release(epsilon, relation, PROBABILITIES, groups, share=1.0 - BORDERS_SHARE)


def search_grid(
    table: Table, plan: ScoresRelease, source: ByteSource, progress: OnStep
) -> LinearGrid:
    """Find a range of the scores of both classes together, and lay a grid of 2^5 to 2^12 points.

    The error of cells too wide falls with the square of their number, that of the noise with
    epsilon times the number of rows: that many squared is about right for both. The range
    found is cut to bounds; the grid spans all of them where nothing is left or rows are few. Scores
    of an integer type have a grid of whole numbers, with one more at either end.
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
    step = (high - low) / (points - 1)
    if table.whole[0]:
        return LinearGrid(math.floor(low) - 1.0, math.ceil(high) + 1.0, max(1.0, math.ceil(step)))
    return LinearGrid(low, high, step)
