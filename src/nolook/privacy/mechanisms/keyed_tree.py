"""The noise of a binary tree, or of single counts, that follows from a secret key.

For one of two servers that add up shares modulo 2^64: whoever asks again gets the same noise, at
whatever thresholds. The proof is in `keyed_tree.md`.

Nodes are numbered from 0 as in a heap: the root, its two children, and so on. Each block of
consecutive nodes is drawn from bits of its own, so a node's noise is the same whichever others are
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.privacy.budgets import too_small
from nolook.privacy.mechanisms._exact import noise_scale
from nolook.privacy.mechanisms.binary_tree import tree_sensitivity
from nolook.privacy.noise import (
    LARGEST_INT64_SCALE,
    KeyedSource,
    discrete_laplace,
    rounded_gaussian,
)

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Relation

__all__ = ["keyed_gaussian", "keyed_laplace", "keyed_tree_laplace", "keyed_tree_laplace_at"]

_MOST_LEVELS = 24
_MOST_LEVELS_AT = 63
_BLOCK = 256  # nodes; more, and a few thresholds cost too much

Shares = NDArray[np.uint64]


def keyed_laplace(shares: Shares, sensitivity: int, epsilon: float, key: bytes) -> Shares:
    """Return shares plus exact discrete Laplace noise that follows from a key, modulo 2^64.

    Guarantee
    ---------
    If a row changes the sums by `sensitivity` in L1 norm, the result is (epsilon, 0)-DP for whoever
    holds the other shares and lacks the key, computationally: a ``PureEvent(name, epsilon)``.

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
    scale = _scale(sensitivity, epsilon)
    noise = discrete_laplace(scale, len(shares), KeyedSource(key, b""))
    noisy: Shares = shares + noise.view(np.uint64)
    return noisy


def keyed_gaussian(shares: Shares, sensitivity: float, mu: float, key: bytes) -> Shares:
    """Return shares plus exactly rounded Gaussian noise that follows from a key, modulo 2^64.

    Guarantee
    ---------
    If a row changes the sums by `sensitivity` in L2 norm, the result is mu-GDP for whoever holds
    the other shares and lacks the key, computationally: a ``GaussianEvent(name, mu)``.

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
        raise ParameterError(f"mu is {mu!r}, too small for any noise; expected a larger budget")
    noise = rounded_gaussian(sigma, len(shares), KeyedSource(key, b""))
    noisy: Shares = shares + noise.view(np.uint64)
    return noisy


def keyed_tree_laplace(shares: Shares, epsilon: float, relation: Relation, key: bytes) -> Shares:
    """Return shares of cumulative counts plus the noise of every node above, modulo 2^64.

    Guarantee
    ---------
    That of :func:`keyed_laplace` under `relation`, if neighbours differ by one row, counted in one
    cell.

    Parameters
    ----------
    shares : ndarray of uint64, shape (2^L,)
        Of the counts up to every threshold; L is at most 24.
    epsilon : float
        Node noise has scale `tree_sensitivity` / epsilon, rounded up.
    relation : {"add-remove", "replace"}
        Which tables are neighbours.
    key : bytes
        As there; so are the errors.

    Returns
    -------
    ndarray of uint64, shape (2^L,)
    """
    levels = len(shares).bit_length() - 1
    if len(shares).bit_count() != 1 or levels > _MOST_LEVELS:
        raise ParameterError(
            f"shares has {len(shares)} entries; expected a power of 2, at most 2**{_MOST_LEVELS}"
        )
    scale = _scale(tree_sensitivity(levels, relation), epsilon)
    blocks = range(-(-(2 * len(shares) - 1) // _BLOCK))
    nodes = np.concatenate([_block(block, scale, key) for block in blocks])
    above = nodes[:1]
    for level in range(1, levels + 1):
        above = np.repeat(above, 2) + nodes[2**level - 1 : 2 ** (level + 1) - 1]
    noisy: Shares = shares + above
    return noisy


def keyed_tree_laplace_at(
    shares: Shares, places: Shares, levels: int, epsilon: float, relation: Relation, key: bytes
) -> Shares:
    """Return some entries of what :func:`keyed_tree_laplace` would, however large it were.

    Guarantee
    ---------
    As there, for all places that are ever asked for together.

    Parameters
    ----------
    shares : ndarray of uint64, shape (n,)
        Of the counts up to some thresholds.
    places : ndarray of uint64, shape (n,)
        Of these thresholds, from 0 to 2^levels - 1.
    levels : int
        L, from 0 to 63.
    epsilon, relation, key
        As there; so are the errors.

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    if not 0 <= levels <= _MOST_LEVELS_AT:
        raise ParameterError(f"levels is {levels}; expected 0 to {_MOST_LEVELS_AT}")
    if len(places) == 0:
        return shares.copy()
    if int(places.max()) >> levels:
        raise ParameterError(f"places has an entry above 2**{levels} - 1; expected none")
    scale = _scale(tree_sensitivity(levels, relation), epsilon)
    depths = np.arange(levels + 1, dtype=np.uint64)
    first = (np.uint64(1) << depths) - np.uint64(1)
    nodes = first + (places[:, np.newaxis] >> (np.uint64(levels) - depths))
    blocks, where = np.unique(nodes // np.uint64(_BLOCK), return_inverse=True)
    drawn = np.stack([_block(int(block), scale, key) for block in blocks])
    noise = drawn[where.reshape(nodes.shape), nodes % np.uint64(_BLOCK)]
    noisy: Shares = shares + noise.sum(axis=1, dtype=np.uint64)
    return noisy


def _scale(sensitivity: int, epsilon: float) -> float:
    scale = noise_scale(sensitivity, epsilon, "epsilon")
    if scale > LARGEST_INT64_SCALE:
        raise too_small(epsilon)
    return scale


def _block(block: int, scale: float, key: bytes) -> Shares:
    """Draw the noise of one block of nodes, as numbers modulo 2^64."""
    source = KeyedSource(key, block.to_bytes(8, "little"))
    return discrete_laplace(scale, _BLOCK, source).view(np.uint64)
