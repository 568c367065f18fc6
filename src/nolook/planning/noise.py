"""The noise of counts and means of groups, which is known before a row is read."""

from __future__ import annotations

import math

from attrs import frozen

from nolook.algorithms.intervals import NORMAL_95
from nolook.algorithms.tabulation import COUNTS, SUMS, TabulationRelease
from nolook.privacy.guarantee import GaussianEvent
from nolook.statistics.cell_counts import cell_counts_sensitivity, node_counts_l2_sensitivity
from nolook.statistics.group_totals import moments_l1_sensitivity, moments_l2_sensitivity

__all__ = ["GroupNoise", "group_noise"]

_LAPLACE_95 = math.log(20.0)  # in scales
_USUAL_CLIP = 4.0  # standard deviations: the clip of a column without far values


@frozen
class GroupNoise:
    """Half widths of the 95 % intervals of the noise; where margins agree it is less.

    `count` is in rows; divided by the rows of a group, `mean` is in standard deviations of a column
    without far values. None where no means are released. Where there are shares, the count is that
    of a group's rows of one `level`.
    """

    count: float
    mean: float | None
    level: bool


def group_noise(release: object) -> GroupNoise | None:
    """Return the noise of a release of counts by groups; None if it is of another kind."""
    if not isinstance(release, TabulationRelease):
        return None
    level = release.grouped not in (release.counted, ((),))  # a group's count is a sum of these
    costs = {each.name: each for each in release.costs}

    def half(name: str, l1: float, l2: float) -> float:
        event = costs[name]
        if isinstance(event, GaussianEvent):
            return NORMAL_95 * l2 / event.mu
        return _LAPLACE_95 * l1 / event.epsilon

    changes = len(release.counted) * cell_counts_sensitivity(release.relation)
    counted = half(COUNTS, changes, node_counts_l2_sensitivity(changes))
    if SUMS not in costs:
        return GroupNoise(counted, None, level)
    times = len(release.summed) * len(release.grouped), release.relation
    sums = half(SUMS, moments_l1_sensitivity(*times), moments_l2_sensitivity(*times))
    return GroupNoise(counted, _USUAL_CLIP * sums, level)
