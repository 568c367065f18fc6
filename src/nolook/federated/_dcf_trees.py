"""The trees of a distributed comparison function, one level of a block of keys at a time.

A worker keeps its arrays from one block to the next. `dcf.md` has the construction; the steps
between two encryptions are in `kernels/comparison_trees.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nolook.federated._dcf_keys import SEED_MASK, Shape
from nolook.federated._prg import KINDS, FixedKeys, as_bytes, block_words
from nolook.kernels.comparison_trees import (
    add_leaves,
    correct_leaves,
    correct_level,
    descend,
    grow,
    leaf_inputs,
    take_leaves,
)

__all__ = ["Dealer", "Grower", "Walker"]

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


def _words(part: Words) -> Words:
    """Copy numbers of keys, which need not be aligned, nor of this machine's byte order."""
    return np.array(part, np.uint64, order="C")


def _cipher_inputs(seeds: Words) -> Words:
    """Return sigma of seeds without their control bits; see `_prg`."""
    inputs = np.empty_like(seeds)
    inputs[..., 0] = seeds[..., 1]
    inputs[..., 1] = (seeds[..., 0] & SEED_MASK) ^ seeds[..., 1]
    return inputs


class Dealer:
    """Makes pairs of keys, `count` at a time."""

    def __init__(self, shape: Shape, count: int) -> None:
        self._shape, self._count = shape, count
        self._ciphers = FixedKeys()
        self._inputs = np.empty((2, count, 2), np.uint64)
        self._room = block_words(6 * count)
        self._padded = np.empty((2, count, shape.leaves), np.uint64)
        self._leaf_room = block_words(count * shape.leaves)
        self._running = np.empty((count, 2), np.uint64)
        self._corrections = np.empty((count, shape.depth, 3), np.uint64)
        self._bits = np.empty((count, shape.bit_bytes), np.uint8)
        self._leaves = np.empty((count, shape.leaves), np.uint64)

    def deal(self, secrets: Words, words: Words, keys: Bytes) -> None:
        """Write the keys (2, count, key_bytes) of secrets (count, 2), which are alpha and beta.

        The random words (count, 2, 2) are the root's seeds of party 0 and 1.
        """
        shape, count, inputs = self._shape, self._count, self._inputs
        seeds = words.transpose(1, 0, 2).copy()
        seeds[..., 0] &= SEED_MASK
        inputs[...] = _cipher_inputs(seeds)
        self._running[...] = (0, 1)
        self._bits[...] = 0
        blocks = self._room[:-2].reshape(3, 2, count, 2)
        plain, room = as_bytes(inputs), as_bytes(self._room)
        for level in range(shape.depth):
            for i, kind in enumerate(KINDS[:3]):
                self._ciphers.encrypt(kind, plain, room[i * len(plain) :])
            bit = shape.levels - 1 - level
            correct_level(
                level, bit, secrets, inputs, blocks, self._running, self._corrections, self._bits
            )
        leaf_inputs(inputs.reshape(-1, 2), self._padded.reshape(-1, shape.leaves))
        self._ciphers.encrypt("leaf", as_bytes(self._padded), as_bytes(self._leaf_room))
        blocks = self._leaf_room[:-2].reshape(self._padded.shape)
        correct_leaves(secrets, self._padded, blocks, self._running, self._leaves)
        parts = shape.parts(keys)
        parts["seed"], parts["corrections"] = seeds, self._corrections
        parts["bits"], parts["leaves"] = self._bits, self._leaves


class Walker:
    """Evaluates `count` keys of one party at points that all of them share."""

    def __init__(self, shape: Shape, role: int, count: int) -> None:
        self._shape, self._role, self._count = shape, role, count
        self._ciphers = FixedKeys()
        # All levels keep their states: the path to the next point may share many of them.
        self._inputs = np.empty((shape.depth + 1, count, 2), np.uint64)
        self._running = np.empty((shape.depth + 1, count, 2), np.uint64)
        self._room = block_words(2 * count)
        self._padded = np.empty((count, 2), np.uint64)

    def shares(self, keys: Bytes, points: Sequence[int]) -> Iterator[Words]:
        """Yield the shares of all keys, up to their sign, at each of some ascending points.

        Ascending, so that the path to a point repeats as much as possible of the one before.
        """
        shape = self._shape
        parts = shape.parts(np.ascontiguousarray(keys))
        corrections, bits = _words(parts["corrections"]), parts["bits"].copy()
        self._inputs[0] = _cipher_inputs(_words(parts["seed"]))
        self._running[0] = (0, self._role)
        known, last = 0, 0
        for point in points:
            path = point >> shape.leaf_levels
            same = shape.depth - (path ^ last).bit_length()
            self._descend(min(known, same), path, corrections, bits)
            known, last = shape.depth, path
            yield self._leaf(point & (shape.leaves - 1), parts["leaves"])

    def _descend(self, known: int, path: int, corrections: Words, bits: Bytes) -> None:
        """Step down a path whose states are known up to a level."""
        depth, size = self._shape.depth, 16 * self._count
        blocks = self._room[:-2].reshape(2, self._count, 2)
        states, room = as_bytes(self._inputs), as_bytes(self._room)
        for level in range(known, depth):
            turn = path >> (depth - 1 - level) & 1
            step = slice(level, level + 2)
            plain = states[level * size : (level + 1) * size]
            self._ciphers.encrypt(KINDS[turn], plain, room)
            self._ciphers.encrypt("value", plain, room[size:])
            descend(level, turn, self._inputs[step], self._running[step], blocks, corrections, bits)

    def _leaf(self, leaf: int, leaves: Words) -> Words:
        """Return the shares at one leaf of the node reached."""
        self._padded[...] = self._inputs[-1]
        self._padded[:, 1] ^= np.uint64(leaf >> 1)
        self._ciphers.encrypt("leaf", as_bytes(self._padded), as_bytes(self._room))
        blocks = self._room[: 2 * self._count].reshape(self._padded.shape)
        corrections = _words(leaves[:, leaf])
        return take_leaves(leaf & 1, self._padded, blocks, self._running[-1], corrections)


