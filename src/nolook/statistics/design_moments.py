"""Exact second moments of norm-bounded rows and their products with targets.

A row is an integer vector z with ``|z|^2 <= squared_radius``, its target an integer of at most
``largest_target`` in size.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array
from nolook.kernels.weights import part_bits, weighted_sums
from nolook.statistics import Statistic, in_full, rounding_sensitivity

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


class DesignMoments(Statistic):
    """Sums of ``z z'`` and of ``z y`` over rows of length `size`, as exact integers of any size.

    Of rows with weights, their weighted sums over `whole`, rounded down.
    """

    def __init__(self, size: int, squared_radius: int, largest_target: int, whole: int = 1) -> None:
        self._shape = (size, size + 1)
        self._whole, self._has_targets = whole, largest_target > 0
        self._total = np.zeros(self._shape, dtype=object)
        # Every entry of a product is at most the largest of these (Cauchy-Schwarz).
        largest = max(squared_radius, product_sensitivity(squared_radius, largest_target), 1)
        self._bits = 0 if whole == 1 else part_bits(largest)
        self._block_rows = max(1, min(_PART_ROWS, _EXACT // (largest << self._bits)))

    def update(
        self,
        rows: Array | NDArray[np.int16],
        targets: Array | None = None,
        weights: NDArray[np.int64] | None = None,
    ) -> Self:
        """Add rows of shape (size, rows) and their targets, whole numbers both.

        Without targets, or a largest one of 0, only the second moments grow.
        """

        def products(place: slice, part: Array | float) -> NDArray[np.int64]:
            block, sums = rows[:, place].astype(np.float64, copy=False), np.zeros(self._shape)
            weighted = block if isinstance(part, float) else block * part
            sums[:, :-1] = weighted @ block.T
            if targets is not None and self._has_targets:
                sums[:, -1] = weighted @ targets[place]
            return sums.astype(np.int64)

        self._total = self._total + weighted_sums(
            products, self._shape, rows.shape[1], self._block_rows, weights, self._bits
        )
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows other moments have seen."""
        self._total = self._total + other._total
        return self

    @property
    def gram(self) -> NDArray[np.object_]:
        """Sum of ``z z'``, Python ints of shape (size, size)."""
        return in_full(self._total[:, :-1], self._whole).copy()

    @property
    def products(self) -> NDArray[np.object_]:
        """Sum of ``z y``, Python ints of shape (size,)."""
        return in_full(self._total[:, -1], self._whole).copy()
