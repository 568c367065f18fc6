"""The public shape that best fits a column's noisy counts by sign and power of two.

A shape is a distribution in units of a power of two. Every shape at every power of two, mixed with
a share of zeros, is compared with *all* noisy counts of a column, by the likelihood of the noise:
the rows then count together, although no single bin may stand out from its noise. Nothing here
sees a table; ``scaling.md`` has the proof.

==========  ======================================================================
name here   meaning
==========  ======================================================================
``rows``    n, the released number of rows
``noise``   of every bin; ``sigma`` its standard deviation
``mass``    p, share of a shape's rows in each bin around its unit
``unit``    2^e, the shape's unit
``share``   w, share of the rows that are not zero
``gain``    log-likelihood above that of no rows at all, with the prior of e
==========  ======================================================================
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from attrs import frozen
from scipy.special import ndtri

from nolook._arrays import Flags, Matrix, Places, Vector
from nolook.algorithms.histogram_noise import BinNoise
from nolook.kernels.histogram import MAGNITUDE_BINS, likeliest, magnitude_edges

__all__ = ["TAIL", "MagnitudeFit", "fit_magnitudes", "tail_bins"]

#: Share of the rows that may lie outside a range at either end, if the noise allows it.
TAIL = 0.005

_POWERS = MAGNITUDE_BINS // 2 - 1  # bins of either sign, without those out of range
_BELOW, _ABOVE = 9, 6  # powers of two below and above its unit that a shape may reach
_REACH = 12  # powers of two above the unit in which its tails are looked for
_SURE = 4.5  # deviations of the noise that a tail must stand out by: a false one is far away
# Share of a shape that may lie outside the range it suggests at either end; of few rows, more.
_SUPPORT, _RARE_SUPPORT = 0.01, 0.05
_DECAY = 6.0  # the prior of a unit falls by e every so many powers of two away from 1
_SMALLEST_SHARE = 0.003
_RARE = 0.1  # share of the rows up to which those that are not zero are few
_LARGEST = 2.0**1000  # all values that are counted are smaller
_POINTS = 4096  # that stand for a shape


@frozen(eq=False)
class MagnitudeFit:
    """Estimates from the best shapes, one entry a column, in the columns' units."""

    center: Vector
    scale: Vector  # positive
    low: Vector  # range of the values, without rare ones: low < high
    high: Vector
    gain: Vector
    evidence: Vector  # gain less that of "all rows are zero, or out of range"; see `rare`
    narrow: Flags  # nearly all values in one or two powers of two: hardly any spread is detected
    rare: Flags  # few rows are not zero; evidence is for where these are, not that there are any
    present: Vector  # rows with a value, at least 1; all of them without gaps


@frozen(eq=False)
class _Shapes:
    mass: Matrix  # (shapes, bins): powers of two upwards, then the same of negative values
    mean: Vector
    deviation: Vector
    ends: Matrix  # of its range: low, high
    rare_ends: Matrix  # of its range where it holds few rows
    narrow: Flags


