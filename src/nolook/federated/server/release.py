"""What an answer needs: the secret of its noise, the ledger's consent, its form."""

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
from nolook.federated.batch import Batch
from nolook.federated.disk import os_errors_as_store_errors
from nolook.federated.failures import RefusedError
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import SystemEntropy

__all__ = ["charge", "check_ledger", "encode", "fingerprint", "make_secret", "read_secret"]

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
    cost = batch.guarantee()
    statement = hashlib.sha256(b"nolook federated charge" + batch.digest + named).hexdigest()
    text = f"federated batch {batch.name}, {batch.kind}, reports {statement}"
    try:
        with Ledger(path) as ledger:
            ledger.charge_once(cost.budget, relation=cost.relation, description=text)
    except BudgetExceededError as error:
        raise RefusedError(str(error), 402) from None
    except LedgerError as error:
        raise RefusedError(str(error), 503) from None


def encode(numbers: dict[str, NDArray[np.uint64]], head: dict[str, Any]) -> bytes:
    """Return a server's answer as JSON: its noisy shares, little-endian in base64, after a head.

    The same numbers give the same bytes.
    """
    content = {
        name: b64encode(np.ascontiguousarray(array, dtype="<u8").tobytes()).decode("ascii")
        for name, array in numbers.items()
    }
    document = {**head, "answer": content}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")
