"""Reports that arrive: opened and checked before anything is stored, then stored in groups.

Reports that arrive together share one flush. Each is answered when it is on the disk.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from nolook.federated.failures import RefusedError, ReportError
from nolook.federated.reports import MOST_TOGETHER, check
from nolook.federated.sealing import Unsealer, sealed_bytes
from nolook.federated.server.store import Arrival, Store
from nolook.federated.tokens import Token

__all__ = ["GroupCommit", "arrivals"]

_MOST_WAITING = 512  # requests
_GATHERING = 0.002  # seconds for more to arrive: a flush takes as long for many as for one
_STOPPED = "the server cannot store anything now; try again later"


def arrivals(unsealer: Unsealer, body: bytes, token: Token) -> list[Arrival]:
    """Return the reports that were sent together, or raise a ReportError."""
    batch, found = unsealer.batch, []
    size = sealed_bytes(batch)
    if not body or len(body) % size:
        raise ReportError(f"the request has {len(body)} bytes; expected reports of {size} each")
    for start in range(0, len(body), size):
        report = unsealer.open(body[start : start + size])
        report_id = check(batch, unsealer.role, report)
        found.append(Arrival(report_id, report, token.digest, token.most))
    return found


class GroupCommit:
    """A queue before a store, emptied by one thread.

    It calls `failed` with any error of the store; what was to be stored is refused.
    """

    def __init__(self, store: Store, failed: Callable[[Exception], None]) -> None:
        self._store = store
        self._failed = failed
        self.count = 0  # reports that are stored, once any was
        self._waiting: deque[tuple[Sequence[Arrival], Future[int]]] = deque()
        self._changing = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "intake")

    def put(self, *arrivals: Arrival) -> Future[int]:
        """Store checked reports; the future returns how many are new, once on the disk.

        If any is refused, the others are stored, and the future raises the first refusal.
        """
        outcome: Future[int] = Future()
        with self._changing, suppress(RuntimeError):  # it is closed
            if len(self._waiting) < _MOST_WAITING:
                self._pool.submit(self._store_some)
                self._waiting.append((arrivals, outcome))
                return outcome
        outcome.set_exception(RefusedError(_STOPPED, 503))
        return outcome

    def close(self) -> None:
        """Store what waits, then stop."""
        self._pool.shutdown()

    def _store_some(self) -> None:
        """Wait a little for more reports, if any wait, and store them."""
        with self._changing:
            if not self._waiting:
                return
        time.sleep(_GATHERING)
        together: list[tuple[Sequence[Arrival], Future[int]]] = []
        reports: list[Arrival] = []
        most = max(MOST_TOGETHER, len(self._waiting[0][0]))
        while self._waiting and len(reports) + len(self._waiting[0][0]) <= most:
            together.append(self._waiting.popleft())
            reports += together[-1][0]
        outcomes: list[bool | RefusedError]
        try:
            outcomes = self._store.add(reports)
            self.count = self._store.count
        except Exception as error:  # noqa: BLE001 -- the next start finds out what reached the files
            self._failed(error)
            outcomes = [RefusedError(_STOPPED, 503)] * len(reports)
        for arrivals, waiting in together:
            own, outcomes = outcomes[: len(arrivals)], outcomes[len(arrivals) :]
            refusals = [one for one in own if isinstance(one, RefusedError)]
            if not waiting.set_running_or_notify_cancel():  # the caller is gone
                continue
            if refusals:
                waiting.set_exception(refusals[0])
            else:
                waiting.set_result(sum(one is True for one in own))
