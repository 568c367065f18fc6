"""Exponential weights as enclosures between integers, and a choice among them made certain.

Nothing here draws at random by itself. Every bound is an integer, rounded outwards; what they
enclose is never rounded. The proof is in `noise.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nolook.privacy._refine import LazyUniform

__all__ = ["exponential_bounds", "power_bounds", "weighted_index"]


def exponential_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``2**bits exp(exponent)`` between two integers.

    Parameters
    ----------
    exponent : Fraction
    bits : int

    Returns
    -------
    low, high : int
    """
    digits = (bits + 2 * max(0, int(exponent))) // 3 + 20
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    top, bottom, unit = Decimal(exponent.numerator), Decimal(exponent.denominator), Decimal(2**bits)
    # `decimal` rounds exp to nearest whatever the context, so one step outwards encloses it.
    low = down.multiply(down.next_minus(down.exp(down.divide(top, bottom))), unit)
    high = up.multiply(up.next_plus(up.exp(up.divide(top, bottom))), unit)
    return int(low), int(high) + 1


def power_bounds(rate: Fraction, count: int, bits: int) -> tuple[list[int], list[int]]:
    """Enclose ``2**bits exp(rate j)`` for j = 0, ..., count - 1.

    Parameters
    ----------
    rate : Fraction
        At least 0.
    count, bits : int

    Returns
    -------
    low, high : list of int
    """
    low_step, high_step = exponential_bounds(rate, bits)
    low, high = [2**bits], [2**bits]
    for _ in range(count - 1):
        low.append(low[-1] * low_step >> bits)
        high.append(-(-high[-1] * high_step >> bits))
    return low, high


def weighted_index(counts: Sequence[int], rate: Fraction, uniform: LazyUniform) -> int:
    """Return the i at which the running sum of ``counts[i] exp(rate i)`` passes U times its total.

    Parameters
    ----------
    counts : sequence of int
        At least 0, not all of them 0.
    rate : Fraction
        At least 0.
    uniform : LazyUniform
        U; it is extended until the answer is certain.

    Returns
    -------
    int
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
