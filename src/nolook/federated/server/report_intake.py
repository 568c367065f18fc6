"""Reports that arrive: opened and checked before anything is stored, then stored in groups.

Reports that arrive together share one flush. Each is answered when it is on the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import accumulate

from nolook.errors import NolookError
from nolook.federated.failures import DiskFullError, RefusedError, ReportError
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
        raise ReportError(
            f"the request has {len(body)} bytes; expected reports of {size} bytes each"
        )
    for start in range(0, len(body), size):
        report = unsealer.open(body[start : start + size])
        report_id = check(batch, unsealer.role, report)
        found.append(Arrival(report_id, report, token.digest, token.most))
    return found


class GroupCommit:
    """A queue before a store, emptied by one thread.

    It calls `failed` with an error that ends its work, or with that of a full disk, which does not.
    """

    def __init__(self, store: Store, failed: Callable[[NolookError], None]) -> None:
        self._store = store
        self._failed = failed
        self._changed = threading.Condition()
        self._waiting: list[tuple[Sequence[Arrival], Future[int]]] = []
        self._is_open = True
        self._thread = threading.Thread(target=self._work, name="intake", daemon=True)
        self._thread.start()

    def put(self, *arrivals: Arrival) -> Future[int]:
        """Store checked reports; the future returns how many are new, once on the disk.

        If any is refused, the others are stored, and the future raises the first refusal.
        """
        outcome: Future[int] = Future()
        with self._changed:
            if self._is_open and len(self._waiting) < _MOST_WAITING:
                self._waiting.append((arrivals, outcome))
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
            reports = [one for arrivals, _ in together for one in arrivals]
            try:
                outcomes = self._store.add(reports)
            except DiskFullError as error:
                self._failed(error)
                outcomes = [RefusedError(_STOPPED, 503)] * len(reports)
            except NolookError as error:
                # The next start finds out what reached the files.
                self._failed(error)
                with self._changed:
                    self._is_open = False
                    together += self._waiting
                    self._waiting = []
                outcomes = [RefusedError(_STOPPED, 503)] * sum(len(one) for one, _ in together)
            start = 0
            for arrivals, waiting in together:
                _settle(waiting, outcomes[start : start + len(arrivals)])
                start += len(arrivals)

    def _collect(self) -> list[tuple[Sequence[Arrival], Future[int]]]:
        """Wait for a report, and a little for others; nothing comes after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or not self._is_open)
            gathering = _GATHERING if self._is_open else 0.0
        time.sleep(gathering)
        with self._changed:
            sizes = accumulate(len(arrivals) for arrivals, _ in self._waiting)
            count = max(1, sum(size <= MOST_TOGETHER for size in sizes))
            together = self._waiting[:count]
            del self._waiting[:count]
        return together


def _settle(waiting: Future[int], outcomes: Sequence[bool | RefusedError]) -> None:
    if not waiting.set_running_or_notify_cancel():  # the caller is gone
        return
    refusals = [one for one in outcomes if isinstance(one, RefusedError)]
    if refusals:
        waiting.set_exception(refusals[0])
    else:
        waiting.set_result(sum(one is True for one in outcomes))
