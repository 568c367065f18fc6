"""Private calibration of probabilities (Barczewski, Mawass and Ramon 2024, Algorithm 2).

Groups lie between private quantiles of the probabilities. For each group the numbers of positive
and negative rows are released, and the sum of the probabilities above its left border, which a
row moves by at most the group's width. Adding or removing a row changes one group, so every
group has the whole share of the budget; replacing one may change two. The proof is
``hosmer_lemeshow.md``.

=============  ============================================================================
name here      in the paper
=============  ============================================================================
``borders``    t_0, ..., t_Q; equal ones are one here, so there may be fewer groups
``positives``  O_1, with noise
``negatives``  O_0, with noise
``excess``     E_1 - t_(q-1) (O_1 + O_0), with noise; the paper releases E_1 and E_0
=============  ============================================================================
"""

from __future__ import annotations

import numpy as np

from nolook._arrays import Vector
from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.node_counts import Weighing
from nolook.privacy.budgets import with_room
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import ByteSource
from nolook.statistics.group_sums import (
    GROUP_COUNTS_SENSITIVITY,
    GROUP_UNIT,
    GroupSums,
    excess_sensitivities,
)
from nolook.tables.folding import Rows

__all__ = [
    "quantile_borders",
    "release_sums",
    "split_of_groups",
]

_BORDER_STEPS = 2.0**20


def split_of_groups(epsilon: float, borders: Vector) -> tuple[Vector, Vector]:
    """Split each group's epsilon between counts and excess so that O_1 - E_1 varies least.

    With scales s and t of the counts' and the sum's noise its variance is 2 (a s^2 + t^2),
    a = (1 - left)^2 + left^2, and the cost 1/s + width/t; the best has t = s (a width)^(1/3).
    """
    left, widths = borders[:-1], np.diff(borders)
    ratio = np.cbrt(widths**2 / ((1.0 - left) ** 2 + left**2))
    both = with_room(epsilon)
    return both / (1.0 + ratio), both * ratio / (1.0 + ratio)


def quantile_borders(distribution: PrivateDistribution, groups: int) -> Vector:
    """Return the ends of groups of about equal size: quantiles in whole steps, from 0 to 1."""
    inner = distribution.ppf(np.arange(1, groups) / groups).clip(0.0, 1.0)
    steps = np.rint(inner * _BORDER_STEPS) / _BORDER_STEPS
    return np.unique(np.concatenate([[0.0], steps, [1.0]]))


def release_sums(
    rows: Rows, borders: Vector, epsilon: float, source: ByteSource, weighing: Weighing
) -> CalibrationTable:
    """Release the sums of each group between borders that are public, or released before.

    Guarantee: pure, `epsilon`, when a row is added or removed; twice that when one is replaced.
    Borders are those of :func:`quantile_borders`.
    """
    whole = weighing.weight_scale
    most = whole * GROUP_COUNTS_SENSITIVITY
    positives, negatives, excess = rows.fold(GroupSums(borders, whole)).value
    widths = excess_sensitivities(borders)
    shares = split_of_groups(epsilon, borders)
    noisy = np.empty((3, len(widths)))
    variances = np.empty((2, len(widths)))
    for i, (width, counts, sums) in enumerate(zip(widths.tolist(), *shares, strict=True)):
        exact = np.array([positives[i], negatives[i]])
        noisy[:2, i] = laplace_release(exact, most, counts, source)
        noisy[2, i] = laplace_release(excess[i : i + 1], width, sums, source)[0]
        variances[:, i] = laplace_variance(most, counts), laplace_variance(width, sums)
    noisy /= [[whole], [whole], [GROUP_UNIT]]
    variances /= [[whole**2], [GROUP_UNIT**2]]
    return CalibrationTable(borders, *noisy, *variances)