@cache
def _shapes() -> _Shapes:
    """Describe every shape by evenly spaced quantiles of it."""
    u = (np.arange(_POINTS) + 0.5) / _POINTS
    normal, offsets, octave = ndtri(u), (1.0, 2.0, 4.0), np.exp2(u)
    even = [normal, 4.0 * u - 2.0, np.log(np.minimum(u, 1 - u) * 2) * np.sign(0.5 - u)]
    even.append((2.0 * u - 1.0) / np.sqrt(2.0 * u * (1.0 - u)))
    odd = [ndtri(0.5 + u / 2), -np.log1p(-u), 2.0 * u, *(1.0 + normal / each for each in offsets)]
    odd += [np.exp(width * normal) for width in (0.6, 1.0, 1.5, 2.2)]
    spread = [factor * each for factor in (1.0, math.sqrt(2.0)) for each in (*even, *odd)]
    close = [octave, *(np.where(u < q, 1.0, 2.0) * np.exp2(u / q % 1.0) for q in (0.2, 0.5, 0.8))]
    shapes = [(each, False) for each in spread] + [(each, True) for each in close]
    shapes.append((np.where(u < 0.5, -octave, octave), False))  # two values, plus and minus
    both = [
        (sign * values, narrow)
        for values, narrow in shapes
        for sign in ((1.0, -1.0) if abs(values.mean()) > 0.1 else (1.0,))
    ]
    sides = np.sort([values for values, _ in both]).T
    lags = _BELOW + _ABOVE
    mass = np.zeros((len(both), 2 * lags))
    for place, values in enumerate(sides.T):
        lag = np.frexp(values)[1] - 1 + _BELOW
        inside = (lag >= 0) & (lag < lags)
        mass[place] = np.bincount((lag + lags * (values < 0))[inside], minlength=2 * lags) / _POINTS
    cut = round(TAIL * _POINTS)
    kept = sides.clip(sides[cut], sides[-1 - cut])
    far, near = round(_SUPPORT * _POINTS), round(_RARE_SUPPORT * _POINTS)
    ends, rare_ends = sides[[far, -1 - far]], sides[[near, -1 - near]]
    narrow = np.array([each for _, each in both])
    return _Shapes(mass, kept.mean(axis=0), kept.std(axis=0), ends, rare_ends, narrow)


def fit_magnitudes(
    counts: Matrix, noise: BinNoise, rows: float, *, gaps: bool = False
) -> MagnitudeFit:
    """Fit noisy counts of :func:`magnitude_counts`, shape (columns, bins).

    With `gaps`, some of the rows may be in no bin.
    """
    shapes, sigma = _shapes(), noise.deviation
    columns = len(counts)
    best, powers = np.zeros(columns, dtype=np.intp), np.zeros(columns, dtype=np.intp)
    gain, size = np.zeros(columns), np.zeros(columns)
    prior = -np.abs(np.arange(_POWERS) - _POWERS / 2 + 0.5) / _DECAY
    prior -= math.log(np.exp(prior).sum())
    zero = counts[:, _POWERS + 1]
    zeros = zero.clip(0.0, rows)
    some_zeros = zeros * (2.0 * zero - zeros) / (2.0 * sigma**2)
    only_zeros = some_zeros if gaps else rows * (2.0 * zero - rows) / (2.0 * sigma**2)
    # With m rows that are not zero, counts k, z of them zero, a = p'k and b = p'p, the gain over
    # "all rows are zero" is (m a - m^2 b / 2) / sigma^2: a parabola in m. Without gaps the zeros
    # are the n - m other rows, so that a is larger by n - z, and b by 1.
    more = np.zeros(columns) if gaps else rows - zero
    squares = (shapes.mass**2).sum(axis=1) + (not gaps)
    for j, window in enumerate(_windows(counts)):
        found = shapes.mass @ np.concatenate(window) + more[j]
        best[j], powers[j], gain[j], size[j] = likeliest(
            found, squares, prior, _SMALLEST_SHARE * rows, rows, sigma
        )
    gain += only_zeros
    present = size + zeros if gaps else np.full(columns, rows)
    share, present = size / present, present.clip(1.0, rows)
    unit = np.exp2(powers - _POWERS / 2)
    mean, deviation = shapes.mean[best], shapes.deviation[best]
    center = share * mean
    scale = np.sqrt(share * (deviation**2 + mean**2) - center**2)
    narrow, rare = shapes.narrow[best] & (share > 0.75), share <= _RARE
    away = rows * np.where(rare, share, 1.0)
    ends = np.where(rare, shapes.rare_ends[:, best], shapes.ends[:, best])
    low, high = _ranges(counts, powers, noise, away, ends, narrow)
    center, scale = (center * unit).clip(-_LARGEST, _LARGEST), (scale * unit).clip(None, _LARGEST)
    evidence = gain - np.maximum(np.where(rare, some_zeros, only_zeros), 0.0)
    gain = np.maximum(gain, only_zeros)
    return MagnitudeFit(center, scale, low, high, gain, evidence, narrow, rare, present)


