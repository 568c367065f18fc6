"""Whole weights in parts so small that products with whole numbers stay exact in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook._compiled import compiled

__all__ = [
    "LARGEST_WEIGHT",
    "WEIGHTED_ROWS",
    "integer_sums",
    "joined",
    "part_bits",
    "split_products",
    "weight_parts",
    "weighted_sums",
]

#: Weights are whole numbers from 0 to here.
LARGEST_WEIGHT = 2**30
#: A product with a row is at most 2^42 times 2^24 once :func:`split_products` has split it, so the
#: sums of so many are exact.
WEIGHTED_ROWS = 2**11
# More bits leave room for fewer rows in a sum.
_MOST_BITS = 10
# Every block's sums stay within 2^53, so this many blocks fit an int64 with room to spare.
_BLOCKS_PER_FLUSH = 512

#: Gives int64 sums over the rows of a slice, each times its number of the array if it is one.
Product: TypeAlias = Callable[[slice, NDArray[np.float64] | float], NDArray[np.int64]]


def part_bits(largest: int) -> int:
    """Return the number of bits of a part that is exact times a whole number up to `largest`."""
    return max(1, min(_MOST_BITS, 53 - largest.bit_length()))


def weight_parts(
    weights: NDArray[np.int64] | None, bits: int
) -> Iterator[tuple[int, NDArray[np.float64] | float]]:
    """Yield factors and parts: the sum of a factor times its part is every row's weight.

    Parts are below ``2**bits``; those that are 0 everywhere are left out. Without weights that is
    1 times 1.
    """
    if weights is None:
        yield 1, 1.0
        return
    for shift in range(0, LARGEST_WEIGHT.bit_length(), bits):
        part = (weights >> shift) & ((1 << bits) - 1)
        if part.any():
            yield 1 << shift, part.astype(np.float64)


def weighted_sums(
    product: Product,
    size: tuple[int, ...],
    rows: int,
    block_rows: int,
    weights: NDArray[np.int64] | None = None,
    bits: int = 0,
) -> NDArray[np.object_]:
    """Return the `product` of all rows and their weights, of a shape, as Python ints.

    Sums of `block_rows` rows, times parts of weights of `bits` bits, must stay within 2^53.
    """
    total = np.zeros(size, dtype=object)
    for factor, part in weight_parts(weights, bits):
        for first in range(0, rows, _BLOCKS_PER_FLUSH * block_rows):
            recent = np.zeros(size, dtype=np.int64)
            for start in range(first, rows, block_rows)[:_BLOCKS_PER_FLUSH]:
                place = slice(start, start + block_rows)
                recent += product(place, part if isinstance(part, float) else part[place])
            total = total + factor * recent.astype(object)
    return total


def integer_sums(
    whole: NDArray[np.int64], weights: NDArray[np.int64] | None
) -> NDArray[np.object_]:
    """Add up numbers up to 2^28 in size, shape (numbers, rows), of at most 2^17 rows, exactly."""
    total = np.zeros(len(whole), dtype=object)
    for factor, part in weight_parts(weights, _MOST_BITS):
        own = whole if isinstance(part, float) else whole * part.astype(np.int64)
        total = total + factor * own.sum(axis=1).astype(object)
    return total


@compiled
def split_products(whole, weights, high):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Set `high` and `whole` to h and l with ``whole weight = 2^24 h + l``, 0 <= l < 2^24."""
    for i in range(whole.size):
        # Two products of at most 51 bits, each exact; their sum may have 66.
        value, weight = np.int64(whole[i]), weights[i]
        upper, lower = value * (weight >> 15), value * (weight & 32767)
        upper += lower >> 15
        high[i] = np.float64(upper >> 9)
        whole[i] = np.float64(((upper & 511) << 15) | (lower & 32767))


def joined(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return ``2^24 high + low``, Python ints."""
    total: NDArray[np.object_] = high.astype(object) * 2**24 + low.astype(object)
    return total
