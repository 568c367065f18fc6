"""Distributions that fit noisy counts of columns: by sign and power of two, and in equal bins.

By powers of two, public shapes are compared at every power of two, mixed with a share of zeros. A
shape is a distribution in units of a power of two. *All* noisy counts of a column say how likely
each is: the rows then count together, although no single bin may stand out from its noise.

In equal bins, one more bin at either end, simple distributions are weighed by the likelihood of the
counts, of columns with few different values too; what the moments of the counts say beyond them is
believed as far as it stands out from its own noise, which is known. Everything is in bins: the
first inner bin goes from 0 to 1. Nothing here sees a table; ``scaling.md`` has the proof.

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
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
from attrs import frozen
from scipy.special import ndtr, ndtri

from nolook._arrays import Flags, Matrix, Places, Vector
from nolook.algorithms.histogram_noise import BinNoise
from nolook.kernels.histogram import MAGNITUDE_BINS, likeliest, magnitude_edges, precisions

__all__ = ["LinearReading", "MagnitudeFit", "Rest", "fit_magnitudes", "read_linear", "read_rest"]

_Pair: TypeAlias = tuple[Vector, Vector]

# Share of the rows that may lie outside a range at either end, if the noise allows it.
_TAIL = 0.005

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

# In equal bins.
_WINDOW = 4.0  # deviations of the fitted distribution within which no value is pulled in
_SURE_TAIL = 3.0  # deviations of the noise by which a tail must stand out
# What makes a spread of two bins likely: the probability of distributions that wide, or
# the moments, by so many deviations of their noise.
_LIKELY, _LIKELY_ERRORS = 0.3, 1.5
_RESOLVED = 2.0  # deviation in bins from which a spread is more than what one bin hides
_FLAT = 1.0 / 12.0  # variance of values that fill one bin evenly
_SPREAD = 2.5  # deviations on either side of the mean that the next range holds at least
_DOUBT = 3.0  # deviations of its noise by which a moment stands out half-believed
_WIDTHS = 12  # of the distributions that are tried
# How many different values a column may have: by so much its counts may differ from theirs.
_VALUES = (3.0, 30.0, math.inf)
_BLOCK = 500  # columns fitted at a time
_RUNS = (1, 2, 4, 8, 16)  # bins together in which rows away from the fullest bin are looked for


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
    cut = round(_TAIL * _POINTS)
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
    surely = _TAIL * rows[:, None] + noise.surely(np.arange(bins) + 1, _SURE)[end - begin]
    stands_out = sums[:, end + 1] - sums[:, begin] > surely
    first = np.where(stands_out, end, bins - 1).min(axis=1)
    last = np.where(stands_out, begin, 0).max(axis=1)
    return first, last


def _tail_bins(counts: Matrix, noise: BinNoise, rows: Vector, sure: float) -> tuple[Places, Places]:
    """Return the first and last bin that more than a tail surely reaches, shape (columns,).

    Counts are added up from either end until they pass half a percent of a column's rows by `sure`
    deviations of the noise added up so far. Where none does, the first is the last bin and the
    last the first.
    """
    bins = counts.shape[1]
    level = _TAIL * rows[:, None] + noise.surely(np.arange(bins) + 1, sure)

    def first_above(ordered: Matrix) -> Places:
        above = ordered.cumsum(axis=1) > level
        above[:, -1] = True
        return np.asarray(above.argmax(axis=1))

    return first_above(counts), bins - 1 - first_above(counts[:, ::-1])


@frozen(eq=False)
class LinearReading:
    """Estimates from the counts, one entry a column, in bins."""

    mean: Vector
    error: Vector  # of the mean, roughly
    deviation: Vector  # at least that of one bin
    doubt: Vector  # relative error of the deviation, roughly
    median: Vector  # middle of the bin that holds it
    low: Vector  # range without the tails: low < high
    high: Vector
    resolved: Flags  # whether the spread is surely two bins or more


@frozen(eq=False)
class Rest:
    """The fullest bin of each column, and the mass that stands out from it; in bins."""

    middle: Vector  # of the fullest bin
    share: Vector  # of the rows that are in it
    evidence: Vector  # gain of the likeliest run elsewhere, less what trying all of them may gain
    reach: Vector  # from the middle to the far edge of what stands out; 0 where nothing does
    beyond: Vector  # gain of the fuller of the two bins that have no end


def read_linear(counts: Matrix, noise: BinNoise, rows: Vector) -> LinearReading:
    """Read noisy counts of shape (columns, bins + 2) with `noise`; `rows` are each column's."""
    bins, sigma = counts.shape[1] - 2, noise.deviation

    def moment(values: Matrix) -> _Pair:
        error: Vector = sigma / rows * np.sqrt((values**2).sum(axis=1))
        return (values * counts).sum(axis=1) / rows, error

    place = np.concatenate([[0.0], np.arange(bins) + 0.5, [float(bins)]])
    # In blocks of as many rows: every column has a weight for each of some thousand distributions.
    size = _BLOCK if (rows == rows[:1]).all() else 1
    starts, own = range(0, max(1, len(counts)), size), np.append(rows, 1.0).tolist()
    fits = [_fitted(counts[each : each + size], sigma, own[each]) for each in starts]
    middle, width, wide = (np.concatenate(each) for each in zip(*fits, strict=True))
    first, last = (place[each] for each in _tail_bins(counts, noise, rows, _SURE_TAIL))
    first, last = np.floor(first), np.ceil(last)
    reach = _WINDOW * width + 1.0
    low = np.minimum(middle - reach, first).clip(0.0, bins)
    high = np.maximum(middle + reach, last).clip(0.0, bins)
    ends = _tail_bins(counts, noise, rows, 0.0)
    far = np.minimum(place[ends[0]], low), np.maximum(place[ends[1]], high)
    ranges = (low, high), far, (middle, width)
    mean, mean_error, variance, variance_error, near, surely = _moments(moment, place, *ranges)
    # Tails count as far as they surely stand out: noise far away must not hide the bulk's spread.
    spread = _SPREAD * np.sqrt(near + np.minimum(variance_error, near))
    spread += _SPREAD * np.minimum(mean_error, width)
    start = np.minimum(mean - spread, first).clip(0.0, bins - 1.0)
    end = np.maximum(np.maximum(mean + spread, last).clip(1.0, bins), start + 1.0)
    half = np.cumsum(counts, axis=1) >= rows[:, None] / 2.0
    half[:, -1] = True
    median = place[half.argmax(axis=1)].clip(low, high)
    # What the noise leaves open, and where in its bin a narrow column lies.
    blur = 1.0 / (1.0 / mean_error**2 + 1.0 / variance)
    error = np.sqrt(blur + _FLAT**3 / variance**2)
    blur = 0.25 / (1.0 + (variance / variance_error) ** 2)
    doubt = np.sqrt(blur + (2.0 * _FLAT / variance) ** 2)
    deviation = np.sqrt(variance)
    sure = (wide >= _LIKELY) | (surely >= _RESOLVED**2)
    resolved = sure & (deviation >= _RESOLVED)
    return LinearReading(mean, error, deviation, doubt, median, start, end, resolved)


