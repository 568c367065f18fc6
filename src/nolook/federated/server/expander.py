"""The thread that adds reports up while others arrive, and ends with the sum of the agreed ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nolook.errors import NolookError
from nolook.federated.batch import Batch
from nolook.federated.disk import os_errors_as_store_errors, remove
from nolook.federated.failures import StoreError
from nolook.federated.server.store import Store
from nolook.federated.server.sums import RunningSum, Sums, read_sums, write_sums

__all__ = ["Expander"]

# Seconds.
_PATIENCE = 1.0  # between looks if nobody calls `wake`
_GATHERING = 0.5  # for more reports to arrive: many together take much less time each
_KEPT = 5.0  # between two stored sums while reports keep arriving


class Expander:
    """Keeps the sum of a batch, and checks its reports.

    Once the final sum is on the disk it deletes the reports, which nothing needs any more. It
    calls `failed` with the error that ends its work.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        batch: Batch,
        role: int,
        failed: Callable[[StoreError], None],
    ) -> None:
        self._running_file, self._final_file = folder / "running.sum", folder / "final.sum"
        self._messages_file = folder / "running.messages"
        self._store = store
        self._batch = batch
        self._role = role
        self._failed = failed
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._hurrying = threading.Event()
        self._kept = time.monotonic()
        self._forgetting = threading.Lock()
        self._sum: RunningSum | None = None
        if store.summed:
            self._finish()
        else:
            self._sum = RunningSum(self._running_file, batch, role, store.read, store.count)
        self._thread = threading.Thread(target=self._work, name="expander", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to do."""
        self._wake.set()

    def hurry(self) -> None:
        """Say that no more reports will arrive."""
        self._hurrying.set()
        self._wake.set()

    def close(self) -> None:
        """Stop after the block at hand."""
        self._stopping.set()
        self.hurry()
        self._thread.join()

    def final(self) -> Sums | None:
        """Return the sum of the agreed reports, None if it is not known yet."""
        if not self._store.summed:
            return None
        found = read_sums(self._final_file, self._batch, self._role, self._store.frozen.digest)
        if found is None:
            raise StoreError(
                f"{str(self._final_file)!r} is damaged or missing; it was the only sum"
            )
        return found[0]

    def messages(self, positions: NDArray[np.int64]) -> NDArray[np.uint8] | None:
        """Return the messages about the reports at some positions; None while some are missing.

        Once the final sum is there nobody needs them any more, and they are gone.
        """
        with self._forgetting:
            running = self._sum
            if running is None or running.count < self._store.count:
                return None
            return running.messages.at(positions)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set() and self._sum is not None:
                self._advance(self._sum)
            if self._sum is not None:
                self._sum.keep()
                self._sum.close()
        except NolookError as error:
            self._failed(error if isinstance(error, StoreError) else StoreError(str(error)))

    def _advance(self, running: RunningSum) -> None:
        # In this order: a batch that is frozen gets no more reports.
        frozen, stored = self._store.state == "frozen", self._store.count
        if running.count < stored:
            running.advance(stored)
            if time.monotonic() > self._kept + _KEPT:
                self._keep(running)
            if running.count == stored and not frozen:
                self._hurrying.wait(_GATHERING)
        elif frozen:
            sums = running.without(self._store.outside())
            named, count = self._store.frozen.digest, self._store.count
            write_sums(self._final_file, self._batch, self._role, sums, count, named)
            self._store.drop_reports()
            with self._forgetting:
                self._sum = None
                running.close()
            self._finish()
        elif not self._wake.wait(_PATIENCE):
            self._keep(running)
        else:
            self._wake.clear()

    def _keep(self, running: RunningSum) -> None:
        running.keep()
        self._kept = time.monotonic()

    def _finish(self) -> None:
        for file in (self._running_file, self._messages_file):
            with os_errors_as_store_errors(file):
                remove(file)
