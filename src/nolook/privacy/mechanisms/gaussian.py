"""Gaussian mechanism on integer vectors: mu-GDP. The proof is in `gaussian.md`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nolook.errors import ParameterError
from nolook.privacy._collect import Integers
from nolook.privacy.mechanisms._exact import add_exactly, noise_scale
from nolook.privacy.noise import LARGEST_INT64_SCALE, ByteSource, rounded_gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OFF_DIAGONAL", "gaussian_release", "gaussian_variance", "symmetric_gaussian_release"]

# The smallest float64 not below the square root of 1/2.
OFF_DIAGONAL = 0.7071067811865476


def gaussian_release(
    values: Integers,
    sensitivity: float,
    mu: float,
    source: ByteSource,
    weights: NDArray[np.float64] | None = None,
) -> Integers:
    """Return integers plus exactly rounded Gaussian noise; the release is mu-GDP.

    Guarantee
    ---------
    If the sum of (change of entry i / weights[i])^2 is at most sensitivity^2 for every pair of
    neighbours, the result is mu-GDP under that relation.

    Parameters
    ----------
    values : ndarray of int64, or of Python ints (dtype object)
        The statistic, in units of a grid fixed without the data.
    sensitivity : float
        Its L2 sensitivity in grid units, as an exact real number.
    mu : float
        The standard deviation is sensitivity / mu, rounded up.
    source : ByteSource
    weights : ndarray of float64, the shape of `values`, optional
        A factor of each entry's standard deviation, above 0; 1 everywhere by default. It is quick
        if few are distinct.

    Returns
    -------
    ndarray
        int64 input gives int64, saturating at its ends, unless the standard deviation exceeds
        2**50; otherwise exact Python ints (dtype object).

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the standard deviation exceeds 2**70 grid units.
    """
    scale = partial(noise_scale, sensitivity, mu, "mu")
    if weights is None:
        return add_exactly(values, rounded_gaussian(scale(), values.shape, source))
    if weights.shape != values.shape or not np.all((weights > 0.0) & np.isfinite(weights)):
        raise ParameterError(
            f"weights has shape {weights.shape} or is not positive;"
            f" expected finite numbers above 0 in shape {values.shape}"
        )
    noise = np.zeros(values.shape, dtype=object)
    for weight in np.unique(weights):
        places = weights == weight
        noise[places] = rounded_gaussian(scale(float(weight)), int(places.sum()), source)
    largest = scale(float(weights.max(initial=0.0)))
    return add_exactly(values, noise.astype(np.int64) if largest <= LARGEST_INT64_SCALE else noise)


def gaussian_variance(sensitivity: float, mu: float) -> float:
    """Return the variance of one entry's noise in :func:`gaussian_release`, in squared grid units.

    Rounding adds a twelfth, or less where the noise itself is below a grid unit.
    """
    return noise_scale(sensitivity, mu, "mu") ** 2 + 1.0 / 12.0


def symmetric_gaussian_release(
    matrix: Integers, sensitivity: float, mu: float, source: ByteSource
) -> Integers:
    """Return a symmetric integer matrix plus symmetric Gaussian noise; the release is mu-GDP.

    Entries off the diagonal get noise smaller by the square root of 2.

    Guarantee
    ---------
    If the Frobenius norm of the matrix's change is at most `sensitivity` for every pair of
    neighbours, the result is mu-GDP under that relation.

    Parameters
    ----------
    matrix : ndarray of int64, or of Python ints (dtype object), shape (k, k)
        The statistic in grid units. Only its upper triangle is read.
    sensitivity : float
        In the Frobenius norm, in grid units: R**2 under add-remove for the sum of zz' over rows
        with |z| <= R.
    mu : float
    source : ByteSource

    Returns
    -------
    ndarray, shape (k, k)
        Symmetric, of the dtype `gaussian_release` gives; it raises as that does.
    """
    rows, columns = np.triu_indices(len(matrix))
    weights = np.where(rows == columns, 1.0, OFF_DIAGONAL)
    upper = gaussian_release(matrix[rows, columns], sensitivity, mu, source, weights)
    out = np.empty(matrix.shape, dtype=upper.dtype)
    out[rows, columns] = upper
    out[columns, rows] = upper
    return out
