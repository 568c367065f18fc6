"""One batch at one server, without a network: take reports, agree on them, answer.

A batch is open, closed (it takes no more reports), frozen (the other server found the same set of
reports), answered; retired, when the secret of its noise was lost; or ended, when it answers
nothing new and its reports are erased. The servers only ever read from each other, and each change
is on the disk before anyone hears of it. No noise is drawn before a batch is frozen.

Each report is added to a running sum, and in format 2 checked, as it arrives, and deleted when the
sum of the agreed ones is on the disk. In format 1 with more than 2^16 thresholds every question
needs the reports, so they are kept until the batch ends. A report tells nothing without the other
server's, but whoever has both has the value.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.federated import point_shares, shares
from nolook.federated.batch import Batch
from nolook.federated.by_format import guarantee
from nolook.federated.disk import make_folder, os_errors_as_store_errors, remove
from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.point_batch import PointBatch
from nolook.federated.server.agreement import Entries, Peer, agree
from nolook.federated.server.counting import noise_digest, sums_shape
from nolook.federated.server.expander import Expander
from nolook.federated.server.release import Question, charge, fingerprint, make_secret, read_secret
from nolook.federated.server.report_intake import GroupCommit
from nolook.federated.server.store import Arrival, Store

__all__ = ["BatchService"]

_BLOCK = 4096  # reports read at a time


class BatchService:
    """One batch at one server, in a folder of its own; any thread may use it.

    The ledger is for the relation "replace". Raises a StoreError if the files are damaged, in use,
    or of another batch or role.
    """

    def __init__(self, role: int, batch: Batch, folder: Path, ledger: Path, peer: Peer) -> None:
        guarantee(batch)  # refuses what could never be answered
        self.role = role
        self.batch = batch
        self._folder = folder
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
        self._expander: Expander | None = None
        if self._store.state == "ended":
            self._erase()
        elif batch.whole:
            self._expander = Expander(folder, self._store, batch, role, self._fail)
        self._entries = Entries(self._store, batch, self._messages)
        self._intake = GroupCommit(self._store, self._wake, self._fail)

    def close(self) -> None:
        """Store what was accepted, then close the files."""
        self._intake.close()
        if self._expander is not None:
            self._expander.close()
        self._store.close()

    def put(self, one: Arrival) -> Future[bool]:
        """Take a checked report; the future tells whether it is new, once on the disk."""
        self._check_alive()
        return self._intake.put(one)

    def status(self) -> dict[str, Any]:
        """Return what an analyst may know: all public under replacement."""
        agreed = self._store.agreed
        return {
            "name": self.batch.name,
            "kind": self.batch.kind,
            "state": self._store.state,
            "count": self._store.count,
            "agreed": None if agreed is None else agreed.count,
            "rejected": None if agreed is None else agreed.rejected,
        }

    def reports(self) -> dict[str, Any]:
        """Return what the other server may know: its reports' digest, and which set this one found.

        A batch that is frozen lists nothing any more: both servers have stored the set.
        """
        with self._guarded():
            state, agreed = self._store.state, self._store.agreed
            listed = self._entries.listed() if state == "closed" else None
        return {
            "batch": self.batch.digest.hex(),
            "closed": state != "open",
            "count": 0 if listed is None else listed.count,
            "digest": "" if listed is None else listed.digest.hex(),
            "agreed": None
            if agreed is None
            else [agreed.count, agreed.digest.hex(), agreed.rejected],
        }

    def entries(self, after: bytes) -> bytes:
        """Return entries of the list of reports, by id, after an id; nothing at the end."""
        with self._guarded():
            state = self._store.state
            if state != "closed":
                raise RefusedError(f"the batch is {state}; only a closed one lists reports", 409)
            return self._entries.page(after)

    def freeze(self) -> dict[str, Any]:
        """Close the batch, agree with the other server as far as it is ready; return the status.

        It takes two calls to each server until both are frozen. Raises a RefusedError if too few
        reports are at both (409), or reports are still checked or the other server away (503).
        """
        with self._changing, self._guarded():
            self._check_secret()
            self._store.shut()
            self._hurry()
            if self._store.state == "closed":
                agree(self._store, self.batch, self._entries, self._peer, self._noise)
        self._hurry()
        return self.status()

    def end(self) -> dict[str, Any]:
        """Answer nothing new from now on, and erase reports, sums and the secret."""
        with self._changing, self._answering, self._guarded():
            self._store.end()
            if self._expander is not None:
                self._expander.close()
                self._expander = None
            self._erase()
        return self.status()

    def answer(self, content: object) -> bytes:
        """Answer a `Question` in JSON, always with the same bytes.

        Raises a RefusedError if it is not answered now or never will be.
        """
        question = Question(self.batch, content)
        with self._answering, self._guarded():
            secret = self._check_secret()
            known = self._store.answer(question.text)
            if known is not None:
                return known
            self._check_frozen()
            if question.kind == "groups" and self._store.has_answer('["groups"'):
                raise RefusedError(
                    "the batch was answered for other groups; ask for as many as then", 409
                )
            answer = self._released(question, secret)
            self._store.keep_answer(question.text, answer, self._noise)
            return answer

    def _released(self, question: Question, secret: bytes) -> bytes:
        """Make an answer, which must be stored before anyone sees it."""
        self._check_question(question)
        self._store.check_noise(self._noise)
        sums, reports = self._sums(question), self._store.content_digest()
        # All that the noise depends on is on the disk; charge the budget before drawing it.
        if self._store.state == "frozen":
            charge(self._ledger, self.batch, fingerprint(secret) + reports)
        return question.encode(self._drawn(question, sums, secret, reports), self._head())

    def _drawn(
        self, question: Question, sums: NDArray[np.uint64], secret: bytes, reports: bytes
    ) -> dict[str, NDArray[np.uint64]]:
        """Return the sums that are asked for, with all their noise."""
        batch = self.batch
        if isinstance(batch, PointBatch):
            key = point_shares.release_key(secret, batch, reports)
            return point_shares.noisy_blocks(batch, sums, key)
        borders = question.places.tobytes() if question.kind == "groups" else b""
        key = shares.release_key(secret, batch, reports, borders)
        if question.kind == "curves":
            return shares.noisy_curves(batch, sums, key)
        if question.kind == "groups":
            return shares.noisy_groups(batch, sums, question.places, key)
        return shares.noisy_points(batch, sums, question.places, key)

    @cached_property
    def _noise(self) -> bytes:
        return noise_digest(self.batch)

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
        sums = np.zeros((sums_shape(self.batch)[0], len(question.places)), dtype=np.uint64)
        for start in range(0, len(inside), _BLOCK):
            reports = self._store.read(start, min(start + _BLOCK, len(inside)))
            chosen = reports[inside[start : start + _BLOCK]]
            sums += shares.point_sums(self.batch, self.role, chosen, question.places)
        return sums

    def _messages(self, positions: NDArray[np.int64]) -> NDArray[np.uint8] | None:
        return None if self._expander is None else self._expander.messages(positions)

    def _erase(self) -> None:
        """Delete what only a batch that goes on needs; answers and ids stay."""
        self._store.erase()
        for name in ("running.sum", "running.messages", "final.sum", "secret"):
            with os_errors_as_store_errors(self._folder):
                remove(self._folder / name)

    def _check_frozen(self) -> None:
        state = self._store.state
        if state == "ended":
            raise RefusedError("the batch has ended; only the answers it gave can be had", 410)
        if state in {"open", "closed"}:
            raise RefusedError(f"the batch is {state}; freeze it at both servers first", 409)

    def _check_secret(self) -> bytes:
        """Return the secret of the noise; retire the batch if it is not the one it began with."""
        secret = read_secret(self._secret_file)
        if self._store.state == "ended":  # there is none
            return b""
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

    def _hurry(self) -> None:
        if self._expander is not None:
            self._expander.hurry()

    def _wake(self) -> None:
        if self._expander is not None:
            self._expander.wake()
