"""Mean and deviation of columns from noisy counts in equal bins, one more bin at either end.

All counts are used: a normal distribution is fitted by the likelihood of the noise, then the moments
of the counts around it, pulled towards the fit as far as the noise, which is known, blurs them.
Nothing here sees a table; ``scaling.md`` has the proof. Everything is in bins: the first inner bin goes from 0 to 1.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import ndtr

from nolook.algorithms.magnitude_shapes import tail_bins

__all__ = ["LinearReading", "read_linear"]

_WINDOW = 4.0  # deviations of the fitted normal within which no value is pulled in
_SURE = 3.0  # deviations of the noise by which a tail farther away must stand out
_FLAT = 1.0 / 12.0  # variance of values that fill one bin evenly
_SPREAD = 2.5  # deviations on either side of the mean that the next range holds at least
_WIDTHS = 12

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@frozen(eq=False)
class LinearReading:
    """What the counts say, one entry a column, in bins."""

    mean: Vector
    error: Vector  # of the mean, roughly
    deviation: Vector  # at least that of one bin
    doubt: Vector  # relative error of the deviation, roughly
    median: Vector  # middle of the bin that holds it
    low: Vector  # range without the tails: low < high
    high: Vector


def read_linear(counts: Matrix, sigma: float, rows: float) -> LinearReading:
    """Read noisy counts of shape (columns, bins + 2), each with noise of deviation `sigma`."""
    bins = counts.shape[1] - 2
    place = np.concatenate([[0.0], np.arange(bins) + 0.5, [float(bins)]])
    middle, width = _fitted_normal(counts, sigma, rows)
    first, last = tail_bins(counts, sigma, rows, _SURE)
    sure = np.floor(place[first])[:, None], np.ceil(place[last])[:, None]
    first, last = tail_bins(counts, sigma, rows, 0.0)
    reach = _WINDOW * width + 1.0
    low = np.minimum((middle - reach)[:, None], sure[0]).clip(0.0, bins)
    high = np.maximum((middle + reach)[:, None], sure[1]).clip(0.0, bins)
    near = place.clip(low, high)
    below = place.clip(np.minimum(place[first][:, None], low), high)
    above = place.clip(low, np.maximum(place[last][:, None], high))
    noise = sigma / rows

    def moment(values: Matrix) -> tuple[Vector, Vector]:
        error: Vector = noise * np.sqrt((values**2).sum(axis=1))
        return (values * counts).sum(axis=1) / rows, error

    shift, mean_error = moment(near - middle[:, None])
    mean = (middle + _believed(shift, mean_error)).clip(0.0, bins)
    square = (near - mean[:, None]) ** 2
    variance, variance_error = moment(square)
    least = width**2 / 4.0
    variance = width**2 + _believed(np.maximum(variance, least) - width**2, variance_error)
    shifts = np.zeros_like(mean)
    for far in (below, above):
        more, error = moment((far - mean[:, None]) ** 2 - square)
        part = _belief(np.maximum(more, 0.0), error)
        variance += part * more
        shifts += part * moment(far - near)[0]
    mean = (mean + shifts).clip(0.0, bins)
    variance = np.maximum(variance - shifts**2, _FLAT)
    spread = _SPREAD * np.sqrt(variance + np.minimum(variance_error, variance))
    spread += _SPREAD * np.minimum(mean_error, width)
    start = np.minimum(mean - spread, sure[0][:, 0]).clip(0.0, bins - 1.0)
    end = np.maximum(mean + spread, sure[1][:, 0]).clip(1.0, float(bins))
    half = np.cumsum(counts, axis=1) >= rows / 2.0
    half[:, -1] = True
    median = place[half.argmax(axis=1)].clip(low[:, 0], high[:, 0])
    # What the noise leaves open, and where in its bin a narrow column lies.
    error = np.sqrt(1.0 / (1.0 / mean_error**2 + 1.0 / variance) + _FLAT**3 / variance**2)
    doubt = np.sqrt(
        0.25 / (1.0 + variance**2 / variance_error**2) + (2.0 * _FLAT / variance) ** 2
    )
    return LinearReading(
        mean, error, np.sqrt(variance), doubt, median, start, np.maximum(end, start + 1.0)
    )


def _belief(difference: Vector, error: Vector) -> Vector:
    belief: Vector = difference**2 / (difference**2 + error**2 + 1e-300)
    return belief


def _believed(difference: Vector, error: Vector) -> Vector:
    return _belief(difference, error) * difference


def _fitted_normal(counts: Matrix, sigma: float, rows: float) -> tuple[Vector, Vector]:
    """Return mean and deviation of a value drawn like the rows, if these are normal.

    Every normal distribution of a grid counts by its likelihood; all widths are as likely
    beforehand, and so are all centres of one width.
    """
    centers, widths, prior, mass = _normals(counts.shape[1] - 2)
    weight = counts @ mass.T - rows / 2.0 * (mass**2).sum(axis=1)
    weight *= rows / sigma**2
    weight += prior
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ centers
    square = (weight * (widths**2 + (centers - mean[:, None]) ** 2)).sum(axis=1)
    return mean, np.sqrt(square)


@lru_cache(maxsize=64)
def _normals(bins: int) -> tuple[Vector, Vector, Vector, Matrix]:
    """Return centres, deviations, log-priors and mass of normals over bins and both ends."""
    edges = np.concatenate([[-np.inf], np.arange(bins + 1.0), [np.inf]])
    centers, widths, prior = [], [], []
    for width in np.concatenate([[0.15], np.geomspace(0.4, bins / 2.0, _WIDTHS)]):
        steps = np.arange(-0.5, bins + 0.51, min(max(0.25, width / 2.0), 1.0))
        centers.append(steps)
        widths.append(np.full(steps.size, width))
        prior.append(np.full(steps.size, -math.log(steps.size)))
    center, deviation = np.concatenate(centers), np.concatenate(widths)
    mass = np.diff(ndtr((edges - center[:, None]) / deviation[:, None]), axis=1)
    return center, deviation, np.concatenate(prior), mass
