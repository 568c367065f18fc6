"""Private empirical distribution functions of many owners, by any secure sum.

Each owner counts its values in every block of a forest over the cells of a public grid; all counts
are one vector, added up in one round (Barczewski, Mawass and Ramon 2024, section 4.1). Every block
gets Laplace noise, as in :mod:`nolook.algorithms.node_counts`. ``summed_ecdf.md`` has the proof and
states who must be trusted; the number of rows is public, so neighbours differ by replacement.

``noise="aggregator"``
    The aggregator is trusted with the sum, and adds the noise: the error is the central one.
``noise="owners"``
    The first `noisy_owners` owners each add the full noise to their own vector. One honest owner
    among them suffices, whoever learns the sum; the variance is `noisy_owners` times the central
    one. Unless every one of them is in it, the sum is not opened.

A vector serves one sum: a second one, of other owners, would differ by what an owner holds. After
a sum was opened, new vectors are a new release with a budget of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias, cast

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from nolook._validation import check_choice, check_count, check_epsilon
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import Forest, best_forest, count_event
from nolook.algorithms.grids import Grid
from nolook.algorithms.node_counts import NoisyForest
from nolook.errors import ParameterError
from nolook.federated.plausibility import bound, refuse_impossible, refuse_outside
from nolook.kernels.forests import block_counts, level_starts
from nolook.privacy.guarantee import Budget, PureEvent
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import CellCounts, node_counts_sensitivity
from nolook_flower.secure_sum import PointwiseSum, SecureSum, SumError, Total, Words

__all__ = ["PointwiseCounts", "SummedQuery", "release_summed_ecdf"]

NoisePlace: TypeAlias = Literal["aggregator", "owners"]

_MOST_NOISES = 2**10
_MOST_ROWS = 2**62  # more would leave int64 with the noise

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]


def _noisy_owners(count: int) -> int:
    return check_count(count, "noisy_owners", _MOST_NOISES)


@frozen
class SummedQuery:
    """What owners and aggregator agree on before anyone looks at a value.

    Parameters
    ----------
    grid : LinearGrid, LogGrid or another grid
        The thresholds; the last one stands for infinity. Public.
    epsilon : float
        Privacy loss of all that is released.
    noise : {"aggregator", "owners"}
        Who adds it.
    noisy_owners : int, default=2
        With ``noise="owners"``, how many first owners add the full noise.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or epsilon too small for any noise.
    """

    grid: Grid
    epsilon: float = field(converter=check_epsilon)
    noise: NoisePlace
    noisy_owners: int = field(default=2, converter=_noisy_owners)

    def __attrs_post_init__(self) -> None:
        check_choice("noise", self.noise, ("aggregator", "owners"))
        self.event()  # refuses an epsilon too small for any noise

    @property
    def forest(self) -> Forest:
        """The blocks: the best for shares of a public number of rows."""
        return best_forest(len(self.grid.points()), "laplace", shares=True)

    @property
    def sensitivity(self) -> int:
        """L1 sensitivity of the counts of all blocks, if a row is replaced."""
        return node_counts_sensitivity(self.forest.levels, "replace")

    @property
    def needed(self) -> int:
        """How many first owners must be in the sum."""
        return self.noisy_owners if self.noise == "owners" else 0

    @property
    def noises(self) -> int:
        """How many full noises a release has."""
        return max(1, self.needed)

    def event(self) -> PureEvent:
        """Return what a release costs, under replacement: to be charged before any sum."""
        # Without a delta the noise is Laplace noise.
        return cast("PureEvent", count_event(Budget(self.epsilon), self.forest.levels))

    def noise_variance(self) -> float:
        """Return the variance of one full noise of a block."""
        return laplace_variance(self.sensitivity, self.event().epsilon)

    def noisy(self, blocks: Counts, source: ByteSource) -> Counts:
        """Return the counts of all blocks with one full noise."""
        return laplace_release(blocks, self.sensitivity, self.event().epsilon, source)

    def vector(self, values: Vector, place: int, source: ByteSource) -> Words:
        """Return an owner's vector, for one sum only: the counts of all blocks, then its rows.

        The number of values is public. With ``noise="owners"`` the first owners, by their place,
        add noise.
        """
        cells = CellCounts(self.grid.points()).update(np.asarray(values, np.float64)).value
        blocks = block_counts(cells, self.forest.lengths)
        if place < self.needed:
            blocks = self.noisy(blocks, source)
        return np.append(blocks, cells.sum()).view(np.uint64)

    def distribution(self, total: Total, source: ByteSource) -> PrivateDistribution:
        """Make the release of the sum of the owners' vectors; `source` is the aggregator's.

        Raises a `SumError` if an owner whose noise is needed is not in the sum, and a `NolookError`
        if the sum cannot be.
        """
        if not set(range(self.needed)) <= set(total.owners):
            raise SumError("an owner whose noise is needed is not in the sum; nothing is released")
        blocks = total.numbers[:-1].view(np.int64)
        if self.noise == "aggregator":
            blocks = self.noisy(blocks, source)
        # Only noisy counts are looked at: refusing exact ones would reveal something about them.
        rows, variance = _rows(total.numbers[-1]), self.noise_variance()
        refuse_impossible(self.forest, [blocks], rows, self.noises, variance)
        noisy = NoisyForest(self.forest, blocks.astype(np.float64), self.noises * variance)
        return noisy.distribution(self.grid.points(), rows, 0.0)


def release_summed_ecdf(
    owners: Sequence[Vector],
    query: SummedQuery,
    summing: SecureSum,
    source: ByteSource,
) -> PrivateDistribution:
    """Count all owners' values up to each threshold, privately, in one round.

    Guarantee
    ---------
    (epsilon, 0)-DP if one row of one owner is replaced; against whom is the query's and the secure
    sum's matter. Charge ``query.event()`` first.

    Parameters
    ----------
    owners : sequence of ndarray of float64, shape (rows,)
        Each owner's values.
    query : SummedQuery
    summing : SecureSum
    source : ByteSource

    Returns
    -------
    PrivateDistribution

    Raises
    ------
    ParameterError
        If there are fewer owners than must add noise.
    SumError
        If no sum was opened.
    NolookError
        If the sum cannot be: no counts with this noise have it.
    """
    _check_owners(owners, query)
    vectors = [query.vector(values, place, source) for place, values in enumerate(owners)]
    return query.distribution(summing.sum(vectors, query.needed), source)


class PointwiseCounts:
    """Private counts up to thresholds that are asked for one at a time, a sum for each.

    Guarantee
    ---------
    That of :func:`release_summed_ecdf`, for all answers together. Noise is drawn once, when this is
    made: the counts are those of one release, whichever and however often they are asked for.

    Parameters
    ----------
    owners : sequence of ndarray of float64, shape (rows,)
        Each owner's values.
    query : SummedQuery
    inner : SecureSum
        All owners must be in each of its sums.
    source : ByteSource
    """

    def __init__(
        self, owners: Sequence[Vector], query: SummedQuery, inner: SecureSum, source: ByteSource
    ) -> None:
        _check_owners(owners, query)
        self._points, forest = query.grid.points(), query.forest
        self._summing = PointwiseSum(inner)
        vectors = [query.vector(values, i, source) for i, values in enumerate(owners)]
        self._rows = _rows(np.uint64(self._summing.one(vectors, forest.blocks)))
        # Owners add up the blocks below each threshold by themselves: the sum is linear.
        self._vectors = [_below(forest, vector[:-1]) for vector in vectors]
        noise = np.zeros(forest.blocks, dtype=np.int64)
        if query.noise == "aggregator":
            noise = query.noisy(noise, source)
        self._noise = _below(forest, noise.view(np.uint64))
        blocks = int(_below(forest, np.ones(forest.blocks, dtype=np.uint64)).max(initial=1))
        sums = 2 * len(self._points)
        self._slack = bound(query.noises * blocks, query.noise_variance(), sums)

    def count(self, place: int) -> int:
        """Return the private number of rows up to the threshold at a place of the grid."""
        last = len(self._points) - 1
        if place == last:
            return self._rows
        word = self._summing.one(self._vectors, place) + int(self._noise[place])
        found = (word + 2**63) % 2**64 - 2**63
        refuse_outside(np.array([found]), 0.0, self._rows, self._slack)
        return found

    def ppf(self, p: float) -> float:
        """Return a threshold with a share of at least p, right after one with less; p is a share.

        Noisy counts may cross p more than once. Algorithm 1 of the paper: a search by halves, at
        most ceil(log2(N)) sums.
        """
        low, high = 0, len(self._points) - 1
        while low < high:
            middle = (low + high) // 2
            falls_short = self.count(middle) < p * self._rows
            low, high = (middle + 1, high) if falls_short else (low, middle)
        return float(self._points[low])


def _rows(word: np.uint64) -> int:
    """Return a number of rows, which is exact and public."""
    refuse_outside(np.array([int(word)], dtype=np.float64), 0.0, _MOST_ROWS, 0.0)
    return int(word)


def _below(forest: Forest, blocks: Words) -> Words:
    """Return the sums, modulo 2^64, of the fewest blocks that make up the cells below each border.

    There are N - 1 borders: the last threshold's count is the number of rows.
    """
    ends = np.arange(1, forest.cells)
    found = np.zeros(len(ends), dtype=np.uint64)
    starts = level_starts(forest.padded, forest.lengths)
    done = np.zeros_like(ends)
    for length, level in zip(forest.lengths, pairwise(starts), strict=True):
        upto = np.append(np.uint64(0), np.cumsum(blocks[slice(*level)]))
        found += upto[ends // length] - upto[done // length]
        done = ends // length * length
    return found


def _check_owners(owners: Sequence[Vector], query: SummedQuery) -> None:
    least = max(1, query.needed)
    if len(owners) < least:
        raise ParameterError(
            f"owners has {len(owners)} owners; expected at least {least}, all of whom add noise"
        )
