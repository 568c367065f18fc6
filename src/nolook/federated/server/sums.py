"""A server's running sum of a batch: each report is expanded once, in the order of arrival.

A file keeps the sum and how many reports are in it: ``NLKA``, the version (1 byte), the role (1),
2 of 0, the digest of the batch (32), a digest that names the set of reports (32, 0 while the batch
is open), the number of reports (8), the numbers (8 each) and the SHA-256 of all before (32).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nolook import _files
from nolook.federated.batch import Batch
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.failures import StoreError

__all__ = ["Expand", "RunningSum", "Sums", "read_sums", "write_sums"]

Sums = NDArray[np.uint64]
#: From reports to a server's share of their sums.
Expand = Callable[[NDArray[np.uint8]], Sums]

_HEAD = struct.Struct("<4sBBxx32s32sQ")
_MAGIC = b"NLKA"
_VERSION = 1
_OPEN = bytes(32)
_LEAVES = 2**26  # expanded between two looks at what else is to be done
_MOST_REPORTS = 8192  # read at a time


def write_sums(path: Path, batch: Batch, role: int, sums: Sums, count: int, named: bytes) -> None:
    """Store sums; the file appears whole or stays as it was.

    Parameters
    ----------
    path : Path
    batch : Batch
    role : int
    sums : ndarray of uint64, shape (curves, 2**levels)
    count : int
        How many reports are in them.
    named : bytes
        32 that name the set of reports.
    """
    head = _HEAD.pack(_MAGIC, _VERSION, role, batch.digest, named, count)
    content = head + sums.astype("<u8").tobytes()
    with os_errors_as_store_errors(path):
        _files.write(path, content + hashlib.sha256(content).digest())


def read_sums(path: Path, batch: Batch, role: int, named: bytes) -> tuple[Sums, int] | None:
    """Read sums back.

    Parameters
    ----------
    path : Path
    batch : Batch
    role : int
    named : bytes

    Returns
    -------
    (sums, count) or None
        None if the file is missing, damaged or of something else.
    """
    if not path.is_file():
        return None
    with os_errors_as_store_errors(path):
        content = path.read_bytes()
    shape = (len(batch.curves), 1 << batch.levels)
    if len(content) != _HEAD.size + 8 * shape[0] * shape[1] + 32:
        return None
    if content[-32:] != hashlib.sha256(content[:-32]).digest():
        return None
    *owner, count = _HEAD.unpack_from(content)
    if tuple(owner) != (_MAGIC, _VERSION, role, batch.digest, named):
        return None
    numbers = np.frombuffer(content[_HEAD.size : -32], dtype="<u8")
    return numbers.astype(np.uint64).reshape(shape), int(count)


class RunningSum:
    """The sum of the first reports of an open batch.

    Parameters
    ----------
    path : Path
        Where it is kept; a file that cannot be used is made again from the reports.
    batch : Batch
    role : int
    read : callable
        Gives the reports of a range of positions.
    expand : callable
        From reports to their sums.
    stored : int
        How many reports there are.
    """

    def __init__(
        self,
        path: Path,
        batch: Batch,
        role: int,
        read: Callable[[int, int], NDArray[np.uint8]],
        expand: Expand,
        stored: int,
    ) -> None:
        self._path = path
        self._batch = batch
        self._role = role
        self._read = read
        self._expand = expand
        self._block = max(1, min(_MOST_REPORTS, _LEAVES >> batch.levels))
        empty = np.zeros((len(batch.curves), 1 << batch.levels), dtype=np.uint64)
        self._sums, self.count = read_sums(path, batch, role, _OPEN) or (empty, 0)
        if self.count > stored:
            raise StoreError(
                f"{str(path)!r} has {self.count} reports, the files beside it {stored}; expected "
                "files of one moment"
            )
        self._kept = self.count

    def advance(self, stop: int) -> None:
        """Add the next reports, not beyond `stop`, as many as fit in memory."""
        upto = min(stop, self.count + self._block)
        if upto > self.count:
            self._sums = self._sums + self._expand(self._read(self.count, upto))
            self.count = upto

    def keep(self) -> None:
        """Store the sum, if it is another than that stored."""
        if self.count != self._kept:
            write_sums(self._path, self._batch, self._role, self._sums, self.count, _OPEN)
            self._kept = self.count

    def without(self, positions: NDArray[np.int64]) -> Sums:
        """Return the sum without some of its reports.

        Parameters
        ----------
        positions : ndarray of int64, shape (n,)

        Returns
        -------
        ndarray of uint64, shape (curves, 2**levels)
        """
        sums = self._sums.copy()
        for start in range(0, len(positions), self._block):
            chosen = positions[start : start + self._block]
            # Reports that are left out may lie far apart.
            reports = np.concatenate([self._read(int(at), int(at) + 1) for at in chosen])
            sums -= self._expand(reports)
        return sums
