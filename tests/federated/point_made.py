"""Batches of format 2 and what both servers make of real reports, in one process."""

from __future__ import annotations

from nolook.algorithms.grids import LinearGrid
from nolook.federated import point_reports, point_shares
from nolook.federated.answers import Answer
from nolook.federated.point_batch import PointBatch
from nolook.privacy.noise import SeededSource

SERVERS = ("https://one.example", "https://two.example")
KEYS = ("01" * 32, "02" * 32)
NONCE = "0123456789abcdef" * 2
AGES = LinearGrid(0, 99, 1)
SCORES = LinearGrid(1 / 16, 1, 1 / 16)
#: Noise other than 0 has a chance below 1e-30.
LOUD = 1000.0


def point_batch(kind="ecdf", epsilon=LOUD, grid=AGES, **named):
    named = {"servers": SERVERS, "keys": KEYS, "nonce": NONCE, "minimum": 1} | named
    return PointBatch("ages", kind, epsilon, grid, **named)


def both_halves(batch, values, targets=None, seed=1):
    """Return ids and both servers' reports."""
    ids, *halves = point_reports.make_reports(batch, values, targets, SeededSource(seed))
    return ids, halves


def answers(batch, ids, shares, secrets=(b"0" * 32, b"1" * 32)):
    """Return both servers' answers about accepted reports, whose shares of counts are given."""
    accepted = point_shares.set_digest([each.tobytes() for each in ids])
    found = []
    for role in (0, 1):
        key = point_shares.release_key(secrets[role], batch, accepted)
        numbers = point_shares.noisy_blocks(batch, shares[role], key)
        found.append(Answer(role, batch.digest, accepted, len(ids), numbers))
    return found


def answered(batch, values, targets=None, **named):
    """Return both servers' answers about honest reports."""
    ids, halves = both_halves(batch, values, targets)
    checked = [point_shares.check_reports(batch, role, halves[role]) for role in (0, 1)]
    assert (checked[0].messages == checked[1].messages).all()
    return answers(batch, ids, [each.shares for each in checked], **named)
