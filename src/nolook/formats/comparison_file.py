"""Comparisons of groups as files: the noisy blocks, from which all else is computed again."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nolook.algorithms.forest import forest_of
from nolook.algorithms.group_estimates import Estimates
from nolook.algorithms.group_tests import Forests
from nolook.algorithms.scaling import NoisyCount
from nolook.estimators.comparison import GroupComparison, known_levels
from nolook.estimators.survival import SurvivalCurve
from nolook.formats.parts import Counted
from nolook.formats.strict import expect
from nolook.formats.tabulation_file import check_numbers
from nolook.tables.design import labels_of
from nolook.tables.words import check_categories

__all__ = ["ComparisonFile", "SurvivalFile"]


class _Grouped(Counted, frozen=True):
    """A release by groups."""

    by: str | None
    groups: list[str]
    rows: NoisyCount
    forests: Forests

    @classmethod
    def of(cls, found: Any, **others: Any) -> Self:  # noqa: ANN401
        """Return the record of a release by groups."""
        return cls.holding(found, **others)

    def forests_of(self, groups: int) -> Forests:
        """Return the values of a number of groups; refuse those that no release has."""
        points, found = self.forests.points, self.forests.groups
        rising = points.ndim == 1 and points.size > 1 and (np.diff(points) > 0.0).all()
        expect(rising and len(found) == groups, "points that increase, and blocks of every group")
        forest = forest_of(points.size, found[0].forest.lengths)
        for each in found:
            alike = each.forest == forest and each.blocks.shape == (forest.blocks,)
            expect(alike and each.variance > 0.0, "blocks of all cells, and their variance")
        return self.forests

    def about_groups(self) -> dict[str, Any]:
        """Return the groups, the number of rows, the guarantee and how columns were read."""
        levels = check_categories(self.read_options.categories)
        own = ("all",) if self.by is None else known_levels(labels_of(levels.get(self.by)), "by")
        expect(tuple(self.groups) == own, "groups as read_options has them, or of a boolean")
        return {"by": self.by, "groups": own, "rows": self.rows, **self.about()}


class SurvivalFile(_Grouped, frozen=True, tag="survival curve"):
    """Survival curves: the forests of events and of censored times, group by group."""

    time: str
    event: str
    level: str
    whole: bool

    def release(self) -> SurvivalCurve:
        """Return the curves."""
        known = {self.time, self.event, *([] if self.by is None else [self.by])}
        expect(known <= {*self.read_options.features}, "columns of read_options")
        levels = check_categories(self.read_options.categories).get(self.event)
        expect(known_levels(labels_of(levels), "event")[1:] == (self.level,), "the level of event")
        own = self.fields(lambda name: name in {"time", "event", "whole", "level"})
        forests = self.forests_of(2 * len(self.groups))
        return SurvivalCurve(forests=forests, **own, **self.about_groups())


class ComparisonFile(_Grouped, frozen=True, tag="group comparison"):
    """A comparison of groups."""

    value: str
    boolean: bool
    means: Estimates

    def release(self) -> GroupComparison:
        """Return the comparison."""
        known = self.by in self.read_options.features and self.value in self.read_options.features
        expect(known, "columns of read_options")
        check_numbers(self.means, len(self.groups))
        forests = self.forests_of(len(self.groups))
        own = self.fields(lambda name: name in {"value", "boolean", "means"})
        return GroupComparison(forests=forests, **own, **self.about_groups())
