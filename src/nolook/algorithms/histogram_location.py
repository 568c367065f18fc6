"""Mean and deviation of columns from noisy counts in equal bins, one more bin at either end.

All counts are used. Simple distributions are weighed by the likelihood of the counts, of columns
with few different values too; what the moments of the counts say beyond them is believed as far as
it stands out from its own noise, which is known. Everything is in bins: the first inner bin goes
from 0 to 1. Nothing here sees a table; ``scaling.md`` has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from attrs import frozen
from scipy.special import ndtr

from nolook._arrays import Flags, Matrix, Places, Vector
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.magnitude_fit import tail_bins
from nolook.kernels.histogram import precisions

__all__ = ["LinearReading", "Rest", "read_linear", "read_rest"]

_Pair: TypeAlias = tuple[Vector, Vector]

_WINDOW = 4.0  # deviations of the fitted distribution within which no value is pulled in
_SURE = 3.0  # deviations of the noise by which a tail must stand out
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
    first, last = (place[each] for each in tail_bins(counts, noise, rows, _SURE))
    first, last = np.floor(first), np.ceil(last)
    reach = _WINDOW * width + 1.0
    low = np.minimum(middle - reach, first).clip(0.0, bins)
    high = np.maximum(middle + reach, last).clip(0.0, bins)
    ends = tail_bins(counts, noise, rows, 0.0)
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
