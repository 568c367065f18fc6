"""Batches, real and forged reports, and what both servers answer about them."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from attrs import evolve

from nolook.algorithms.grids import LinearGrid
from nolook.federated import reports as federated_reports
from nolook.federated.batch import Batch
from nolook.federated.sealing import public_key
from nolook.federated.shares import Answer, check_reports, noisy_blocks, release_key
from nolook.privacy.noise import SeededSource

#: An epsilon with which answers are exact: noise other than 0 has a chance below 1e-30.
LOUD = 1000.0

SERVERS = ("https://0.example", "https://1.example")
#: Private keys of both servers.
PRIVATE = (bytes(range(32)), bytes(range(32, 64)))
KEYS = tuple(public_key(one) for one in PRIVATE)
NONCE = "0123456789abcdef" * 2
AGES = LinearGrid(0, 99, 1)
SCORES = LinearGrid(1 / 16, 1, 1 / 16)


def batch_of(kind="ecdf", epsilon=LOUD, grid=AGES, name="ages", **named):
    """Return a batch whose nonce, servers and keys are known."""
    named = {"servers": SERVERS, "keys": KEYS, "nonce": NONCE, "minimum": 1} | named
    return Batch(name, kind, epsilon, grid, **named)


SMALL = batch_of("ecdf", 1.0, LinearGrid(0.0, 7.0, 1.0), minimum=5)
ROC = batch_of("roc", 1.0, LinearGrid(0.25, 1.0, 0.25), "scores", minimum=5)
CALIBRATION = batch_of("hosmer-lemeshow", 1.0, None, "calibration", minimum=5)
WIDE = batch_of("ecdf", 1.0, None, "any", minimum=5)


@lru_cache
def reports(batch, n, seed=1):
    """Return ids and the reports to both servers, as lists of bytes, and what they are about."""
    chance = np.random.default_rng(seed)
    values = chance.uniform(0, 1, n) if batch.kind != "ecdf" else chance.integers(0, 8, n) * 1.0
    targets = None if batch.kind == "ecdf" else chance.uniform(0, 1, n) < values
    ids, halves = both_halves(batch, values, targets, seed)
    return (*_listed(ids, *halves), values, targets)


def both_halves(batch, values, targets=None, seed=1):
    """Return ids and both servers' reports."""
    ids, *halves = federated_reports.make_reports(batch, values, targets, SeededSource(seed))
    return ids, halves


def _listed(*arrays):
    return [[row.tobytes() for row in rows] for rows in arrays]


def rows_of(listed):
    """Return reports as rows of uint8."""
    return np.frombuffer(b"".join(listed), np.uint8).reshape(len(listed), -1)


def left_of(texts, folder):
    """Return those of some random texts of which a file in a folder holds any 16 bytes."""
    files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    # 16 bytes of a text hold 8 that start at a multiple of 8 there: few have to be searched for.
    words = {files[at : at + 8] for at in range(0, len(files), 8)}

    def is_held(text, at):
        starts = range(max(0, at - 8), min(at, len(text) - 16) + 1)
        return text[at : at + 8] in words and any(text[i : i + 16] in files for i in starts)

    return [one for one in texts if any(is_held(one, at) for at in range(len(one) - 7))]


def secrets_of(batch, role, listed):
    """Return the keys of some reports, without what is public, and the messages about them."""
    messages = check_reports(batch, role, rows_of(listed)).messages
    return [one[:-64] for one in listed] + [one.tobytes() for one in messages]


def changed(report):
    """Return a report one bit of whose key is another."""
    return report[:60] + bytes([report[60] ^ 1]) + report[61:]


def commitment(batch, role, key):
    """Return the commitment to the half of a role, by definition."""
    return hashlib.sha256(b"nolook report: half" + bytes([role]) + batch.digest + key).digest()


def resealed(batch, role, report):
    """Return a report whose end fits what comes before: what a forger can make."""
    key, other = report[:-64], report[-64:-32]
    own = commitment(batch, role, key)
    both = other + own if role else own + other
    return key + other + hashlib.sha256(b"nolook report: id" + both).digest()


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
    ids, halves = both_halves(copy, np.zeros(n), targets, 1000 + seed)
    return tuple(_listed(ids, *halves))


def answers(batch, n, shares, secrets=(b"0" * 32, b"1" * 32)):
    """Return both servers' answers about n accepted reports, whose shares of counts are given."""
    accepted = hashlib.sha256(b"%d" % n).digest()
    found = []
    for role in (0, 1):
        key = release_key(secrets[role], batch, accepted)
        numbers = noisy_blocks(batch, shares[role], key)
        found.append(Answer(role, batch.digest, accepted, n, numbers))
    return found


def shared(batch, values, targets=None):
    """Return how many honest reports there are, and both servers' shares of their counts."""
    ids, halves = both_halves(batch, values, targets)
    checked = [check_reports(batch, role, halves[role]) for role in (0, 1)]
    assert (checked[0].messages == checked[1].messages).all()
    return len(ids), [each.counts for each in checked]


def answered(batch, values, targets=None):
    """Return both servers' answers about honest reports."""
    return answers(batch, *shared(batch, values, targets))
