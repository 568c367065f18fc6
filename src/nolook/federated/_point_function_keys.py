"""The bytes of the keys of a verifiable point function, and its one-way functions.

`point_functions.md` lays both out. Only the root's seed differs between the two keys of a pair;
what follows it is public between the two servers.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from attrs import frozen
from cryptography.hazmat.primitives.ciphers import CipherContext
from numpy.typing import NDArray

from nolook._arrays import Words
from nolook.federated._prg import as_bytes, block_words, encrypt, permutation

#: What a node's block becomes: its children.
SIDES = ("left", "right")
#: Blocks of a proof: 384 bits, so that four of them never add up to 0 (`point_functions.md`).
PROOF_KINDS = 3
SEED_BYTES = 16

_LABEL = "nolook verifiable point function 2: "


@frozen
class Shape:
    """Layout of the keys of a domain of ``2**levels`` cells.

    Stops are the levels whose nodes have a value and a proof; the last one is that of the cells.
    """

    levels: int
    stops: tuple[int, ...]

    @property
    def gaps(self) -> tuple[int, ...]:
        """Number of levels between two stops."""
        return tuple(b - a for a, b in pairwise((0, *self.stops)))

    @property
    def layout(self) -> np.dtype[np.void]:
        """The parts of a key."""
        stop = np.dtype([("value", "<u8"), ("proof", "<u8", (PROOF_KINDS, 2))])
        return np.dtype(
            [
                ("seed", "<u8", (2,)),
                ("corrections", "<u8", (self.levels, 2)),
                ("bits", np.uint8, (-(-self.levels // 8),)),
                ("stops", stop, (len(self.stops),)),
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


class Ciphers:
    """The permutations of one context, made when first used; one object for each thread."""

    _kept = threading.local()

    @classmethod
    def of(cls, context: bytes) -> Ciphers:
        """Return this thread's; the last ones are kept, since making all of them takes a while."""
        found: Ciphers | None = getattr(cls._kept, "last", None)
        if found is None or found.context != context:
            found = cls._kept.last = cls(context)
        return found

    def __init__(self, context: bytes) -> None:
        self.context = context
        self._end = ": " + context.hex()
        self._made: dict[str, CipherContext] = {}

    def encrypted(self, names: Sequence[str], inputs: Words) -> Words:
        """Return inputs under each of some permutations: left, right, value, proof KIND OFFSET."""
        plain = np.ascontiguousarray(inputs)
        room = block_words(len(names) * plain.size // 2)
        for i, name in enumerate(names):
            if name not in self._made:
                self._made[name] = permutation(_LABEL + name + self._end)
            encrypt(self._made[name], as_bytes(plain), as_bytes(room)[i * plain.nbytes :])
        return room[:-2].reshape(len(names), *plain.shape)

    def proofs(self, offset: int, inputs: Words) -> Words:
        """Return the blocks of the proofs of nodes of one offset, by kind."""
        return self.encrypted([f"proof {kind} {offset}" for kind in range(PROOF_KINDS)], inputs)


def root_inputs(seeds: NDArray[np.uint64], role: int) -> NDArray[np.uint64]:
    """Return the cipher's inputs of the roots: their lowest bit is the role."""
    low = seeds[..., 0] & ~np.uint64(1) | np.uint64(role)
    return np.stack([seeds[..., 1], low ^ seeds[..., 1]], axis=-1)
