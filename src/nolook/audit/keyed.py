"""Audits of noise derived from a key, as seen by whoever holds the other server's share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.audit.case import (
    FEWER_RUNS,
    Case,
    Draws,
    gaussian_case,
    on_both,
    one_by_one,
    pure_case,
)
from nolook.audit.laws import laplace_law, tree_law
from nolook.privacy.mechanisms.binary_tree import tree_sensitivity
from nolook.privacy.mechanisms.keyed_tree import (
    keyed_gaussian,
    keyed_laplace,
    keyed_tree_laplace,
    keyed_tree_laplace_at,
)
from nolook.privacy.noise import ByteSource

__all__ = ["cases"]

Shares: TypeAlias = NDArray[np.uint64]
Release: TypeAlias = Callable[[Shares, bytes], Shares]

_LIMIT = 10  # outcomes are clipped to -10..10: beyond, nothing is learned
_COUNT = np.array([[1], [0]])
_FINE = 2**20  # what a row counts where noise is Gaussian: its rounding is then nothing
#: Up to each threshold, for a value moved from the second of four cells to the last.
_MOVED = np.array([[0, 1, 1, 1], [0, 0, 0, 1]])
_CELLS = ((0, 1, 0, 0), (0, 0, 0, 1))


def cases(epsilon: float) -> tuple[Case, ...]:
    """Return the cases at an epsilon, or at a mu of the same size."""
    places = np.arange(4, dtype=np.uint64)
    scale = tree_sensitivity(2, "replace") / epsilon
    case = partial(pure_case(epsilon), runs=FEWER_RUNS)
    tree = partial(
        case,
        neighbours="a value moved from the second of four cells to the last: two nodes move",
        relation="replace",
        law=on_both(lambda table: tree_law(_CELLS[table], scale, _LIMIT)),
    )
    return (
        case(
            name="keyed-count",
            neighbours="a row more",
            covers=("keyed_laplace",),
            draw=_seen(lambda shares, key: keyed_laplace(shares, 1, epsilon, key), _COUNT),
            law=on_both(lambda table: laplace_law(1 / epsilon, 1 - table, _LIMIT)),
        ),
        gaussian_case(epsilon)(
            name="keyed-gaussian",
            neighbours="a row more",
            covers=("keyed_gaussian",),
            draw=one_by_one(partial(_gaussian_outcome, epsilon)),
        ),
        tree(
            name="keyed-tree-of-4",
            covers=("keyed_tree_laplace",),
            draw=_seen(
                lambda shares, key: keyed_tree_laplace(shares, epsilon, "replace", key), _MOVED
            ),
        ),
        tree(
            name="keyed-tree-of-4-at",
            covers=("keyed_tree_laplace_at",),
            draw=_seen(
                lambda shares, key: keyed_tree_laplace_at(
                    shares, places, 2, epsilon, "replace", key
                ),
                _MOVED,
            ),
        ),
    )


def _seen(release: Release, exact: NDArray[np.int64]) -> Draws:
    return one_by_one(partial(_outcome, release, exact.astype(np.uint64)))


def _outcome(release: Release, exact: Shares, table: int, source: ByteSource) -> float:
    """Split the sums into shares, release one and add the other: what its holder learns."""
    known = source.words(exact.shape[1])
    key = source.words(4).tobytes()
    noisy = (release(exact[table] - known, key) + known).view(np.int64)
    clipped = noisy.clip(-_LIMIT, _LIMIT) + _LIMIT
    powers = (2 * _LIMIT + 1) ** np.arange(len(noisy))[::-1]
    return float(clipped @ powers)


def _gaussian_outcome(mu: float, table: int, source: ByteSource) -> float:
    known = source.words(1)
    exact = _FINE * _COUNT[table].astype(np.uint64)
    noisy = keyed_gaussian(exact - known, _FINE, mu, source.words(4).tobytes()) + known
    return float(noisy.view(np.int64)[0])
