"""Counts of the blocks of a forest, with noise, and the distributions that follow from them.

Of every column (or class of rows) the number of rows in every block of every level is released.
Least squares, the number of rows and rising counts follow at no further cost. The proof is
``node_counts.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.count_noise import ForestNoise, rising, settled
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import Forest, Noise, best_forest
from nolook.kernels.forests import block_counts, cells_of_blocks
from nolook.privacy.guarantee import GaussianEvent, PureEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release, gaussian_variance
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import node_counts_l2_sensitivity

__all__ = ["CountEvent", "NoisyForest", "Smoothing", "noise_kind", "pooled", "release_forests"]

#: What a release of counts costs: Laplace noise, or Gaussian.
CountEvent: TypeAlias = PureEvent | GaussianEvent
#: Whether counts are made to rise; None leaves them as they are.
Smoothing: TypeAlias = Literal["isotonic"] | None

Vector = NDArray[np.float64]


def noise_kind(event: CountEvent) -> Noise:
    """Return what noise an event stands for."""
    return "gaussian" if isinstance(event, GaussianEvent) else "laplace"


@dataclass(frozen=True)
class NoisyForest:
    """The noisy counts of a forest's blocks."""

    forest: Forest
    blocks: Vector
    variance: float  # of the noise of one block

    @cached_property
    def cells(self) -> Vector:
        """The least-squares counts of all cells, padded ones too."""
        return cells_of_blocks(self.blocks, self.forest.padded, self.forest.lengths)

    @property
    def rows(self) -> float:
        """The least-squares number of all rows."""
        return float(self.cells.sum())

    @property
    def rows_variance(self) -> float:
        """Variance of the noise of `rows`."""
        return self.variance / self.forest.rows_precision

    def distribution(
        self, points: Vector, rows: float, rows_variance: float, smoothing: Smoothing
    ) -> PrivateDistribution:
        """Return the distribution over thresholds, with a better number of rows than its own."""
        counts = settled(self.cells, self.forest, rows)
        possible = max(1.0, rows)
        if smoothing is not None:
            counts = rising(counts, possible)
        counts[-1] = possible
        noise = ForestNoise(self.forest, self.variance, rows_variance)
        return PrivateDistribution(points, counts, possible, noise)


def release_forests(
    cells: Sequence[NDArray[np.int64]],
    event: CountEvent,
    sensitivity: int,
    source: ByteSource,
    *,
    shares: bool = False,
) -> list[NoisyForest]:
    """Release the counts of the blocks of several forests over public numbers of cells.

    The forests are the best for counts, or for shares of each forest's rows.

    Guarantee: costs the event, if a row changes the counts of at most `sensitivity` blocks, all
    forests together, by one each (:func:`node_counts_sensitivity`).
    """
    kind = noise_kind(event)
    forests = [best_forest(len(each), kind, shares=shares) for each in cells]
    pairs = zip(cells, forests, strict=True)
    counts = np.concatenate([block_counts(each, forest.lengths) for each, forest in pairs])
    if isinstance(event, GaussianEvent):
        length = node_counts_l2_sensitivity(sensitivity)
        noisy = gaussian_release(counts, length, event.mu, source)
        variance = gaussian_variance(length, event.mu)
    else:
        noisy = laplace_release(counts, sensitivity, event.epsilon, source)
        variance = laplace_variance(sensitivity, event.epsilon)
    ends = np.cumsum([forest.blocks for forest in forests])[:-1]
    parts = np.split(noisy.astype(np.float64), ends)
    return [NoisyForest(*pair, variance) for pair in zip(forests, parts, strict=True)]


def pooled(forests: Sequence[NoisyForest]) -> tuple[float, float]:
    """Return the number of rows that all forests of a release count, and its variance."""
    weights = np.array([each.forest.rows_precision for each in forests])
    rows = np.array([each.rows for each in forests])
    # Numbers that agree are not rounded.
    off = np.sum(weights * (rows - rows[0])) / weights.sum()
    return float(rows[0] + off), forests[0].variance / float(weights.sum())
