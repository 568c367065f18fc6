"""The Tukey mechanism on a grid: release a point that is deep among m points, one from each block.

Everything is exact: regions are counted in grid points, weights are compared as enclosed real
numbers, and no rounding decides anything. The proof is in `tukey_depth.md`. Paper: Amin et al.,
Easy Differentially Private Linear Regression, 2023; the guarantee for replaced points is ours.

==================  =====================================================================
name here           the paper's letter
==================  =====================================================================
``columns``         S: the points' coordinates, each sorted, as Python ints
``volumes``         V_1, ..., V_top: points of the grid with depth at least i (Lemma 3.3)
``depth``           t: only points at least so deep are released
``rate``            exponent of a point's weight per unit of depth, eps_s / 2
``distance``        M(D): lower bound on the distance to an unsafe set of points
==================  =====================================================================
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.privacy._weights import exponential_bounds, power_bounds
from nolook.privacy.mechanisms.propose_test_release import passes_test
from nolook.privacy.noise import ByteSource, tilted_choice, uniform_integers

__all__ = [
    "TukeyRule",
    "compute_volumes",
    "distance_to_unsafety",
    "restricted_tukey",
    "sample_point_with_depth",
    "sorted_columns",
    "tukey_release",
]

_BITS = 96  # precision of the constants of the test: a coarser one only makes it harder to pass


@frozen
class TukeyRule:
    """The constants of one release, fixed without the data.

    Parameters
    ----------
    depth : int
        t, at least 2.
    epsilon_test, epsilon_sample : float
        The costs of the test and of the release of a point.
    delta : float
        Of the test; it also bounds what a release that passed may add.
    """

    depth: int
    epsilon_test: float
    epsilon_sample: float
    delta: float

    @property
    def rate(self) -> Fraction:
        """Exponent of a point's weight per unit of depth: half of `epsilon_sample`."""
        return Fraction(self.epsilon_sample) / 2


def sorted_columns(models: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort each coordinate of m models of length d by itself: S, shape (d, m)."""
    return np.sort(models.T, axis=1)


def compute_volumes(columns: NDArray[np.int64]) -> list[int]:
    """Count the grid points with approximate Tukey depth at least 1, 2, ..., top = (m + 1) // 2.

    A point has depth at least i if in every coordinate i models lie on either side of it or on it:
    these points fill a box. Columns hold numbers of at most 2^61 in size.
    """
    top = (columns.shape[1] + 1) // 2
    widths = (columns[:, ::-1][:, :top] - columns[:, :top] + 1).astype(object)
    volumes: list[int] = np.multiply.reduce(widths, axis=0).tolist()
    return volumes


def distance_to_unsafety(volumes: list[int], rule: TukeyRule) -> int:
    """Return the number of points that may be replaced with a release still safe; -1 if none is.

    It is the largest k of 0, ..., t - 2 with ``C(k)``: the points of depth at least t - k - 1 are
    few compared with the weight of those of depth at least t + k + 1. It changes by at most 1
    when one point is replaced.
    """
    unit = 2**_BITS
    low, high = exponential_bounds(rule.rate, _BITS)
    powers, _ = power_bounds(rule.rate, len(volumes), _BITS)
    # c_0 = 1 and c_j = exp(rate j) - exp(rate (j - 1)), from below.
    increments = [unit, *(power * (low - unit) >> _BITS for power in powers)]
    delta = Fraction(rule.delta)

    def holds(k: int) -> bool:
        deep = volumes[rule.depth + k :]  # V_(t+k+1) and deeper
        if not deep:
            return False
        weight = sum(c * volume for c, volume in zip(increments, deep, strict=False))
        wide = volumes[rule.depth - k - 2] * high  # exp(rate) times V_(t-k-1), times the unit
        return bool(wide * delta.denominator <= delta.numerator * weight)

    # C(k) implies C(k - 1), so bisection finds the first k for which it fails.
    return bisect_left(range(rule.depth - 1), True, key=lambda k: not holds(k)) - 1


def restricted_tukey(
    columns: NDArray[np.int64], volumes: list[int], depth: int, rate: Fraction, source: ByteSource
) -> list[int]:
    """Draw a grid point of depth at least t, with weight ``exp(rate depth)``.

    If no point is that deep, the largest depth there is stands for t.
    """
    first = min(depth, len(volumes)) - 1
    shells = [outer - inner for outer, inner in pairwise([*volumes[first:], 0])]
    drawn = first + 1 + tilted_choice(shells, rate, source)
    return sample_point_with_depth(columns, drawn, source)


def sample_point_with_depth(
    columns: NDArray[np.int64], depth: int, source: ByteSource
) -> list[int]:
    """Draw a uniform point among those of exactly this depth, from 1 to top.

    They are cut into slabs: in slab j the coordinates before j are deeper, coordinate j has exactly
    this depth, those after it at least this depth.
    """
    low, high = columns[:, depth - 1].tolist(), columns[:, -depth].tolist()
    outer = [b - a + 1 for a, b in zip(low, high, strict=True)]
    deepest = depth == (columns.shape[1] + 1) // 2
    if deepest:
        return [a + _below(n, source) for a, n in zip(low, outer, strict=True)]
    inner_low, inner_high = columns[:, depth].tolist(), columns[:, -depth - 1].tolist()
    inner = [b - a + 1 for a, b in zip(inner_low, inner_high, strict=True)]
    slab = _draw_slab(inner, outer, source)
    point = [a + _below(n, source) for a, n in zip(inner_low[:slab], inner[:slab], strict=True)]
    # Left of the inner box or right of it.
    place = low[slab] + _below(outer[slab] - inner[slab], source)
    point.append(place if place < inner_low[slab] else place + inner[slab])
    rest = zip(low[slab + 1 :], outer[slab + 1 :], strict=True)
    return [*point, *(a + _below(n, source) for a, n in rest)]


def _draw_slab(inner: list[int], outer: list[int], source: ByteSource) -> int:
    """Draw a slab with probability proportional to its number of points."""
    after = [1]
    for width in reversed(outer[1:]):
        after.append(after[-1] * width)
    sizes, before = [], 1
    for own_inner, own_outer, rest in zip(inner, outer, reversed(after), strict=True):
        sizes.append(before * (own_outer - own_inner) * rest)
        before *= own_inner
    totals = list(accumulate(sizes))
    return bisect_right(totals, _below(totals[-1], source))


def _below(high: int, source: ByteSource) -> int:
    return int(uniform_integers(high, 1, source)[0])


def tukey_release(
    models: NDArray[np.int64], rule: TukeyRule, source: ByteSource
) -> NDArray[np.int64] | None:
    """Test whether a release is safe and, if the test passes, release a deep point.

    Guarantee
    ---------
    (epsilon_test + epsilon_sample, delta)-differentially private when one of the m models is
    replaced by any other, as happens when a row is added to or removed from one block.

    Parameters
    ----------
    models : ndarray of int64, shape (m, d)
        m and d are public and at least 1; entries at most 2^61 in size.
    rule : TukeyRule
    source : ByteSource

    Returns
    -------
    ndarray of int64, shape (d,), or None
        None if the test failed, which may happen for any data.
    """
    columns = sorted_columns(models)
    volumes = compute_volumes(columns)
    distance = distance_to_unsafety(volumes, rule)
    if not passes_test(distance, rule.epsilon_test, rule.delta, source):
        return None
    return np.array(
        restricted_tukey(columns, volumes, rule.depth, rule.rate, source), dtype=np.int64
    )
