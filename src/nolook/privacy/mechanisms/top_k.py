"""The best k of d by score: peeling, by either mechanism, and the canonical Lipschitz mechanism.

All are proved in `top_k.md`. Peeling draws one after the other: by permute-and-flip with a k-th of
a pure budget each, or by the exponential mechanism, whose choices compose well where there is a
delta. The canonical Lipschitz mechanism (Shekelyan and Loukides 2022; Swope et al. 2024, appendix
A) draws the whole set at once: a set loses half the distance from the best score it misses to the
worst one it holds, and the set with the least loss, less exponential noise, wins.

============  ===========================================================================
name here     meaning
============  ===========================================================================
``head``      h: the set holds the h best, and misses the next one
``last``      t: the worst that the set holds is the t-th best
``gap``       (x_[h+1] - x_[t]) / scale; the scale is 4 sensitivities over epsilon
============  ===========================================================================
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from nolook._validation import check_epsilon
from nolook.errors import ParameterError
from nolook.privacy._class_race import ClassBlock
from nolook.privacy._compare import LARGEST_GAP, check_scores
from nolook.privacy.mechanisms._exact import product_up, quotient_up
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.noise import ByteSource, largest_class, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "UtilityClasses",
    "bounded_range_peeling",
    "canonical_lipschitz",
    "class_size",
    "peeling",
]

_CELLS = 32_768  # classes at a time: the working arrays stay in the cache


def peeling(
    scores: NDArray[np.int64] | NDArray[np.float64],
    k: int,
    sensitivity: float,
    epsilon: float,
    source: ByteSource,
) -> NDArray[np.int64]:
    """Return k of d indices, one after the other, large scores being likelier.

    Guarantee
    ---------
    If no two scores move apart by more than twice `sensitivity` between neighbours, the
    result, its order included, is (epsilon, 0)-DP under that relation.

    Parameters
    ----------
    scores : ndarray of int64 or float64, shape (d,)
        Finite for every data set. Float scores are exact real numbers: the rounding of their
        computation belongs in the sensitivity. Scores may be equal.
    k : int
        At least 1 and below d; both are public.
    sensitivity : float
        The largest change of one score, in either direction, or half of the largest change of a
        difference of two, as an exact real number.
    epsilon : float
        Each choice has a k-th of it, rounded down.
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (k,)
        Distinct indices in the order of their choice.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or `scores` is not such an array.
    """
    share = math.nextafter(check_epsilon(epsilon) / max(k, 1), 0.0)
    return _peeled(scores, k, lambda left: permute_and_flip(left, sensitivity, share, source))


def bounded_range_peeling(
    scores: NDArray[np.int64] | NDArray[np.float64],
    k: int,
    sensitivity: float,
    epsilon: float,
    source: ByteSource,
) -> NDArray[np.int64]:
    """Return k of d indices, one after the other, each by the exponential mechanism.

    Guarantee
    ---------
    If no two scores move apart by more than twice `sensitivity` between neighbours, the
    result, its order included, is ``BoundedRangeEvent(name, epsilon, k)`` under that relation.

    Parameters
    ----------
    scores, k, sensitivity
        As for :func:`peeling`, whose errors it raises.
    epsilon : float
        Of each choice.
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (k,)
        Distinct indices in the order of their choice.
    """
    return _peeled(scores, k, lambda left: exponential_choice(left, sensitivity, epsilon, source))


def canonical_lipschitz(
    scores: NDArray[np.int64] | NDArray[np.float64],
    k: int,
    sensitivity: float,
    epsilon: float,
    source: ByteSource,
) -> NDArray[np.int64]:
    """Return k of d indices, all at once, sets of large scores being likelier.

    Guarantee
    ---------
    If no two scores move apart by more than twice `sensitivity` between neighbours, the
    result is (epsilon, 0)-DP under that relation.

    Parameters
    ----------
    scores, k, sensitivity
        As for :func:`peeling`, whose errors it raises.
    epsilon : float
    source : ByteSource
        A word is drawn for each of the k (d - k) + 1 classes.

    Returns
    -------
    ndarray of int64, shape (k,)
        Distinct indices, increasing.
    """
    scores = check_scores(scores)
    _check_k(k, len(scores))
    # Any order that sorts the scores will do: the law is the same for all of them.
    order = np.argsort(scores, kind="stable")[::-1]
    classes = UtilityClasses(scores[order], k, sensitivity, epsilon)
    head, last = largest_class(classes, source)
    body = _uniform_subset(last - head - 2, k - head - 1, source) if head < k - 1 else []
    places = [*range(head), *(head + 1 + i for i in body), last - 1]
    return np.sort(order[places])


def class_size(head: int, last: int, k: int) -> int:
    """Count the sets of k with the `head` best, without the next, that end with the `last`-th.

    `head` is below k and `last` above it; for the best k themselves `last` is k, `head` k - 1.
    """
    return 1 if last == k else math.comb(last - head - 2, k - head - 1)


class UtilityClasses:
    """The sets of k, classed by equal utility for a race; made from decreasing scores."""

    def __init__(self, ranked: NDArray[Any], k: int, sensitivity: float, epsilon: float) -> None:
        self._scale = product_up(quotient_up(sensitivity, epsilon, "epsilon"), 4.0)
        if self._scale == math.inf:
            raise ParameterError(
                f"sensitivity is {sensitivity!r} and epsilon is {epsilon!r};"
                " expected a finite quotient (measure the scores in another unit)"
            )
        self._k = k
        self._ranked = ranked
        # The difference of two int64 fits into uint64 and is exact there, modulo 2**64.
        exact = ranked.dtype == np.int64
        self._differing = ranked.astype(np.uint64) if exact else ranked
        self._log_gamma = gammaln(np.arange(len(ranked)))
        self.slack = math.ldexp(float(self._log_gamma[-1]), -41)

    def blocks(self) -> Iterator[ClassBlock]:
        """Return all k (d - k) + 1 classes; rows are heads and columns last places."""
        k, d = self._k, len(self._ranked)
        yield ClassBlock(k - 1, k, np.zeros((1, 1)), np.zeros((1, 1)))
        width = min(d - k, _CELLS)
        height = max(1, _CELLS // width)
        for head in range(0, k, height):
            heads = np.arange(head, min(k, head + height))[:, None]
            for last in range(k + 1, d + 1, width):
                lasts = np.arange(last, min(d + 1, last + width))
                yield ClassBlock(
                    head, last, self._gaps(heads, lasts), self._log_sizes(heads, lasts)
                )

    def exact(self, row: int, column: int) -> tuple[Fraction, int]:
        """Return a class's gap and size."""
        better, worse = (Fraction(self._ranked[i].item()) for i in (row, column - 1))
        return (better - worse) / Fraction(self._scale), class_size(row, column, self._k)

    def _gaps(self, heads: NDArray[Any], lasts: NDArray[Any]) -> NDArray[np.float64]:
        differing: NDArray[Any] = self._differing
        with np.errstate(over="ignore"):
            differences = (differing[heads] - differing[lasts - 1]).astype(np.float64)
            gaps: NDArray[np.float64] = np.minimum(differences / self._scale, LARGEST_GAP)
        gaps[differences == np.inf] = np.inf
        return gaps

    def _log_sizes(self, heads: NDArray[Any], lasts: NDArray[Any]) -> NDArray[np.float64]:
        table = self._log_gamma
        logs: NDArray[np.float64] = table[lasts - heads - 1] - (
            table[self._k - heads] + table[lasts - self._k]
        )
        return logs


def _peeled(
    scores: NDArray[Any], k: int, choose: Callable[[NDArray[Any]], int]
) -> NDArray[np.int64]:
    """Take away k scores, each at the place that `choose` returns."""
    scores = check_scores(scores)
    _check_k(k, len(scores))
    left = np.arange(len(scores))
    chosen = np.empty(k, dtype=np.int64)
    for i in range(k):
        place = choose(scores[left])
        chosen[i] = left[place]
        left = np.delete(left, place)
    return chosen


def _check_k(k: int, d: int) -> None:
    if not 1 <= k < d:
        raise ParameterError(f"k is {k!r}; expected an integer from 1 to {d - 1} for {d} scores")


def _uniform_subset(n: int, size: int, source: ByteSource) -> set[int]:
    """Return a uniform subset of 0, ..., n - 1 of that size (Floyd's method)."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        drawn = int(uniform_integers(last + 1, 1, source)[0])
        chosen.add(last if drawn in chosen else drawn)
    return chosen
