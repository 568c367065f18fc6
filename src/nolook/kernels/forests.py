"""Noisy counts of nested blocks, and the counts of cells that agree with them best.

Blocks of level l have the length `lengths[l]`, those of the next level divide them, and those of
the last are single cells. Arrays of blocks hold all levels one after the other, the longest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["block_counts", "cells_of_blocks", "level_starts"]


def level_starts(padded: int, lengths: Sequence[int]) -> list[int]:
    """Return the first block of each level over `padded` cells, and the end of the last level."""
    return [0, *np.cumsum([padded // length for length in lengths]).tolist()]


def block_counts(cells: NDArray[np.int64], lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return the counts of the blocks of all levels; the last one of the longest may be padded."""
    padded = -(-len(cells) // lengths[0]) * lengths[0]
    starts = level_starts(padded, lengths)
    blocks = np.zeros(starts[-1], dtype=np.int64)
    blocks[starts[-2] : starts[-2] + len(cells)] = cells
    for level in range(len(lengths) - 2, -1, -1):
        below = blocks[starts[level + 1] : starts[level + 2]]
        children = lengths[level] // lengths[level + 1]
        blocks[starts[level] : starts[level + 1]] = below.reshape(-1, children).sum(axis=1)
    return blocks


def cells_of_blocks(
    blocks: NDArray[np.float64], padded: int, lengths: Sequence[int]
) -> NDArray[np.float64]:
    """Return the least-squares counts of all cells, for blocks whose noise has one variance.

    The sums of their blocks, over all levels, are nearest to `blocks`. Takes O(padded).
    """
    starts = level_starts(padded, lengths)
    levels = [blocks[a:b] for a, b in pairwise(starts)]
    # Up: every block's best guess from itself and those inside it, of this variance.
    variance, inside = 1.0, [levels[-1]]
    for level in range(len(lengths) - 2, -1, -1):
        children = lengths[level] // lengths[level + 1]
        sums = inside[-1].reshape(-1, children).sum(axis=1)
        weight = children * variance / (1.0 + children * variance)
        inside.append(sums + weight * (levels[level] - sums))
        variance = weight
    # Down: what a block learned from those around it is spread evenly inside.
    found = inside.pop()
    for level in range(1, len(lengths)):
        children = lengths[level - 1] // lengths[level]
        guess = inside.pop().reshape(-1, children)
        guess = guess + ((found - guess.sum(axis=1)) / children)[:, np.newaxis]
        found = guess.ravel()
    return found
