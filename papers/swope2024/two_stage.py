"""The two-stage method of Kifer, Smith and Thakurta, which the paper compares with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.screening import Scores
from nolook.kernels.block_lasso import arrange_blocks, lasso_models
from nolook.privacy.noise import ByteSource, uniform_integers
from papers.swope2024.tables import ALPHA

__all__ = ["block_sizes", "count_votes", "two_stage_votes"]

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]


def block_sizes(X: Vector, y: Vector, blocks: Integers, m: int) -> Vector:
    """Return the sizes of the coefficients of each block's Lasso, shape (m, features).

    Columns are standardised by the block alone.
    """
    rows, starts = arrange_blocks([np.vstack([X.T, y])], [blocks], m)
    for first, end in itertools.pairwise(starts):
        if first < end:
            own = rows[first:end, :-1]
            own -= own[0].copy()  # exactly 0 where a column is constant
            own -= own.mean(axis=0)
            spread = own.std(axis=0)
            own /= np.where(spread > 0, spread, 1.0)
    sizes: Vector = np.abs(lasso_models(rows, starts, -ALPHA))
    return sizes


def count_votes(sizes: Vector, k: int) -> Integers:
    """Count the blocks whose k largest coefficients, 0 excluded, a feature is among."""
    best = np.argsort(-sizes, axis=1, kind="stable")[:, :k]
    votes = np.zeros(sizes.shape[1], dtype=np.int64)
    for own, chosen in zip(sizes, best, strict=True):
        votes[chosen[own[chosen] > 0]] += 1
    return votes


def two_stage_votes(
    X: Vector, y: Vector, ks: Sequence[int], source: ByteSource
) -> dict[int, Scores]:
    """Return the votes of one random partition into floor(sqrt n) blocks, for every k.

    A row belongs to one block, whose votes it may change: by 1 each.
    """
    m = math.isqrt(len(y))
    blocks = uniform_integers(m, len(y), source)
    sizes = block_sizes(X, y, blocks, m)
    return {k: Scores(count_votes(sizes, k), 1.0) for k in ks}
