"""One batch at one server, without a network: take reports, agree on them, answer.

A batch is open, closed (it takes no more reports), frozen (the other server found the same set of
reports), answered, or ended, when it answers nothing new and its reports and secret are erased. The
servers only ever read from each other, and each change is on the disk before anyone hears of it. No
noise is drawn before a batch is frozen.

Each report is checked and added to a running sum as it arrives, and deleted when the sum of the
agreed ones is on the disk. One server's report shows nothing without the other's, but both together
show the value.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import astuple

from nolook.errors import NolookError
from nolook.federated.batch import Batch
from nolook.federated.failures import DiskFullError, RefusedError, StoreError
from nolook.federated.server.agreement import Peer, agree, check_enough
from nolook.federated.server.expander import Expander
from nolook.federated.server.release import charge, encode, make_secret, require
from nolook.federated.server.report_intake import GroupCommit
from nolook.federated.server.store import Arrival, Store
from nolook.federated.shares import noise_digest, noisy_blocks, release_key

__all__ = ["BatchService"]

_BETWEEN_WORDS = 60.0  # seconds


class BatchService:
    """One batch at one server, in a folder of its own; any thread may use it.

    The ledger is for the relation "replace". Raises a StoreError if the files are damaged, in use,
    or of another batch or role.
    """

    def __init__(self, role: int, batch: Batch, folder: Path, ledger: Path, peer: Peer) -> None:
        self.batch = batch
        self._ledger = ledger
        self._peer = peer
        self._failure: Exception | None = None
        self._next_word = 0.0
        self._changing = threading.Lock()
        self._agreeing = threading.Lock()
        self._store = Store(folder, batch, role, make_secret())
        self._expander = Expander(self._store, self._fail)
        self._intake = GroupCommit(self._store, self._fail)

    def close(self) -> None:
        """Store what was accepted, then close the files."""
        self._intake.close()
        self._expander.close()
        self._store.close()

    def put(self, *arrivals: Arrival) -> Future[int]:
        """Take checked reports; the future returns how many are new, once on the disk."""
        self._check_alive()
        return self._intake.put(*arrivals)

    @property
    def count(self) -> int:
        """The number of reports, as soon as any was put; it waits for nothing."""
        return self._intake.count

    def status(self) -> dict[str, Any]:
        """Return the batch's state and counts, for an analyst: all public under replacement."""
        agreed, (opened, closed) = self._store.agreed, self._store.times
        return {
            "name": self.batch.name,
            "kind": self.batch.kind,
            "state": self._store.state,
            "opened": opened,
            "closed": closed,
            "count": self._store.count,
            "missing": self._missing(),
            "agreed": None if agreed is None else agreed.count,
            "rejected": None if agreed is None else agreed.rejected,
        }

    def reports(self) -> dict[str, Any]:
        """Return the digest of the reports and the set found here, for the other server.

        A batch that is frozen lists nothing any more: both servers have stored the set.
        """
        with self._guarded():
            state, agreed = self._store.state, self._store.agreed
            count, digest = self._store.count if state == "open" else 0, ""
            if state == "closed":
                count, digest = self._store.listed
        return {
            "batch": self.batch.digest.hex(),
            "closed": state != "open",
            "count": count,
            "digest": digest,
            "agreed": agreed and astuple(agreed),
        }

    def entries(self, after: bytes) -> bytes:
        """Return entries of the list of reports, by id, after an id; nothing at the end."""
        with self._guarded():
            state = self._store.state
            if state not in {"open", "closed"}:
                raise RefusedError(f"the batch is {state}; it lists no reports any more", 409)
            return b"".join(entry for entry, _ in self._store.entries(after))

    def freeze(self) -> dict[str, Any]:
        """Close the batch, agree with the other server as far as it is ready; return the status.

        It takes two calls to each server until both are frozen. Raises a RefusedError if too few
        reports are at both (409), the ledger has too little left (402), or reports are still
        checked or the other server is away (503). A batch that is refused stays open.
        """
        self._expander.hurry()
        if not self._agreeing.acquire(blocking=False):
            raise RefusedError("the servers are comparing their reports; ask again", 503)
        try:
            with self._guarded():
                if self._store.state == "open":
                    require(self._ledger, self.batch)
                    check_enough(self._store, self._peer)
                    self._store.shut()
                    self._expander.hurry()
                if self._store.state == "closed":
                    agree(self._store, self._peer, self._noise)
        finally:
            self._agreeing.release()
        self._expander.hurry()
        return self.status()

    def _missing(self) -> tuple[int, str] | None:
        """Return the HTTP status and the reason if an open batch cannot be closed yet."""
        if self._store.state != "open":
            return None
        if (lacking := self.batch.minimum - self._store.count) > 0:
            return 409, f"at least {lacking} more reports are needed"
        try:
            require(self._ledger, self.batch)
        except RefusedError as error:
            return error.status, str(error)
        return None

    def end(self) -> dict[str, Any]:
        """Answer nothing new from now on, and erase reports, sums and the secret."""
        with self._changing, self._guarded():
            self._expander.close()
            self._store.end()
        return self.status()

    def answer(self) -> bytes:
        """Return the answer about the batch, always the same bytes.

        Raises a RefusedError if it is not answered now or never will be.
        """
        with self._changing, self._guarded():
            answer = self._store.answer
            if answer is None:
                answer = self._drawn()
                self._store.keep_answer(answer)
            return answer

    def _drawn(self) -> bytes:
        """Draw the answer, which must be stored before anyone sees it."""
        batch, store, agreed = self.batch, self._store, self._store.agreed
        state = store.state
        if state == "ended":
            raise RefusedError("the batch has ended; only its earlier answers are available", 410)
        if state != "frozen":
            raise RefusedError(f"the batch is {state}; freeze it first (query --freeze)", 409)
        store.check_noise(self._noise)
        if agreed is None or not store.erased:
            raise RefusedError("the reports are still being added up; ask again", 503)
        # All that the noise depends on is on the disk; charge the budget before drawing it.
        sums, key = store.sums, release_key(store.secret, batch, bytes.fromhex(agreed.digest))
        charge(self._ledger, batch, key)
        head = {
            "batch": batch.digest.hex(),
            "role": store.role,
            "count": agreed.count,
            "reports": agreed.digest,
        }
        return encode(noisy_blocks(batch, sums, key), head)

    @cached_property
    def _noise(self) -> bytes:
        return noise_digest(self.batch)

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise RefusedError("the server cannot use its files; its operator was notified", 500)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Run the block unless a file is damaged."""
        self._check_alive()
        try:
            yield
        except StoreError as error:
            self._fail(error)
            self._check_alive()
            raise RefusedError("the server's disk is full; try again later", 503) from None

    def _fail(self, error: Exception) -> None:
        """Tell the operator of an error; all but a full disk, told once a minute, end the work."""
        ends = not isinstance(error, DiskFullError)
        if self._failure is not None or (not ends and time.monotonic() < self._next_word):
            return
        self._failure = error if ends else None
        self._next_word = time.monotonic() + _BETWEEN_WORDS
        known = isinstance(error, NolookError)  # the message of another may quote what was sent
        said = str(error) if known else f"internal error in serve: {type(error).__name__}"
        sys.stderr.write(f"nolook: error: {said}\n")
