"""Laplace mechanism on integer vectors: pure epsilon. The proof is in `laplace.md`."""

from __future__ import annotations

from nolook.privacy.mechanisms._exact import Integers, add_exactly, noise_scale
from nolook.privacy.noise import ByteSource, discrete_laplace

__all__ = ["laplace_release"]


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
