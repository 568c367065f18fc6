"""What happens between two encryptions in the trees of a distributed comparison function.

A block is two 64-bit words. A node's state is its cipher input, which a public linear map makes of
its seed, and its control bit. Blocks come as the cipher wrote them: these kernels add the input
(exclusive or) that makes the cipher one-way, correct the result where the control bit is set, and
take the next input. Secrets choose by masks, not by branches.

All arrays are of uint64 but `bits`, which is of uint8:

===============  =================================================================================
``secrets``      (keys, 2): alpha and beta
``inputs``       (parties, keys, 2): cipher inputs of this level, set to those of the next one
``blocks``       (3, parties, keys, 2): inputs, encrypted for the left seed, the right seed and
                 the values
``running``      (keys, 2): the sum of the shares on the path so far, and the control bit
``corrections``  (keys, depth, 3): two words of the seed's correction, and the value's; for leaves
                 (keys, leaves)
``bits``         (keys, bytes): two bits a level, the lowest first: whether the control bit of the
                 left and of the right child is corrected
``padded``       (..., leaves): inputs of blocks of leaves, two leaves a block
===============  =================================================================================
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "add_leaves",
    "correct_leaves",
    "correct_level",
    "descend",
    "grow",
    "leaf_inputs",
    "take_leaves",
]

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SEED = ~np.uint64(1)  # of a seed's first word, all but the control bit
_LEFT, _RIGHT, _VALUE = 0, 1, 2


@njit(nogil=True, cache=True)
def _choose(mask: np.uint64, ones: np.uint64, zeros: np.uint64) -> np.uint64:
    """Return `ones` where the mask has ones and `zeros` elsewhere."""
    return zeros ^ (mask & (ones ^ zeros))


@njit(nogil=True, cache=True)
def correct_level(
    level: int,
    bit: int,
    secrets: Words,
    inputs: Words,
    blocks: Words,
    running: Words,
    corrections: Words,
    bits: Bits,
) -> None:
    """Write one level of every key, and move both parties' states down the secret path.

    The level is that of `bit` of alpha; its two bits in `bits` must be 0 before. The control bit in
    `running` is party 1's; party 0's is the other one.
    """
    seeds = np.empty((2, 2, 2), np.uint64)  # kept or lost, party, word
    for k in range(len(secrets)):
        turn = (secrets[k, 0] >> np.uint64(bit)) & _ONE
        right = _ZERO - turn
        for party in range(2):
            for word in range(2):
                left_word = blocks[_LEFT, party, k, word] ^ inputs[party, k, word]
                right_word = blocks[_RIGHT, party, k, word] ^ inputs[party, k, word]
                seeds[0, party, word] = _choose(right, right_word, left_word)
                seeds[1, party, word] = _choose(right, left_word, right_word)
        # The two control bits must differ on the path and agree beside it.
        keep_bit = (seeds[0, 0, 0] ^ seeds[0, 1, 0] ^ _ONE) & _ONE
        lose_bit = (seeds[1, 0, 0] ^ seeds[1, 1, 0]) & _ONE
        both = _choose(right, lose_bit | keep_bit << _ONE, keep_bit | lose_bit << _ONE)
        bits[k, level >> 2] |= np.uint8(both << np.uint64(2 * (level & 3)))
        first = (seeds[1, 0, 0] ^ seeds[1, 1, 0]) & _SEED
        second = seeds[1, 0, 1] ^ seeds[1, 1, 1]
        corrections[k, level, 0], corrections[k, level, 1] = first, second
        left = _difference(blocks, inputs, k, 0)
        other = _difference(blocks, inputs, k, 1)
        control = running[k, 1]
        gap = (right & secrets[k, 1]) - _choose(right, left, other) - running[k, 0]
        corrections[k, level, 2] = (gap ^ (_ZERO - control)) + control
        running[k, 0] += _choose(right, other, left) + gap
        for party in range(2):
            mine = control ^ _ONE if party == 0 else control
            mask = _ZERO - mine
            low = seeds[0, party, 0] ^ (mask & first)
            high = seeds[0, party, 1] ^ (mask & second)
            inputs[party, k, 0] = high
            inputs[party, k, 1] = (low & _SEED) ^ high
            if party == 1:
                running[k, 1] = (low & _ONE) ^ (mine & keep_bit)


@njit(nogil=True, cache=True)
def _difference(blocks: Words, inputs: Words, k: int, side: int) -> np.uint64:
    """Return party 0's value less party 1's, for the left (0) or the right child (1)."""
    mine = blocks[_VALUE, 0, k, side] ^ inputs[0, k, side]
    return np.uint64(mine - (blocks[_VALUE, 1, k, side] ^ inputs[1, k, side]))


@njit(nogil=True, cache=True)
def leaf_inputs(inputs: Words, padded: Words) -> None:
    """Write the inputs of all blocks of leaves: a block's number is added to the second word."""
    for k in range(len(inputs)):
        for j in range(padded.shape[1] >> 1):
            padded[k, 2 * j] = inputs[k, 0]
            padded[k, 2 * j + 1] = inputs[k, 1] ^ np.uint64(j)


