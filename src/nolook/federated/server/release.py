"""Parts of an answer: the secret of its noise, the ledger's consent, its form."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook.errors import BudgetExceededError, LedgerError
from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import SystemEntropy

__all__ = ["charge", "check_ledger", "encode", "make_secret", "require"]


def make_secret() -> bytes:
    """Return the 32 secret bytes of a batch's noise."""
    return SystemEntropy().words(4).tobytes()


def check_ledger(path: Path, batches: Iterable[Batch]) -> None:
    """Refuse a ledger that no answer to a batch could be charged to, whatever is left of it."""
    with Ledger(path) as ledger:
        if ledger.relation != "replace":
            raise LedgerError(
                f"the ledger {str(path)!r} is for {ledger.relation!r}; expected 'replace' (nolook "
                "ledger create --relation replace)"
            )
        for unit in {batch.guarantee().unit.in_words() for batch in batches}:
            if ledger.unit not in {None, unit}:
                raise LedgerError(
                    f"the ledger {str(path)!r} is for releases that protect a {ledger.unit}; a "
                    f"batch protects a {unit} (serve it from a folder with a ledger of its own)"
                )


def require(path: Path, batch: Batch) -> None:
    """Refuse what `charge` would refuse; nothing is charged."""
    cost = batch.guarantee()
    with _ledger_refusals(), Ledger(path) as ledger:
        ledger.require(cost.budget, relation=cost.relation, unit=cost.unit.in_words())


def charge(path: Path, batch: Batch, key: bytes) -> None:
    """Charge all answers to a batch once, under replacement: what the batch's epsilon buys.

    The entry names a digest of the noise's key. A server that answers again after a crash gives the
    same answers, and finds them charged. Raises a `RefusedError` if the ledger has too little left
    (402) or cannot be charged (503).
    """
    cost = batch.guarantee()
    statement = hashlib.sha256(b"nolook federated charge" + key).hexdigest()
    text = f"federated batch {batch.name}, {batch.kind}, reports {statement}"
    with _ledger_refusals(), Ledger(path) as ledger:
        unit = cost.unit.in_words()
        ledger.charge_once(cost.budget, relation=cost.relation, description=text, unit=unit)


@contextmanager
def _ledger_refusals() -> Iterator[None]:
    try:
        yield
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
