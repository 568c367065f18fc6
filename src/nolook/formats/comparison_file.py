"""Comparisons of groups as files: the noisy blocks, from which all else is computed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from nolook.algorithms.forest import forest_of
from nolook.algorithms.group_estimates import Estimates
from nolook.algorithms.group_tests import Forests
from nolook.algorithms.scaling import NoisyCount
from nolook.estimators._parameters import AtLeast0
from nolook.estimators.comparison import GroupComparison, known_levels
from nolook.estimators.survival import SurvivalCurve
from nolook.formats.parts import Counted, Finding
from nolook.formats.strict import expect
from nolook.formats.tabulation_file import check_numbers

__all__ = ["ComparisonFile", "SurvivalFile"]


class _Grouped(Counted, frozen=True):
    """A release by groups."""

    by: str | None
    rows: NoisyCount
    forests: Forests

    def made(self, kind: Any, each: int, **own: Any) -> Any:  # noqa: ANN401
        """Return the release, with `each` forests of every group, if a release can have these."""
        points, found, labels = self.forests.points, self.forests.groups, self.read_options.labels
        groups = ("all",) if self.by is None else known_levels(labels(self.by), "by")
        rising = points.ndim == 1 and points.size > 1 and (np.diff(points) > 0.0).all()
        known = rising and len(found) == each * len(groups)
        expect(known, "points that increase, and blocks of every group")
        forest = forest_of(points.size, found[0].forest.lengths)
        for one in found:
            alike = one.forest == forest and one.blocks.shape == (forest.blocks,)
            expect(alike and one.variance > 0.0, "blocks of all cells, and their variance")
        return kind(groups=groups, **self.fields(Finding), **own, **self.about())


class SurvivalFile(_Grouped, frozen=True, tag="survival curve"):
    """Survival curves: the forests of events and of censored times, group by group."""

    time: str
    event: str
    whole: bool

    def release(self) -> Any:  # noqa: ANN401
        """Return the curves."""
        known = {self.time, self.event, self.by} - {None}
        expect(known <= {*self.read_options.features}, "columns of read_options")
        events = known_levels(self.read_options.labels(self.event), "event")
        expect(len(events) == 2, "two levels of event")
        return self.made(SurvivalCurve, 2, level=events[1])


class ComparisonFile(_Grouped, frozen=True, tag="group comparison"):
    """A comparison of groups."""

    value: str
    boolean: bool
    means: Estimates
    shared: AtLeast0

    def release(self) -> GroupComparison:
        """Return the comparison."""
        expect({self.by, self.value} <= {*self.read_options.features}, "columns of read_options")
        found: GroupComparison = self.made(GroupComparison, 1)
        check_numbers(self.means, len(found.groups))
        return found
