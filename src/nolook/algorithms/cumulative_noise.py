"""The noise of cumulative counts: its variance in every figure computed from them.

Place i stands for the first i of N cells; place N for all rows. ``node_counts.md`` and
``ecdf.md`` have the proofs.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from nolook._arrays import Places, Vector
from nolook.algorithms._simulation import Generator
from nolook.algorithms.forest import Forest
from nolook.kernels.forests import cells_of_blocks, level_starts

__all__ = ["ForestNoise", "rising"]


@frozen
class ForestNoise:
    """The noise of the least-squares counts up to places 1 to N, before they are made to rise.

    Parameters
    ----------
    forest : Forest
    block_variance : float
        Of the noise of one block.
    rows_variance : float
        Of the number of rows, whose noise is independent of that of the shares of the cells; 0
        where the number is public.
    """

    forest: Forest
    block_variance: float
    rows_variance: float

    def between(self, first: Places, last: Places, shares: ArrayLike) -> Vector:
        """Return the variance of the rows from a place to a later one, less a share of all rows."""
        first, last = self._cells(first), self._cells(last)
        whole = float(self.forest.padded)
        total = (last - first) / whole
        variance = (total - np.asarray(shares)) ** 2 * self.rows_variance
        coarser = total * (last - first)
        for length, precision in self._levels():
            finer = _squares(first, last, length)
            variance = variance + self.block_variance * (finer - coarser) / precision
            coarser = finer
        return np.asarray(np.maximum(variance, 0.0))

    def weighted(self, weights: Vector, share: float) -> float:
        """Return the variance of a weighted sum of the counts, less a multiple of all rows."""
        # A cell is in the counts of all later places; padded cells only in the last.
        cells = np.full(self.forest.padded, weights[-1])
        cells[: len(weights)] = np.cumsum(weights[::-1])[::-1]
        total = cells.mean()  # squares of NumPy's numbers may be infinite
        variance = (total - share) ** 2 * self.rows_variance
        coarser = total**2 * len(cells)
        for length, precision in self._levels():
            finer = np.sum(cells.reshape(-1, length).sum(axis=1) ** 2) / length
            variance += self.block_variance * np.maximum(finer - coarser, 0.0) / precision
            coarser = finer
        return float(variance)

    def draws(self, totals: Vector, generator: Generator) -> Vector:
        """Return such noise of all counts, shape (totals, places), with these for all rows."""
        forest, repeats = self.forest, len(totals)
        # Many forests beside each other are one.
        padded = forest.padded * repeats
        size = level_starts(padded, forest.lengths)[-1]
        blocks = generator.laplace(scale=math.sqrt(self.block_variance / 2), size=size)
        cells = cells_of_blocks(blocks, padded, forest.lengths).reshape(repeats, -1)
        off = (totals - cells.sum(axis=1)) / forest.padded
        counts = np.cumsum(cells[:, : forest.cells] + off[:, np.newaxis], axis=1)
        counts[:, -1] = totals
        return counts

    def _levels(self) -> list[tuple[int, float]]:
        return list(zip(self.forest.lengths, self.forest.precisions.tolist(), strict=True))

    def _cells(self, places: Places) -> Places:
        """Return the number of cells up to each place: padded ones belong to the last place."""
        places = np.asarray(places)
        return np.where(places == self.forest.cells, self.forest.padded, places)


def settled(cells: Vector, forest: Forest, total: float) -> Vector:
    """Return the counts up to each place, the total replaced and its change spread over all."""
    cells = cells + (total - cells.sum()) / forest.padded
    return np.append(np.cumsum(cells[: forest.cells - 1]), total)


def rising(noisy: Vector, rows: float = math.inf, weights: Vector | None = None) -> Vector:
    """Return the counts nearest to noisy ones that never fall and are from 0 to a number of rows.

    Nearest by the sum of the squared changes, times any weights: no squared error within these
    limits becomes larger.
    """
    from scipy.optimize import isotonic_regression

    fitted: Vector = isotonic_regression(noisy, weights=weights).x
    return np.clip(fitted, 0.0, rows)


def _squares(first: Places, last: Places, length: int) -> Vector:
    """Sum the squares of how many cells of each block lie between two places, over its length."""
    left, right = first // length, last // length
    before, after = (left + 1) * length - first, last - right * length
    inside = left == right
    whole = np.where(inside, 0.0, (right - left - 1) * float(length))
    parts = np.where(inside, (last - first) ** 2.0, before**2.0 + after**2.0)
    return np.asarray(whole + parts / length)
