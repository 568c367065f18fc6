"""Whole weights in parts so small that products with whole numbers stay exact in float64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_WEIGHT", "PART_SIZE", "weight_parts"]

#: Weights are whole numbers from 0 to here.
LARGEST_WEIGHT = 2**30
#: A part is below it.
PART_SIZE = 2**10

_PART_BITS = 10


def weight_parts(
    weights: NDArray[np.int64] | None,
) -> Iterator[tuple[int, NDArray[np.float64] | float]]:
    """Yield factors and parts: the sum of a factor times its part is every row's weight.

    Without weights that is 1 times 1. Parts that are 0 everywhere are left out.
    """
    if weights is None:
        yield 1, 1.0
        return
    for shift in range(0, LARGEST_WEIGHT.bit_length(), _PART_BITS):
        part = (weights >> shift) & (PART_SIZE - 1)
        if part.any():
            yield 1 << shift, part.astype(np.float64)
