"""A server process: it listens over TLS, and no other process uses its batches' files."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from nolook.errors import ParameterError
from nolook.federated.client import Access, ServerClient
from nolook.federated.disk import make_folder
from nolook.federated.folder import Folder
from nolook.federated.sealing import Unsealer
from nolook.federated.server.batch_service import BatchService
from nolook.federated.server.connections import BACKLOG, Connections, Listener

__all__ = ["answer", "configured", "listening", "opened"]

_PEER_PATIENCE = 5.0  # seconds
_KEEP_ALIVE = 30  # seconds
_GRACE = 10  # seconds to finish requests after a signal


class _Protocol(H11Protocol):
    """HTTP that ends with its connection."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # After a reset uvicorn keeps the timer, and with it 256 KB, for as long as a caller has.
        self._unset_keepalive_if_required()

    def shutdown(self) -> None:
        super().shutdown()
        # Else an idle caller, who need not answer the end of TLS, holds the server up.
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.transport.abort()


@contextmanager
def opened(
    unsealers: Sequence[Unsealer], files: Folder, peer: Access
) -> Iterator[list[tuple[Unsealer, BatchService]]]:
    """Open the batches' files; close them at the end."""
    with ExitStack() as stack:
        client = stack.enter_context(ServerClient(peer, _PEER_PATIENCE))
        make_folder(files.state)
        services = []
        for one in unsealers:
            folder = files.state / one.batch.name
            service = BatchService(one.role, one.batch, folder, files.ledger, client)
            stack.callback(service.close)
            services.append((one, service))
        yield services


def listening(host: str, port: int, connections: Connections, proxy: str | None) -> Listener:
    """Return a socket that listens, port 0 at any free port."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        with ExitStack() as stack:
            listener = stack.enter_context(Listener(connections, family, proxy=proxy))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address[0], port, *address[2:]))
            listener.listen(BACKLOG)
            stack.pop_all()
            return listener
    except (OSError, OverflowError, ValueError):
        raise ParameterError(
            f"the server cannot listen at --host {host!r}, --port {port}; expected an address of "
            "this machine and a free port, and for --proxy a network address"
        ) from None


def configured(certificate: Path, key: Path) -> uvicorn.Config:
    """Return settings without an app; a ParameterError if certificate or key cannot be used."""
    config = uvicorn.Config(
        Starlette(),  # until there is an app to answer
        loop="asyncio",  # calls `Listener.accept`; uvloop would not
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except OSError:  # ssl.SSLError is one
        raise ParameterError(
            "certificate.pem or certificate.key cannot be used; expected files in PEM, and the "
            "certificate's own key"
        ) from None
    if config.ssl is not None:
        config.ssl.num_tickets = 0  # owners come once; nothing to take up again
    return config


def answer(config: uvicorn.Config, app: ASGIApp, listener: Listener, greeting: str) -> None:
    """Print the greeting with the address; answer requests until a signal ends this process."""
    config.loaded_app = app
    host, port = listener.getsockname()[:2]
    sys.stdout.write(f"{greeting} at https://{host}:{port}\n")
    sys.stdout.flush()
    gc.freeze()  # what stays need not be searched for what connections leave
    gc.set_threshold(700, 10, 10)
    # At its end uvicorn raises the signal again, and the files are still to be closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listener])
