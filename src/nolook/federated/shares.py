"""A server's work on reports: check, add up, and answer with noise of its own.

The order, for the code that keeps the files and talks to the other server:

1. `check_reports` as reports arrive: a message of 32 bytes for each, and shares of the sum of all.
2. Both servers exchange messages. A report is accepted if the two are equal; the shares of the
   others are taken off the sum.
3. Both freeze the same set of accepted reports, and compare the digest of its ids.
4. Only then `release_key`, bound to that digest, and `noisy_blocks`, once and for all.

Sums are modulo 2^64, and the sums of both servers add up to the counts. Each server adds all the
noise that the release needs, so one honest server is enough. The proof is `shares.md`.
"""

from __future__ import annotations

import hashlib

import numpy as np
from attrs import frozen

from nolook._arrays import Bytes, Words
from nolook.federated.batch import Batch
from nolook.federated.point_functions import Checked
from nolook.federated.reports import unpack
from nolook.kernels.forests import block_counts
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.keyed_noise import keyed_gaussian, keyed_laplace
from nolook.privacy.noise import SAMPLER_VERSION, derived_key
from nolook.statistics.cell_counts import node_counts_l2_sensitivity, node_counts_sensitivity

__all__ = ["Answer", "check_reports", "noise_digest", "noisy_blocks", "release_key"]

_KEY_LABEL = b"nolook federated"
# Public: what it draws is compared, not released.
_TRIAL_KEY = bytes(32)


@frozen(eq=False)
class Answer:
    """The answer of the server of a role about n reports; `batch` and `reports` are digests."""

    role: int
    batch: bytes
    reports: bytes
    n: int
    numbers: dict[str, Words]


def check_reports(batch: Batch, role: int, reports: Bytes) -> Checked:
    """Check a server's halves of some reports and add up what they count, (classes, cells).

    Reports have passed :func:`nolook.federated.reports.check`; nothing in them raises. Sums
    over parts may be added, modulo 2^64.
    """
    ids, keys = unpack(batch, reports)
    found = batch.functions.check(role, keys, ids)
    return Checked(found.messages, _by_class(batch, found.counts))


def release_key(secret: bytes, batch: Batch, accepted: bytes) -> bytes:
    """Return the 32-byte key of a server's noise: another if anything is different.

    The secret is 32 random bytes that this server alone has; `accepted` is the digest of the
    frozen set's ids.
    """
    version = SAMPLER_VERSION.to_bytes(4, "little")
    return derived_key(secret, _KEY_LABEL + version + batch.digest + accepted)


def noisy_blocks(batch: Batch, shares: Words, key: bytes) -> dict[str, Words]:
    """Return a server's answer: the counts of all blocks of each class, with all their noise.

    Guarantee
    ---------
    The batch's event: an accepted report that is replaced changes one block a level for the worse
    and one for the better, all classes together. Against a party without the key, computationally.

    Parameters
    ----------
    batch : Batch
    shares : ndarray of uint64, shape (classes, cells)
        Of the counts of the accepted reports.
    key : bytes
        :func:`release_key`.

    Returns
    -------
    dict of str to ndarray of uint64, shape (blocks,)
        For each class, in rows modulo 2^64, the longest blocks first (`batch.forest`).
    """
    forest, event = batch.forest, batch.event()
    changes = node_counts_sensitivity(forest.levels, "replace")
    noisy = {}
    for name, cells in zip(batch.classes, shares, strict=True):
        blocks = block_counts(cells.view(np.int64), forest.lengths).view(np.uint64)
        own = derived_key(key, name.encode("ascii"))
        if isinstance(event, GaussianEvent):
            length = node_counts_l2_sensitivity(changes)
            noisy[name] = keyed_gaussian(blocks, length, event.mu, own)
        else:
            noisy[name] = keyed_laplace(blocks, changes, event.epsilon, own)
    return noisy


def noise_digest(batch: Batch) -> bytes:
    """Return a digest that changes with the noise that this nolook and its libraries draw.

    Two versions that draw other numbers from one key must not both answer a batch: the difference
    of their answers would be one of noises only.
    """
    found = hashlib.sha256(SAMPLER_VERSION.to_bytes(4, "little"))
    nothing = np.zeros((len(batch.classes), len(batch.points())), dtype=np.uint64)
    for name, noise in noisy_blocks(batch, nothing, _TRIAL_KEY).items():
        found.update(name.encode("ascii") + noise.astype("<u8").tobytes())
    return found.digest()


def _by_class(batch: Batch, counts: Words) -> Words:
    """Return counts of each class and cell; what lies beyond the last cell belongs to it.

    No honest owner reports such a cell, but a check does not know how many there are.
    """
    cells = len(batch.points())
    every = counts.reshape(len(batch.classes), -1)
    found = every[:, :cells].copy()
    found[:, -1] += every[:, cells:].sum(axis=1, dtype=np.uint64)
    return found
