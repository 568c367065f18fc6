"""Exact noise. The only file that draws random numbers for privacy; its proof is `noise.md`.

Every sampler compares uniform numbers with probabilities in float64 (`_compare`) and trusts a
comparison only outside a tolerance far above any rounding error. The others, some draws in ten
million, are decided by exact arithmetic (`_refine`) and, where needed, further random bits. So the
distributions are exact: no rounding ever decides a draw.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_positive
from nolook.errors import ParameterError
from nolook.privacy._class_race import Classes, class_race
from nolook.privacy._collect import LARGEST_INT64_SCALE, Integers, Size, fill, join
from nolook.privacy._compare import (
    UNIT,
    below_exponentials,
    check_scores,
    floor_exponentials,
    gap_flips,
    gumbel_race,
)
from nolook.privacy._refine import LazyUniform, accept_gaussian, below_exponential
from nolook.privacy._sources import (
    ByteSource,
    KeyedSource,
    SeededSource,
    SystemEntropy,
    byte_source,
    derived_key,
)
from nolook.privacy._weights import weighted_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "LARGEST_INT64_SCALE",
    "LARGEST_SCALE",
    "SAMPLER_VERSION",
    "SMALLEST_SCALE",
    "ByteSource",
    "KeyedSource",
    "SeededSource",
    "SystemEntropy",
    "byte_source",
    "derived_key",
    "discrete_laplace",
    "geometric",
    "largest_class",
    "permuted_flips",
    "report_noisy_max_gumbel",
    "rounded_gaussian",
    "tilted_choice",
    "uniform_integers",
]

SMALLEST_SCALE = 2.0**-10
LARGEST_SCALE = 2.0**70

#: Names the function from words to draws. Raise it with any change of that: noise drawn again
#: from a key under another version would differ.
SAMPLER_VERSION = 1


def geometric(scale: float, size: Size, source: ByteSource) -> Integers:
    """Draw G >= 0 with P(G = g) = (1 - r) r^g, r = exp(-1/scale), exactly.

    Parameters
    ----------
    scale : float
        From `SMALLEST_SCALE` to `LARGEST_SCALE`, taken as the exact real number it is.
    size : int or tuple of int
    source : ByteSource

    Returns
    -------
    ndarray of int64
        Independent draws; Python ints (dtype object) for scales above 2**50.

    Raises
    ------
    ParameterError
        If the scale is outside its range.
    """
    scale = _check_scale(scale, "scale")
    # G = 2^low_bits high + low, and the two parts are independent.
    low_bits = max(0, _tail_bits(scale))
    tail_scale = math.ldexp(scale, -low_bits)
    draw = _one_word_from(source)

    def propose(n: int) -> Integers:
        high = floor_exponentials(source.words(n), tail_scale, draw)
        if not low_bits:
            return high
        low = source.words(n) >> np.uint64(64 - low_bits)

        def exact(uniform: LazyUniform, i: int) -> bool:
            exponent = Fraction(int(low[i])) / Fraction(scale)
            return below_exponential(uniform, lambda: (exponent, exponent))

        kept = below_exponentials(source.words(n), low / scale, exact, draw)
        return join(high[kept], low[kept], low_bits, scale)

    return fill(size, propose, acceptance=0.999, scale=scale)


def discrete_laplace(scale: float, size: Size, source: ByteSource) -> Integers:
    """Draw K with P(K = k) proportional to exp(-|k| / scale), exactly.

    Parameters
    ----------
    scale, size, source
        As for :func:`geometric`, whose type of result and errors these draws have.
    """
    scale = _check_scale(scale, "scale")

    def propose(n: int) -> Integers:
        sizes, signs = geometric(scale, n, source), _signs(n, source)
        # Of 0 and -0 one is drawn again, lest 0 be twice as likely as it should.
        kept = (sizes > 0) | (signs > 0)
        return sizes[kept] * signs[kept]

    return fill(size, propose, acceptance=(1.0 + math.exp(-1.0 / scale)) / 2, scale=scale)


def rounded_gaussian(sigma: float, size: Size, source: ByteSource) -> Integers:
    """Draw round(X), X normal with mean 0 and standard deviation `sigma`, exactly.

    This is a continuous normal number rounded to the nearest integer, not the discrete Gaussian:
    adding it to an integer is post-processing of continuous noise.

    Parameters
    ----------
    sigma, size, source
        As for :func:`geometric`, whose type of result and errors these draws have.
    """
    sigma = _check_scale(sigma, "sigma")
    # |X| = 2^tail_bits (whole + rest); the first fine_bits digits of rest decide round(X).
    tail_bits = _tail_bits(sigma)
    ratio = math.ldexp(sigma, -tail_bits)
    fine_bits = max(0, tail_bits + 1)
    shift = fine_bits - tail_bits
    draw = _one_word_from(source)

    def propose(n: int) -> Integers:
        whole = floor_exponentials(source.words(n), ratio, draw)
        rest = source.words(n)
        fraction = rest * UNIT

        def exact(uniform: LazyUniform, i: int) -> bool:
            return accept_gaussian(uniform, int(whole[i]), int(rest[i]), Fraction(ratio), draw)

        exponents = ((whole + fraction) / ratio - 1.0) ** 2 / 2.0 + fraction / ratio
        kept = below_exponentials(source.words(n), exponents, exact, draw)
        digits = rest[kept] >> np.uint64(64 - fine_bits) if fine_bits else np.zeros_like(rest[kept])
        magnitude = (join(whole[kept], digits, fine_bits, sigma) + (1 << shift - 1)) >> shift
        return magnitude * _signs(len(magnitude), source)

    return fill(size, propose, acceptance=0.75, scale=sigma)


def report_noisy_max_gumbel(
    scores: NDArray[np.int64] | NDArray[np.float64], scale: float, source: ByteSource
) -> int:
    """Draw i with P(i) proportional to exp(scores[i] / scale), exactly.

    This is the exponential mechanism as a race: i wins if score / scale + Gumbel noise is largest.
    Scores may be equal. For the best k one after the other, delete the winner from `scores` and
    draw again.

    Parameters
    ----------
    scores : ndarray of int64 or float64, shape (n,)
        Finite, n >= 1; each is taken as the exact real number it is.
    scale : float
        Finite and above 0.
    source : ByteSource

    Returns
    -------
    int
        The index of the winner.

    Raises
    ------
    ParameterError
        If the scale is not finite and positive, or `scores` is not such an array. Scores that are
        not finite are a mistake of the calling code, which must exclude them for all data.
    """
    check_positive(scale, "scale")
    scores = check_scores(scores)
    return gumbel_race(scores, scale, source.words(len(scores)), _one_word_from(source))


def permuted_flips(
    scores: NDArray[np.int64] | NDArray[np.float64], scale: float, source: ByteSource
) -> int:
    """Draw i as permute-and-flip does, exactly: uniformly among those whose coin shows heads.

    The coin of i shows heads with probability exp(-(best score - scores[i]) / scale). With noise
    of that scale, exponential, or geometric for integers, added to each score and ties broken
    uniformly, the largest sum has the same law.

    Parameters
    ----------
    scores, scale, source
        As for :func:`report_noisy_max_gumbel`, whose errors it raises.

    Returns
    -------
    int
        The index of the winner.
    """
    check_positive(scale, "scale")
    scores = check_scores(scores)
    heads = gap_flips(scores, scale, source.words(len(scores)), _one_word_from(source))
    standing = np.flatnonzero(heads)
    return int(standing[uniform_integers(len(standing), 1, source)[0]])


def largest_class(classes: Classes, source: ByteSource) -> tuple[int, int]:
    """Draw the class of the winner of a race with exponential noise, exactly.

    Every member of every class gets its class's score plus standard exponential noise of its own,
    and the largest sum wins; classes may be far too large to list.

    Parameters
    ----------
    classes : Classes
        Their scores and sizes.
    source : ByteSource
        One word is drawn for each class.

    Returns
    -------
    row, column : int
        The class's place in the grid of classes. Its members have equal chances.
    """
    return class_race(classes, source.words, _one_word_from(source))


def tilted_choice(counts: Sequence[int], rate: float | Fraction, source: ByteSource) -> int:
    """Draw i with P(i) proportional to counts[i] exp(rate i), exactly.

    Parameters
    ----------
    counts : sequence of int
        At least 0 and of any size; not all of them 0.
    rate : float or Fraction
        Finite and at least 0, taken as the exact real number it is.
    source : ByteSource

    Returns
    -------
    int
        An index of `counts`.
    """
    draw = _one_word_from(source)
    return weighted_index(counts, Fraction(rate), LazyUniform(draw(), draw))


def uniform_integers(high: int, size: Size, source: ByteSource) -> Integers:
    """Draw uniform integers from 0 to `high` - 1.

    Parameters
    ----------
    high : int
        At least 1.
    size : int or tuple of int
    source : ByteSource

    Returns
    -------
    ndarray of int64
        Independent draws; Python ints (dtype object) for `high` above 2**63.

    Raises
    ------
    ParameterError
        If `high` is below 1.
    """
    if high < 1:
        raise ParameterError(f"high is {high!r}; expected an integer of at least 1")
    digits = -(-(high - 1).bit_length() // 64) or 1
    # Numbers above the last whole multiple of `high` are drawn again.
    span = 2 ** (64 * digits)
    limit = span - span % high
    if digits == 1 and high <= 2**63:

        def propose(n: int) -> Integers:
            words = source.words(n)
            return (words[words <= np.uint64(limit - 1)] % np.uint64(high)).astype(np.int64)

        return fill(size, propose, acceptance=limit / span, scale=1.0)

    def propose_large(n: int) -> Integers:
        bits = source.words(n * digits).tobytes()
        width = 8 * digits
        starts = range(0, len(bits), width)
        numbers = [int.from_bytes(bits[i : i + width], "little") for i in starts]
        kept = [number % high for number in numbers if number < limit]
        return np.array(kept, dtype=object)

    return fill(size, propose_large, acceptance=limit / span, scale=LARGEST_SCALE)


def _check_scale(scale: float, name: str) -> float:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ParameterError(
            f"{name} is {scale!r}; expected a number from {SMALLEST_SCALE} to 2**70"
            " grid units (choose another grid)"
        )
    return float(scale)


def _tail_bits(scale: float) -> int:
    """Return the b for which scale / 2**b lies in [512, 1024)."""
    return math.frexp(scale)[1] - 10


def _one_word_from(source: ByteSource) -> Callable[[], int]:
    return lambda: int(source.words(1)[0])


def _signs(n: int, source: ByteSource) -> NDArray[np.int64]:
    """Return n independent fair signs, one random bit each."""
    bits = np.unpackbits(source.words(-(-n // 64)).view(np.uint8))[:n]
    return 1 - 2 * bits.astype(np.int64)
