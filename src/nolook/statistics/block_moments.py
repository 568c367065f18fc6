"""The exact moment matrices of random blocks; one row, or one unit in a block, changes one."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from nolook.kernels.block_models import add_block_moments
from nolook.statistics import Statistic

__all__ = ["BlockMoments"]

_LOW = 2**32
# Bits that weights lose: products stay small, and any weights do, since a unit is in one block.
_COARSER = 15


class BlockMoments(Statistic):
    """Sums of ``z z'`` over the rows ``z = (1, u)`` of each block, as exact integers.

    No number of ``u`` exceeds `largest`, from 1 to 2^31 - 1, in size. A sum is 2^32 times `high`
    plus `low`. Rows are added to `low`, an int64; before it could overflow, all but its last 32
    bits are carried to `high`. So sums are exact for any number of rows whose products add up to
    less than 2^95: 3.9e18 rows of numbers up to 10^5. Weights, whole multiples of 1/whole, are
    rounded to multiples of 2^15/whole, at least one of them; `largest` is up to 2^22 with them.
    """

    def __init__(self, blocks: int, columns: int, largest: int, whole: int = 1) -> None:
        shape = (blocks, columns + 1, columns + 1)
        self._low, self._high = np.zeros((2, *shape), dtype=np.int64)
        # So many rows and what a carry leaves, below 2^32, stay below 2^63 together.
        self._most_rows = (2**63 - _LOW) // (largest**2 * max(1, whole >> _COARSER))
        self._rows = 0  # since the last carry, in all blocks together

    def update(
        self,
        rows: NDArray[np.float64],
        weights: NDArray[np.int64] | None,
        blocks: NDArray[np.int64],
    ) -> Self:
        """Add whole rows of shape (columns, n), each to its block."""
        one = np.ones_like(blocks)
        times = one if weights is None else np.maximum(weights >> _COARSER, one)
        for start in range(0, blocks.size, self._most_rows):
            place = slice(start, start + self._most_rows)
            part = blocks[place]
            if self._rows + part.size > self._most_rows:
                self._carry()
            add_block_moments(self._low, rows[:, place], part, times[place])
            self._rows += part.size
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that the same blocks have elsewhere."""
        self._carry()
        other._carry()
        self._low += other._low
        self._high += other._high
        self._carry()
        return self

    def _carry(self) -> None:
        self._high += self._low >> 32
        self._low &= _LOW - 1
        self._rows = 0

    @property
    def value(self) -> NDArray[np.float64]:
        """The doubles nearest to the sums, shape (blocks, columns + 1, columns + 1).

        Only the lower triangles are used. A function of the exact sums alone: below 2^85 `high` and
        `low` are doubles, and one rounding adds them.
        """
        self._carry()
        total: NDArray[np.float64] = self._high * np.float64(_LOW)
        total += self._low
        return total
