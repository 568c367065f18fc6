"""The bytes of the keys of a distributed comparison function.

With D = levels - leaf levels, a key is, all numbers little-endian:

| bytes | what |
|---|---|
| 16 | the root's seed, its lowest bit 0 |
| 24 D | for each level, the corrections of the seed (16, lowest bit 0) and of the value (8) |
| ceil(D / 4) | two bits a level, the lowest first: those of the left and the right control bit |
| 8 * 2**(leaf levels) | the corrections of the leaves |

Only the root's seed differs between the two keys of a pair. Bits that must be 0 are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAF_LEVELS", "SEED_MASK", "Shape", "read_words", "split_keys", "write_keys"]

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

#: The last levels of the tree, which one block of leaves replaces.
LEAF_LEVELS = 5
#: The first word of a seed without the control bit.
SEED_MASK = np.uint64(2**64 - 2)

_SEED_BYTES, _LEVEL_BYTES = 16, 24


@dataclass(frozen=True)
class Shape:
    """How the keys of a domain of ``2**levels`` points are laid out."""

    levels: int

    @property
    def leaf_levels(self) -> int:
        """Levels that a block of leaves replaces."""
        return min(LEAF_LEVELS, self.levels)

    @property
    def leaves(self) -> int:
        """Leaves of a block."""
        return 1 << self.leaf_levels

    @property
    def depth(self) -> int:
        """Levels that are left, each with corrections of its own."""
        return self.levels - self.leaf_levels

    @property
    def bit_bytes(self) -> int:
        """Bytes of the control bits' corrections."""
        return -(-self.depth // 4)

    @property
    def parts(self) -> list[slice]:
        """Where the seed, the corrections, the bits and the leaves are."""
        sizes = (_SEED_BYTES, _LEVEL_BYTES * self.depth, self.bit_bytes, 8 * self.leaves)
        ends = [sum(sizes[: i + 1]) for i in range(4)]
        return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @property
    def key_bytes(self) -> int:
        """Bytes of a key."""
        return int(self.parts[-1].stop)


def split_keys(keys: Bytes, shape: Shape) -> tuple[Words, Words, Bytes, Bytes]:
    """Return the parts of keys.

    Parameters
    ----------
    keys : ndarray of uint8, shape (n, key_bytes)
        Keys.
    shape : Shape
        Theirs.

    Returns
    -------
    seeds : ndarray of uint64, shape (n, 2)
    corrections : ndarray of uint64, shape (n, depth, 3)
    bits : ndarray of uint8, shape (n, bit_bytes)
    leaves : ndarray of uint8, shape (n, 8 leaves)
        A view of the keys, of which `read_words` makes numbers; the others are copies.
    """
    seeds, corrections, bits, leaves = (keys[:, part] for part in shape.parts)
    words = read_words(corrections).reshape(len(keys), shape.depth, 3)
    return read_words(seeds), words, bits.copy(), leaves


def read_words(data: Bytes) -> Words:
    """Return the numbers in rows of bytes, as a copy."""
    return np.array(data, order="C").view("<u8").astype(np.uint64, copy=False)


def write_keys(keys: Bytes, shape: Shape, seeds: Words, shared: tuple[Words, Bytes, Words]) -> None:
    """Write both parties' keys.

    Parameters
    ----------
    keys : ndarray of uint8, shape (2, n, key_bytes)
        Set.
    shape : Shape
        Theirs.
    seeds : ndarray of uint64, shape (2, n, 2)
        The root's seeds.
    shared : tuple of ndarray
        Corrections, bits and corrections of the leaves, as in `split_keys` (all numbers).
    """
    corrections, bits, leaves = shared
    seed_part, level_part, bit_part, leaf_part = shape.parts
    keys[:, :, seed_part] = _bytes(seeds)
    keys[:, :, level_part] = _bytes(corrections.reshape(len(bits), 3 * shape.depth))
    keys[:, :, bit_part] = bits
    keys[:, :, leaf_part] = _bytes(leaves)


def _bytes(words: Words) -> Bytes:
    return words.astype("<u8", copy=False).view(np.uint8)
