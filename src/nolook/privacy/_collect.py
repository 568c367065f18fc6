"""Accepted proposals and parts of numbers put together. Nothing here draws at random by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable


Integers: TypeAlias = NDArray[Any]  # int64, or Python ints where they could exceed it
Size: TypeAlias = int | tuple[int, ...]

# Up to here every result fits into int64; above, the samplers return Python ints.
LARGEST_INT64_SCALE = 2.0**50

_CHUNK = 32_768  # proposals at a time: the working arrays stay in the cache


def fill(
    size: Size, propose: Callable[[int], Integers], acceptance: float, scale: float
) -> Integers:
    """Return the first accepted proposals, in order, as an array of the given shape.

    `propose` takes a number of proposals and returns those it accepts, a share of about
    `acceptance`, which decides nothing but the speed. Numbers of a `scale` above 2**50 are Python
    ints (dtype object).
    """
    out: Integers = np.empty(size, dtype=object if scale > LARGEST_INT64_SCALE else np.int64)
    flat = out.reshape(-1)
    filled = 0
    while filled < flat.size:
        wanted = flat.size - filled
        drawn = propose(min(_CHUNK, int(wanted / acceptance) + 16))[:wanted]
        flat[filled : filled + len(drawn)] = drawn
        filled += len(drawn)
    return out


def join(high: Integers, low: Integers, low_bits: int, scale: float) -> Integers:
    """Return high 2^low_bits + low, low < 2^low_bits; Python ints for scales above 2**50."""
    if scale > LARGEST_INT64_SCALE:
        high, low = high.astype(object), low.astype(object)
    else:
        low = low.astype(np.int64)
    joined: Integers = (high << low_bits) + low
    return joined
