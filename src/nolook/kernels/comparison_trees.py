"""The steps between two encryptions in the trees of a distributed comparison function.

A block is two 64-bit words. A node's state is its cipher input, which the linear map of
`federated/_prg.py` makes of its seed, and its control bit. Encrypted blocks come as the cipher
wrote them: these kernels add the input (exclusive or) that makes the cipher one-way, correct the
result where the control bit is set, and take the next input. Secrets choose by masks, not by
branches. `federated/dcf.md` has the construction.

Arrays of corrections have shape (keys, depth, 3): the two words of the seed's correction and that
of the value. Arrays of bits hold two bits a level, the lowest first: whether the control bit
of the left and of the right child is corrected.
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
    bits: NDArray[np.uint8],
) -> None:
    """Write one level of every key, and step both parties' states down the secret path.

    Parameters
    ----------
    level, bit : int
        The level, and the bit of alpha that it decides.
    secrets : ndarray of uint64, shape (keys, 2)
        alpha and beta.
    inputs : ndarray of uint64, shape (2, keys, 2)
        Each party's cipher inputs; set to the next level's.
    blocks : ndarray of uint64, shape (3, 2, keys, 2)
        The encrypted inputs of each party for the left seed, the right seed and the values.
    running : ndarray of uint64, shape (keys, 2)
        What the shares sum to on the path so far, and party 1's control bit (party 0's is the
        other one); set to the next level's.
    corrections : ndarray of uint64, shape (keys, depth, 3)
        One level is set.
    bits : ndarray of uint8, shape (keys, bytes)
        Two bits are set, which must be 0 before.
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
    """Write the inputs of all blocks of leaves: a block's number is added to the second word.

    Parameters
    ----------
    inputs : ndarray of uint64, shape (nodes, 2)
        Cipher inputs of the deepest nodes.
    padded : ndarray of uint64, shape (nodes, leaves)
        Set; a block is two leaves.
    """
    for k in range(len(inputs)):
        for j in range(padded.shape[1] >> 1):
            padded[k, 2 * j] = inputs[k, 0]
            padded[k, 2 * j + 1] = inputs[k, 1] ^ np.uint64(j)


@njit(nogil=True, cache=True)
def correct_leaves(
    secrets: Words, padded: Words, blocks: Words, running: Words, corrections: Words
) -> None:
    """Write the corrections of every key's leaves.

    Parameters
    ----------
    secrets, running
        As in `correct_level`.
    padded, blocks : ndarray of uint64, shape (2, keys, leaves)
        Each party's inputs, and these encrypted.
    corrections : ndarray of uint64, shape (keys, leaves)
        Set.
    """
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
    bits: NDArray[np.uint8],
) -> None:
    """Step one party's states of all keys down to the same child.

    Parameters
    ----------
    level, turn : int
        The level, and 0 for the left child or 1 for the right one.
    inputs : ndarray of uint64, shape (2, keys, 2)
        The first row holds the cipher inputs of this level; the second is set to the next one's.
    running : ndarray of uint64, shape (2, keys, 2)
        The sum so far and the control bit, likewise.
    blocks : ndarray of uint64, shape (2, keys, 2)
        The encrypted inputs for the seed of that child and for the values.
    corrections, bits
        The keys.
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
    """Return every key's share at one leaf, up to its sign, shape (keys,).

    Parameters
    ----------
    word : int
        Which word of its block the leaf is.
    padded, blocks : ndarray of uint64, shape (keys, 2)
        The inputs of the leaf's block, and these encrypted.
    running : ndarray of uint64, shape (keys, 2)
        The sum on the path and the control bit.
    leaf : ndarray of uint64, shape (keys,)
        The leaf's corrections.
    """
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
    bits: NDArray[np.uint8],
    children: tuple[Words, Words],
    sums: Words,
) -> None:
    """Step one party's states of all nodes down to both children.

    Parameters
    ----------
    level : int
        The level.
    nodes : tuple of ndarray of uint64, shapes (keys, nodes, 2) and (keys, nodes)
        Cipher inputs and control bits.
    blocks : ndarray of uint64, shape (3, keys, nodes, 2)
        The encrypted inputs for the left seed, the right seed and the values.
    corrections, bits
        The keys.
    children : tuple of ndarray of uint64, shapes (keys, 2 nodes, 2) and (keys, 2 nodes)
        Set to the cipher inputs and control bits of the children.
    sums : ndarray of uint64, shape (nodes, 2)
        The values of the children, summed over keys, are added.
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

    Parameters
    ----------
    first : int
        The number of the first of the nodes; all nodes of key 0 come before those of key 1.
    padded, blocks : ndarray of uint64, shape (some nodes, leaves)
        Inputs, and these encrypted.
    controls : ndarray of uint64, shape (some nodes,)
        Control bits.
    corrections : ndarray of uint64, shape (keys, leaves)
        The corrections of the leaves.
    sums : ndarray of uint64, shape (nodes, leaves)
        Changed.
    """
    nodes, leaves = sums.shape
    for i in range(len(padded)):
        k, node = (first + i) // nodes, (first + i) % nodes
        mask = _ZERO - controls[i]
        for j in range(leaves):
            sums[node, j] += (blocks[i, j] ^ padded[i, j]) + (mask & corrections[k, j])
