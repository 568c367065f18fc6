"""Reports: what an owner sends to one server, and the id it has there.

=========  ======  =======================================================================
offset     bytes   what
=========  ======  =======================================================================
0          s       the key of a verifiable point function (``point_functions.md``)
s          32      commitment to the other server's half
s + 32     32      id: SHA-256 of both commitments
=========  ======  =======================================================================

A commitment is the SHA-256 of a label, the role of that half's server, the digest of the batch and
the key. So an id belongs to one pair of halves, one batch, and one role each: a party that has
neither half cannot send anything under it.
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
    halves["key"] = pairs = batch.functions.generate(cells, source)
    for k, pair in enumerate(zip(*pairs, strict=True)):  # a hash function takes one text at a time
        first, second = (_commitment(batch, role, pair[role].tobytes()) for role in (0, 1))
        halves["other"][:, k] = np.frombuffer(second + first, np.uint8).reshape(2, ID_BYTES)
        halves["id"][:, k] = np.frombuffer(_id(first, second), np.uint8)
    both = halves.view(np.uint8).reshape(2, len(cells), report_bytes(batch))
    return halves[0]["id"].copy(), both[0], both[1]


def check(batch: Batch, role: int, report: bytes) -> bytes:
    """Return the id of a report, if it is one of this batch for this server.

    Raises a ReportError, which quotes nothing of the report, for any other. Whether the key counts
    one cell takes both servers (`shares.py`).
    """
    pair = [_commitment(batch, role, report[: -2 * ID_BYTES]), report[-2 * ID_BYTES : -ID_BYTES]]
    named = _id(*(pair[::-1] if role else pair))
    if len(report) != report_bytes(batch) or report[-ID_BYTES:] != named:
        raise ReportError(
            "the report is for another batch or server, or was damaged; send it again with "
            "`nolook federated submit`"
        )
    return named


def unpack(batch: Batch, reports: Bytes) -> tuple[Bytes, Bytes]:
    """Split checked reports to one server into ids (n, 32) and keys (n, key_bytes)."""
    parts = np.ascontiguousarray(reports).view(_layout(batch)).reshape(len(reports))
    return parts["id"], parts["key"]


@lru_cache(maxsize=64)  # every report asks for it
def _layout(batch: Batch) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("key", np.uint8, batch.functions.key_bytes),
            ("other", np.uint8, ID_BYTES),
            ("id", np.uint8, ID_BYTES),
        ]
    )


def _commitment(batch: Batch, role: int, key: bytes) -> bytes:
    return hashlib.sha256(_HALF_LABEL + bytes((role,)) + batch.digest + key).digest()


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
