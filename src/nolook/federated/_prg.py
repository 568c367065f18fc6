"""The one-way functions of point functions: AES under public fixed keys.

For a block x of 16 bytes, H_k(x) = AES_k(sigma(x)) xor sigma(x), where sigma takes the halves
(first, second) of x to (second, first xor second): the mode of Matyas, Meyer and Oseas after a
linear orthomorphism (sigma and sigma(x) xor x are both one to one). This module encrypts many
blocks at once; the kernels apply sigma and add it to the result.

A key is the first 16 bytes of the SHA-256 of its label, so it was not chosen with a purpose.
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from nolook._arrays import Words


def block_words(count: int) -> Words:
    """Return room for `count` encrypted blocks and the spare one that the cipher asks for."""
    return np.empty(2 * count + 2, np.uint64)


def as_bytes(words: Words) -> memoryview:
    """Return the memory of contiguous words, for `encrypt`."""
    return words.data.cast("B")


def permutation(label: str) -> CipherContext:
    """Return AES-128 under the key that a label stands for; for one thread."""
    key = hashlib.sha256(label.encode("ascii")).digest()[:16]
    # ECB hides little as a mode, but what is wanted here is the plain permutation.
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305


def encrypt(cipher: CipherContext, inputs: memoryview, room: memoryview) -> None:
    """Encrypt whole blocks of words to the start of `room`, which must be a block longer."""
    if sys.byteorder == "big":  # words are little-endian where they become bytes
        swapped = np.frombuffer(inputs, np.uint64).byteswap()
        cipher.update_into(as_bytes(swapped), room)
        np.frombuffer(room[: len(inputs)], np.uint64).byteswap(inplace=True)
    else:
        cipher.update_into(inputs, room)
