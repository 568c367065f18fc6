"""What a server computes of the reports of a batch, of either format, and what it adds to it."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from nolook.federated import point_shares, shares
from nolook.federated.batch import Batch
from nolook.federated.point_batch import PointBatch
from nolook.privacy.noise import SAMPLER_VERSION

__all__ = ["expanded", "noise_digest", "summed", "sums_shape"]

Bytes = NDArray[np.uint8]
Sums = NDArray[np.uint64]

# Public: what it draws is compared, not released.
_TRIAL_KEY = bytes(32)


def sums_shape(batch: Batch) -> tuple[int, int]:
    """Return the shape of a batch's sums: counts, and thresholds or cells of each."""
    if isinstance(batch, PointBatch):
        return len(batch.classes), len(batch.points())
    return len(batch.curves), 1 << batch.levels


def expanded(batch: Batch, role: int, reports: Bytes) -> tuple[Bytes, Sums]:
    """Return the messages about some reports, shape (n, 32) or (n, 0), and their shares' sums."""
    if isinstance(batch, PointBatch):
        checked = point_shares.check_reports(batch, role, reports)
        return checked.messages, checked.shares
    return np.empty((len(reports), 0), np.uint8), shares.curve_sums(batch, role, reports)


def summed(batch: Batch, role: int, reports: Bytes) -> Sums:
    """Return the sums of some reports' shares alone."""
    if isinstance(batch, PointBatch):
        return point_shares.cell_shares(batch, role, reports)
    return shares.curve_sums(batch, role, reports)


def noise_digest(batch: Batch) -> bytes:
    """Return a digest that changes with the noise that this nolook and its libraries draw.

    Two versions that draw other numbers from one key must not both answer a batch: the difference
    of their answers would be one of noises alone.
    """
    found = hashlib.sha256(SAMPLER_VERSION.to_bytes(4, "little"))
    nothing = np.zeros(sums_shape(batch), dtype=np.uint64)
    if isinstance(batch, PointBatch):
        drawn = point_shares.noisy_blocks(batch, nothing, _TRIAL_KEY)
    elif batch.whole:
        drawn = shares.noisy_curves(batch, nothing, _TRIAL_KEY)
        if batch.kind == "hosmer-lemeshow":
            places = np.array([len(batch.points()) - 1], dtype=np.uint64)
            drawn |= shares.noisy_groups(batch, nothing, places, _TRIAL_KEY)
    else:
        places = np.arange(64, dtype=np.uint64)
        drawn = shares.noisy_points(batch, nothing[:, :64], places, _TRIAL_KEY)
    for name, noise in drawn.items():
        found.update(name.encode("ascii") + noise.astype("<u8").tobytes())
    return found.digest()
