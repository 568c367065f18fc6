"""The shape and the cost of the blocks in which rows are counted, from public numbers only.

N cells lie side by side in blocks of h lengths b_1 > ... > b_h = 1, each a multiple of the next.
All k_1 = ceil(N / b_1) longest blocks stand next to each other: a forest of trees without a common
root. Only the last tree is padded with cells beyond N. The proof is ``node_counts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.errors import ParameterError
from nolook.privacy.accounting import gaussian_mu
from nolook.privacy.budgets import too_small, with_room
from nolook.privacy.guarantee import Budget, GaussianEvent, PureEvent

__all__ = ["CountEvent", "Forest", "Noise", "best_forest", "count_event", "forest_of"]

#: Laplace noise grows with the number of levels, Gaussian noise with its root.
Noise: TypeAlias = Literal["laplace", "gaussian"]

#: What a release of counts costs: Laplace noise, or Gaussian.
CountEvent: TypeAlias = PureEvent | GaussianEvent

_MOST_CHILDREN = 64
# Below, the noise would exceed any table, and could leave the range of the exact samplers where
# several rows of a unit have survey weights.
_SMALLEST_SHARE = 2.0**-25


@frozen
class Forest:
    """Blocks of several lengths over N cells.

    Parameters
    ----------
    cells : int
        N, at least 1.
    lengths : tuple of int
        b_1 > ... > b_h = 1, each a multiple of the next.
    """

    cells: int
    lengths: tuple[int, ...]

    @property
    def levels(self) -> int:
        """h: how many blocks a row is in."""
        return len(self.lengths)

    @property
    def padded(self) -> int:
        """Number of cells in all longest blocks together, at least N."""
        return -(-self.cells // self.lengths[0]) * self.lengths[0]

    @property
    def blocks(self) -> int:
        """Number of blocks of each level, padded ones included."""
        return sum(self.padded // length for length in self.lengths)

    @property
    def precisions(self) -> Vector:
        """Variance of the least-squares counts inside blocks of each level, but not within.

        In units of the precision of one block, for a direction of length 1 among the cells. The
        first is also that of all cells together.
        """
        return np.asarray(np.cumsum(np.array(self.lengths[::-1], dtype=np.float64))[::-1])

    @property
    def rows_precision(self) -> float:
        """Precision of the least-squares number of all rows, in units of that of one block."""
        return float(self.precisions[0]) / self.padded

    def mean_variance(self, *, shares: bool = False) -> float:
        """Return the mean variance of the N - 1 counts up to a cell, for blocks of variance 1.

        With `shares` that of the counts less the cells' share of all rows: what is left of the
        noise where a count is divided by the number of all rows, if every cell holds as many.
        """
        if self.cells == 1:
            return 1.0
        means = np.array([_mean_square(self.cells, length) for length in self.lengths])
        whole = _squares_below(self.cells) / (self.padded * (self.cells - 1)) if shares else 0.0
        return float(np.sum(np.diff(means, prepend=whole) / self.precisions))


def forest_of(cells: int, lengths: Sequence[int]) -> Forest:
    """Return the forest of blocks of these lengths; a ParameterError if there is none."""
    whole = all(a > b > 0 and a % b == 0 for a, b in pairwise(lengths))
    if not whole or not lengths or lengths[-1] != 1 or (len(lengths) > 1 and lengths[0] >= cells):
        raise ParameterError(
            f"lengths is not that of blocks over {cells} cells; expected integers that fall to 1, "
            "each a multiple of the next"
        )
    return Forest(cells, tuple(lengths))


def _mean_square(cells: int, length: int) -> float:
    """Return the mean over prefixes x = 1..cells-1 of what `squares` gives for one length."""
    whole, rest = divmod(cells, length)
    # Sums over x = 0..cells-1 of x // length, and of (x % length)^2.
    blocks = length * (whole * (whole - 1) // 2) + whole * rest
    parts = whole * _squares_below(length) + _squares_below(rest)
    return (length * blocks + parts / length) / (cells - 1)


def _squares_below(n: int) -> int:
    return (n - 1) * n * (2 * n - 1) // 6


def _shapes(cells: int) -> Iterator[Forest]:
    """Yield forests with at most two fan-outs, the smaller one on top."""
    yield Forest(cells, (1,))
    for fan_out in range(2, min(_MOST_CHILDREN, cells) + 1):
        # From the leaves up: some levels of fan-out + 1, then some of fan-out.
        larger = [1]
        while larger[-1] < cells:
            lengths = larger[:]
            while lengths[-1] * fan_out < cells:
                lengths = [*lengths, lengths[-1] * fan_out]
                yield Forest(cells, tuple(lengths[::-1]))
            larger.append(larger[-1] * (fan_out + 1))


@lru_cache(maxsize=256)
def best_forest(cells: int, noise: Noise, *, shares: bool = False) -> Forest:
    """Return the forest with the smallest mean variance of a count (or share) up to a cell.

    Among those of :func:`_shapes`, at equal privacy; the first of equal ones.
    """

    def cost(forest: Forest) -> float:
        per_block = forest.levels**2 if noise == "laplace" else forest.levels
        return per_block * forest.mean_variance(shares=shares)

    return min(_shapes(cells), key=cost)


def count_event(
    budget: Budget, levels: int, whole: float | None = None, name: str = "counts of blocks"
) -> CountEvent:
    """Spend a budget on counts of some levels; Gaussian noise if it has a delta, else Laplace.

    Raises ParameterError if it is too small for any noise; it names `whole` if that is an epsilon
    of which this is a part.
    """
    cost = with_room(gaussian_mu(budget) if budget.delta else budget.epsilon)
    if cost / levels < _SMALLEST_SHARE:
        raise too_small(whole or budget.epsilon, budget.delta or None)
    return (GaussianEvent if budget.delta else PureEvent)(name, cost)
