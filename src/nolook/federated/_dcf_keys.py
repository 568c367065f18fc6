"""The bytes of the keys of a distributed comparison function, as `dcf.md` lays them out.

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
        """Levels that are left, each with its own corrections."""
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
    """Return seeds (n, 2), corrections (n, depth, 3), bits (n, bit_bytes) and leaves (n, 8 leaves).

    The leaves are a view of the keys, whose numbers `read_words` reads; the others are copies.
    """
    seeds, corrections, bits, leaves = (keys[:, part] for part in shape.parts)
    words = read_words(corrections).reshape(len(keys), shape.depth, 3)
    return read_words(seeds), words, bits.copy(), leaves


def read_words(data: Bytes) -> Words:
    """Return the numbers in rows of bytes, as a copy."""
    return np.array(data, order="C").view("<u8").astype(np.uint64, copy=False)


def write_keys(keys: Bytes, shape: Shape, seeds: Words, shared: tuple[Words, Bytes, Words]) -> None:
    """Write both parties' keys (2, n, key_bytes): their seeds (2, n, 2) and what they share.

    The shared parts are corrections, bits and the leaves' corrections, as from `split_keys` but
    with the leaves as numbers.
    """
    corrections, bits, leaves = shared
    seed_part, level_part, bit_part, leaf_part = shape.parts
    keys[:, :, seed_part] = _bytes(seeds)
    keys[:, :, level_part] = _bytes(corrections.reshape(len(bits), 3 * shape.depth))
    keys[:, :, bit_part] = bits
    keys[:, :, leaf_part] = _bytes(leaves)


def _bytes(words: Words) -> Bytes:
    return words.astype("<u8", copy=False).view(np.uint8)
