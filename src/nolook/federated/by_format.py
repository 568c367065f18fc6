"""What batches of both formats have, each in its own way."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook.federated import owners, point_reports, point_shares, shares, wire
from nolook.federated.batch import Batch
from nolook.federated.point_batch import PointBatch
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.privacy.noise import ByteSource

__all__ = ["check", "guarantee", "id_bytes", "ids_of", "make_reports", "report_bytes"]

Bytes = NDArray[np.uint8]


def id_bytes(batch: Batch) -> int:
    """Return the length of a report's id."""
    return point_reports.ID_BYTES if isinstance(batch, PointBatch) else wire.ID_BYTES


def report_bytes(batch: Batch) -> int:
    """Return the length of every report of a batch to one server, before it is sealed."""
    if isinstance(batch, PointBatch):
        return point_reports.report_bytes(batch)
    return wire.report_bytes(batch)


def check(batch: Batch, role: int, report: bytes) -> bytes:
    """Return the id of a report, or raise a ReportError that quotes nothing of it."""
    if isinstance(batch, PointBatch):
        return point_reports.check(batch, role, report)
    return wire.check(batch, role, report)


def ids_of(batch: Batch, reports: Bytes) -> Bytes:
    """Return the ids of checked reports, shape (n, id_bytes)."""
    if isinstance(batch, PointBatch):
        return point_reports.unpack(batch, reports)[0]
    return wire.unpack(batch, reports)[0]


def make_reports(
    batch: Batch, values: ArrayLike, targets: ArrayLike | None, source: ByteSource
) -> tuple[Bytes, Bytes, Bytes]:
    """Make the reports of some owners: ids, and what the servers of role 0 and 1 get.

    Guarantee
    ---------
    That of :func:`nolook.federated.point_reports.make_reports`, or for a batch of format 1 of
    :func:`nolook.federated.owners.make_reports`.
    """
    if isinstance(batch, PointBatch):
        return point_reports.make_reports(batch, values, targets, source)
    return owners.make_reports(batch, values, targets, source)


def guarantee(batch: Batch) -> PrivacyGuarantee:
    """State what all answers to a batch cost together; refuse an epsilon too small for noise."""
    if isinstance(batch, PointBatch):
        return point_shares.guarantee(batch)
    return shares.guarantee(batch)
