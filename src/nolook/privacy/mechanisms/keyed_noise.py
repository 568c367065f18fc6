"""Noise that follows from a secret key.

For one of two servers that add up shares modulo 2^64: the same key gives the same noise again.
The proof is in `keyed_noise.md`.
"""

from __future__ import annotations

import numpy as np

from nolook._arrays import Words
from nolook.errors import ParameterError
from nolook.privacy.budgets import too_small
from nolook.privacy.mechanisms._exact import noise_scale
from nolook.privacy.noise import (
    LARGEST_INT64_SCALE,
    KeyedSource,
    discrete_laplace,
    rounded_gaussian,
)

__all__ = ["keyed_gaussian", "keyed_laplace"]


def keyed_laplace(shares: Words, sensitivity: int, epsilon: float, key: bytes) -> Words:
    """Return shares plus exact discrete Laplace noise that follows from a key, modulo 2^64.

    Guarantee
    ---------
    If a row changes the sums by `sensitivity` in L1 norm, the result is (epsilon, 0)-DP against a
    party that has the other shares but not the key, computationally: a ``PureEvent(name,
    epsilon)``.

    Parameters
    ----------
    shares : ndarray of uint64, shape (n,)
        With the other server's shares they add up, modulo 2^64, to the sums.
    sensitivity : int
        L1 sensitivity of the sums.
    epsilon : float
        The noise has scale sensitivity / epsilon, rounded up.
    key : bytes
        32 bytes that serve this release and no other (:func:`nolook.privacy.noise.derived_key`).

    Returns
    -------
    ndarray of uint64, shape (n,)

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the scale exceeds 2**50.
    """
    scale = noise_scale(sensitivity, epsilon, "epsilon")
    if scale > LARGEST_INT64_SCALE:
        raise too_small(epsilon)
    noise = discrete_laplace(scale, len(shares), KeyedSource(key, b""))
    noisy: Words = shares + noise.view(np.uint64)
    return noisy


def keyed_gaussian(shares: Words, sensitivity: float, mu: float, key: bytes) -> Words:
    """Return shares plus exactly rounded Gaussian noise that follows from a key, modulo 2^64.

    Guarantee
    ---------
    If a row changes the sums by `sensitivity` in L2 norm, the result is mu-GDP against a party that
    has the other shares but not the key, computationally: a ``GaussianEvent(name, mu)``.

    Parameters
    ----------
    shares : ndarray of uint64, shape (n,)
        With the other server's shares they add up, modulo 2^64, to the sums.
    sensitivity : float
        L2 sensitivity of the sums, as an exact real number.
    mu : float
        The noise has standard deviation sensitivity / mu, rounded up.
    key : bytes
        As for :func:`keyed_laplace`; so are the errors.

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    sigma = noise_scale(sensitivity, mu, "mu")
    if sigma > LARGEST_INT64_SCALE:
        raise ParameterError(f"mu is {mu!r}, too small for any noise (use a larger budget)")
    noise = rounded_gaussian(sigma, len(shares), KeyedSource(key, b""))
    noisy: Words = shares + noise.view(np.uint64)
    return noisy
