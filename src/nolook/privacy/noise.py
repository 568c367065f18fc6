"""Exact noise. The only file that draws random numbers for privacy; its proof is `noise.md`.

Every sampler compares uniform numbers with probabilities in float64 (`_compare`) and trusts the
comparison only outside a tolerance far above any rounding error. What falls inside (some draws
in ten million) is decided with exact arithmetic (`_refine`) and, where needed, further random
bits. So the distributions are exact: no rounding ever decides a draw.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook._validation import check_random_state
from nolook.errors import ParameterError
from nolook.privacy._class_race import Classes, class_race
from nolook.privacy._collect import LARGEST_INT64_SCALE, Integers, Size, fill, join
from nolook.privacy._compare import (
    UNIT,
    below_exponentials,
    check_scores,
    floor_exponentials,
    gumbel_race,
)
from nolook.privacy._refine import LazyUniform, accept_gaussian, below_exponential
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
    "report_noisy_max_gumbel",
    "rounded_gaussian",
    "tilted_choice",
    "uniform_integers",
]

Words: TypeAlias = NDArray[np.uint64]

SMALLEST_SCALE = 2.0**-10
LARGEST_SCALE = 2.0**70

#: Which draws follow from which words. Whatever changes them must raise it: keyed noise that
#: repeats itself under another version would repeat itself wrongly.
SAMPLER_VERSION = 1

_KEYED_WORDS = 1024  # of a :class:`KeyedSource`, for each value of its counter


class ByteSource(Protocol):
    """Where random bits come from."""

    @property
    def private(self) -> bool:
        """Whether nobody can know the bits."""

    def words(self, n: int) -> Words:
        """Return `n` independent uniform 64-bit words."""


class SystemEntropy:
    """The operating system's entropy: the source of every private release.

    Nothing is kept between calls, so processes never share bits after a fork.
    """

    private = True

    def words(self, n: int) -> Words:
        """Return `n` independent uniform 64-bit words, shape (n,)."""
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


class SeededSource:
    """Repeatable bits (Philox 4x64) for experiments; what is drawn from them is NOT private.

    Parameters
    ----------
    seed : int
        At least 0; the same seed gives the same words in the same order.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(seed)

    def words(self, n: int) -> Words:
        """Return the next `n` words, shape (n,)."""
        return self._bits.random_raw(n)


class KeyedSource:
    """Bits that follow from a secret key: for a release that must repeat itself, and no other.

    To whoever does not hold the key they are as good as random: SHAKE-256 of the key, the label
    and a counter. The same key and label must never serve two different releases.

    Parameters
    ----------
    key : bytes
        32 secret random bytes, or what :func:`derived_key` makes of them.
    label : bytes
        What the bits are for; public.
    """

    private = True

    def __init__(self, key: bytes, label: bytes) -> None:
        self._start = _check_key(key) + label
        self._used = 0
        self._left = np.empty(0, dtype=np.uint64)

    def words(self, n: int) -> Words:
        """Return the next `n` words, shape (n,)."""
        parts, missing = [self._left], n - len(self._left)
        while missing > 0:
            block = self._start + self._used.to_bytes(8, "little")
            text = hashlib.shake_256(block).digest(8 * _KEYED_WORDS)
            parts.append(np.frombuffer(text, dtype="<u8").astype(np.uint64))
            self._used += 1
            missing -= _KEYED_WORDS
        words = np.concatenate(parts)
        self._left = words[n:]
        return words[:n]


def derived_key(secret: bytes, statement: bytes) -> bytes:
    """Return the key that a secret gives to one public statement (HMAC-SHA-256).

    Parameters
    ----------
    secret : bytes
        32 random bytes.
    statement : bytes
        All that the noise depends on, in a form that no two different cases share.

    Returns
    -------
    bytes
        32 bytes; those of different statements are as good as independent.
    """
    return hmac.digest(_check_key(secret), statement, "sha256")


