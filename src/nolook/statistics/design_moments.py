"""Exact second moments of norm-bounded rows.

A row is an integer vector z with ``|z|^2 <= squared_radius``.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook.kernels.weights import part_bits, weighted_sums
from nolook.statistics import WeightedTotal, rounding_sensitivity

__all__ = [
    "MOST_ROWS",
    "DesignMoments",
    "eigenvalue_sensitivity",
    "gram_sensitivity",
    "product_sensitivity",
    "smallest_eigenvalue",
]


#: Rows up to which an eigenvalue is shown: the more there are, the less exact it is.
MOST_ROWS = 2**34

_EXACT = 2**53
# Rows that are multiplied at a time.
_PART_ROWS = 4096
# The computed eigenvalue is off by at most this many times size * trace / 2^53.
_BACKWARD_ERROR = 32


def gram_sensitivity(squared_radius: int, size: int = 0, whole: int = 1) -> int:
    """Sensitivity of the sum of ``z z'`` in the Frobenius norm: ``|z|^2`` (add-remove).

    With weights, which need the `size` of a row, rounding adds ``size``.
    """
    return squared_radius + rounding_sensitivity(size**2, whole)


def product_sensitivity(
    squared_radius: int, largest_target: int, size: int = 0, whole: int = 1
) -> int:
    """L2 sensitivity of the sum of ``z y``: ``|z| |y|``, rounded up (add-remove).

    `largest_target` bounds a target, or a clipped residual. With weights, which need the `size` of
    a row, rounding adds its root.
    """
    squared = squared_radius * largest_target**2
    root = math.isqrt(squared)
    product = root if root * root == squared else root + 1
    return product + rounding_sensitivity(size, whole)


def eigenvalue_sensitivity(squared_radius: int, size: int, whole: int = 1) -> int:
    """Sensitivity of :func:`smallest_eigenvalue` under add-remove, rounded up.

    The eigenvalue itself rises by ``|z|^2`` at most (Weyl), and by what rounding adds to the
    matrix's Frobenius norm. Each of the two computed ones may be off by ``32 size 2^-53`` times the
    trace, if that is at most ``2^34 squared_radius``.
    """
    error = 2 * _BACKWARD_ERROR * size * MOST_ROWS * squared_radius
    return gram_sensitivity(squared_radius, size, whole) - (-error // _EXACT)


def smallest_eigenvalue(gram: NDArray[np.object_], squared_radius: int) -> int:
    """Smallest eigenvalue of a sum of ``z z'`` in float64, rounded down, from 0 to the trace.

    At most what the trace leaves of 2^34 rows: it falls to 0 where there are more.
    """
    trace = int(np.trace(gram))
    most = max(0, min(trace, MOST_ROWS * squared_radius - trace))
    try:
        lowest = float(np.linalg.eigvalsh(gram.astype(np.float64))[0])
    except np.linalg.LinAlgError:  # never seen; an exception would depend on the data
        return 0
    return min(math.floor(lowest), most) if lowest > 0.0 else 0


class DesignMoments(WeightedTotal):
    """The sum of ``z z'`` over rows of length `size`, as exact integers of any size.

    Of rows with weights, their weighted sum over `whole`, rounded down.
    """

    def __init__(self, size: int, squared_radius: int, whole: int = 1) -> None:
        super().__init__((size, size), whole)
        # Every entry of a product is at most that (Cauchy-Schwarz).
        largest = max(squared_radius, 1)
        self._bits = 0 if whole == 1 else part_bits(largest)
        self._block_rows = max(1, min(_PART_ROWS, _EXACT // (largest << self._bits)))

    def update(
        self, rows: Array | NDArray[np.int16], weights: NDArray[np.int64] | None = None
    ) -> Self:
        """Add rows of shape (size, rows), whole numbers."""

        def products(place: slice, part: Array | float) -> NDArray[np.int64]:
            block = rows[:, place].astype(np.float64, copy=False)
            weighted = block if isinstance(part, float) else block * part
            sums: NDArray[np.int64] = (weighted @ block.T).astype(np.int64)
            return sums

        self._total = self._total + weighted_sums(
            products, self._total.shape, rows.shape[1], self._block_rows, weights, self._bits
        )
        return self
