"""Private empirical distribution functions of many owners, by any secure sum.

Each owner counts its values up to every threshold of a public grid; all counts are one vector,
added up in one round (Barczewski, Mawass and Ramon 2024, section 4.1). The noise is that of the
binary tree over the thresholds. The proof, and who must be trusted with what, is in
``summed_ecdf.md``; the number of rows is public, so neighbours differ by replacement.

``noise="aggregator"``
    Whoever learns the sum is trusted with it, and adds the noise: the error is the central one.
``noise="owners"``
    The first `noisy_owners` owners each add the full noise to their own vector. One honest owner
    among them suffices, whoever learns the sum; the variance is `noisy_owners` times the central
    one. Unless every one of them is in it, the sum is not opened.

A vector serves one sum: a second one, of other owners, would differ by what an owner holds. After
a sum was opened, new vectors are a new release with a budget of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from attrs import field, frozen
from nolook.algorithms.tree_smoothing import Smoothing, smoothed_counts
from nolook.federated.secure_sum import PointwiseSum, SecureSum, SumError, Total, Words
from nolook.federated.tree_plan import tree_plan
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance, tree_laplace
from numpy.typing import NDArray

from nolook._validation import check_choice, check_count, check_epsilon
from nolook.algorithms.count_noise import BinaryTreeNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.grids import Grid
from nolook.errors import ParameterError
from nolook.federated.plausibility import TreeNoise, refuse_impossible, refuse_outside
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import CellCounts

__all__ = ["PointwiseCounts", "SummedQuery", "release_summed_ecdf"]

NoisePlace: TypeAlias = Literal["aggregator", "owners"]

_MOST_NOISES = 2**10
_MOST_ROWS = 2**62  # more would leave int64 with the noise

Vector = NDArray[np.float64]


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
    def levels(self) -> int:
        """L: the tree stands over 2^L thresholds."""
        return (len(self.grid.points()) - 1).bit_length()

    @property
    def needed(self) -> int:
        """How many first owners must be in the sum."""
        return self.noisy_owners if self.noise == "owners" else 0

    @property
    def tree(self) -> TreeNoise:
        """The noise of all that is released."""
        variance = laplace_node_variance(self.levels, self.event().epsilon, "replace")
        return TreeNoise(self.levels, variance, max(1, self.needed))

    def event(self) -> PureEvent:
        """Return what a release costs, under replacement: to be charged before any sum."""
        return tree_plan("ecdf", self.epsilon).tree

    def node_variance(self) -> float:
        """Return the variance of the noise of one tree node, all noises together."""
        return self.tree.noises * self.tree.variance

    def tree_noise(self, source: ByteSource) -> NDArray[np.int64]:
        """Draw one full noise, shape (2^L,)."""
        nothing = np.zeros(2**self.levels, dtype=np.int64)
        return tree_laplace(nothing, self.event().epsilon, "replace", source)

    def vector(self, values: Vector, place: int, source: ByteSource) -> Words:
        """Return an owner's vector, for one sum only: 2^L counts up to thresholds, then its rows.

        How many values there are is public. With ``noise="owners"`` the first owners, by their
        place, add noise.
        """
        points = self.grid.points()
        cells = np.zeros(2**self.levels, dtype=np.int64)
        cells[: len(points)] = CellCounts(points).update(np.asarray(values, np.float64)).value
        counts = np.cumsum(cells)
        rows = counts[-1]
        if place < self.needed:
            counts = counts + self.tree_noise(source)
        return np.append(counts, rows).view(np.uint64)

    def distribution(
        self, total: Total, smoothing: Smoothing, source: ByteSource
    ) -> PrivateDistribution:
        """Make the release of the sum of the owners' vectors; `source` is the aggregator's.

        Raises a `SumError` if an owner whose noise is needed is not in the sum, and a `NolookError`
        if the sum cannot be.
        """
        if not set(range(self.needed)) <= set(total.owners):
            raise SumError("an owner whose noise is needed is not in the sum; nothing is released")
        points = self.grid.points()
        counts = total.numbers[:-1].view(np.int64)
        if self.noise == "aggregator":
            counts = counts + self.tree_noise(source)
        # Only noisy counts are looked at: whether exact ones were refused would tell of them.
        rows = _rows(total.numbers[-1])
        refuse_impossible(counts, np.arange(len(counts)), len(points) - 1, rows, self.tree)
        top = max(1.0, rows)
        noise = BinaryTreeNoise(len(points), self.levels, self.node_variance(), 0.0)
        fitted = smoothed_counts(counts.astype(np.float64), top, len(points), smoothing)
        return PrivateDistribution(points, fitted, top, noise)


def release_summed_ecdf(
    owners: Sequence[Vector],
    query: SummedQuery,
    summing: SecureSum,
    smoothing: Smoothing,
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
    smoothing : {"l2", "l1", "isotonic"} or None
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
    return query.distribution(summing.sum(vectors, query.needed), smoothing, source)


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
        self._points = query.grid.points()
        self._tree = query.tree
        self._summing = PointwiseSum(inner)
        self._vectors = [query.vector(values, i, source) for i, values in enumerate(owners)]
        self._noise = np.zeros(2**query.levels, dtype=np.int64)
        if query.noise == "aggregator":
            self._noise = query.tree_noise(source)
        self._rows = _rows(np.uint64(self._summing.one(self._vectors, len(self._noise))))
        self._found: dict[int, int] = {}

    def count(self, place: int) -> int:
        """Return the private number of rows up to the threshold at a place of the grid."""
        last = len(self._points) - 1
        if place == last:
            return self._rows
        word = self._summing.one(self._vectors, place) + int(self._noise[place])
        found = self._found[place] = (word + 2**63) % 2**64 - 2**63
        counts, places = (np.array([*each]) for each in (self._found.values(), self._found))
        refuse_impossible(counts, places, last, self._rows, self._tree)
        return found

    def ppf(self, p: float) -> float:
        """Return a threshold with a share of at least p, right after one with less; p is a share.

        Noisy counts may cross p more than once. Algorithm 1 of the paper: a search by halves, at
        most L sums.
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


def _check_owners(owners: Sequence[Vector], query: SummedQuery) -> None:
    least = max(1, query.needed)
    if len(owners) < least:
        raise ParameterError(
            f"owners has {len(owners)} owners; expected at least {least} (so many add noise)"
        )
