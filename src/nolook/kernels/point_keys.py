"""The steps between two encryptions when pairs of keys of a point function are made.

As `point_trees.py`, which has the words, but in NumPy only: an owner makes few keys, and compiling
or loading compiled code would take longer. Secrets choose by masks, not by branches or indices.

===============  =================================================================================
``cells``        (keys,): the secrets
``inputs``       (2 parties, keys, 2)
``blocks``       (kinds, 2 parties, keys, 2): encrypted inputs
``corrections``  (keys, levels, 2): of a level's children; the lowest bit is that of the left one
``bits``         (keys, bytes): the right children's, a bit a level, the lowest first
===============  =================================================================================
"""

from __future__ import annotations

import numpy as np

from nolook._arrays import Bytes, Words

__all__ = ["correct_proofs", "correct_turn", "correct_values"]


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


def _choose(mask: Words, ones: Words, zeros: Words) -> Words:
    """Return `ones` where the mask has ones and `zeros` elsewhere."""
    return zeros ^ (mask & (ones ^ zeros))


def _controls(inputs: Words) -> Words:
    """Return all ones where a node's control bit is 1, else 0."""
    return -((inputs[..., 0] ^ inputs[..., 1]) & _ONE)
