"""A server's running sum of a batch: it expands each report once, in the order of arrival.

A file keeps the sum and how many reports are in it: ``NLKA``, the version (1 byte), the role (1),
2 of 0, the digest of the batch (32), a digest that names the set of reports (32, 0 while the batch
is open), the number of reports (8), the numbers (8 each) and the SHA-256 of all before (32).

A report is checked as it is expanded. Its message of 32 bytes goes to a file of its
own, in the order of arrival, which is on the disk before the sum that counts the report.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nolook import _files
from nolook.federated.batch import Batch
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.failures import StoreError
from nolook.federated.point_functions import MESSAGE_BYTES
from nolook.federated.shares import cell_shares, check_reports

__all__ = ["Messages", "RunningSum", "Sums", "read_sums", "write_sums"]

Bytes = NDArray[np.uint8]
Sums = NDArray[np.uint64]
Read = Callable[[int, int], NDArray[np.uint8]]

_HEAD = struct.Struct("<4sBBxx32s32sQ")
_MAGIC = b"NLKA"
_VERSION = 1
_OPEN = bytes(32)
_LEAVES = 2**26  # expanded before the next look at what else there is to do
_MOST_REPORTS = 8192  # read at a time


def write_sums(path: Path, batch: Batch, role: int, sums: Sums, count: int, named: bytes) -> None:
    """Store sums, and the number and 32-byte name of their reports, durably and all or nothing."""
    head = _HEAD.pack(_MAGIC, _VERSION, role, batch.digest, named, count)
    content = head + sums.astype("<u8").tobytes()
    with os_errors_as_store_errors(path):
        _files.write(path, content + hashlib.sha256(content).digest())


def read_sums(path: Path, batch: Batch, role: int, named: bytes) -> tuple[Sums, int] | None:
    """Return sums and number of reports; None if the file is missing, damaged or of others."""
    if not path.is_file():
        return None
    with os_errors_as_store_errors(path):
        content = path.read_bytes()
    shape = len(batch.classes), len(batch.points())
    if len(content) != _HEAD.size + 8 * shape[0] * shape[1] + 32:
        return None
    if content[-32:] != hashlib.sha256(content[:-32]).digest():
        return None
    *owner, count = _HEAD.unpack_from(content)
    if tuple(owner) != (_MAGIC, _VERSION, role, batch.digest, named):
        return None
    numbers = np.frombuffer(content[_HEAD.size : -32], dtype="<u8")
    return numbers.astype(np.uint64).reshape(shape), int(count)


class Messages:
    """The messages of the reports that were checked, in a file that is made again if it is lost.

    Of those that are there the first `count` are kept; `count` is 0 if fewer are there.
    """

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        with os_errors_as_store_errors(path):
            self._handle = _files.open_own(path, os.O_CREAT | os.O_APPEND)
            whole = os.fstat(self._handle).st_size >= count * MESSAGE_BYTES
            self.count = count if whole else 0
            os.ftruncate(self._handle, self.count * MESSAGE_BYTES)

    def append(self, messages: Bytes) -> None:
        """Append the messages of the next reports, shape (n, 32)."""
        with os_errors_as_store_errors(self._path):
            _files.write_all(self._handle, messages.tobytes())
        self.count += len(messages)

    def flush(self) -> None:
        """Have everything on the disk."""
        with os_errors_as_store_errors(self._path):
            _files.flush_open(self._handle)

    def at(self, positions: NDArray[np.int64]) -> Bytes:
        """Return the messages of the reports at some positions, shape (n, 32)."""
        with os_errors_as_store_errors(self._path):
            # Not all are in memory: the system maps what is looked at.
            every = np.memmap(self._path, np.uint8, "r", shape=(self.count, MESSAGE_BYTES))
            return np.array(every[positions])

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


class RunningSum:
    """The sum of the first reports of an open batch, of which `stored` are there to `read`.

    A file that cannot be used is made again from the reports.
    """

    def __init__(self, path: Path, batch: Batch, role: int, read: Read, stored: int) -> None:
        self._path = path
        self._batch = batch
        self._role = role
        self._read = read
        self._block = max(1, min(_MOST_REPORTS, _LEAVES >> batch.levels))
        self._sums = np.zeros((len(batch.classes), len(batch.points())), dtype=np.uint64)
        found = read_sums(path, batch, role, _OPEN)
        if found is not None and found[1] > stored:
            raise StoreError(
                f"{str(path)!r} has {found[1]} reports, but only {stored} are stored; expected "
                "files of one moment (restore them together)"
            )
        self.messages = Messages(path.with_suffix(".messages"), found[1] if found else 0)
        if found is not None and self.messages.count == found[1]:
            self._sums = found[0]
        self._kept = self.messages.count

    @property
    def count(self) -> int:
        """The number of reports that were added."""
        return self.messages.count

    def advance(self, stop: int) -> None:
        """Add the next reports, not beyond `stop`, as many as fit in memory."""
        upto = min(stop, self.count + self._block)
        if upto > self.count:
            reports = self._read(self.count, upto)
            checked = check_reports(self._batch, self._role, reports)
            self._sums = self._sums + checked.shares
            self.messages.append(checked.messages)

    def keep(self) -> None:
        """Store the sum if it changed since it was stored."""
        if self.count != self._kept:
            self.messages.flush()
            write_sums(self._path, self._batch, self._role, self._sums, self.count, _OPEN)
            self._kept = self.count

    def without(self, positions: NDArray[np.int64]) -> Sums:
        """Return the sum without the reports at some positions."""
        sums = self._sums.copy()
        for start in range(0, len(positions), self._block):
            chosen = positions[start : start + self._block]
            # Positions may lie far apart.
            reports = np.concatenate([self._read(int(at), int(at) + 1) for at in chosen])
            sums -= cell_shares(self._batch, self._role, reports)
        return sums

    def close(self) -> None:
        """Close the file of messages."""
        self.messages.close()
