"""The steps between two encryptions in the trees of a verifiable point function.

A node's block is two 64-bit words, its lowest bit the control bit. Nodes are kept as the cipher's
input, which a public linear map makes of the block. Encrypted inputs come as the cipher wrote them:
these kernels add the input (exclusive or) that makes the cipher one-way, and correct the result
where the control bit is set. Secrets choose by masks, not by branches.

All arrays are of uint64 but `bits` (uint8) and `offsets` (int64):

===============  =================================================================================
``inputs``       (blocks, keys, 2) or, at a stop, (offsets, parents, keys, 2)
``blocks``       encrypted inputs; first the kind: left and right, or a stop's value and proofs
``corrections``  (keys, levels, 2): of a level's children; the lowest bit is that of the left one
``bits``         (keys, bytes): the right children's, a bit a level, the lowest first
``steps``        (2 sides, keys, 2): a level's corrections as they are added to inputs
===============  =================================================================================
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nolook._arrays import Bytes, Words

__all__ = [
    "add_proofs",
    "add_values",
    "grow_both",
    "level_steps",
]


_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_REST = ~np.uint64(1)  # of a block's first word, all but the control bit
_LEFT, _RIGHT = 0, 1


@njit(nogil=True, cache=True)
def level_steps(level: int, corrections: Words, bits: Bytes, steps: Words) -> None:
    """Write the terms that a level's corrections add to the inputs of left and right children."""
    for k in range(len(corrections)):
        first, second = corrections[k, level, 0], corrections[k, level, 1]
        bit = np.uint64(bits[k, level >> 3] >> (level & 7)) & _ONE
        steps[_LEFT, k, 0] = second
        steps[_LEFT, k, 1] = first ^ second
        steps[_RIGHT, k, 0] = second
        steps[_RIGHT, k, 1] = (first & _REST | bit) ^ second


@njit(nogil=True, cache=True)
def grow_both(inputs: Words, blocks: Words, steps: Words, children: Words) -> None:
    """Write the inputs of all left children, then those of all right ones: (2, nodes, keys, 2)."""
    for side in range(2):
        for i in range(inputs.shape[0]):
            for k in range(inputs.shape[1]):
                here, there = inputs[i, k, 0], inputs[i, k, 1]
                mask = _ZERO - ((here ^ there) & _ONE)
                low = blocks[side, i, k, 0] ^ here
                high = blocks[side, i, k, 1] ^ there
                children[side, i, k, 0] = high ^ (mask & steps[side, k, 0])
                children[side, i, k, 1] = low ^ high ^ (mask & steps[side, k, 1])


@njit(nogil=True, cache=True)
def add_values(
    inputs: Words,
    blocks: Words,
    offsets: NDArray[np.int64],
    corrections: Words,
    totals: Words,
    sums: Words,
) -> None:
    """Add every node's value to `totals` (parents, offsets) and to `sums` (keys,)."""
    for j in range(len(offsets)):
        offset = offsets[j]
        for i in range(inputs.shape[1]):
            total = _ZERO
            for k in range(inputs.shape[2]):
                here = inputs[j, i, k, 0]
                mask = _ZERO - ((here ^ inputs[j, i, k, 1]) & _ONE)
                value = (blocks[j, i, k, 0] ^ here) + (mask & corrections[k])
                sums[k] += value
                total += value
            totals[i, offset] += total


@njit(nogil=True, cache=True)
def add_proofs(
    inputs: Words, blocks: Words, offsets: NDArray[np.int64], corrections: Words, proofs: Words
) -> None:
    """Add (exclusive or) the proofs of nodes of each offset, over all their parents.

    Proofs have the shape (offsets, kinds, keys, 2), corrections (kinds, keys, 2).
    """
    kinds, keys = corrections.shape[:2]
    odd = np.empty((keys, 2), np.uint64)
    for j in range(len(offsets)):
        offset = offsets[j]
        odd[:] = _ZERO
        for i in range(inputs.shape[1]):
            for k in range(keys):
                odd[k, 0] ^= inputs[j, i, k, 0]
                odd[k, 1] ^= inputs[j, i, k, 1]
        for kind in range(kinds):
            for i in range(inputs.shape[1]):
                for k in range(keys):
                    proofs[offset, kind, k, 0] ^= blocks[kind, j, i, k, 0]
                    proofs[offset, kind, k, 1] ^= blocks[kind, j, i, k, 1]
            for k in range(keys):
                # The control bits' sum decides whether the correction is added once more.
                mask = _ZERO - ((odd[k, 0] ^ odd[k, 1]) & _ONE)
                for word in range(2):
                    here = odd[k, word] ^ (mask & corrections[kind, k, word])
                    proofs[offset, kind, k, word] ^= here