def _windows(counts: Matrix) -> Matrix:
    """View the bins around every power of two; shape (columns, signs, bins around, powers)."""
    padded = np.zeros((len(counts), 2, _BELOW + _POWERS + _ABOVE - 1))
    inner = padded[:, :, _BELOW : _BELOW + _POWERS]
    inner[:, 0] = counts[:, _POWERS + 2 : -1]
    inner[:, 1] = counts[:, _POWERS:0:-1]
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, _POWERS, axis=2))


def _ranges(
    counts: Matrix, powers: Places, noise: BinNoise, away: Vector, ends: Matrix, narrow: Flags
) -> tuple[Vector, Vector]:
    """Return the `ends` of the shape's own range, widened to what surely lies beyond it.

    `away` are each column's rows of which a tail is a share.
    """
    around = np.arange(-_BELOW, _REACH + 1)
    places = (powers[:, None] + around).clip(0, _POWERS - 1)
    zero = _POWERS + 1
    order = [zero - 1 - places[:, ::-1], np.full((len(counts), 1), zero), zero + 1 + places]
    bins = np.concatenate(order, axis=1)
    near = np.take_along_axis(counts, bins, axis=1)
    # A power of two at either end of all may stand there more than once.
    near[:, 1:][bins[:, 1:] == bins[:, :-1]] = 0.0
    first, last = _occupied(near, noise, away)
    each = np.arange(len(counts))
    lower, upper = magnitude_edges()
    unit, (low, high) = np.exp2(powers - _POWERS / 2), ends
    # Only a narrow shape stays away from zero; it holds whole powers of two.
    whole = np.exp2(np.floor(np.log2(np.abs(ends))))
    low = np.where(narrow, np.where(low > 0, whole[0], -2.0 * whole[0]), np.minimum(low, 0.0))
    high = np.where(narrow, np.where(high > 0, 2.0 * whole[1], -whole[1]), np.maximum(high, 0.0))
    low = np.minimum(low * unit, lower[bins[each, first]])
    high = np.maximum(high * unit, upper[bins[each, last]])
    return low.clip(-_LARGEST, None), high.clip(None, _LARGEST)


def _occupied(counts: Matrix, noise: BinNoise, rows: Vector) -> tuple[Places, Places]:
    """Return the first and last bin at or beyond which more than a tail surely lies.

    Every run of neighbouring bins is tried, so that what lies far apart need not stand out from
    the noise of all bins between. Where no run does, the first is the last bin and the last the
    first.
    """
    bins = counts.shape[1]
    sums = np.concatenate([np.zeros((len(counts), 1)), counts.cumsum(axis=1)], axis=1)
    begin, end = np.triu_indices(bins)
    surely = TAIL * rows[:, None] + noise.surely(np.arange(bins) + 1, _SURE)[end - begin]
    stands_out = sums[:, end + 1] - sums[:, begin] > surely
    first = np.where(stands_out, end, bins - 1).min(axis=1)
    last = np.where(stands_out, begin, 0).max(axis=1)
    return first, last


def tail_bins(counts: Matrix, noise: BinNoise, rows: Vector, sure: float) -> tuple[Places, Places]:
    """Return the first and last bin that more than a tail surely reaches, shape (columns,).

    Counts are added up from either end until they pass half a percent of a column's rows by `sure`
    deviations of the noise added up so far. Where none does, the first is the last bin and the
    last the first.
    """
    bins = counts.shape[1]
    level = TAIL * rows[:, None] + noise.surely(np.arange(bins) + 1, sure)

    def first_above(ordered: Matrix) -> Places:
        above = ordered.cumsum(axis=1) > level
        above[:, -1] = True
        return np.asarray(above.argmax(axis=1))

    return first_above(counts), bins - 1 - first_above(counts[:, ::-1])
