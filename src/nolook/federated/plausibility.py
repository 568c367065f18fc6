"""Refuse noisy sums that no honest server can have sent.

The sums are exact counts of n reports and noise of a known law, so their error is bounded.
A change that the noise explains is not found out. All of this is post-processing.

The bound: a discrete Laplace number X of variance v has E exp(tX) = 1 / (1 - u) for every t with
u = v (cosh t - 1) < 1. So k independent ones add up to x or more with a probability of at most
exp(-t x) (1 - u)^-k, which is q at x = (log(1/q) - k log(1 - u)) / t, whatever u is. The largest of
m sums reaches x with m times that probability at most. Each bound here is exceeded with probability
2^-42 at most, and an answer is compared with fewer than 20 of them: an honest one is refused with a
probability below 1e-10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.forest import Forest
from nolook.errors import NolookError
from nolook.kernels.forests import level_starts

__all__ = ["bound", "refuse_impossible", "refuse_outside"]

_CHANCE = 2.0**-42

Numbers = NDArray[np.float64] | NDArray[np.int64]


def bound(noises: int, variance: float, sums: int) -> float:
    """Return the bound that the largest of some sums of noises exceeds with probability 2^-42."""
    u = np.linspace(0.02, 0.98, 49)
    with np.errstate(divide="ignore"):  # without any variance the bound is 0
        t = 2.0 * np.arcsinh(np.sqrt(u / 2.0 / np.float64(variance)))
    return float(((math.log(sums / _CHANCE) - noises * np.log1p(-u)) / t).min())


def refuse_outside(found: Numbers, low: float, high: Numbers | float, slack: float) -> None:
    """Refuse numbers that are outside an interval by more than the noise explains."""
    if not ((found >= low - slack) & (found <= high + slack)).all():
        raise NolookError(
            "the sums are impossible: one differs from what the number of rows allows by "
            "more than the noise explains (ask the servers' operators)"
        )


def refuse_impossible(
    forest: Forest,
    noisy: Sequence[NDArray[np.int64]],
    rows: float,
    noises: int,
    variance: float,
    *,
    rounded: bool = False,
) -> None:
    """Refuse noisy counts of each class's blocks that no table with that number of rows explains.

    A block has `noises` independent numbers of a variance; Gaussian ones were `rounded` as well.
    """
    starts = level_starts(forest.padded, forest.lengths)
    most = len(noisy) * forest.blocks

    def slack(blocks: int, sums: int) -> float:
        """Bound the noise of sums of blocks."""
        count = noises * blocks
        return bound(count, variance, 2 * sums) + (count / 2 if rounded else 0.0)

    for blocks in noisy:
        refuse_outside(blocks, 0.0, rows, slack(1, most))
        for level in range(forest.levels - 1):
            above = blocks[starts[level] : starts[level + 1]]
            below = blocks[starts[level + 1] : starts[level + 2]]
            children = forest.lengths[level] // forest.lengths[level + 1]
            off = above - below.reshape(-1, children).sum(axis=1)
            refuse_outside(off, 0.0, 0.0, slack(1 + children, most))
    total = np.concatenate([blocks[: starts[1]] for blocks in noisy]).sum(keepdims=True)
    refuse_outside(total, rows, rows, slack(len(noisy) * starts[1], 1))
