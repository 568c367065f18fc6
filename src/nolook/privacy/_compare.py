"""Comparisons of many random numbers at once in float64; doubtful ones are handed on.

A float64 result decides only if it is farther from the border than a tolerance that covers every
rounding on the way to it (`noise.md`); the others go to `_refine`. Nothing here draws at random by
itself: random words, the first 64 binary digits of uniform numbers U_i, and a function `draw` that
returns further words are arguments.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Array, Words
from nolook.errors import ParameterError
from nolook.privacy._refine import LazyUniform, below_exponential, floor_exponential, gumbel_winner

if TYPE_CHECKING:
    from collections.abc import Callable


UNIT = 2.0**-64  # what the last bit of a word is worth as a digit of a uniform number

_TOLERANCE = 2.0**-36
# A smaller word tells too little of its uniform number for the logarithm in float64.
_SMALLEST_CLEAR_WORD = 2**40
# A larger gap in units of the scale (possibly an overflow) is taken for this one: still a bound.
LARGEST_GAP = 1e300


def floor_exponentials(words: Words, scale: float, draw: Callable[[], int]) -> NDArray[np.int64]:
    """Return the exact integers floor(-scale ln U_i) for a scale above 0 and below 2**10."""
    with np.errstate(all="ignore"):
        exponential = np.log(words * UNIT) * -scale
        whole = np.floor(exponential)
        fraction = exponential - whole
        margin = scale * _TOLERANCE
        near_integer = (fraction <= margin) | (fraction >= 1.0 - margin)
        result: NDArray[np.int64] = whole.astype(np.int64)
    for i in np.flatnonzero(near_integer | (words < _SMALLEST_CLEAR_WORD)):
        result[i] = floor_exponential(LazyUniform(int(words[i]), draw), Fraction(scale))
    return result


def below_exponentials(
    words: Words,
    exponents: Array,
    exact: Callable[[LazyUniform, int], bool],
    draw: Callable[[], int],
) -> NDArray[np.bool_]:
    """Return whether U_i < exp(-c_i) for exponents c_i >= 0 up to rounding, NaN where not known.

    `exact` takes U_i and i and decides the comparison for certain.
    """
    with np.errstate(all="ignore"):
        distance = np.exp(-exponents) - words * UNIT
    result: NDArray[np.bool_] = distance > 0.0
    # What is not a number, because its exponent is not known, is doubtful too.
    for i in np.flatnonzero(~(np.abs(distance) > _TOLERANCE)):
        result[i] = exact(LazyUniform(int(words[i]), draw), int(i))
    return result


def check_scores(scores: NDArray[Any]) -> NDArray[Any]:
    """Return finite scores as an array, shape (n,), or raise ParameterError."""
    array = np.asarray(scores)
    if array.ndim != 1 or array.size == 0 or array.dtype not in (np.int64, np.float64):
        raise ParameterError(
            f"scores has dtype {array.dtype} and shape {array.shape};"
            " expected a one-dimensional int64 or float64 array that is not empty"
        )
    if array.dtype == np.float64 and not np.isfinite(array).all():
        raise ParameterError("scores has an entry that is not finite")
    return array


def clear_words(words: Words) -> NDArray[np.bool_]:
    """Return the words that suffice to determine U for :func:`log_exponentials`."""
    clear: NDArray[np.bool_] = np.minimum(words, ~words) >= _SMALLEST_CLEAR_WORD
    return clear


def log_exponentials(words: Words) -> Array:
    """Return ln(-ln U_i), wrong by less than 2**-38 where the word is clear; anything elsewhere."""
    mirrored = ~words
    distance = np.minimum(words, mirrored) * UNIT  # to the nearer end: both logarithms keep digits
    logarithms: Array = np.log(np.where(words > mirrored, -np.log1p(-distance), -np.log(distance)))
    return logarithms


def gumbel_race(
    scores: NDArray[np.int64] | NDArray[np.float64],
    scale: float,
    words: Words,
    draw: Callable[[], int],
) -> int:
    """Return the i with the largest scores_i / scale - ln(-ln U_i), exactly."""
    with np.errstate(all="ignore"):
        low, high = _gumbel_bounds(words, _gaps(scores), scale)
        standing = np.flatnonzero(high >= low.max())
    if len(standing) == 1:
        return int(standing[0])
    best = Fraction(scores.max().item())
    gaps = [(best - Fraction(scores[i].item())) / Fraction(scale) for i in standing]
    uniforms = [LazyUniform(int(words[i]), draw) for i in standing]
    return int(standing[gumbel_winner(gaps, uniforms)])


def gap_flips(
    scores: NDArray[np.int64] | NDArray[np.float64],
    scale: float,
    words: Words,
    draw: Callable[[], int],
) -> NDArray[np.bool_]:
    """Return whether U_i < exp(-(best - scores_i) / scale), exactly; true for the best."""
    with np.errstate(all="ignore"):
        gaps = _gaps(scores)
        exponents = np.where(np.isfinite(gaps), gaps / scale, np.nan)
    best = Fraction(scores.max().item())

    def exact(uniform: LazyUniform, i: int) -> bool:
        exponent = (best - Fraction(scores[i].item())) / Fraction(scale)
        return below_exponential(uniform, lambda: (exponent, exponent))

    heads: NDArray[np.bool_] = below_exponentials(words, exponents, exact, draw)
    heads[gaps == 0.0] = True
    return heads


def _gaps(scores: NDArray[Any]) -> Array:
    """Return the distance of each score from the best one, to a relative 2**-52."""
    best = scores.max()
    if scores.dtype == np.int64:
        # The difference of two int64 fits into uint64 and is exact there, modulo 2**64.
        exact: Array = (best.astype(np.uint64) - scores.astype(np.uint64)).astype(np.float64)
        return exact
    gaps: Array = best - scores
    return gaps


def _gumbel_bounds(words: Words, gaps: Array, scale: float) -> tuple[Array, Array]:
    """Enclose -gap / scale - ln(-ln U).

    The ends are infinite where a word tells too little of its U or the gap has overflowed.
    """
    clear = clear_words(words) & np.isfinite(gaps)
    scaled = gaps / scale
    bounded = scaled <= LARGEST_GAP
    scaled = np.minimum(scaled, LARGEST_GAP)
    key = -log_exponentials(words) - scaled
    margin = _TOLERANCE * (1.0 + scaled)
    low = np.where(clear & bounded, key - margin, -np.inf)
    high = np.where(clear, key + margin, np.inf)
    return low, high
