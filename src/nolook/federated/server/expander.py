"""The thread that adds reports up while others arrive, and ends with the sum of the agreed ones."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nolook.federated.failures import DiskFullError
from nolook.federated.server.store import Store
from nolook.federated.shares import check_reports

__all__ = ["Expander"]

_GATHERING = 0.5  # seconds for more reports to arrive: many together take much less time each
_LEAVES = 2**24  # expanded before the next look at what else there is to do
_MOST_REPORTS = 8192  # read at a time


class Expander:
    """Checks the reports of a batch in the order of arrival, and adds each to the sums once.

    Once the batch is frozen it takes off what is not in the agreed set; then reports are deleted.
    It calls `failed` with an error that ends its work, or with that of a full disk, which does not.
    """

    def __init__(self, store: Store, failed: Callable[[Exception], None]) -> None:
        self._store = store
        self._failed = failed
        self._block = max(1, min(_MOST_REPORTS, _LEAVES >> store.batch.levels))
        self._hurrying = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="expander", daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """Wait for no more reports to arrive."""
        self._hurrying.set()

    def close(self) -> None:
        """Stop after the block at hand."""
        self._stopping = True
        self.hurry()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not (self._stopping or self._finished()):
                self._hurrying.wait(_GATHERING)
                self._hurrying.clear()
        except Exception as error:  # noqa: BLE001 -- nobody else would hear of it
            self._failed(error)

    def _finished(self) -> bool:
        """Return whether the sums are final and the rest is deleted, after adding what is there."""
        try:
            if self._store.erased or self._advance():
                self._store.shrink()
                return True
        except DiskFullError as error:
            self._failed(error)  # and try again
        return False

    def _advance(self) -> bool:
        """Add all reports that are there; return whether the sums are final."""
        store, batch, role = self._store, self._store.batch, self._store.role
        # In this order: a batch that is frozen gets no more reports.
        frozen, stored = store.state == "frozen", store.count
        for reports in store.halves(store.checked, stored, self._block):
            store.add_checked(check_reports(batch, role, reports))
            if self._stopping:
                return False
        if frozen:
            sums = store.sums
            for reports in store.halves(0, stored, self._block, outside=True):
                sums -= check_reports(batch, role, reports).counts
            store.finish(sums)
        return frozen