def _moments(
    moment: Callable[[Matrix], _Pair], place: Vector, near: _Pair, far: _Pair, fitted: _Pair
) -> tuple[Vector, ...]:
    """Correct a fitted distribution by moments: of values pulled into `near`, then into `far`.

    `moment` gives the mean of numbers by bin, or by column and bin, and the error of its noise.

    Returns the mean and its error by noise alone, the variance and its error, the variance of the
    values pulled into reach of the fitted distribution, and what the variance surely is at least.
    """
    (middle, width), (low, high) = fitted, (each[:, None] for each in near)
    inside = place.clip(low, high)
    shift, mean_error = moment(inside - middle[:, None])
    mean = (middle + _belief(shift, mean_error) * shift).clip(0.0, place[-1])
    square = (inside - mean[:, None]) ** 2
    variance, variance_error = moment(square)
    surely, doubt = variance, variance_error**2
    # A variance below its own error says no more than that it is below.
    more = np.maximum(variance, np.minimum(variance_error, width**2)) - width**2
    variance = width**2 + _belief(more, variance_error) * more
    within, shift = variance.clip(_FLAT), np.zeros_like(mean)
    for outside in (place.clip(far[0][:, None], high), place.clip(low, far[1][:, None])):
        more, error = moment((outside - mean[:, None]) ** 2 - square)
        belief = _belief(np.maximum(more, 0.0), error)
        variance, shift = variance + belief * more, shift + belief * moment(outside - inside)[0]
        surely, doubt = surely + more, doubt + error**2
    # No distribution over these bins has a larger variance than two values at the ends.
    variance = (variance - shift**2).clip(_FLAT, place[-1] ** 2 / 4.0)
    mean = (mean + shift).clip(0.0, place[-1])
    surely = surely - _LIKELY_ERRORS * np.sqrt(doubt)
    return mean, mean_error, variance, variance_error, within, surely


def _belief(difference: Vector, error: Vector) -> Vector:
    """Share of a difference that is believed against a fit that most columns agree with."""
    return np.asarray(difference**2 / (difference**2 + (_DOUBT * error) ** 2 + 1e-300))


