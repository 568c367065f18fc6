"""The rates of an ROC curve with the paper's constants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import CellCounts
from papers.barczewski2024.tree import tree_counts
from papers.barczewski2024.tree_smoothing import Smoothing, smooth

__all__ = ["roc_rates"]

Vector = NDArray[np.float64]


def roc_rates(
    scores: Vector,
    positive: NDArray[np.bool_],
    points: Vector,
    epsilon: float,
    source: ByteSource,
    norm: Smoothing = "l2",
) -> tuple[Vector, Vector]:
    """Return smoothed false and true positive rates, divided by the noisy last counts.

    Guarantee: (epsilon, 0)-private under either relation, half of it for each class.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    positive : ndarray of bool, shape (n,)
    points : ndarray of shape (2**L,)
        Public places of the scores.
    epsilon : float
    source : ByteSource
    norm : {"l2", "l1", "isotonic"} or None, default="l2"
        Of the smoothing; None leaves the counts as they are.

    Returns
    -------
    tuple of two ndarray of shape (2**L + 1,)
    """
    negatives, positives = (
        _rates(
            CellCounts(points).update(scores[positive == label]).value, epsilon / 2, source, norm
        )
        for label in (False, True)
    )
    return negatives, positives


def _rates(cells: NDArray[np.int64], epsilon: float, source: ByteSource, norm: Smoothing) -> Vector:
    noisy = tree_counts(cells, epsilon, source).astype(np.float64)
    top = max(1.0, float(noisy[-1]))
    smoothed = noisy if norm is None else smooth(noisy, top, norm)
    counts = np.append(smoothed[:-1], top)
    return np.append(1.0 - (counts / top)[::-1], 1.0)
