"""Privacy amplification by a random sample of the rows; the proof is ``sampling.md``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource, uniform_integers

__all__ = ["SAMPLING_UNIT", "kept_rows", "sampled_epsilon"]

#: Probabilities are whole multiples of 1/SAMPLING_UNIT.
SAMPLING_UNIT = 2**32

# Far above the rounding of the formula, some units in the last place.
_ROOM = 1.0 - 2.0**-48


def kept_rows(count: int, chances: int, source: ByteSource) -> NDArray[np.bool_]:
    """Keep each of `count` rows independently with probability ``chances / SAMPLING_UNIT``.

    Which rows are kept must not reach a user.
    """
    drawn: NDArray[np.bool_] = uniform_integers(SAMPLING_UNIT, count, source) < chances
    return drawn


def sampled_epsilon(epsilon: float, chances: int) -> float:
    """Return the largest epsilon a mechanism may have on a sample to cost `epsilon` in all.

    ``ln(1 + (exp(epsilon) - 1) / q)``, rounded down, for each row kept independently with
    probability ``q = chances / SAMPLING_UNIT``. Both are under add-remove.
    """
    if chances == SAMPLING_UNIT:
        return epsilon
    q = chances / SAMPLING_UNIT
    if epsilon < 1.0:
        return math.log1p(math.expm1(epsilon) / q) * _ROOM
    # The same for exponentials that would overflow.
    return (epsilon - math.log(q) + math.log1p((q - 1.0) * math.exp(-epsilon))) * _ROOM