def _fitted(counts: Matrix, sigma: float, rows: float) -> tuple[Vector, Vector, Vector]:
    """Return mean and deviation of a value drawn like the rows, if a simple distribution fits.

    The third is the probability that the deviation is two bins or more.

    Every distribution of a grid counts by the likelihood of the counts, whose variance is that of
    the noise and of a column with this number of different values: without the latter, two or three
    values that hold most rows look like a narrow column around one of them.
    """
    centers, widths, prior, mass = _distributions(counts.shape[1] - 2)
    weights = np.empty((len(_VALUES), len(counts), len(prior)))
    for values, weight in zip(_VALUES, weights, strict=True):
        # A variance is that of the noise over its precision.
        precise, squares, logs = precisions(mass, (rows / sigma) ** 2 / values)
        gain = rows * counts @ (mass * precise) - counts**2 @ (precise / 2.0)
        weight[:] = (gain - rows**2 / 2.0 * squares) / sigma**2 + (prior + logs / 2.0)
    weights -= weights.max(axis=(0, 2), keepdims=True)
    weight = np.exp(weights, out=weights).sum(axis=0)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ centers
    square = (weight * (widths**2 + (centers - mean[:, None]) ** 2)).sum(axis=1)
    return mean, np.sqrt(square), weight[:, widths >= _RESOLVED].sum(axis=1)


@lru_cache(maxsize=64)
def _distributions(bins: int) -> tuple[Vector, Vector, Vector, Matrix]:
    """Return means, deviations, log-priors and mass of distributions over bins and both ends.

    The mass has shape (bins + 2, distributions).

    They are normal, or half of the values are equal and the others exponential on one side of them,
    as with many zeros or values cut off. All of these are as likely beforehand, so are all widths
    of one, and all places of one width.
    """
    edges = np.concatenate([[-np.inf], np.arange(bins + 1.0), [np.inf]])
    found = []
    for width in np.concatenate([[0.15], np.geomspace(0.4, bins / 2.0, _WIDTHS)]):
        place = np.arange(-0.5, bins + 0.51, min(max(0.25, width / 2.0), 1.0))
        below = (edges - place[:, None]) / width
        prior = np.full(place.size, -math.log(place.size))
        found.append((place, np.full(place.size, width), prior, np.diff(ndtr(below), axis=1)))
        if width < 1.0:
            continue
        deviation = np.full(place.size, width * math.sqrt(0.75))
        for side in (1.0, -1.0):
            far = side * below
            shares = np.where(far > 0.0, 1.0 - np.exp(-np.maximum(far, 0.0)) / 2.0, 0.0)
            mass = np.abs(np.diff(shares, axis=1))
            found.append((place + side * width / 2.0, deviation, prior, mass))
    center, deviation, prior, mass = (np.concatenate(each) for each in zip(*found, strict=True))
    return center, deviation, prior, np.ascontiguousarray(mass.T)


def read_rest(counts: Matrix, noise: BinNoise, rows: Vector) -> Rest:
    """Look for rows away from the fullest bin, in runs of inner bins; `rows` are each column's."""
    bins, fullest = counts.shape[1] - 2, counts.argmax(axis=1)
    places = math.log(2 * bins * len(_RUNS))
    above = _rest_above(counts, fullest, noise.deviation, places)
    below = _rest_above(counts[:, ::-1], bins + 1 - fullest, noise.deviation, places)
    share = counts[np.arange(len(counts)), fullest] / rows
    evidence = np.maximum(above[0], below[0]) - places
    reach = np.maximum(above[1], below[1])
    beyond = (counts[:, [0, -1]].max(axis=1).clip(0.0) / noise.deviation) ** 2 / 2.0
    return Rest(fullest - 0.5, share, evidence, reach, beyond)


def _rest_above(
    counts: Matrix, fullest: Places, sigma: float, least: float
) -> tuple[Vector, Vector]:
    """Return the largest gain of a run above a bin, and how far the last run with `least` goes."""
    size = counts.shape[1] - 1  # the last bin has no end
    bins = np.arange(size)
    beyond = bins > fullest[:, None]
    sums = np.pad(np.where(beyond, counts[:, :size], 0.0), ((0, 0), (1, max(_RUNS) - 1)))
    sums = sums.cumsum(axis=1)
    runs = [(sums[:, run : run + size] - sums[:, :size]) / math.sqrt(run) for run in _RUNS]
    gain = np.where(beyond, np.maximum(runs, 0.0) ** 2 / (2.0 * sigma**2), 0.0)
    best = gain.max(axis=0)
    last = np.where(best >= least, bins, 0).max(axis=1)
    run = gain[:, np.arange(len(counts)), last].argmax(axis=0)
    end = np.minimum(last + np.array(_RUNS)[run], size)
    reach = np.where(last > 0, end - fullest - 0.5, 0.0)
    return best.max(axis=1), reach