@njit(nogil=True, cache=True)
def correct_leaves(
    secrets: Words, padded: Words, blocks: Words, running: Words, corrections: Words
) -> None:
    """Write the corrections of every key's leaves."""
    leaves = corrections.shape[1]
    for k in range(len(secrets)):
        below = secrets[k, 0] & np.uint64(leaves - 1)
        beta, offset, control = secrets[k, 1], running[k, 0], running[k, 1]
        sign = _ZERO - control
        for j in range(leaves):
            wanted = beta * np.uint64(np.uint64(j) < below)
            mine = blocks[0, k, j] ^ padded[0, k, j]
            gap = wanted - offset - mine + (blocks[1, k, j] ^ padded[1, k, j])
            corrections[k, j] = (gap ^ sign) + control


@njit(nogil=True, cache=True)
def descend(
    level: int,
    turn: int,
    inputs: Words,
    running: Words,
    blocks: Words,
    corrections: Words,
    bits: Bits,
) -> None:
    """Move one party's states of all keys down to the same child, the left (0) or the right (1).

    The first rows of `inputs` and `running` hold this level's, the second are set to the next
    one's. `blocks` has the encrypted inputs for the seed of that child and for the values.
    """
    for k in range(inputs.shape[1]):
        control = running[0, k, 1]
        mask = _ZERO - control
        both = np.uint64(bits[k, level >> 2]) >> np.uint64(2 * (level & 3) + turn)
        low = blocks[0, k, 0] ^ inputs[0, k, 0] ^ (mask & corrections[k, level, 0] & _SEED)
        high = blocks[0, k, 1] ^ inputs[0, k, 1] ^ (mask & corrections[k, level, 1])
        value = blocks[1, k, turn] ^ inputs[0, k, turn]
        inputs[1, k, 0] = high
        inputs[1, k, 1] = (low & _SEED) ^ high
        running[1, k, 0] = running[0, k, 0] + value + (mask & corrections[k, level, 2])
        running[1, k, 1] = (low ^ (both & control)) & _ONE


@njit(nogil=True, cache=True)
def take_leaves(word: int, padded: Words, blocks: Words, running: Words, leaf: Words) -> Words:
    """Return every key's share, up to its sign, at one leaf: the given word of its block."""
    shares = np.empty(len(padded), np.uint64)
    for k in range(len(padded)):
        mask = _ZERO - running[k, 1]
        shares[k] = running[k, 0] + (blocks[k, word] ^ padded[k, word]) + (mask & leaf[k])
    return shares


@njit(nogil=True, cache=True)
def grow(
    level: int,
    nodes: tuple[Words, Words],
    blocks: Words,
    corrections: Words,
    bits: Bits,
    children: tuple[Words, Words],
    sums: Words,
) -> None:
    """Move one party's states of all nodes down to both children.

    Nodes and children are cipher inputs, shape (keys, nodes, 2), and control bits; the children's
    values, summed over keys, are added to `sums`, shape (nodes, 2).
    """
    inputs, controls = nodes
    next_inputs, next_controls = children
    for k in range(len(inputs)):
        low = corrections[k, level, 0] & _SEED
        high, value = corrections[k, level, 1], corrections[k, level, 2]
        both = np.uint64(bits[k, level >> 2]) >> np.uint64(2 * (level & 3))
        for i in range(inputs.shape[1]):
            control = controls[k, i]
            mask = _ZERO - control
            for side in range(2):
                first = blocks[side, k, i, 0] ^ inputs[k, i, 0] ^ (mask & low)
                second = blocks[side, k, i, 1] ^ inputs[k, i, 1] ^ (mask & high)
                next_inputs[k, 2 * i + side, 0] = second
                next_inputs[k, 2 * i + side, 1] = (first & _SEED) ^ second
                flip = both >> np.uint64(side) & control
                next_controls[k, 2 * i + side] = (first ^ flip) & _ONE
                plain = blocks[_VALUE, k, i, side] ^ inputs[k, i, side]
                sums[i, side] += plain + (mask & value)


@njit(nogil=True, cache=True)
def add_leaves(
    first: int, padded: Words, blocks: Words, controls: Words, corrections: Words, sums: Words
) -> None:
    """Add the shares of some nodes' leaves to the sums over keys, without those of the path.

    `first` is the number of the first of the nodes; all nodes of key 0 come before those of key 1.
    """
    nodes, leaves = sums.shape
    for i in range(len(padded)):
        k, node = (first + i) // nodes, (first + i) % nodes
        mask = _ZERO - controls[i]
        for j in range(leaves):
            sums[node, j] += (blocks[i, j] ^ padded[i, j]) + (mask & corrections[k, j])
