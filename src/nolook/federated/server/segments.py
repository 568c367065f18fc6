"""Reports as they came, in append-only files of records of one length.

A file has a header of 92 bytes: ``NLKS``, the version (1 byte), the server's role (1), 2 of 0,
the length of a record (4), the file's number (8), the most records of a file (8), the digest of
the batch (32) and the SHA-256 of all before (32). Records follow without gaps; each says
itself whether it is whole (``reports.py``). Numbers are little-endian.

The caller remembers how many records are on the disk. Whatever lies beyond is what a crash left of
a write, and is cut off; whatever is missing before is damage.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nolook._files import flush, open_own, write_flushed
from nolook.federated.batch import Batch
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.failures import ReportError, StoreError
from nolook.federated.reports import check, report_bytes

__all__ = ["LARGEST_FILE", "Segments"]

#: Bytes.
LARGEST_FILE = 64 * 2**20

_HEAD = struct.Struct("<4sBBxxIQQ32s")
_HEAD_BYTES = _HEAD.size + hashlib.sha256().digest_size
_MAGIC = b"NLKS"
_VERSION = 1


class Segments:
    """The reports of one batch at one server, of which `count` were flushed.

    A file has at most `largest` bytes. Raises a StoreError if one is damaged, missing or cannot be
    written.
    """

    def __init__(
        self, folder: Path, batch: Batch, role: int, *, count: int, largest: int = LARGEST_FILE
    ) -> None:
        self._folder = folder
        self._batch = batch
        self._role = role
        self._length = report_bytes(batch)
        self._room = max(1, (largest - _HEAD_BYTES) // self._length)
        self._handle = -1
        self.count = count
        with os_errors_as_store_errors(folder):
            make_folder(folder)
            self._cut()

    def append(self, records: bytes) -> None:
        """Append checked records, one behind the other, and flush them to the disk."""
        left = memoryview(records)
        with os_errors_as_store_errors(self._folder):
            while left:
                inside = self.count % self._room
                if not inside:
                    self._next()
                part = left[: (self._room - inside) * self._length]
                write_flushed(self._handle, bytes(part))
                self.count += len(part) // self._length
                left = left[len(part) :]

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return records as rows of uint8, checked; an error names the file of a damaged one."""
        parts = [self._part(*where) for where in self._parts(start, stop)]
        return np.concatenate([np.empty((0, self._length), dtype=np.uint8), *parts])

    def drop(self) -> None:
        """Delete every file."""
        self.close()
        with os_errors_as_store_errors(self._folder):
            for path in self._files():
                path.unlink()
            flush(self._folder)

    def close(self) -> None:
        """Close the file that is written to; everything in it was flushed."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.segment"

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.segment"))

    def _head(self, number: int) -> bytes:
        fields = (_MAGIC, _VERSION, self._role, self._length, number, self._room)
        head = _HEAD.pack(*fields, self._batch.digest)
        return head + hashlib.sha256(head).digest()

    def _cut(self) -> None:
        """Check the files that count, cut off what a crash left, go on where the records end."""
        full, inside = divmod(self.count, self._room)
        needed = full + (inside > 0)
        for number in range(needed):
            records = self._room if number < full else inside
            self._check_file(number, records, exact=number < needed - 1)
        for path in self._files():
            if int(path.stem) >= needed:
                path.unlink()
        if inside:
            self._handle = open_own(self._path(full), os.O_APPEND)
            os.ftruncate(self._handle, _HEAD_BYTES + inside * self._length)

    def _check_file(self, number: int, records: int, *, exact: bool) -> None:
        path, wanted = self._path(number), _HEAD_BYTES + records * self._length
        with suppress(FileNotFoundError), path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if stream.read(_HEAD_BYTES) != self._head(number):
                raise StoreError(f"{str(path)!r} is not a segment of this batch, or is damaged")
            if size < wanted or (exact and size != wanted):
                raise StoreError(f"{str(path)!r} has {size} bytes; expected {wanted}")
            return
        raise StoreError(f"{str(path)!r} is missing; expected a segment of {records} reports")

    def _next(self) -> None:
        """Start a new file; its name is on the disk before a record is."""
        self.close()
        path = self._path(self.count // self._room)
        self._handle = open_own(path, os.O_CREAT | os.O_EXCL | os.O_APPEND)
        write_flushed(self._handle, self._head(self.count // self._room))
        flush(self._folder)

    def _parts(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield file, first record in it and number of records for each file of a range."""
        while start < stop:
            number, first = divmod(start, self._room)
            count = min(self._room - first, stop - start)
            yield number, first, count
            start += count

    def _part(self, number: int, first: int, count: int) -> NDArray[np.uint8]:
        path = self._path(number)
        with os_errors_as_store_errors(path), path.open("rb") as stream:
            stream.seek(_HEAD_BYTES + first * self._length)
            content = stream.read(count * self._length)
        records = np.frombuffer(content[: len(content) // self._length * self._length], np.uint8)
        records = records.reshape(-1, self._length)
        try:
            for record in records:  # a hash function takes one text at a time
                check(self._batch, self._role, record.tobytes())
        except ReportError:
            records = records[:0]
        if len(records) != count:
            raise StoreError(f"{str(path)!r} is damaged; expected whole reports")
        return records
