"""A private bound on the norm of standardised rows, from one noisy histogram of norms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.scaling import Scaling, release_histograms
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import standard_squares
from nolook.privacy.noise import ByteSource
from nolook.tables import Table

__all__ = ["choose_squared_radius", "norm_counts", "smallest_bound"]

# Candidate bounds on the squared norm, a quarter of a power of two apart, down from the largest.
_RADII = 49

Vector = NDArray[np.float64]


def norm_counts(
    table: Table, scaling: Scaling, columns: int, mu: float, source: ByteSource
) -> tuple[Vector, Vector]:
    """Count rows by the squared norm of their first columns, standardised and clipped, in one pass.

    Guarantee: ``mu``-GDP when a row is added or removed. Returns noisy counts between the candidate
    bounds, shape (candidates + 1,), and the candidates: whole, increasing, in squares of
    1/UNIT, the last no smaller than any squared norm. The scaling's limit must be finite.
    """
    low, high = (end[:columns] for end in scaling.limits)
    largest = float((np.maximum(-low, high) ** 2).sum()) * UNIT**2
    squares = np.floor(largest * 2.0 ** (np.arange(1 - _RADII, 1) / 4))
    standard = scaling.center[:columns], scaling.scale[:columns], low, high

    def count(batch: NDArray[np.float64]) -> NDArray[np.int64]:
        norms = standard_squares(batch[:columns], standard)
        return threshold_counts(norms, squares)[None, :]

    return release_histograms(table, mu, source, count)[0], squares


def choose_squared_radius(
    counts: Vector, squares: Vector, rows: float, size: int, mu: float
) -> int:
    """Choose the bound on the rows' squared norm from noisy counts between the candidates.

    A smaller bound means less noise and more rows shrunk. Per unit of squared radius the noise's
    operator norm grows by ``sqrt(2 size) / mu``, and the moments, ``size`` by ``size``, lose one
    unit for each row outside, spread over ``size`` directions: the two are equal when
    ``size sqrt(2 size) / mu`` rows are outside. So many may be, but at most a quarter of all.
    """
    allowed = min(size * math.sqrt(2 * size) / mu, rows / 4)
    return int(smallest_bound(counts, squares, allowed))


def smallest_bound(counts: Vector, edges: Vector, allowed: float, spared: float = 0.0) -> float:
    """Return the smallest edge beyond which at most `allowed` rows are, walking down.

    `counts` are noisy, between increasing edges, one more than those; nothing is beyond the last.
    With m bins beyond an edge, ``spared sqrt(m)`` rows are allowed if that is more.
    """
    outside = counts[:0:-1].cumsum()[::-1]  # outside[i]: rows beyond edges[i]
    bins = np.arange(edges.size, 0, -1)
    too_many = np.flatnonzero(outside > np.maximum(allowed, spared * np.sqrt(bins)))
    chosen = int(too_many[-1]) + 1 if too_many.size else 0
    return float(edges[min(chosen, edges.size - 1)])
