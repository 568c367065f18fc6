"""What a random sample of the records adds to privacy; the proof is ``sampling.md``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource, uniform_integers

__all__ = ["SAMPLING_UNIT", "kept_records", "sampled_epsilon"]

#: Probabilities are whole multiples of 1/SAMPLING_UNIT.
SAMPLING_UNIT = 2**32

# Far above the rounding of the formula, some units in the last place.
_ROOM = 1.0 - 2.0**-48


def kept_records(count: int, chances: int, source: ByteSource) -> NDArray[np.bool_]:
    """Keep each record independently with probability ``chances / SAMPLING_UNIT``.

    Parameters
    ----------
    count : int
    chances : int
        From 1 to SAMPLING_UNIT.
    source : ByteSource

    Returns
    -------
    ndarray of bool, shape (count,)
        Secret: whether a record was kept must not reach a user.
    """
    drawn: NDArray[np.bool_] = uniform_integers(SAMPLING_UNIT, count, source) < chances
    return drawn


def sampled_epsilon(epsilon: float, chances: int) -> float:
    """Return the largest budget of a mechanism on a sample that costs `epsilon` in all.

    ``ln(1 + (exp(epsilon) - 1) / q)`` with ``q = chances / SAMPLING_UNIT``, rounded down.

    Parameters
    ----------
    epsilon : float
        Above 0: of the whole, under add-remove.
    chances : int
        Each record is kept with probability q, independently.

    Returns
    -------
    float
        At least `epsilon`, up to rounding.
    """
    if chances == SAMPLING_UNIT:
        return epsilon
    q = chances / SAMPLING_UNIT
    if epsilon < 1.0:
        return math.log1p(math.expm1(epsilon) / q) * _ROOM
    # The same for exponentials that would overflow.
    return (epsilon - math.log(q) + math.log1p((q - 1.0) * math.exp(-epsilon))) * _ROOM
