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
_SHARE = 8
_DIGEST = 32
_ID_AT = 44
_CURVES_AT = _ID_AT + ID_BYTES

Bytes = NDArray[np.uint8]
Shares = NDArray[np.uint64]


class ReportError(NolookError, ValueError):
    """A report is not one of this batch for this server, or was damaged on its way."""

    exit_status = 2

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


# Every report asks for both.
@lru_cache(maxsize=64)
def report_bytes(batch: Batch) -> int:
    """Return the length of every report of a batch to one server."""
    _, curves, size = _split(batch)
    return _CURVES_AT + curves * size + _DIGEST


def _split(batch: Batch) -> tuple[int, int, int]:
    """Return the shape of the secret content of any number of reports."""
    return -1, len(batch.curves), _SHARE + key_bytes(batch.levels)


@lru_cache(maxsize=64)
def _head(batch: Batch, role: int) -> bytes:
    fields = bytes((_VERSION, _GROUP, role, len(batch.curves), batch.levels, 0, 0, 0))
    return _MAGIC + fields + batch.digest


def encode(batch: Batch, role: int, ids: Bytes, shares: Shares, keys: Bytes) -> Bytes:
    """Return reports to one server, shape (n, report_bytes).

    Their parts are ids (n, 16), shares (n, curves) and keys (n, curves, key_bytes).
    """
    n = len(ids)
    reports = np.empty((n, report_bytes(batch)), dtype=np.uint8)
    reports[:, :_ID_AT] = np.frombuffer(_head(batch, role), dtype=np.uint8)
    reports[:, _ID_AT:_CURVES_AT] = ids
    curves = reports[:, _CURVES_AT:-_DIGEST].reshape(_split(batch))
    curves[:, :, :_SHARE] = shares.astype("<u8")[:, :, np.newaxis].view(np.uint8)
    curves[:, :, _SHARE:] = keys
    secret = report_bytes(batch) - _CURVES_AT - _DIGEST
    reports[:, _CURVES_AT:-_DIGEST] = curves.reshape(n, secret)
    for report in reports:  # a hash function takes one text at a time
        digest = hashlib.sha256(report[:-_DIGEST].tobytes()).digest()
        report[-_DIGEST:] = np.frombuffer(digest, dtype=np.uint8)
    return reports


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
    return report[_ID_AT:_CURVES_AT]


def unpack(batch: Batch, reports: Bytes) -> tuple[Bytes, Shares, Bytes]:
    """Split checked reports to one server into ids, shares and keys, shaped as for `encode`."""
    curves = reports[:, _CURVES_AT:-_DIGEST].reshape(_split(batch))
    shares = np.ascontiguousarray(curves[:, :, :_SHARE]).view("<u8")[:, :, 0]
    return reports[:, _ID_AT:_CURVES_AT], shares.astype(np.uint64), curves[:, :, _SHARE:]


def _compare(report: bytes, head: bytes, *parts: tuple[int, int, str]) -> None:
    for start, end, what in parts:
        if report[start:end] != head[start:end]:
            raise ReportError(f"the report {what}")
