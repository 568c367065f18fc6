"""The steps between two encryptions in the keys and trees of a verifiable point function.

A node's block is two 64-bit words, its lowest bit the control bit. Nodes are kept as the cipher's
input, which a public linear map makes of the block. Encrypted inputs come as the cipher wrote them:
these kernels add the input (exclusive or) that makes the cipher one-way, and correct the result
where the control bit is set. Secrets choose by masks, not by branches or indices.

All arrays are of uint64 but `bits` (uint8) and `offsets` (int64):

===============  =================================================================================
``cells``        (keys,): the secrets
``inputs``       (nodes, keys, 2) or, at a stop, (offsets, parents, keys, 2); when keys are made,
                 (2 parties, keys, 2)
``blocks``       encrypted inputs; first the kind: left and right, or a stop's value and proofs
``corrections``  (keys, levels, 2): of a level's children; the lowest bit is that of the left one
``bits``         (keys, bytes): the right children's, a bit a level, the lowest first
===============  =================================================================================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nolook._arrays import Bytes, Words

__all__ = [
    "add_proofs",
    "add_values",
    "correct_proofs",
    "correct_turn",
    "correct_values",
    "grow_both",
    "level_steps",
]

_ONE = np.uint64(1)
_REST = ~np.uint64(1)  # of a block's first word, all but the control bit


def correct_turn(
    level: int,
    bit: int,
    cells: Words,
    inputs: Words,
    blocks: Words,
    corrections: Words,
    bits: Bytes,
) -> None:
    """Write one level of every key, and move both parties' nodes down the secret path.

    The level is that of `bit` of the cell; its bit in `bits` must be 0 before.
    """
    right = -(cells >> np.uint64(bit) & _ONE)  # all ones where the path turns right
    left_block, right_block = blocks ^ inputs
    kept = _choose(right[:, None], right_block, left_block)
    lost = left_block ^ right_block ^ kept
    # Beside the path the blocks become equal; on it the control bits differ.
    common = lost[0] ^ lost[1]
    keep_bit = (kept[0, :, 0] ^ kept[1, :, 0] ^ _ONE) & _ONE
    lose_bit = common[:, 0] & _ONE
    added = common.copy()
    added[:, 0] = common[:, 0] & _REST | keep_bit
    corrections[:, level] = common
    corrections[:, level, 0] = common[:, 0] & _REST | _choose(right, lose_bit, keep_bit)
    right_bit = _choose(right, keep_bit, lose_bit)
    bits[:, level >> 3] |= (right_bit << np.uint64(level & 7)).astype(np.uint8)
    low, high = np.moveaxis(kept ^ (_controls(inputs)[..., None] & added), -1, 0)
    inputs[..., 0], inputs[..., 1] = high, low ^ high


def correct_values(inputs: Words, blocks: Words, corrections: Words) -> None:
    """Write the corrections (keys,) that make the two parties' values of each node differ by 1."""
    mine, theirs = blocks[..., 0] ^ inputs[..., 0]
    sign = _controls(inputs[1])
    corrections[:] = (_ONE - mine + theirs ^ sign) - sign


def correct_proofs(inputs: Words, blocks: Words, corrections: Words) -> None:
    """Write the corrections (keys, kinds, 2) that make the two parties' proofs equal."""
    each = blocks ^ inputs
    corrections[:] = (each[:, 0] ^ each[:, 1]).transpose(1, 0, 2)


def level_steps(corrections: Words, bits: Bytes) -> Words:
    """Return the terms of corrections in the inputs of each level's children: (levels, 3, keys).

    First the lower words of both children, then the higher one of the left and of the right child.
    """
    first, second = np.moveaxis(corrections, -1, 0).swapaxes(1, 2)  # (levels, keys)
    right = np.unpackbits(bits, axis=1, count=len(first), bitorder="little").T
    steps: Words = np.stack([second, first ^ second, first & _REST ^ right ^ second], axis=1)
    return steps


def grow_both(inputs: Words, blocks: Words, steps: Words, children: Words) -> None:
    """Write the inputs of all left children, then those of all right ones: (2, nodes, keys, 2).

    `blocks` are overwritten.
    """
    blocks ^= inputs
    controls, room = _controls(inputs), np.empty(inputs.shape[:-1], np.uint64)
    np.bitwise_and(controls, steps[0], out=room)
    for block, child in zip(blocks, children, strict=True):
        np.bitwise_xor(block[..., 1], room, out=child[..., 0])
    for block, child, step in zip(blocks, children, steps[1:], strict=True):
        np.bitwise_and(controls, step, out=room)
        room ^= block[..., 0]
        np.bitwise_xor(block[..., 1], room, out=child[..., 1])


def add_values(
    inputs: Words,
    blocks: Words,
    offsets: NDArray[np.int64],
    corrections: Words,
    totals: Words,
    sums: Words,
) -> None:
    """Add every node's value to `totals` (parents, offsets) and to `sums` (keys,)."""
    values = _controls(inputs)
    values &= corrections
    values += blocks[..., 0] ^ inputs[..., 0]
    totals[:, offsets] += values.sum(axis=2, dtype=np.uint64).T
    sums += values.sum(axis=(0, 1), dtype=np.uint64)


def add_proofs(inputs: Words, blocks: Words, corrections: Words, proofs: Words) -> None:
    """Add (exclusive or) the proofs of the nodes of one offset, (parents, keys, 2).

    Proofs and corrections have the shape (kinds, keys, 2).
    """
    odd = np.bitwise_xor.reduce(inputs, axis=0)
    # The control bits' sum decides whether the correction is added once more.
    added = odd ^ (_controls(odd)[..., None] & corrections)
    proofs ^= np.bitwise_xor.reduce(blocks, axis=1) ^ added


def _choose(mask: Words, ones: Words, zeros: Words) -> Words:
    """Return `ones` where the mask has ones and `zeros` elsewhere."""
    return zeros ^ (mask & (ones ^ zeros))


def _controls(inputs: Words) -> Words:
    """Return all ones where a node's control bit is 1, else 0."""
    found: Words = inputs[..., 0] ^ inputs[..., 1]
    found &= _ONE
    return np.negative(found, out=found)
