"""One batch at one server, without a network: take reports, agree on them, answer.

A batch is open, closed (it takes no more reports), frozen (the other server found the same set of
reports), answered; or retired, when the secret of its noise was lost. The servers only ever read
from each other, and each change is on the disk before anyone hears of it.

Up to 2^16 thresholds each report is added to a running sum as it arrives, and deleted when the sum
of the agreed ones is on the disk. With more thresholds every question needs the reports, so they
are kept. A report tells nothing without the other server's, but whoever has both has the value.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.federated import shares
from nolook.federated.batch import Batch
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.server.agreement import Peer, agree
from nolook.federated.server.expander import Expander
from nolook.federated.server.intake import Intake
from nolook.federated.server.release import Question, charge, fingerprint, make_secret, read_secret
from nolook.federated.server.store import Store
from nolook.federated.wire import ID_BYTES, ReportError, check

__all__ = ["BatchService"]

_BLOCK = 4096  # reports read at a time


class BatchService:
    """One batch at one server, in a folder of its own; any thread may use it.

    The ledger is for the relation "replace". Raises a StoreError if the files are damaged, in use,
    or of another batch or role.
    """

    def __init__(self, role: int, batch: Batch, folder: Path, ledger: Path, peer: Peer) -> None:
        shares.guarantee(batch)  # refuses what could never be answered
        self.role = role
        self.batch = batch
        self._ledger = ledger
        self._peer = peer
        self._failure: StoreError | None = None
        self._changing = threading.Lock()
        self._answering = threading.Lock()
        with os_errors_as_store_errors(folder):
            make_folder(folder)
        self._secret_file = folder / "secret"
        if not (folder / "state.sqlite").exists():
            make_secret(self._secret_file)
        secret = read_secret(self._secret_file) or b""
        self._store = Store(folder, batch, role, fingerprint(secret))
        with suppress(RefusedError):  # only the status of a retired batch can be had
            self._check_secret()
        self._expander = (
            Expander(folder, self._store, batch, role, self._fail) if batch.whole else None
        )
        self._intake = Intake(self._store, self._wake, self._fail)

    def close(self) -> None:
        """Store what was accepted, then close the files."""
        self._intake.close()
        if self._expander is not None:
            self._expander.close()
        self._store.close()

    def accept(self, report: bytes, report_id: bytes) -> Future[bool]:
        """Take a report sent under an id; the future tells whether it is new, once on the disk.

        Raises a ReportError if it is not a report of this batch for this server.
        """
        self._check_alive()
        if check(self.batch, self.role, report) != report_id:
            raise ReportError("the report has another id than its address")
        return self._intake.put(report_id, report)

    def status(self) -> dict[str, Any]:
        """Return what an analyst may know: all public under replacement."""
        agreed = self._store.agreed
        return {
            "batch": self.batch.digest.hex(),
            "role": self.role,
            "state": self._store.state,
            "count": self._store.count,
            "agreed": None if agreed is None else agreed.count,
        }

    def reports(self) -> dict[str, Any]:
        """Return what the other server may know: which reports, and which set this one found."""
        closed = self._store.state != "open"
        agreed, ids = self._store.agreed, self._store.ids() if closed else b""
        return {
            "batch": self.batch.digest.hex(),
            "closed": closed,
            "count": len(ids) // ID_BYTES,
            "digest": hashlib.sha256(ids).hexdigest(),
            "agreed": None if agreed is None else [agreed.count, agreed.digest.hex()],
        }

    def ids(self) -> bytes:
        """Return the sorted ids of all reports, once there will be no more."""
        if self._store.state == "open":
            raise RefusedError("the batch is open; freeze it first", 409)
        return self._store.ids()

    def freeze(self) -> dict[str, Any]:
        """Close the batch, agree with the other server as far as it is ready; return the status.

        It takes two calls to each server until both are frozen. Raises a RefusedError if too few
        reports are at both (409), or the other server cannot be asked (503).
        """
        with self._changing, self._guarded():
            self._check_secret()
            self._store.shut()
            if self._store.state == "closed":
                agree(self._store, self.batch, self._peer)
        self._wake()
        return self.status()

    def answer(self, content: object) -> bytes:
        """Answer a `Question` in JSON, always with the same bytes.

        Raises a RefusedError if it is not answered now or never will be.
        """
        question = Question(self.batch, content)
        with self._answering, self._guarded():
            secret = self._check_secret()
            self._check_frozen()
            known = self._store.answers()
            if question.text in known:
                return known[question.text]
            if question.kind == "groups" and any(text.startswith('["groups"') for text in known):
                raise RefusedError(
                    "the batch was answered for other groups; ask for as many as then", 409
                )
            answer = self._released(question, secret)
            self._store.answer(question.text, answer)
            return answer

    def _released(self, question: Question, secret: bytes) -> bytes:
        """Make an answer, which must be stored before anyone sees it."""
        self._check_question(question)
        self._store.check_sampler()
        sums, reports = self._sums(question), self._store.content_digest()
        borders = question.places.tobytes() if question.kind == "groups" else b""
        key = shares.release_key(secret, self.batch, reports, borders)
        # All that the noise depends on is on the disk; charge the budget before drawing it.
        if self._store.state == "frozen":
            charge(self._ledger, self.batch, fingerprint(secret) + reports)
        if question.kind == "curves":
            arrays = shares.noisy_curves(self.batch, sums, key)
        elif question.kind == "groups":
            arrays = shares.noisy_groups(self.batch, sums, question.places, key)
        else:
            arrays = shares.noisy_points(self.batch, sums, question.places, key)
        return question.encode(arrays, self._head())

    def _head(self) -> dict[str, Any]:
        """Return what every answer says apart from its numbers."""
        agreed = self._store.agreed
        if agreed is None:
            raise StoreError(f"the set of reports of batch {self.batch.name} was lost")
        return {
            "batch": self.batch.digest.hex(),
            "role": self.role,
            "count": agreed.count,
            "reports": agreed.digest.hex(),
        }

    def _check_question(self, question: Question) -> None:
        """Refuse places that are not borders of groups, before anything is charged."""
        if question.kind == "groups":
            try:
                shares.group_borders(self.batch, question.places)
            except ParameterError as error:
                raise RefusedError(str(error), 400) from None

    def _sums(self, question: Question) -> NDArray[np.uint64]:
        if self._expander is not None:
            sums = self._expander.final()
            if sums is None:
                raise RefusedError("the reports are still being added up; ask again", 503)
            return sums
        inside = np.ones(self._store.count, dtype=bool)
        inside[self._store.outside()] = False
        sums = np.zeros((len(self.batch.curves), len(question.places)), dtype=np.uint64)
        for start in range(0, len(inside), _BLOCK):
            reports = self._store.read(start, min(start + _BLOCK, len(inside)))
            chosen = reports[inside[start : start + _BLOCK]]
            sums += shares.point_sums(self.batch, self.role, chosen, question.places)
        return sums

    def _check_frozen(self) -> None:
        state = self._store.state
        if state in {"open", "closed"}:
            raise RefusedError(f"the batch is {state}; freeze it at both servers first", 409)

    def _check_secret(self) -> bytes:
        """Return the secret of the noise; retire the batch if it is not the one it began with."""
        secret = read_secret(self._secret_file)
        if secret is None or fingerprint(secret) != self._store.secret:
            self._store.retire()
        if secret is None or self._store.state == "retired":
            raise RefusedError(
                "the secret of the batch's noise was lost or changed; the batch is retired and "
                "will never be answered",
                410,
            )
        return secret

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise RefusedError("the server cannot use its files; its operator was told which", 500)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Run the block unless a file is damaged."""
        self._check_alive()
        try:
            yield
        except StoreError as error:
            self._fail(error)
            self._check_alive()

    def _fail(self, error: StoreError) -> None:
        self._failure = error
        sys.stderr.write(f"nolook: error: {error}\n")
        sys.stderr.flush()

    def _wake(self) -> None:
        if self._expander is not None:
            self._expander.wake()
