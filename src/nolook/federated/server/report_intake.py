"""Reports that arrive: opened and checked before anything is stored, then stored in groups.

Reports that arrive together share one flush. Each is answered when it is on the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from nolook.errors import NolookError
from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError, ReportError
from nolook.federated.reports import ID_BYTES, check
from nolook.federated.sealing import Unsealer, sealed_bytes
from nolook.federated.server.store import Arrival, Store
from nolook.federated.tokens import Token

__all__ = ["GroupCommit", "ReportIntake"]

_MOST_TOGETHER = 256
_MOST_WAITING = 4096
_GATHERING = 0.002  # seconds for more to arrive: a flush takes as long for many as for one
_STOPPED = "the server cannot store anything now; try again later"


class ReportIntake:
    """The checks of one batch at the server of a role; `private` is its key."""

    def __init__(self, batch: Batch, role: int, private: bytes) -> None:
        self.batch = batch
        self._role = role
        self._unsealer = Unsealer(batch, role, private)
        #: Bytes of what is sent.
        self.largest = sealed_bytes(batch)

    def report_id(self, address: str) -> bytes:
        """Return the id in an address."""
        if len(address) != 2 * ID_BYTES or not set(address) <= set("0123456789abcdef"):
            raise RefusedError(
                f"the address does not end with a report's id; expected {2 * ID_BYTES} hex digits",
                400,
            )
        return bytes.fromhex(address)

    def arrival(self, body: bytes, report_id: bytes, token: Token) -> Arrival:
        """Return the report that was sent under an id, or raise a ReportError."""
        report = self._unsealer.open(body)
        if check(self.batch, self._role, report) != report_id:
            raise ReportError("the report has another id than its address")
        return Arrival(report_id, report, token.digest, token.most)


class GroupCommit:
    """A queue before a store, emptied by one thread.

    It calls `failed` with the error that ends its work.
    """

    def __init__(self, store: Store, failed: Callable[[NolookError], None]) -> None:
        self._store = store
        self._failed = failed
        self._changed = threading.Condition()
        self._waiting: list[tuple[Arrival, Future[bool]]] = []
        self._is_open = True
        self._thread = threading.Thread(target=self._work, name="intake", daemon=True)
        self._thread.start()

    def put(self, one: Arrival) -> Future[bool]:
        """Store a checked report; the future returns whether it is new, once on the disk."""
        outcome: Future[bool] = Future()
        with self._changed:
            if self._is_open and len(self._waiting) < _MOST_WAITING:
                self._waiting.append((one, outcome))
                self._changed.notify()
            else:
                outcome.set_exception(RefusedError(_STOPPED, 503))
        return outcome

    def close(self) -> None:
        """Store what waits, then stop."""
        with self._changed:
            self._is_open = False
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while together := self._collect():
            outcomes: list[bool | RefusedError]
            try:
                outcomes = self._store.add([one for one, _ in together])
            except NolookError as error:
                # The next start finds out what reached the files.
                self._failed(error)
                with self._changed:
                    self._is_open = False
                    together += self._waiting
                    self._waiting = []
                outcomes = [RefusedError(_STOPPED, 503)] * len(together)
            for (_, waiting), outcome in zip(together, outcomes, strict=True):
                _settle(waiting, outcome)

    def _collect(self) -> list[tuple[Arrival, Future[bool]]]:
        """Wait for a report, and a little for others; nothing comes after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or not self._is_open)
            gathering = _GATHERING if self._is_open else 0.0
        time.sleep(gathering)
        with self._changed:
            together = self._waiting[:_MOST_TOGETHER]
            del self._waiting[:_MOST_TOGETHER]
        return together


def _settle(waiting: Future[bool], outcome: bool | RefusedError) -> None:
    if not waiting.set_running_or_notify_cancel():  # the caller is gone
        return
    if isinstance(outcome, RefusedError):
        waiting.set_exception(outcome)
    else:
        waiting.set_result(outcome)
