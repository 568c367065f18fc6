"""Batches and reports for the tests of the servers; the reports' secret content is real."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nolook.algorithms.grids import LinearGrid
from nolook.federated.batch import Batch
from nolook.federated.owners import make_reports
from nolook.privacy.noise import SeededSource

#: Of batches whose answers are exact: noise other than 0 has a chance below 1e-100.
LOUD = 1000.0

SMALL = Batch("ages", "ecdf", 1.0, LinearGrid(0.0, 7.0, 1.0), minimum=5)
ROC = Batch("scores", "roc", 1.0, LinearGrid(0.25, 1.0, 0.25), minimum=5)
CALIBRATION = Batch("calibration", "hosmer-lemeshow", 1.0, None, minimum=5)
WIDE = Batch("any", "ecdf", 1.0, None, minimum=5)


@lru_cache
def reports(batch, n, seed=1):
    """Return ids and the reports to both servers, as lists of bytes, and what they are about."""
    chance = np.random.default_rng(seed)
    values = chance.uniform(0, 1, n) if batch.kind != "ecdf" else chance.integers(0, 8, n) * 1.0
    targets = None if batch.kind == "ecdf" else chance.uniform(0, 1, n) < values
    ids, *both = make_reports(batch, values, targets, SeededSource(seed))
    listed = [[row.tobytes() for row in rows] for rows in (ids, *both)]
    return (*listed, values, targets)


def changed(report):
    """Return a report of the same id with other content, as a careless owner may make it."""
    import hashlib

    body = bytearray(report[:-32])
    body[60] ^= 1
    return bytes(body) + hashlib.sha256(body).digest()
