"""Before a server answers: the secret of its noise, the ledger's consent, a question it knows."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook import _files
from nolook.errors import BudgetExceededError, LedgerError
from nolook.federated.batch import MOST_PLACES, Batch
from nolook.federated.by_format import guarantee
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.failures import RefusedError
from nolook.federated.point_batch import PointBatch
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import SystemEntropy

__all__ = ["Question", "charge", "check_ledger", "fingerprint", "make_secret", "read_secret"]

_SECRET_WORDS = 4


def make_secret(path: Path) -> bytes:
    """Return the 32 secret bytes of a batch's noise, made if need be, once on the disk."""
    secret = read_secret(path)
    if secret is None:
        secret = SystemEntropy().words(_SECRET_WORDS).tobytes()
        with os_errors_as_store_errors(path):
            _files.write(path, secret)
    return secret


def read_secret(path: Path) -> bytes | None:
    """Return the secret of a batch's noise, None if there is none or it is damaged."""
    if not path.is_file():
        return None
    with os_errors_as_store_errors(path):
        secret = path.read_bytes()
    return secret if len(secret) == 8 * _SECRET_WORDS else None


def fingerprint(secret: bytes) -> bytes:
    """Return a digest that shows only whether a secret is the same."""
    return hashlib.sha256(b"nolook federated secret" + secret).digest()


def check_ledger(path: Path) -> None:
    """Refuse a ledger that no release of a server could be charged to."""
    with Ledger(path) as ledger:
        if ledger.relation != "replace":
            raise LedgerError(
                f"the ledger {str(path)!r} is for {ledger.relation!r}; expected one for 'replace' "
                "(nolook ledger create --relation replace)"
            )


def charge(path: Path, batch: Batch, named: bytes) -> None:
    """Charge all answers to a batch once, under replacement: what the batch's epsilon buys.

    `named` is the digest of what the noise follows from, secret and reports. A server that answers
    again after a crash gives the same answers, and finds them charged. Raises a `RefusedError` if
    the ledger has too little left (402) or cannot be charged (503).
    """
    cost = guarantee(batch)
    statement = hashlib.sha256(b"nolook federated charge" + batch.digest + named).hexdigest()
    text = f"federated batch {batch.name}, {batch.kind}, reports {statement}"
    try:
        with Ledger(path) as ledger:
            ledger.charge_once(cost.budget, relation=cost.relation, description=text)
    except BudgetExceededError as error:
        raise RefusedError(str(error), 402) from None
    except LedgerError as error:
        raise RefusedError(str(error), 503) from None


class Question:
    """What an analyst asks of one batch, refused if such a batch does not answer it.

    ``{"question": "blocks"}`` in format 2. In format 1 ``{"question": "curves"}``,
    ``{"question": "points", "places": [...]}`` or ``{"question": "groups", "borders": [...]}``.
    """

    def __init__(self, batch: Batch, content: object) -> None:
        kind = content.get("question") if isinstance(content, dict) else None
        lists = {"blocks": None, "curves": None, "points": "places", "groups": "borders"}
        if not isinstance(content, dict) or not isinstance(kind, str) or kind not in lists:
            raise RefusedError(
                "the question is unknown; expected blocks, curves, points or groups", 400
            )
        kinds = _kinds(batch)
        if kind not in kinds:
            raise RefusedError(f"this batch is asked for {' and '.join(kinds)} only", 400)
        listed = lists[kind]
        if set(content) != {"question", listed} - {None}:
            raise RefusedError(f"a question for {kind} has other fields than expected", 400)
        self.kind = kind
        self.places = _places(batch, content[listed]) if listed else np.empty(0, dtype=np.uint64)
        #: Questions with the same text have the same answer.
        self.text = json.dumps([kind, self.places.tolist()], separators=(",", ":"))

    def encode(self, arrays: dict[str, NDArray[np.uint64]], head: dict[str, Any]) -> bytes:
        """Return the noisy shares, little-endian in base64, and what goes with them, as JSON.

        The same arrays give the same bytes.
        """
        content = {
            name: b64encode(np.ascontiguousarray(array, dtype="<u8").tobytes()).decode("ascii")
            for name, array in arrays.items()
        }
        document = {**head, "question": json.loads(self.text), "answer": content}
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def _kinds(batch: Batch) -> list[str]:
    """Return what a batch may be asked for."""
    if isinstance(batch, PointBatch):
        return ["blocks"]
    kinds = ["curves"] if batch.whole else ["points"]
    return kinds + ["groups"] * (batch.kind == "hosmer-lemeshow")


def _places(batch: Batch, listed: object) -> NDArray[np.uint64]:
    """Return listed places of thresholds as an array."""
    points = len(batch.points())
    places = listed if isinstance(listed, list) else []
    fits = all(type(place) is int and 0 <= place < points for place in places)
    if not fits or not 1 <= len(places) <= MOST_PLACES:
        raise RefusedError(
            f"expected 1 to {MOST_PLACES} places of thresholds, integers from 0 to {points - 1}",
            400,
        )
    return np.array(places, dtype=np.uint64)
