"""Reports on their way, kept with their owner until both servers have them.

A submission that is repeated after an interruption sends the same reports, so no owner counts
twice. The file holds ``NLKO``, the version (1 byte), 3 bytes of 0, the digest of the batch (32), a
digest that names the submission (32), the number of reports (8), those to role 0, those to role 1
and the SHA-256 of all before it (32). Anyone who reads it knows the owners' values.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np

from nolook import _files
from nolook._arrays import Bytes
from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.failures import StoreError
from nolook.federated.reports import report_bytes

__all__ = ["Bytes", "finish_pending", "read_pending", "was_sent", "write_pending"]

_HEAD = struct.Struct("<4sBxxx32s32sQ")
_MAGIC = b"NLKO"
_VERSION = 1


def write_pending(path: Path, batch: Batch, named: bytes, first: Bytes, second: Bytes) -> None:
    """Store both servers' reports before any is sent; only their owner can read the file.

    `named` are the 32 bytes that name the submission.
    """
    content = _HEAD.pack(_MAGIC, _VERSION, batch.digest, named, len(first))
    content += first.tobytes() + second.tobytes()
    with os_errors_as_store_errors(path):
        try:
            _files.create(path, content + hashlib.sha256(content).digest())
        except FileExistsError:
            raise StoreError(f"{str(path)!r} was just made by another submission") from None


def finish_pending(path: Path) -> None:
    """Erase reports that both servers have, and note which submission they were, if of a table."""
    with os_errors_as_store_errors(path):
        head = path.read_bytes()[: _HEAD.size]
        if _HEAD.unpack(head)[-1] > 1:  # a digest of one value tells it
            _files.append(_sent(path), head)
        path.unlink()


def was_sent(path: Path, batch: Batch, named: bytes) -> bool:
    """Tell whether a submission of several reports was finished before."""
    sent = _sent(path)
    with os_errors_as_store_errors(sent):
        heads = sent.read_bytes() if sent.is_file() else b""
    return batch.digest + named in heads


def _sent(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".pending") + ".sent")


def read_pending(path: Path, batch: Batch, named: bytes | None) -> tuple[Bytes, Bytes] | None:
    """Return both servers' reports that a submission left, any if `named` is None; None if none."""
    if not path.is_file():
        return None
    with os_errors_as_store_errors(path):
        content = path.read_bytes()
    if len(content) < _HEAD.size or content[-32:] != hashlib.sha256(content[:-32]).digest():
        raise ParameterError(f"{str(path)!r} holds no reports or is damaged (submit again)")
    magic, version, digest, left, n = _HEAD.unpack_from(content)
    if (magic, version, digest) != (_MAGIC, _VERSION, batch.digest):
        raise ParameterError(f"{str(path)!r} is of another batch; give another --pending")
    if named not in {None, left}:
        raise ParameterError(
            f"{str(path)!r} is left from another submission that was interrupted; finish that one "
            "first (the same command without --value and --table)"
        )
    both = np.frombuffer(content[_HEAD.size : -32], dtype=np.uint8)
    first, second = both.reshape(2, n, report_bytes(batch))
    return first, second
