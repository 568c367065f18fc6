"""The bytes of the keys of a distributed comparison function, as `dcf.md` lays them out.

Only the root's seed differs between the two keys of a pair. Bits that must be 0 are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAF_LEVELS", "SEED_MASK", "Shape"]

#: The last levels of the tree, which one block of leaves replaces.
LEAF_LEVELS = 5
#: The first word of a seed without the control bit.
SEED_MASK = np.uint64(2**64 - 2)


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
    def layout(self) -> np.dtype[np.void]:
        """The parts of a key."""
        return np.dtype(
            [
                ("seed", "<u8", (2,)),
                ("corrections", "<u8", (self.depth, 3)),
                ("bits", np.uint8, (self.bit_bytes,)),
                ("leaves", "<u8", (self.leaves,)),
            ]
        )

    @property
    def key_bytes(self) -> int:
        """Bytes of a key."""
        return self.layout.itemsize

    def parts(self, keys: NDArray[np.uint8]) -> NDArray[np.void]:
        """Return a view of keys, contiguous in the last axis, that has their parts by name."""
        view: NDArray[np.void] = keys.view(self.layout)[..., 0]
        return view
