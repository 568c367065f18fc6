"""Laplace mechanism on integer vectors: pure epsilon. The proof is in `laplace.md`."""

from __future__ import annotations

import math

from nolook.privacy._collect import Integers
from nolook.privacy.mechanisms._exact import add_exactly, noise_scale
from nolook.privacy.noise import ByteSource, discrete_laplace

__all__ = ["laplace_release", "laplace_variance"]


def laplace_release(
    values: Integers, sensitivity: float, epsilon: float, source: ByteSource
) -> Integers:
    """Return integers plus exact discrete Laplace noise; the release is epsilon-DP.

    Guarantee
    ---------
    If the sum of the entries' absolute changes is at most `sensitivity` for every pair of
    neighbours, the result is (epsilon, 0)-DP under that relation.

    Parameters
    ----------
    values : ndarray of int64, or of Python ints (dtype object)
        The statistic, in units of a grid fixed without the data.
    sensitivity : float
        Its L1 sensitivity in grid units, as an exact real number.
    epsilon : float
        The noise has scale sensitivity / epsilon, rounded up.
    source : ByteSource

    Returns
    -------
    ndarray
        int64 input gives int64, saturating at its ends, unless the scale exceeds 2**50; otherwise
        exact Python ints (dtype object).

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the scale exceeds 2**70 grid units.
    """
    scale = noise_scale(sensitivity, epsilon, "epsilon")
    return add_exactly(values, discrete_laplace(scale, values.shape, source))


def laplace_variance(sensitivity: float, epsilon: float) -> float:
    """Return the variance of an entry's noise in :func:`laplace_release`, in squared grid units."""
    half_rate = 0.5 / noise_scale(sensitivity, epsilon, "epsilon")
    # exp(-1/scale) is 0 in float64 long before the hyperbolic sine overflows.
    return 0.5 / math.sinh(half_rate) ** 2 if half_rate < 300.0 else 0.0
