"""The report an owner sends to one server: bytes of a fixed length.

=========  ======  =======================================================================
offset     bytes   what
=========  ======  =======================================================================
0          4       ``NLKR``
4          1       version, 1
5          1       group of the shares: 1 for the integers modulo 2^64. Other values are
                   for shares that can be verified.
6          1       role of the server, 0 or 1
7          1       number of curves, k
8          1       L, for 2^L thresholds
9          3       0
12         32      digest of the batch
44         16      id of the report, random, the same at both servers
60         k x     a share of the secret number, 8 bytes, and the key of a distributed
           (8+s)   comparison function, s bytes (``dcf.md``)
end - 32   32      SHA-256 of all before it
=========  ======  =======================================================================

Numbers are little-endian.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nolook.errors import NolookError
from nolook.federated.batch import Batch
from nolook.federated.dcf import key_bytes

__all__ = ["ID_BYTES", "ReportError", "check", "encode", "report_bytes", "unpack"]

ID_BYTES: Final = 16

_MAGIC = b"NLKR"
_VERSION = 1
_GROUP = 1
_DIGEST = 32
_ID_AT = 44

Bytes = NDArray[np.uint8]
Shares = NDArray[np.uint64]


class ReportError(NolookError, ValueError):
    """A report is not one of this batch for this server, or was damaged on its way."""

    exit_status = 2

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def report_bytes(batch: Batch) -> int:
    """Return the length of every report of a batch to one server."""
    return _layout(batch).itemsize


# Every report asks for both.
@lru_cache(maxsize=64)
def _layout(batch: Batch) -> np.dtype[np.void]:
    curve = np.dtype([("share", "<u8"), ("key", np.uint8, key_bytes(batch.levels))])
    return np.dtype(
        [
            ("head", np.uint8, _ID_AT),
            ("id", np.uint8, ID_BYTES),
            ("curves", curve, (len(batch.curves),)),
            ("digest", np.uint8, _DIGEST),
        ]
    )


@lru_cache(maxsize=64)
def _head(batch: Batch, role: int) -> bytes:
    fields = bytes((_VERSION, _GROUP, role, len(batch.curves), batch.levels, 0, 0, 0))
    return _MAGIC + fields + batch.digest


def encode(batch: Batch, role: int, ids: Bytes, shares: Shares, keys: Bytes) -> Bytes:
    """Return reports to one server, shape (n, report_bytes).

    Their parts are ids (n, 16), shares (n, curves) and keys (n, curves, key_bytes).
    """
    reports = np.empty(len(ids), dtype=_layout(batch))
    reports["head"] = np.frombuffer(_head(batch, role), dtype=np.uint8)
    reports["id"] = ids
    reports["curves"]["share"] = shares
    reports["curves"]["key"] = keys
    for report in reports:  # a hash function takes one text at a time
        digest = hashlib.sha256(report.tobytes()[:-_DIGEST]).digest()
        report["digest"] = np.frombuffer(digest, dtype=np.uint8)
    return reports.view(np.uint8).reshape(len(ids), report_bytes(batch))


def check(batch: Batch, role: int, report: bytes) -> bytes:
    """Return the id of a report, if it is one of this batch for this server.

    Raises a ReportError, which quotes nothing of the report, if anything but the secret content is
    not as expected.
    """
    head = _head(batch, role)
    _compare(
        report,
        head,
        (0, 4, "is not one of nolook's; expected what `nolook federated submit` sends"),
        (4, 5, f"has another version; expected {_VERSION}"),
        (5, 6, "has shares of another group; expected integers modulo 2^64"),
    )
    wanted = report_bytes(batch)
    if len(report) != wanted:
        status = 413 if len(report) > wanted else 400
        raise ReportError(f"the report has {len(report)} bytes; expected {wanted}", status)
    if report[-_DIGEST:] != hashlib.sha256(report[:-_DIGEST]).digest():
        raise ReportError("the report was damaged on its way; send it again")
    _compare(
        report,
        head,
        (6, 7, f"is for the other server; expected role {role}"),
        (7, _ID_AT, f"is for another batch; expected {batch.name}"),
    )
    return report[_ID_AT : _ID_AT + ID_BYTES]


def unpack(batch: Batch, reports: Bytes) -> tuple[Bytes, Shares, Bytes]:
    """Split checked reports to one server into ids, shares and keys, shaped as for `encode`."""
    parts = np.ascontiguousarray(reports).view(_layout(batch)).reshape(len(reports))
    return parts["id"], parts["curves"]["share"].astype(np.uint64), parts["curves"]["key"]


def _compare(report: bytes, head: bytes, *parts: tuple[int, int, str]) -> None:
    for start, end, what in parts:
        if report[start:end] != head[start:end]:
            raise ReportError(f"the report {what}")
