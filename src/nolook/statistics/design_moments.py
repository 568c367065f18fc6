"""Exact second moments of norm-bounded rows and their products with targets.

A row is an integer vector z with ``|z|^2 <= squared_radius``, its target an integer of at most
``largest_target`` in size.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.statistics import Statistic

__all__ = [
    "MOST_ROWS",
    "DesignMoments",
    "eigenvalue_sensitivity",
    "gram_sensitivity",
    "product_sensitivity",
    "smallest_eigenvalue",
]

Array = NDArray[np.float64]

#: More rows than any table here has: a precondition of the eigenvalue's sensitivity.
MOST_ROWS = 2**34

_EXACT = 2**53
_BLOCKS_PER_FLUSH = 512
# The computed eigenvalue is off by at most this many times size * trace / 2^53.
_BACKWARD_ERROR = 32


def gram_sensitivity(squared_radius: int) -> int:
    """Sensitivity of the sum of ``z z'`` in the Frobenius norm: ``|z|^2`` (add-remove)."""
    return squared_radius


def product_sensitivity(squared_radius: int, largest_target: int) -> int:
    """L2 sensitivity of the sum of ``z y``: ``|z| |y|``, rounded up (add-remove).

    `largest_target` bounds a target, or a clipped residual.
    """
    squared = squared_radius * largest_target**2
    root = math.isqrt(squared)
    return root if root * root == squared else root + 1


def eigenvalue_sensitivity(squared_radius: int, size: int) -> int:
    """Sensitivity of :func:`smallest_eigenvalue` under add-remove, for up to 2^34 rows; rounded up.

    The eigenvalue itself rises by ``|z|^2`` at most (Weyl). Each of the two computed ones may be
    off by ``32 size 2^-53`` times the trace, which is at most ``2^34 squared_radius``.
    """
    error = 2 * _BACKWARD_ERROR * size * MOST_ROWS * squared_radius
    return squared_radius - (-error // _EXACT)


def smallest_eigenvalue(gram: NDArray[np.object_]) -> int:
    """Smallest eigenvalue of a sum of ``z z'`` in float64, rounded down, from 0 to the trace."""
    trace = int(np.trace(gram))
    try:
        lowest = float(np.linalg.eigvalsh(gram.astype(np.float64))[0])
    except np.linalg.LinAlgError:  # never seen; an exception would depend on the data
        return 0
    return min(math.floor(lowest), trace) if lowest > 0.0 else 0


class DesignMoments(Statistic):
    """Sums of ``z z'`` and of ``z y`` over rows of length `size`, as exact integers of any size."""

    def __init__(self, size: int, squared_radius: int, largest_target: int) -> None:
        self._shape = (size, size + 1)
        self._total = np.zeros(self._shape, dtype=object)
        # Every entry of a product is at most the largest of these (Cauchy-Schwarz).
        largest = max(squared_radius, product_sensitivity(squared_radius, largest_target), 1)
        self._block_rows = max(1, _EXACT // largest)

    def update(self, rows: Array, targets: Array | None = None) -> Self:
        """Add rows of shape (size, rows) and their targets, whole numbers both.

        Without targets only the second moments grow.
        """
        recent = np.zeros(self._shape, dtype=np.int64)
        for block, start in enumerate(range(0, rows.shape[1], self._block_rows)):
            if block and block % _BLOCKS_PER_FLUSH == 0:
                self._total = self._total + recent.astype(object)
                recent[...] = 0
            part = rows[:, start : start + self._block_rows]
            recent[:, :-1] += (part @ part.T).astype(np.int64)
            if targets is not None:
                products = part @ targets[start : start + self._block_rows]
                recent[:, -1] += products.astype(np.int64)
        self._total = self._total + recent.astype(object)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows other moments have seen."""
        self._total = self._total + other._total
        return self

    @property
    def gram(self) -> NDArray[np.object_]:
        """Sum of ``z z'``, Python ints of shape (size, size)."""
        return self._total[:, :-1].copy()

    @property
    def products(self) -> NDArray[np.object_]:
        """Sum of ``z y``, Python ints of shape (size,)."""
        return self._total[:, -1].copy()
