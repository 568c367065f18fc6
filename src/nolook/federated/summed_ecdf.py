"""Private empirical distribution functions of many owners, by any secure sum.

Each owner counts its values up to every threshold of a public grid; all counts are one vector,
added up in one round (Barczewski, Mawass and Ramon 2024, section 4.1). The noise is that of the
binary tree over the thresholds. The proof, and who must be trusted with what, is in
``summed_ecdf.md``; the number of records is public, so neighbours differ by replacement.

``noise="aggregator"``
    Whoever learns the sum is trusted with it, and adds the noise: the error is the central one.
``noise="owners"``
    The first `noisy_owners` owners each add the full noise to their own vector. One honest owner
    among them suffices, whoever learns the sum; the variance is `noisy_owners` times the central
    one. Without every one of them in it, the sum is not opened.

A vector serves one sum: a second one, of other owners, would differ by what an owner holds. After
a sum was opened, new vectors are a new release with a budget of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_choice, check_count, check_epsilon
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.ecdf import ecdf_plan
from nolook.algorithms.grids import Grid
from nolook.algorithms.tree_smoothing import Smoothing, smoothed_counts
from nolook.errors import ParameterError
from nolook.federated.secure_sum import PointwiseSum, SecureSum, SumError, Total, Words
from nolook.privacy.guarantee import Budget, PureEvent
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance, tree_laplace
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import CellCounts

__all__ = ["PointwiseCounts", "SummedQuery", "release_summed_ecdf"]

NoisePlace: TypeAlias = Literal["aggregator", "owners"]

_MOST_NOISES = 2**10

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
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
        If a parameter is out of range.
    """

    grid: Grid
    epsilon: float
    noise: NoisePlace
    noisy_owners: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_choice("noise", self.noise, ("aggregator", "owners"))
        count = check_count(self.noisy_owners, "noisy_owners", _MOST_NOISES)
        object.__setattr__(self, "noisy_owners", count)
        self.event()  # refuses an epsilon too small for any noise

    @property
    def levels(self) -> int:
        """L: the tree stands over 2^L thresholds."""
        return (len(self.grid.points()) - 1).bit_length()

    @property
    def needed(self) -> int:
        """How many first owners must be in the sum."""
        return self.noisy_owners if self.noise == "owners" else 0

    def event(self) -> PureEvent:
        """Return what a release costs, under replacement: to be charged before any sum."""
        (event,) = ecdf_plan(Budget(self.epsilon, 0.0), "replace").events()
        if not isinstance(event, PureEvent):
            raise TypeError(f"the plan has a {type(event).__name__}")
        return event

    def node_variance(self) -> float:
        """Return the variance of the noise of one tree node, all noises together."""
        return max(1, self.needed) * laplace_node_variance(
            self.levels, self.event().epsilon, "replace"
        )

    def tree_noise(self, source: ByteSource) -> NDArray[np.int64]:
        """Draw one full noise, shape (2^L,)."""
        nothing = np.zeros(2**self.levels, dtype=np.int64)
        return tree_laplace(nothing, self.event().epsilon, "replace", source)

    def vector(self, values: Vector, place: int, source: ByteSource) -> Words:
        """Return an owner's vector: counts up to each threshold, then the number of its records.

        Parameters
        ----------
        values : ndarray of float64, shape (records,)
            The owner's; how many there are is public.
        place : int
            The owner's place among the owners: with ``noise="owners"``, the first ones add noise.
        source : ByteSource

        Returns
        -------
        ndarray of uint64, shape (2^L + 1,)
            For one sum only.
        """
        points = self.grid.points()
        cells = np.zeros(2**self.levels, dtype=np.int64)
        cells[: len(points)] = CellCounts(points).update(np.asarray(values, np.float64)).value
        counts = np.cumsum(cells)
        records = counts[-1]
        if place < self.needed:
            counts = counts + self.tree_noise(source)
        return np.append(counts, records).view(np.uint64)

    def distribution(
        self, total: Total, smoothing: Smoothing, source: ByteSource
    ) -> PrivateDistribution:
        """Make the release of the sum of the owners' vectors.

        Parameters
        ----------
        total : Total
        smoothing : {"l2", "l1", "isotonic"} or None
        source : ByteSource
            Of the noise, with ``noise="aggregator"``.

        Returns
        -------
        PrivateDistribution

        Raises
        ------
        SumError
            If an owner whose noise is needed is not in the sum.
        """
        if not set(range(self.needed)) <= set(total.owners):
            raise SumError("an owner whose noise is needed is not in the sum; nothing is released")
        points = self.grid.points()
        counts = total.numbers[:-1].view(np.int64)
        if self.noise == "aggregator":
            counts = counts + self.tree_noise(source)
        top = max(1.0, float(total.numbers[-1]))
        fitted = smoothed_counts(counts.astype(np.float64), top, len(points), smoothing)
        return PrivateDistribution(points, fitted, top, self.levels, self.node_variance(), 0.0)


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
    (epsilon, 0)-DP if one record of one owner is replaced; against whom is the query's and the
    secure sum's matter. Charge ``query.event()`` first.

    Parameters
    ----------
    owners : sequence of ndarray of float64, shape (records,)
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
    """
    _check_owners(owners, query)
    vectors = [query.vector(values, place, source) for place, values in enumerate(owners)]
    return query.distribution(summing.sum(vectors, query.needed), smoothing, source)


class PointwiseCounts:
    """Private counts up to thresholds that are asked for one at a time, a sum for each.

    Noise is drawn once, when this is made: the counts are those of one release, whichever and
    however often they are asked for, and cost ``query.event()`` together.

    Parameters
    ----------
    owners : sequence of ndarray of float64, shape (records,)
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
        self._summing = PointwiseSum(inner)
        self._vectors = [query.vector(values, i, source) for i, values in enumerate(owners)]
        self._noise = np.zeros(2**query.levels, dtype=np.int64)
        if query.noise == "aggregator":
            self._noise = query.tree_noise(source)
        self._rows = self._summing.one(self._vectors, len(self._noise))

    def count(self, place: int) -> int:
        """Return the private number of records up to the threshold at a place of the grid."""
        if place == len(self._points) - 1:
            return self._rows
        word = self._summing.one(self._vectors, place) + int(self._noise[place])
        return (word + 2**63) % 2**64 - 2**63

    def ppf(self, p: float) -> float:
        """Return a threshold whose share is at least p, and that of the one before it less.

        Algorithm 1 of the paper: a search by halves, at most L sums.

        Parameters
        ----------
        p : float
            From 0 to 1.

        Returns
        -------
        float
        """
        low, high = 0, len(self._points) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._falls_short(middle, p) else (low, middle)
        return float(self._points[low])

    def _falls_short(self, place: int, p: float) -> bool:
        return self.count(place) < p * self._rows


def _check_owners(owners: Sequence[Vector], query: SummedQuery) -> None:
    least = max(1, query.needed)
    if len(owners) < least:
        raise ParameterError(
            f"owners has {len(owners)} owners; expected at least {least} (so many add noise)"
        )
