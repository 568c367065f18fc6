"""One release that judges a model's scores: the ROC curve, and the calibration of probabilities.

The scores of either class are counted as in ``roc.py``; the precision-recall curve follows from the
same counts. Groups of probabilities lie between quantiles that follow from them too, so all of the
second part goes to the sums of each group, as in ``hosmer_lemeshow.py``. The proof is
``evaluation.md``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

from attrs import evolve, frozen

from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.grids import PROBABILITIES, LinearGrid, LogGrid
from nolook.algorithms.hosmer_lemeshow import quantile_borders, release_sums, sums_event
from nolook.algorithms.node_counts import Weighing, event_for_rows
from nolook.algorithms.roc import RocRelease, roc_plan
from nolook.algorithms.roc_curve import ClassScores, RocCurve
from nolook.algorithms.scaling import NoisyCount
from nolook.privacy.budgets import split
from nolook.privacy.guarantee import PureEvent, Relation
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep
from nolook.statistics.by_class import ByClass
from nolook.statistics.cell_counts import cell_counts_sensitivity
from nolook.tables import Table

__all__ = [
    "BORDERS_SHARE",
    "CALIBRATION_SHARE",
    "CalibrationRelease",
    "EvaluationRelease",
    "Judged",
    "calibration_release",
    "evaluation_release",
]

#: Share of epsilon for the sums of groups: about where the noise of the areas and that of the
#: groups add least to what sampling does (`benchmarks/evaluation.py`).
CALIBRATION_SHARE = 0.35
#: Share of epsilon for the groups' borders where nothing else is wanted of the scores.
BORDERS_SHARE = 0.2


@frozen
class Judged:
    """The released counts of a model's scores.

    First grid and classes, then the groups: None for scores that are not probabilities.
    """

    curve: tuple[LinearGrid | LogGrid, ClassScores, ClassScores]
    table: CalibrationTable | None

    @cached_property
    def scores(self) -> PrivateDistribution:
        """The distribution of the scores of both classes."""
        return RocCurve(*self.curve[1:]).scores

    @property
    def calibration(self) -> tuple[PrivateDistribution, CalibrationTable] | None:
        """The released sums of a calibration test."""
        return None if self.table is None else (self.scores, self.table)

    @property
    def rows(self) -> NoisyCount:
        """The number of rows by the release that tells it best."""
        counted = self.scores.counted
        return counted if self.table is None else counted.or_better(self.table.counted)


@frozen
class EvaluationRelease:
    """The scores of both classes, counted, then the sums of groups if they are probabilities.

    Guarantee: pure, the sum of its events' epsilons, under the relation of `curve`. No table
    raises.

    Parameters
    ----------
    curve : RocRelease
    groups : tuple of int and PureEvent, or None
        How many groups are wanted, and what their sums cost; None for scores of any other kind.
    """

    curve: RocRelease
    groups: tuple[int, PureEvent] | None

    @property
    def progress_steps(self) -> int:
        """Number of passes over the table."""
        return self.curve.progress_steps + (self.groups is not None)

    def events(self) -> tuple[PureEvent, ...]:
        """State everything that will be released, in this order."""
        return (*self.curve.events(), *(() if self.groups is None else self.groups[1:]))

    def for_rows_per_unit(self, most: int) -> Self:
        """Return the release that costs the same for units of `most` rows."""
        groups = self.groups
        if groups is not None:
            groups = groups[0], event_for_rows(groups[1], most, self.curve.relation)
        return evolve(self, curve=self.curve.for_rows_per_unit(most), groups=groups)

    def run(self, table: Table, source: ByteSource, progress: OnStep) -> Judged:
        """Release the counts, then the sums of groups between quantiles that follow from them."""
        judged = Judged(self.curve.run(table, source, progress), None)
        if self.groups is None:
            return judged
        groups, event = self.groups
        borders = quantile_borders(judged.scores, groups)
        progress("groups")
        relation = self.curve.relation
        # A replaced row leaves one group and enters the same or another one.
        each = event.epsilon / cell_counts_sensitivity(relation)
        sums = release_sums(ByClass(table), borders, each, source, Weighing.of(table, relation))
        return evolve(judged, table=sums)


@frozen
class CalibrationRelease(EvaluationRelease):
    """The same of probabilities, of which only the distribution and the groups are wanted."""

    def run(  # type: ignore[override]  # a part of what it returns
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[PrivateDistribution, CalibrationTable] | None:
        """Release the distribution of the probabilities, and the sums of each group."""
        return super().run(table, source, progress).calibration


def evaluation_release(
    epsilon: float, groups: int | None, bounds: tuple[float, float]
) -> EvaluationRelease:
    """Split an epsilon, with a part for the groups of probabilities if there are any.

    Scores lie within `bounds`, which are public.
    Raises ParameterError if epsilon is too small for any noise.
    """
    sums, counts = split(epsilon, 0.0 if groups is None else CALIBRATION_SHARE)
    curve = evolve(roc_plan(counts, "add-remove", None, epsilon), bounds=bounds)
    own = None if groups is None else (groups, sums_event(sums, epsilon))
    return EvaluationRelease(curve, own)


def calibration_release(
    epsilon: float, groups: int, relation: Relation = "add-remove"
) -> CalibrationRelease:
    """Split an epsilon between probabilities on a public grid, for the borders, and the groups.

    Raises ParameterError if it is too small for any noise.
    """
    counts, sums = split(epsilon, BORDERS_SHARE)
    curve = roc_plan(counts, relation, PROBABILITIES.points().size, epsilon)
    own = groups, sums_event(sums, epsilon)
    return CalibrationRelease(evolve(curve, grid=PROBABILITIES), own)
