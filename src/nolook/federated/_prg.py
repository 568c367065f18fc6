"""The one-way functions of a distributed comparison function: AES under four public fixed keys.

For a block x of 16 bytes, H_k(x) = AES_k(sigma(x)) xor sigma(x), where sigma takes the halves
(first, second) of x to (second, first xor second): the mode of Matyas, Meyer and Oseas after a
linear orthomorphism (sigma and sigma(x) xor x are both one to one). This module encrypts many
blocks at once; the kernels apply sigma and add it to the result.

A key is the first 16 bytes of the SHA-256 of its label, so nobody chose it with a purpose.
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

__all__ = ["KINDS", "FixedKeys", "block_words"]

Words = NDArray[np.uint64]

#: What a node's seed is stretched into; the first two are also the two directions.
KINDS = ("left", "right", "value", "leaf")
_LABEL = "nolook distributed comparison function 1: "


def block_words(count: int) -> Words:
    """Return room for `count` encrypted blocks and the spare one that the cipher asks for."""
    return np.empty(2 * count + 2, np.uint64)


class FixedKeys:
    """AES-128 under the four fixed keys; one object for each thread."""

    def __init__(self) -> None:
        keys = (hashlib.sha256((_LABEL + kind).encode()).digest()[:16] for kind in KINDS)
        # No mode hides less than ECB; here it is the plain permutation that is wanted.
        self._ciphers = {
            kind: Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
            for kind, key in zip(KINDS, keys, strict=True)
        }

    def encrypt(self, kind: str, inputs: Words, room: Words) -> None:
        """Encrypt blocks one by one.

        Parameters
        ----------
        kind : str
            One of `KINDS`.
        inputs : ndarray of uint64
            Whole blocks, contiguous.
        room : ndarray of uint64, shape (m,)
            Contiguous; the encrypted blocks are written to its start, and it must have two
            words more than these need.
        """
        if sys.byteorder == "big":  # words are little-endian where they become bytes
            room[: inputs.size] = self._encrypt(kind, inputs.byteswap(), room).byteswap()
        else:
            self._encrypt(kind, inputs, room)

    def _encrypt(self, kind: str, inputs: Words, room: Words) -> Words:
        self._ciphers[kind].update_into(memoryview(inputs).cast("B"), memoryview(room).cast("B"))
        return room[: inputs.size]
