"""Whether a file of Zstandard frames is whole, which a reader of its stream does not tell."""

from __future__ import annotations

import os
from typing import BinaryIO

_FRAME, _SKIPPABLE = 0xFD2FB528, 0x184D2A50


def check_whole(stream: BinaryIO) -> None:
    """Walk over the frames and blocks of a file (RFC 8878); raise EOFError if one is cut short."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    while stream.tell() < size:
        magic = _number(stream, 4)
        if magic & ~0xF == _SKIPPABLE:
            _skip(stream, _number(stream, 4), size)
        elif magic == _FRAME:
            _skip_frame(stream, size)
        else:
            raise EOFError
    stream.seek(0)


def _skip_frame(stream: BinaryIO, size: int) -> None:
    descriptor = _number(stream, 1)
    single, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content = (single, 2, 4, 8)[descriptor >> 6]
    _skip(stream, (not single) + dictionary + content, size)
    last = False
    while not last:
        block = _number(stream, 3)
        last, repeated = bool(block & 1), block >> 1 & 3 == 1
        _skip(stream, 1 if repeated else block >> 3, size)
    _skip(stream, 4 * checksum, size)


def _number(stream: BinaryIO, length: int) -> int:
    found = stream.read(length)
    if len(found) < length:
        raise EOFError
    return int.from_bytes(found, "little")


def _skip(stream: BinaryIO, length: int, size: int) -> None:
    if stream.seek(length, os.SEEK_CUR) > size:
        raise EOFError
