"""The Hosmer-Lemeshow statistic by Algorithm 2: all four sums of a group have their own noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import CellCounts
from nolook.statistics.group_sums import GROUP_UNIT, GroupSums
from papers.barczewski2024.tree import tree_counts

__all__ = ["LEVELS", "chi_squared", "hosmer_lemeshow"]

#: Of the paper's tree.
LEVELS = 8
_POINTS = np.arange(1, 2**LEVELS + 1) / 2**LEVELS

Vector = NDArray[np.float64]


def chi_squared(O1: Vector, O0: Vector, E1: Vector, E0: Vector) -> float:
    """Return equation (5): the statistic of observed and expected numbers in each group."""
    return float(np.sum((O1 - E1) ** 2 / E1 + (O0 - E0) ** 2 / E0))


def hosmer_lemeshow(
    scores: Vector,
    positive: NDArray[np.bool_],
    groups: int,
    epsilon: float,
    source: ByteSource,
    *,
    literal: bool = False,
) -> float:
    """Return the noisy statistic of scores in [0, 1] and classes.

    With ``epsilon' = epsilon / (L + 9)``, every sum's noise has scale ``1/epsilon'``. The paper
    takes the number of rows as public, and nothing is claimed here: NOT private when a row is added
    or removed.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    positive : ndarray of bool, shape (n,)
    groups : int
    epsilon : float
    source : ByteSource
    literal : bool, default=False
        Whether the tree has epsilon' for itself, and scale (L + 1)/epsilon', instead of
        (L + 1) epsilon'.

    Returns
    -------
    float
    """
    each = epsilon / (LEVELS + 9)
    tree_epsilon = each if literal else each * (LEVELS + 1)
    noisy = tree_counts(CellCounts(_POINTS).update(scores).value, tree_epsilon, source)
    wanted = np.arange(1, groups) / groups * len(scores)
    place = np.searchsorted(np.maximum.accumulate(noisy), wanted)
    borders = np.concatenate([[0.0], _POINTS[np.minimum(place, len(_POINTS) - 1)], [1.0]])
    between = np.unique(borders)
    positives, negatives, excess = GroupSums(between).update(np.stack([scores, positive])).value
    expected = between[:-1] * (positives + negatives) + excess / GROUP_UNIT
    exact = np.stack([positives, negatives, expected, positives + negatives - expected])
    released = np.zeros((4, groups))
    # Equal borders leave empty groups, which get noise as well.
    released[:, np.diff(borders) > 0] = exact
    units = np.rint(released * GROUP_UNIT).astype(np.int64)
    noise = laplace_release(units, float(GROUP_UNIT), each, source)
    O1, O0, E1, E0 = noise.astype(np.float64) / GROUP_UNIT
    return chi_squared(O1, O0, E1, E0)
