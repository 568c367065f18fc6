"""A private bound on the size of rows, from one noisy histogram of their sizes."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtr

from nolook._arrays import Integers, Vector
from nolook.algorithms.scaling import release_histograms
from nolook.kernels.histogram import threshold_counts
from nolook.kernels.moments import UNIT
from nolook.kernels.weighted_rows import Standard, Whitening, squared_lengths
from nolook.privacy.noise import ByteSource
from nolook.tables import Table
from nolook.tables.table import Weights

__all__ = [
    "likely_counts",
    "norm_counts",
    "smallest_bound",
]

# Candidate bounds on the squared norm, a quarter of a power of two apart, down from the largest.
_RADII = 49
# The last one where rows are whitened, in times as many features as they have.
_LONGEST = 2.0**8
# Lognormal sizes that are tried: octaves of their median above what is usual, and widths.
_OCTAVES = np.arange(-6.0, 4.1, 0.5)
_WIDTHS = np.array([0.2, 0.5, 1.0, 1.5])
_DOUBT = 2.0  # deviations of its noise by which a count beside the fit is half-believed


def norm_counts(
    table: Table, standard: Standard, whitening: Whitening | None, mu: float, source: ByteSource
) -> tuple[Vector, Vector]:
    """Count rows by the squared norm of their first columns, standardised and clipped, in one pass.

    Guarantee: ``mu``-GDP when a row is added or removed. Returns noisy counts between the candidate
    bounds, shape (candidates + 1,), and the candidates: whole, increasing, in squares of 1/UNIT, up
    to the largest that a row may have; where rows are whitened they may be longer.
    """
    largest = float((np.maximum(-standard.low, standard.high) ** 2).sum())
    if whitening is not None:
        largest = _LONGEST * len(whitening.center)
    squares = np.floor(largest * UNIT**2 * 2.0 ** (np.arange(1 - _RADII, 1) / 4))
    count = partial(_count, standard, whitening, squares)
    return release_histograms(table, mu, source, count)[0], squares


def _count(
    standard: Standard,
    whitening: Whitening | None,
    squares: Vector,
    batch: Vector,
    weights: Weights,
) -> Integers:
    """Count rows by their squared norm; `standard` tells how many columns are meant."""
    norms = squared_lengths(batch[: standard.center.size], standard, whitening)
    return threshold_counts(norms, squares, weights)[None, :]


def likely_counts(counts: Vector, edges: Vector, sigma: float, rows: float, usual: float) -> Vector:
    """Return the likely counts of sizes between edges without their noise.

    All counts together choose among lognormal sizes, likelier near what is `usual`; a single count
    that differs from them is believed as far as it stands out from its noise. Post-processing.
    """
    medians = usual * np.exp2(_OCTAVES)
    with np.errstate(divide="ignore"):  # all edges are 0 where rows have no features
        place = np.log(edges / medians[:, None, None]) / _WIDTHS[:, None]
    below = ndtr(place).reshape(-1, edges.size)
    mass = np.diff(below, axis=1, prepend=0.0, append=1.0)
    likelihood = -np.repeat(np.abs(_OCTAVES), _WIDTHS.size)
    likelihood -= ((counts - rows * mass) ** 2).sum(axis=1) / (2.0 * sigma**2)
    weight = np.exp(likelihood - likelihood.max())
    fitted = rows * (weight / weight.sum()) @ mass
    more = counts - fitted
    return np.asarray(fitted + more**3 / (more**2 + (_DOUBT * sigma) ** 2))


def smallest_bound(counts: Vector, edges: Vector, allowed: float) -> float:
    """Return the smallest edge beyond which at most `allowed` rows are, walking down.

    `counts` are noisy, between increasing edges, one more than those; nothing is beyond the last.
    """
    outside = counts[:0:-1].cumsum()[::-1]  # outside[i]: rows beyond edges[i]
    too_many = np.flatnonzero(outside > allowed)
    chosen = int(too_many[-1]) + 1 if too_many.size else 0
    return float(edges[min(chosen, edges.size - 1)])
