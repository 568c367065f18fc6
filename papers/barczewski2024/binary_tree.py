"""Cumulative counts with the noise of a binary tree. The proof is in `binary_tree.md`.

Over N = 2^L cells stands the complete binary tree; every node draws one number, and a cumulative
count gets those of the L + 1 nodes above its cell. A row changes all counts from its cell on, but a
change of few nodes could have the same effect.

===========  ==================================================
name here    in Barczewski, Mawass and Ramon (2024)
===========  ==================================================
levels       L
cells        F(tau_i) - F(tau_(i-1)), in counts
result       F-hat(tau_i), in counts
===========  ==================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_choice
from nolook.errors import ParameterError
from nolook.privacy._collect import Integers
from nolook.privacy.mechanisms._exact import add_exactly, noise_scale
from nolook.privacy.mechanisms.laplace import laplace_variance
from nolook.privacy.noise import ByteSource, discrete_laplace

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Relation

__all__ = [
    "laplace_node_variance",
    "shared_nodes",
    "tree_laplace",
    "tree_sensitivity",
]

_MOST_LEVELS = 30
_MOST_ROWS = 2**62  # more, and a cumulative count could wrap
# Up to this scale no sum of 31 draws leaves int64: a draw is below 2^12.5 times its scale.
_LARGEST_INT64_SCALE = 2.0**45


def tree_sensitivity(levels: int, relation: Relation) -> int:
    """L1 sensitivity: how many nodes, each changed by one, explain a row's effect on 2^L cells.

    It is ceil((L + 1) / 2) under "add-remove" and max(L, 1) under "replace".
    """
    check_choice("relation", relation, ("add-remove", "replace"))
    return levels // 2 + 1 if relation == "add-remove" else max(levels, 1)


def tree_laplace(
    cells: NDArray[np.int64], epsilon: float, relation: Relation, source: ByteSource
) -> NDArray[np.int64]:
    """Return cumulative counts plus exact discrete Laplace noise of every node above them.

    Guarantee
    ---------
    If neighbours differ by one row, counted in one cell, the result is (epsilon, 0)-DP under
    `relation`: a ``PureEvent(name, epsilon)``.

    Parameters
    ----------
    cells : ndarray of int64, shape (N,)
        How many rows each cell holds, below 2^62 together. N is a power of 2, at most 2^30.
    epsilon : float
        Node noise has scale `tree_sensitivity` / epsilon, rounded up.
    relation : {"add-remove", "replace"}
        Which tables are neighbours.
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (N,)
        The noisy counts, saturating at the ends of int64.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the scale exceeds 2**70.
    """
    levels = _levels(cells)
    scale = _laplace_scale(levels, epsilon, relation)
    nodes = discrete_laplace(scale, 2 * len(cells) - 1, source)
    return _add_counts(cells, _sums_above_leaves(nodes, scale))


def laplace_node_variance(levels: int, epsilon: float, relation: Relation) -> float:
    """Variance of one node's noise in :func:`tree_laplace`, in squared counts.

    Two noisy counts have this times :func:`shared_nodes` as their covariance.
    """
    return laplace_variance(tree_sensitivity(levels, relation), epsilon)


def shared_nodes(
    first: NDArray[np.int64], second: NDArray[np.int64], levels: int
) -> NDArray[np.int64]:
    """Count the nodes, 1 to L + 1, whose noise is in both of two counts at places 0 to 2^L - 1."""
    # The exponent of an integer below 2^53 is the number of its binary digits.
    digits = np.frexp(np.asarray(first ^ second, dtype=np.float64))[1]
    return levels + 1 - digits.astype(np.int64)


def _levels(cells: NDArray[np.int64]) -> int:
    size = len(cells)
    if size.bit_count() != 1 or size > 1 << _MOST_LEVELS or cells.dtype != np.int64:
        raise ParameterError(
            f"cells has {size} entries of dtype {cells.dtype}; expected a power of 2 of int64"
            f" counts, at most 2**{_MOST_LEVELS}"
        )
    if cells.min() < 0 or float(cells.sum(dtype=np.float64)) >= _MOST_ROWS:
        raise ParameterError(
            "cells has an entry below 0, or 2**62 rows or more; expected counts of a table"
        )
    return size.bit_length() - 1


def _laplace_scale(levels: int, epsilon: float, relation: Relation) -> float:
    return noise_scale(tree_sensitivity(levels, relation), epsilon, "epsilon")


def _sums_above_leaves(nodes: Integers, scale: float) -> Integers:
    """Add each node's noise to all leaves below it, from the root down and in place."""
    if scale > _LARGEST_INT64_SCALE:
        nodes = nodes.astype(object)
    width = 1
    while 2 * width <= len(nodes):
        above = nodes[width - 1 : 2 * width - 1]
        nodes[2 * width - 1 : 4 * width - 1].reshape(width, 2)[...] += above[:, np.newaxis]
        width *= 2
    return nodes[width - 1 :]


def _add_counts(cells: NDArray[np.int64], noise: Integers) -> NDArray[np.int64]:
    total = add_exactly(np.cumsum(cells), noise)
    ends = np.iinfo(np.int64)
    return np.clip(total, ends.min, ends.max).astype(np.int64, copy=False)
