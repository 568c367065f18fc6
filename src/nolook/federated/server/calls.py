"""What may be asked of a batch's service, as bytes, whichever process keeps its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from nolook.federated.server.batch_service import BatchService
from nolook.federated.server.store import Arrival

__all__ = ["METHODS", "Calls", "Local"]


class Calls(Protocol):
    """One batch's service."""

    def put(self, one: Arrival) -> Future[bool]:
        """Store a checked report; the future tells whether it is new."""

    def call(self, method: str, payload: bytes) -> Future[bytes]:
        """Call one of `METHODS`; the future has the content of the answer, or a RefusedError."""


class Local:
    """The service of a batch whose files this process keeps."""

    def __init__(self, service: BatchService, pool: ThreadPoolExecutor) -> None:
        self._service = service
        self._pool = pool

    def put(self, one: Arrival) -> Future[bool]:
        """Store a checked report."""
        return self._service.put(one)

    def call(self, method: str, payload: bytes) -> Future[bytes]:
        """Call a method in a thread."""
        return self._pool.submit(METHODS[method], self._service, payload)


def _document(call: Callable[[BatchService], object]) -> Callable[[BatchService, bytes], bytes]:
    return lambda service, _: json.dumps(call(service)).encode("ascii")


#: By name; each takes bytes and returns the content of the answer.
METHODS: dict[str, Callable[[BatchService, bytes], bytes]] = {
    "status": _document(BatchService.status),
    "freeze": _document(BatchService.freeze),
    "end": _document(BatchService.end),
    "set": _document(BatchService.reports),
    "entries": BatchService.entries,
    "answer": lambda service, _: service.answer(),
}
