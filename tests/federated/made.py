"""Batches and reports for the tests of the servers; the reports' secret content is real."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from attrs import evolve

from nolook.algorithms.grids import LinearGrid
from nolook.federated.batch import Batch
from nolook.federated.by_format import make_reports
from nolook.federated.point_batch import PointBatch
from nolook.federated.sealing import public_key
from nolook.privacy.noise import SeededSource

#: Of batches whose answers are exact: noise other than 0 has a chance below 1e-100.
LOUD = 1000.0

SMALL = Batch("ages", "ecdf", 1.0, LinearGrid(0.0, 7.0, 1.0), minimum=5)
ROC = Batch("scores", "roc", 1.0, LinearGrid(0.25, 1.0, 0.25), minimum=5)
CALIBRATION = Batch("calibration", "hosmer-lemeshow", 1.0, None, minimum=5)
WIDE = Batch("any", "ecdf", 1.0, None, minimum=5)

#: Private keys of the servers of format 2.
PRIVATE = (bytes(range(32)), bytes(range(32, 64)))
KEYS = tuple(public_key(one) for one in PRIVATE)


def verified(batch, **named):
    """Return a batch of format 2 with the same parameters as one of format 1."""
    named = {"servers": ("https://0.example", "https://1.example"), "keys": KEYS} | named
    return PointBatch(
        batch.name, batch.kind, batch.epsilon, batch.grid, batch.minimum, nonce="0f" * 16, **named
    )


V_SMALL, V_ROC, V_CALIBRATION, V_WIDE = map(verified, (SMALL, ROC, CALIBRATION, WIDE))


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


class Forger:
    """Point functions whose keys a forger makes."""

    def __init__(self, functions, forge, seed):
        self._functions, self._forge = functions, forge
        self._chance = np.random.default_rng(seed)

    def __getattr__(self, name):
        return getattr(self._functions, name)

    def generate(self, cells, source):
        pairs = np.stack(self._functions.generate(cells, source))
        return self._forge(self._functions, pairs, self._chance)


def forged(batch, forge, n, seed=1):
    """Return ids and reports to both servers, sealed and named as they should be, of bad keys."""
    copy = evolve(batch)
    copy.__dict__["functions"] = Forger(batch.functions, forge, seed)
    targets = None if batch.kind == "ecdf" else np.ones(n, dtype=bool)
    ids, *both = make_reports(copy, np.zeros(n), targets, SeededSource(1000 + seed))
    return tuple([row.tobytes() for row in rows] for rows in (ids, *both))
