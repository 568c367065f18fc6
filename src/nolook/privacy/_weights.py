"""Exponential weights as enclosures between integers, and a choice among them made certain.

Nothing here draws at random by itself. Every bound is an integer, rounded outwards; the number it
bounds is never rounded. The proof is in `noise.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

from nolook.privacy._refine import LazyUniform, contexts, to_decimal


def exponential_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``2**bits exp(exponent)`` between two integers."""
    down, up = contexts(bits + 2 * max(0, int(exponent)))
    unit = Decimal(2**bits)
    # `decimal` rounds exp to nearest whatever the context, so one step outwards encloses it.
    low = down.multiply(down.next_minus(down.exp(to_decimal(exponent, down))), unit)
    high = up.multiply(up.next_plus(up.exp(to_decimal(exponent, up))), unit)
    return int(low), int(high) + 1


def power_bounds(rate: Fraction, count: int, bits: int) -> tuple[list[int], list[int]]:
    """Enclose ``2**bits exp(rate j)``, rate >= 0, for j = 0, ..., count - 1 between integers."""
    low_step, high_step = exponential_bounds(rate, bits)
    low, high = [2**bits], [2**bits]
    for _ in range(count - 1):
        low.append(low[-1] * low_step >> bits)
        high.append(-(-high[-1] * high_step >> bits))
    return low, high


def weighted_index(counts: Sequence[int], rate: Fraction, uniform: LazyUniform) -> int:
    """Return the i at which the running sum of ``counts[i] exp(rate i)`` passes U times its total.

    Counts and the rate are at least 0, and not all counts are 0. U is extended until i is certain.
    """
    while True:
        powers = power_bounds(rate, len(counts), uniform.bits)
        low, high = (
            list(accumulate(count * power for count, power in zip(counts, side, strict=True)))
            for side in powers
        )
        # i is certain when U total lies below its running sum and not below the one before.
        least, most = uniform.value * low[-1], (uniform.value + 1) * high[-1]
        index = next(i for i, total in enumerate(high) if total << uniform.bits > least)
        if low[index] << uniform.bits >= most:
            return index
        uniform.extend()
