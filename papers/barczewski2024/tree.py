"""The tree's noise with the scale of theorem 3.1, which is more than needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource
from papers.barczewski2024.binary_tree import (
    laplace_node_variance,
    tree_laplace,
    tree_sensitivity,
)

__all__ = ["node_variance", "tree_counts"]


def tree_counts(cells: NDArray[np.int64], epsilon: float, source: ByteSource) -> NDArray[np.int64]:
    """Return cumulative counts with noise of scale (L + 1)/epsilon in every node.

    Guarantee: (epsilon, 0)-private under replacement, and so when a row is added or removed.

    Parameters
    ----------
    cells : ndarray of int64, shape (2**L,)
    epsilon : float
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (2**L,)
    """
    levels = len(cells).bit_length() - 1
    return tree_laplace(cells, _needed(levels, epsilon), "replace", source)


def node_variance(levels: int, epsilon: float) -> float:
    """Variance of one node's noise in :func:`tree_counts`, in squared counts."""
    return laplace_node_variance(levels, _needed(levels, epsilon), "replace")


def _needed(levels: int, epsilon: float) -> float:
    """Return the epsilon at which the product's noise has that scale: at most the one given."""
    return epsilon * (tree_sensitivity(levels, "replace") / (levels + 1))
