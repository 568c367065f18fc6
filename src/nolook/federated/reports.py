"""Reports: what an owner sends to one server, and the id it has there.

=========  ======  =======================================================================
offset     bytes   what
=========  ======  =======================================================================
0          4       ``NLKR``
4          1       version, 1
5          1       role of the server, 0 or 1
6          1       levels of the tree of cells
7          5       0
12         32      digest of the batch
44         s       the key of a verifiable point function (``point_functions.md``)
44 + s     32      commitment to the other server's half
76 + s     32      id: SHA-256 of both commitments
=========  ======  =======================================================================

A commitment is the SHA-256 of a label and of all before it in that half. So an id belongs to one
pair of halves: a party that has neither cannot send anything under it.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook._arrays import Bytes
from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.failures import ReportError
from nolook.privacy.noise import ByteSource

__all__ = ["ID_BYTES", "MOST_TOGETHER", "check", "make_reports", "report_bytes", "unpack"]

ID_BYTES: Final = 32
#: Reports of one request, and of one flush of a server's disk.
MOST_TOGETHER: Final = 256

_MAGIC = b"NLKR"
_VERSION = 1
_HEAD = 44
_HALF_LABEL = b"nolook report: half"
_ID_LABEL = b"nolook report: id"


def report_bytes(batch: Batch) -> int:
    """Return the length of every report of a batch to one server."""
    return _layout(batch).itemsize


def make_reports(
    batch: Batch, values: ArrayLike, targets: ArrayLike | None, source: ByteSource
) -> tuple[Bytes, Bytes, Bytes]:
    """Make the reports of some owners.

    Guarantee
    ---------
    The reports of one server say nothing of values and targets, computationally, whatever it sends
    the other one.

    Parameters
    ----------
    batch : Batch
    values : array_like, shape (n,)
        One number an owner. NaN counts above every threshold; as a probability it is 0. For counts
        the code of a level: its place, then that of any other value and of a missing one.
    targets : array_like of bool, shape (n,), or None
        Whether each is positive; None for a batch without a target.
    source : ByteSource
        :class:`nolook.privacy.noise.SystemEntropy`, except in tests.

    Returns
    -------
    ids : ndarray of uint8, shape (n, 32)
    first, second : ndarray of uint8, shape (n, report_bytes)
        What the servers of role 0 and 1 get.
    """
    cells = _cells(batch, values, targets)
    halves = np.empty((2, len(cells)), dtype=_layout(batch))
    pairs = batch.functions.generate(cells, source)
    for role in (0, 1):
        halves[role]["head"] = np.frombuffer(_head(batch, role), dtype=np.uint8)
        halves[role]["key"] = pairs[role]
    for k in range(len(cells)):  # a hash function takes one text at a time
        both = [_commitment(half[k].tobytes()) for half in halves]
        name = np.frombuffer(_id(*both), dtype=np.uint8)
        for role in (0, 1):
            halves[role][k]["other"] = np.frombuffer(both[1 - role], dtype=np.uint8)
            halves[role][k]["id"] = name
    first, second = halves.view(np.uint8).reshape(2, len(cells), report_bytes(batch))
    return halves[0]["id"].copy(), first, second


def check(batch: Batch, role: int, report: bytes) -> bytes:
    """Return the id of a report, if it is one of this batch for this server.

    Raises a ReportError, which quotes nothing of the report, if anything but the key is not as
    expected. Whether the key counts one cell takes both servers (`shares.py`).
    """
    head, wanted = _head(batch, role), report_bytes(batch)
    if report[:4] != _MAGIC:
        raise ReportError(
            "this is not a report of nolook; send reports with `nolook federated submit`"
        )
    if report[4:5] != head[4:5]:
        raise ReportError(f"the report has another version; expected {_VERSION}")
    if len(report) != wanted:
        status = 413 if len(report) > wanted else 400
        raise ReportError(f"the report has {len(report)} bytes; expected {wanted}", status)
    own, other, named = _commitment(report), report[-2 * ID_BYTES : -ID_BYTES], report[-ID_BYTES:]
    # Which of the two commitments is whose says the report itself: a damaged role is damage.
    both = (own, other) if report[5:6] == b"\0" else (other, own)
    if named != _id(*both):
        raise ReportError("the report was damaged on its way; send it again")
    if report[5:6] != head[5:6]:
        raise ReportError(f"the report is for the other server; expected role {role}")
    if report[:_HEAD] != head:
        raise ReportError(f"the report is for another batch; expected {batch.name}")
    return named


def unpack(batch: Batch, reports: Bytes) -> tuple[Bytes, Bytes]:
    """Split checked reports to one server into ids (n, 32) and keys (n, key_bytes)."""
    parts = np.ascontiguousarray(reports).view(_layout(batch)).reshape(len(reports))
    return parts["id"], parts["key"]


# Every report asks for both.
@lru_cache(maxsize=64)
def _layout(batch: Batch) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("head", np.uint8, _HEAD),
            ("key", np.uint8, batch.functions.key_bytes),
            ("other", np.uint8, ID_BYTES),
            ("id", np.uint8, ID_BYTES),
        ]
    )


@lru_cache(maxsize=64)
def _head(batch: Batch, role: int) -> bytes:
    fields = bytes((_VERSION, role, batch.functions.levels, 0, 0, 0, 0, 0))
    return _MAGIC + fields + batch.digest


def _commitment(half: bytes) -> bytes:
    """Commit to one half of a report, of which all but the end is given its final bytes."""
    return hashlib.sha256(_HALF_LABEL + half[: -2 * ID_BYTES]).digest()


def _id(first: bytes, second: bytes) -> bytes:
    return hashlib.sha256(_ID_LABEL + first + second).digest()


def _cells(batch: Batch, values: ArrayLike, targets: ArrayLike | None) -> NDArray[np.uint64]:
    """Return each owner's cell; the class is the top bit where there are two."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise ParameterError(
            "values is not an array of numbers; expected one number for each owner"
        )
    if batch.kind == "hosmer-lemeshow":
        numbers = np.nan_to_num(numbers, nan=0.0).clip(0.0, 1.0)
    # The last threshold stands for infinity.
    cells = np.searchsorted(batch.points()[:-1], numbers, side="left").astype(np.uint64)
    if len(batch.classes) == 1:
        if targets is not None:
            raise ParameterError(f"targets is given for {batch.kind}; expected None (it has none)")
        return cells
    positive = np.asarray(targets)
    if positive.shape != numbers.shape or positive.dtype != np.bool_:
        raise ParameterError(
            f"targets has shape {positive.shape} and dtype {positive.dtype}; expected a boolean "
            f"for each of the {len(numbers)} values (whether it is positive)"
        )
    classed: NDArray[np.uint64] = cells | positive.astype(np.uint64) << np.uint64(batch.levels)
    return classed
