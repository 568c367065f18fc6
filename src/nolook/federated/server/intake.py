"""Reports that arrive together share one flush: each is answered when it is on the disk."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from nolook.errors import NolookError
from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.server.store import Arrival, Store

__all__ = ["Intake"]

_MOST_TOGETHER = 256
_MOST_WAITING = 4096
_GATHERING = 0.002  # seconds for more to arrive: a flush takes as long for many as for one

_STOPPED = "the server cannot store anything now; try again later"


class Intake:
    """A queue before a store, emptied by one thread.

    It calls `arrived` after storing reports, and `failed` with the error that ends its work.
    """

    def __init__(
        self, store: Store, arrived: Callable[[], None], failed: Callable[[StoreError], None]
    ) -> None:
        self._store = store
        self._arrived = arrived
        self._failed = failed
        self._waiting: queue.Queue[tuple[Arrival, Future[bool]] | None]
        self._waiting = queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="intake", daemon=True)
        self._thread.start()

    def put(self, one: Arrival) -> Future[bool]:
        """Hand a checked report over; the future tells whether it is new, once on the disk."""
        outcome: Future[bool] = Future()
        try:
            self._waiting.put_nowait((one, outcome))
        except queue.Full:
            _refuse(outcome)
        if self._stopped.is_set():  # the thread no longer answers
            self._refuse_all()
        return outcome

    def close(self) -> None:
        """Store what waits, then stop."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while not self._stopped.is_set():
            together = self._collect()
            if not together:
                continue
            try:
                outcomes = self._store.add([one for one, _ in together])
            except NolookError as error:
                # The next start finds out what reached the files.
                self._stopped.set()
                self._failed(error if isinstance(error, StoreError) else StoreError(str(error)))
                for _, waiting in together:
                    _refuse(waiting)
            else:
                for (_, waiting), outcome in zip(together, outcomes, strict=True):
                    _settle(waiting, outcome)
                self._arrived()
        self._refuse_all()

    def _collect(self) -> list[tuple[Arrival, Future[bool]]]:
        """Wait for a report, and a little for others; then take all that wait."""
        together = []
        entry = self._waiting.get()
        if entry is not None:
            time.sleep(_GATHERING)
        with suppress(queue.Empty):
            while entry is not None:
                together.append(entry)
                if len(together) == _MOST_TOGETHER:
                    return together
                entry = self._waiting.get_nowait()
            self._stopped.set()
        return together

    def _refuse_all(self) -> None:
        with suppress(queue.Empty):
            while True:
                entry = self._waiting.get_nowait()
                if entry is not None:
                    _refuse(entry[1])


def _settle(waiting: Future[bool], outcome: bool | RefusedError) -> None:
    with suppress(InvalidStateError):  # whoever waited may have gone
        if isinstance(outcome, RefusedError):
            waiting.set_exception(outcome)
        else:
            waiting.set_result(outcome)


def _refuse(waiting: Future[bool]) -> None:
    _settle(waiting, RefusedError(_STOPPED, 503))
