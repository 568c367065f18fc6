"""Verifiable point functions: two keys for one secret cell, and a check of both.

The function of a pair is 1 at one cell of 0..2^levels - 1 and at the nodes above it, and 0 at all
others, with values in the integers modulo 2^64. Each key alone looks random; the two servers'
shares of any node add up to its value. Each server derives a message of 32 bytes from its key: if
the two are equal, the keys count exactly one cell, no matter who made them; those of honest keys
are always equal, and tell neither server anything. The idea is that of de Castro and
Polychroniadou, "Lightweight, maliciously secure verifiable function secret sharing" (EUROCRYPT
2022), and of the incremental functions of Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai (IEEE S&P
2021). `point_functions.md` has the construction, the layout of keys, the proof and the limits.

Keys are rows of uint8, shape (n, key_bytes); what a key holds raises nothing.
"""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
from attrs import frozen

from nolook._arrays import Bytes, Words
from nolook.federated._point_function_keys import SEED_BYTES, Ciphers, Shape
from nolook.federated._point_function_pairs import deal
from nolook.federated._point_function_trees import Grower
from nolook.privacy.noise import ByteSource

__all__ = ["LARGEST_GAP", "MESSAGE_BYTES", "Checked", "PointFunctions"]

#: Of levels between two stops: each offset below a stop has permutations of its own.
LARGEST_GAP = 8
MESSAGE_BYTES = 32

_MESSAGE_LABEL = b"nolook verifiable point function 2: message"

# How much a call encrypts: enough to outweigh the cost of the call, few enough that the arrays stay
# in the processor's cache. `benchmarks/point_functions.py` measures it.
_DEALT_KEYS = 1024
_GROWN_PARENTS = 16384
_GROWN_KEYS = 256
_GROWN_NODES = 16384


@frozen
class Checked:
    """Result of a server's check of its halves of some reports."""

    #: For the other server, shape (n, 32): a pair of keys is accepted if both messages are equal.
    messages: Bytes
    #: This server's shares of the cells, or classes and cells, of all n, accepted or not.
    counts: Words


@frozen
class PointFunctions:
    """All point functions over one domain, in one context.

    Parameters
    ----------
    levels : int
        L from 1 to 24: there are 2^L cells.
    context : bytes
        32 bytes that name what keys are for: a batch's digest. Keys of one context are worthless in
        another.
    """

    levels: int
    context: bytes

    @cached_property
    def stops(self) -> tuple[int, ...]:
        """The levels at which nodes have values: the middle and the end, or more.

        >>> PointFunctions(16, bytes(32)).stops
        (8, 16)
        """
        count = max(min(2, self.levels), -(-self.levels // LARGEST_GAP))
        return tuple(self.levels * i // count for i in range(1, count + 1))

    @cached_property
    def _shape(self) -> Shape:
        return Shape(self.levels, self.stops)

    @property
    def key_bytes(self) -> int:
        """Length of a key.

        >>> PointFunctions(16, bytes(32)).key_bytes
        386
        """
        return self._shape.key_bytes

    def generate(self, cells: Words, source: ByteSource) -> tuple[Bytes, Bytes]:
        """Make pairs of keys, one each for server 0 and server 1; four words of the source a pair.

        Cells are below 2^levels.

        >>> import numpy as np
        >>> from nolook.privacy.noise import byte_source
        >>> functions = PointFunctions(2, bytes(32))
        >>> pair = functions.generate(np.array([2, 2, 0], np.uint64), byte_source(None))
        >>> checked = [functions.check(role, keys, keys[:, :0]) for role, keys in enumerate(pair)]
        >>> checked[0].counts + checked[1].counts
        array([1, 0, 2, 0], dtype=uint64)
        """
        keys = np.empty((2, len(cells), self.key_bytes), np.uint8)
        ciphers = Ciphers.of(self.context)
        for start in range(0, len(cells), _DEALT_KEYS):
            some = slice(start, start + _DEALT_KEYS)
            words = source.words(4 * len(cells[some])).reshape(-1, 2, 2)
            deal(self._shape, ciphers, cells[some], words, keys[:, some])
        return keys[0], keys[1]

    def check(self, role: int, keys: Bytes, ids: Bytes) -> Checked:
        """Return a server's messages about its halves of some reports, and its sums of all.

        Much quicker for some hundred keys at once than one by one.

        Parameters
        ----------
        role : int
            0 or 1.
        keys : ndarray of uint8, shape (n, key_bytes)
        ids : ndarray of uint8, shape (n, bytes)
            What names each report at both servers; equal messages need equal names.
        """
        grower = Grower(self._shape, role, Ciphers.of(self.context), _GROWN_NODES)
        messages = np.empty((len(keys), MESSAGE_BYTES), np.uint8)
        size = min(max(_GROWN_PARENTS // grower.widest, 1), _GROWN_KEYS)
        for start in range(0, len(keys), size):
            some = slice(start, start + size)
            messages[some] = _messages(ids[some], keys[some], grower.add(keys[some]))
        return Checked(messages, grower.signed())


def _messages(names: Bytes, keys: Bytes, found: list[tuple[Words, Words]]) -> Bytes:
    """Hash names, the public parts of keys, and what the servers must have in common."""
    common = [names, keys[:, SEED_BYTES:]]
    for differences, proofs in found:
        for part in (differences, proofs):
            little = np.ascontiguousarray(part, "<u8").view(np.uint8)
            common.append(little.reshape(len(keys), -1))
    digests = [
        hashlib.sha256(_MESSAGE_LABEL + row.tobytes()).digest()
        for row in np.concatenate(common, axis=1)
    ]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(len(keys), MESSAGE_BYTES)
