"""A keyed hash of 128 bits of every cell of a column of bytes: SipHash-2-4 (Aumasson, Bernstein).

Whoever does not know the key can neither find two texts of one hash nor learn a text from its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

KEY_BYTES = 16

Words = NDArray[np.uint64]

_0, _1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_2, _3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_LONG, _FIRST, _SECOND = np.uint64(0xEE), np.uint64(0xEE), np.uint64(0xDD)
_B13, _B16, _B17, _B21, _B32 = (np.uint64(bits) for bits in (13, 16, 17, 21, 32))
_B64, _B8 = np.uint64(64), np.uint64(8)


# Odd numbers whose products spread a change over all bits.
_SPREAD, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@njit(inline="always", cache=True)
def _rotate(x, bits):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    return (x << bits) | (x >> (_B64 - bits))


@njit(inline="always", cache=True)
def _round(v0, v1, v2, v3):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    v0 += v1
    v1 = _rotate(v1, _B13) ^ v0
    v0 = _rotate(v0, _B32)
    v2 += v3
    v3 = _rotate(v3, _B16) ^ v2
    v0 += v3
    v3 = _rotate(v3, _B21) ^ v0
    v2 += v1
    v1 = _rotate(v1, _B17) ^ v2
    v2 = _rotate(v2, _B32)
    return v0, v1, v2, v3


@njit(nogil=True, cache=True)
def _hash(data, starts, first, second, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for i in range(out.shape[0]):
        start, stop = starts[i], starts[i + 1]
        v0, v1, v2, v3 = first ^ _0, second ^ _1 ^ _LONG, first ^ _2, second ^ _3
        size = stop - start
        for place in range(start, start + size // 8 * 8, 8):
            word = np.uint64(0)
            for j in range(8):
                word |= np.uint64(data[place + j]) << (_B8 * np.uint64(j))
            v3 ^= word
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0 ^= word
        word = np.uint64(size & 255) << np.uint64(56)
        for j in range(size % 8):
            word |= np.uint64(data[start + size // 8 * 8 + j]) << (_B8 * np.uint64(j))
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
        v2 ^= _FIRST
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        out[i, 0] = v0 ^ v1 ^ v2 ^ v3
        v1 ^= _SECOND
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        out[i, 1] = v0 ^ v1 ^ v2 ^ v3


def keyed_hashes(data: NDArray[np.uint8], starts: NDArray[np.int64], key: bytes) -> Words:
    """Hash the bytes from each start to the next, shape (starts - 1, 2); the key has 16 bytes."""
    first, second = np.frombuffer(key, dtype="<u8")
    out = np.empty((starts.size - 1, 2), dtype=np.uint64)
    _hash(data, starts, first, second, out)
    return out


@njit(nogil=True, cache=True)
def _mixed(cells, out):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for j in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            mixed = (out[i] ^ cells[j, i]) * _STIR
            out[i] = (mixed ^ (mixed >> _B32)) * _SPREAD


def sum_of_rows(numbers: NDArray[np.float64]) -> int:
    """Return a sum, modulo 2^64, of something all bits of a row enter; shape (columns, rows).

    It has no key: it tells rows from others by chance, not by design.
    """
    mixed = np.full(numbers.shape[1], _SPREAD)
    _mixed(np.ascontiguousarray(numbers).view(np.uint64), mixed)
    return int((mixed ^ (mixed >> _B32)).sum())
