"""A server as a whole: its batches, its connections, and in which processes they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nolook.federated.batch import Batch
from nolook.federated.client import Access, ServerClient
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.private_key import read_private_key
from nolook.federated.server.app import make_app
from nolook.federated.server.batch_service import BatchService
from nolook.federated.server.calls import Calls, Local
from nolook.federated.server.connections import Connections, allow_files
from nolook.federated.server.door import Door
from nolook.federated.server.fronts import Fronts
from nolook.federated.server.listening import (
    Listening,
    answer,
    bound,
    configured,
    greet,
    stop_on_signals,
)
from nolook.federated.server.rates import Rates
from nolook.federated.tokens import Tokens

__all__ = ["Running", "run"]

_CALLERS = 8  # calls of a batch at once, but for reports
_PEER_PATIENCE = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Running:
    """What a server runs with; see the options of ``nolook federated serve``."""

    role: int
    batches: Sequence[Batch]
    data: Path
    ledger: Path
    tokens: Tokens
    peer: Access
    listening: Listening
    private_key: Path
    per_address: int
    processes: int


def run(wanted: Running) -> None:
    """Run a server until a signal ends it."""
    private = read_private_key(wanted.private_key)
    doors = [Door(batch, wanted.role, private) for batch in wanted.batches]
    connections = Connections(wanted.per_address)
    allow_files(len(doors))
    greeting = f"role {wanted.role} serves {', '.join(one.name for one in wanted.batches)}"

    def work(calls: Sequence[Calls]) -> None:
        """Answer requests, whichever process keeps the files."""
        rates = Rates(max(wanted.processes, 1))
        app = make_app(list(zip(doors, calls, strict=True)), wanted.tokens, connections, rates)
        answer(configured(app, wanted.listening), listener, connections)

    configured(make_app([], wanted.tokens, connections, Rates()), wanted.listening)
    with ExitStack() as stack:
        if not wanted.processes:
            calls = stack.enter_context(_services(wanted))
            listener = stack.enter_context(bound(wanted.listening))
            greet(greeting, listener)
            work(calls)
            return
        listener = stack.enter_context(bound(wanted.listening))
        fronts = stack.enter_context(Fronts(wanted.processes, wanted.batches, work))
        calls = stack.enter_context(_services(wanted))
        stack.callback(fronts.stop)  # before the files are closed
        fronts.answer(calls)
        greet(greeting, listener)
        stop_on_signals()
        with suppress(KeyboardInterrupt):
            fronts.wait()


@contextmanager
def _services(wanted: Running) -> Iterator[list[Calls]]:
    """Open the batches' files; close them at the end."""
    with os_errors_as_store_errors(wanted.data):
        make_folder(wanted.data)
    with ExitStack() as stack:
        peer = stack.enter_context(ServerClient(wanted.peer, _PEER_PATIENCE))
        calls: list[Calls] = []
        for batch in wanted.batches:
            folder = wanted.data / batch.name
            service = BatchService(wanted.role, batch, folder, wanted.ledger, peer)
            stack.callback(service.close)
            calls.append(Local(service, ThreadPoolExecutor(_CALLERS)))
        yield calls
