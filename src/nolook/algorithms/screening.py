"""Sure independence screening: the features that each by itself go best with the label.

A score for each feature, then one top-k mechanism over all of them (DP-SIS, Swope et al. 2024,
Algorithm 1). The proof is ``screening.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.scaling import Scaling
from nolook.privacy.mechanisms.top_k import canonical_lipschitz, peeling
from nolook.privacy.noise import ByteSource
from nolook.statistics import fold
from nolook.statistics.centred_products import PRODUCTS_SENSITIVITY, CentredProducts
from nolook.statistics.kendall import KendallRows, kendall_scores, kendall_sensitivity
from nolook.tables import Table

__all__ = [
    "TOP_K",
    "Scores",
    "TopK",
    "covariance_scores",
    "private_ranges",
    "published_scores",
    "rank_scores",
    "screen",
]

TopK: TypeAlias = Literal["canonical-lipschitz", "peeling"]
TOP_K: dict[TopK, Callable[..., NDArray[np.int64]]] = {
    "canonical-lipschitz": canonical_lipschitz,
    "peeling": peeling,
}

# Ranges reach so many private scales to either side of the centre: the narrower, the less weight
# the tails have and the more of a range the middle fills.
_RANGE = 1.0

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """One score for each feature.

    Parameters
    ----------
    values : ndarray of int64 or float64, shape (d,)
        As confidential as the table.
    sensitivity : float
        The largest change of one of them when a record is added or removed.
    """

    values: NDArray[Any]
    sensitivity: float


def screen(
    scores: Scores, k: int, epsilon: float, top_k: TopK, source: ByteSource
) -> NDArray[np.int64]:
    """Choose k features; pure epsilon if the scores' sensitivity is true.

    Parameters
    ----------
    scores : Scores
    k : int
        Below the number of features.
    epsilon : float
    top_k : str
        A key of :data:`TOP_K`.
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (k,)
        Distinct features.
    """
    return TOP_K[top_k](scores.values, k, scores.sensitivity, epsilon, source)


def rank_scores(table: Table) -> Scores:
    """Score features by the size of their Kendall correlation with the label.

    Parameters
    ----------
    table : Table
        Read once and kept as ranks.

    Returns
    -------
    Scores
    """
    ranked = fold(KendallRows(table.n_columns), table.batches()).value
    features = table.n_columns - 1
    label = ranked.differences(features, list(range(features)))
    return Scores(kendall_scores(label, [0] * features, 0, ranked.rows), kendall_sensitivity(0))


def covariance_scores(table: Table, low: Vector, high: Vector) -> Scores:
    """Score features by their centred products with the label, all clipped to ranges.

    Parameters
    ----------
    table : Table
        Read once.
    low, high : ndarray of shape (columns,)
        Public, or private and paid for.

    Returns
    -------
    Scores
    """
    products = fold(CentredProducts(low, high), table.batches())
    return Scores(products.value, PRODUCTS_SENSITIVITY)


def private_ranges(scaling: Scaling) -> tuple[Vector, Vector]:
    """Return the ranges for :func:`covariance_scores` from a private scaling.

    Parameters
    ----------
    scaling : Scaling

    Returns
    -------
    low, high : ndarray of shape (columns,)
    """
    width = _RANGE * scaling.scale
    return scaling.center - width, scaling.center + width


def published_scores(table: Table) -> Scores:
    """Score features as published: centred and scaled by the table itself. NOT private.

    One extreme record rescales all others, so a score may fall from the number of rows to
    almost nothing; the sensitivity of 1 is the paper's claim.

    Parameters
    ----------
    table : Table
        Kept in memory.

    Returns
    -------
    Scores
    """
    columns = np.concatenate([np.empty((table.n_columns, 0)), *table.batches()], axis=1)
    columns = _to_size_one(columns)  # lest a sum overflow
    columns -= columns.mean(axis=1, keepdims=True) if columns.shape[1] else 0.0
    columns = _to_size_one(columns)
    return Scores(np.abs(columns[:-1] @ columns[-1]), 1.0)


def _to_size_one(columns: Vector) -> Vector:
    peak = np.abs(columns).max(axis=1, initial=0.0, keepdims=True)
    scaled: Vector = columns / np.where(peak > 0.0, peak, 1.0)
    return scaled