def byte_source(random_state: int | None) -> ByteSource:
    """Return the source of bits that `random_state` asks for.

    Parameters
    ----------
    random_state : int or None
        None: the operating system's entropy. An int of at least 0: a seeded source, for
        experiments only, with `private` False.

    Returns
    -------
    ByteSource
        The source.

    Raises
    ------
    ParameterError
        If `random_state` is anything else.
    """
    seed = check_random_state(random_state)
    return SystemEntropy() if seed is None else SeededSource(seed)


def geometric(scale: float, size: Size, source: ByteSource) -> Integers:
    """Draw G >= 0 with P(G = g) = (1 - r) r^g, r = exp(-1/scale), exactly.

    Parameters
    ----------
    scale : float
        From `SMALLEST_SCALE` to `LARGEST_SCALE`, taken as the exact real number it is.
    size : int or tuple of int
        The shape of the result.
    source : ByteSource
        Where the random bits come from.

    Returns
    -------
    ndarray of int64
        Independent draws, of that shape; Python ints (dtype object) for scales above 2**50.

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
    scale : float
        From `SMALLEST_SCALE` to `LARGEST_SCALE`, taken as the exact real number it is.
    size : int or tuple of int
        The shape of the result.
    source : ByteSource
        Where the random bits come from.

    Returns
    -------
    ndarray of int64
        Independent draws, of that shape; Python ints (dtype object) for scales above 2**50.

    Raises
    ------
    ParameterError
        If the scale is outside its range.
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

    This is the continuous normal number rounded to the nearest integer, not the discrete
    Gaussian: added to an integer it is post-processing of continuous noise.

    Parameters
    ----------
    sigma : float
        From `SMALLEST_SCALE` to `LARGEST_SCALE`, taken as the exact real number it is.
    size : int or tuple of int
        The shape of the result.
    source : ByteSource
        Where the random bits come from.

    Returns
    -------
    ndarray of int64
        Independent draws, of that shape; Python ints (dtype object) for sigma above 2**50.

    Raises
    ------
    ParameterError
        If sigma is outside its range.
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

    This is the exponential mechanism as a race: i wins if score / scale + Gumbel noise is
    largest. Ties among scores are fine. To take the best k one after the other, delete the winner
    from `scores` and draw again.

    Parameters
    ----------
    scores : ndarray of int64 or float64, shape (n,)
        Finite, n >= 1; each is taken as the exact real number it is.
    scale : float
        Finite and above 0.
    source : ByteSource
        Where the random bits come from.

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
    if not 0.0 < scale < math.inf:
        raise ParameterError(f"scale is {scale!r}; expected a finite number above 0")
    scores = check_scores(scores)
    return gumbel_race(scores, scale, source.words(len(scores)), _one_word_from(source))


def largest_class(classes: Classes, source: ByteSource) -> tuple[int, int]:
    """Draw the class of the winner of a race with exponential noise, exactly.

    Every member of every class gets its class's score plus noise of its own from the standard
    exponential distribution, and the largest sum wins; classes may be far too large to list.

    Parameters
    ----------
    classes : Classes
        Their scores and sizes.
    source : ByteSource
        Where the random bits come from: one word for each class.

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
        Where the random bits come from.

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
        The shape of the result.
    source : ByteSource
        Where the random bits come from.

    Returns
    -------
    ndarray of int64
        Independent draws, of that shape; Python ints (dtype object) for `high` above 2**63.

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
        step = 8 * digits
        numbers = [int.from_bytes(bits[i : i + step], "little") for i in range(0, len(bits), step)]
        kept = [number % high for number in numbers if number < limit]
        return np.array(kept, dtype=object)

    return fill(size, propose_large, acceptance=limit / span, scale=LARGEST_SCALE)


def _check_key(key: bytes) -> bytes:
    if len(key) != 32:
        raise ParameterError(f"the key has {len(key)} bytes; expected 32 secret random ones")
    return key


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