class Grower:
    """Evaluates all keys of one party at all points and sums over keys.

    A block has at most `count` keys, and `count` at most `width`. At most `width` nodes, a power
    of two, are grown at once, and the leaves of `leaf_nodes` encrypted.
    """

    def __init__(self, shape: Shape, role: int, count: int, width: int, leaf_nodes: int) -> None:
        self._shape, self._role, self._width = shape, role, width
        self._ciphers = FixedKeys()
        sizes = [min(count << level, width) for level in range(shape.depth + 1)]
        self._states = [(np.empty(2 * n, np.uint64), np.empty(n, np.uint64)) for n in sizes]
        self._room = block_words(3 * sizes[-1])
        self._padded = np.empty((min(leaf_nodes, sizes[-1]), shape.leaves), np.uint64)
        self._leaf_room = block_words(self._padded.size // 2)
        # The values of each level's nodes, and of the leaves, without those on the paths to them.
        self._sums = [np.zeros((1 << level, 2), np.uint64) for level in range(shape.depth)]
        self._leaf_sums = np.zeros((1 << shape.depth, shape.leaves), np.uint64)

    def add(self, keys: Bytes) -> None:
        """Add the shares of a block of keys, shape (at most count, key_bytes)."""
        parts = self._shape.parts(np.ascontiguousarray(keys))
        corrections, bits = _words(parts["corrections"]), parts["bits"].copy()
        inputs, controls = self._room_of(0, len(keys), 1)
        inputs[:, 0] = _cipher_inputs(_words(parts["seed"]))
        controls[...] = self._role
        self._grow(0, 0, (inputs, controls), (corrections, bits, _words(parts["leaves"])))

    def total(self) -> Words:
        """Return the sums so far, up to their sign, shape (2**levels,); the worker is used up."""
        path = np.zeros(1, np.uint64)
        for values in self._sums:
            path = (path[:, None] + values).reshape(-1)
        self._leaf_sums += path[:, None]
        return self._leaf_sums.reshape(-1)

    def _room_of(self, level: int, keys: int, nodes: int) -> tuple[Words, Words]:
        """Return the arrays for the cipher inputs and control bits of some nodes of a level."""
        inputs, controls = self._states[level]
        count = keys * nodes
        return inputs[: 2 * count].reshape(keys, nodes, 2), controls[:count].reshape(keys, nodes)

    def _grow(
        self, level: int, first: int, nodes: tuple[Words, Words], key: tuple[Words, Bytes, Words]
    ) -> None:
        """Add all values below neighbouring nodes of some keys; `first` is a node's number."""
        inputs, controls = nodes
        keys, count = controls.shape
        sums = slice(first, first + count)
        if level == self._shape.depth:
            self._add_leaves(inputs, controls, key[2], self._leaf_sums[sums])
        elif 2 * keys * count > self._width and keys > 1:
            for part in (slice(keys // 2), slice(keys // 2, keys)):
                some = (key[0][part], key[1][part], key[2][part])
                self._grow(level, first, (inputs[part], controls[part]), some)
        elif 2 * count > self._width:
            for start in (0, count // 2):
                part = slice(start, start + count // 2)
                self._grow(level, first + start, (inputs[:, part], controls[:, part]), key)
        else:
            plain, room = as_bytes(inputs), as_bytes(self._room)
            for i, kind in enumerate(KINDS[:3]):
                self._ciphers.encrypt(kind, plain, room[i * len(plain) :])
            blocks = self._room[: 3 * inputs.size].reshape(3, keys, count, 2)
            children = self._room_of(level + 1, keys, 2 * count)
            grow(level, nodes, blocks, key[0], key[1], children, self._sums[level][sums])
            self._grow(level + 1, 2 * first, children, key)

    def _add_leaves(self, inputs: Words, controls: Words, corrections: Words, sums: Words) -> None:
        """Add the values of all leaves of some nodes."""
        inputs, controls = inputs.reshape(-1, 2), controls.reshape(-1)
        room = as_bytes(self._leaf_room)
        for start in range(0, len(inputs), len(self._padded)):
            some = slice(start, min(start + len(self._padded), len(inputs)))
            padded = self._padded[: some.stop - start]
            leaf_inputs(inputs[some], padded)
            self._ciphers.encrypt("leaf", as_bytes(padded), room)
            blocks = self._leaf_room[: padded.size].reshape(padded.shape)
            add_leaves(start, padded, blocks, controls[some], corrections, sums)
