"""Where random bits come from: the operating system, a seed for experiments, a secret key."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Protocol

import numpy as np

from nolook._arrays import Words
from nolook._validation import check_random_state
from nolook.errors import ParameterError

_KEYED_WORDS = 1024  # of a :class:`KeyedSource`, for each value of its counter


class ByteSource(Protocol):
    """A source of random bits.

    An implementer owes: words are independent and uniform, and never returned twice; `private` is
    True only if they cannot be known.
    """

    @property
    def private(self) -> bool:
        """Whether the bits are unknown to everyone."""

    def words(self, n: int) -> Words:
        """Return `n` independent uniform 64-bit words."""


class SystemEntropy:
    """The operating system's entropy: the source of every private release.

    Nothing is kept between calls, so processes never share bits after a fork.
    """

    private = True

    def words(self, n: int) -> Words:
        """Return `n` independent uniform 64-bit words, shape (n,)."""
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


class SeededSource:
    """Repeatable bits (Philox 4x64) for experiments; what is drawn from them is NOT private."""

    private = False

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(seed)

    def words(self, n: int) -> Words:
        """Return the next `n` words, shape (n,)."""
        return self._bits.random_raw(n)


class KeyedSource:
    """Bits that follow from a secret key: only for a release that must repeat itself.

    Without the key they are as good as random: SHAKE-256 of the key, the label and a counter. The
    key is 32 secret random bytes, or what :func:`derived_key` makes of them; the label, public,
    says what the bits are for. No key and label may serve two different releases.
    """

    private = True

    def __init__(self, key: bytes, label: bytes) -> None:
        self._start = _check_key(key) + label
        self._used = 0
        self._left = np.empty(0, dtype=np.uint64)

    def words(self, n: int) -> Words:
        """Return the next `n` words, shape (n,)."""
        parts, missing = [self._left], n - len(self._left)
        while missing > 0:
            block = self._start + self._used.to_bytes(8, "little")
            text = hashlib.shake_256(block).digest(8 * _KEYED_WORDS)
            parts.append(np.frombuffer(text, dtype="<u8").astype(np.uint64))
            self._used += 1
            missing -= _KEYED_WORDS
        words = np.concatenate(parts)
        self._left = words[n:]
        return words[:n]


def derived_key(secret: bytes, statement: bytes) -> bytes:
    """Return the 32-byte key that a secret of 32 random bytes gives to one public statement.

    The statement names all that the noise depends on, in a form no two cases share. Keys of
    different statements (HMAC-SHA-256) are as good as independent.
    """
    return hmac.digest(_check_key(secret), statement, "sha256")


def byte_source(random_state: int | None) -> ByteSource:
    """Return the operating system's entropy for None, or a seeded source, which is not private."""
    seed = check_random_state(random_state)
    return SystemEntropy() if seed is None else SeededSource(seed)


def _check_key(secret: bytes) -> bytes:
    if len(secret) != 32:
        raise ParameterError(f"the key has {len(secret)} bytes; expected 32 secret random ones")
    return secret
