"""Listen for callers: TLS always, client certificates on demand, and no idle crowds."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from nolook.errors import ParameterError
from nolook.federated.server.app import refuse_unknown
from nolook.federated.server.connections import BACKLOG, Connections, Listener

__all__ = ["Listening", "answer", "bound", "configured", "greet", "stop_on_signals"]

_KEEP_ALIVE = 30  # seconds
_GRACE = 10  # seconds to finish requests after a signal


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens (port 0 is any free one), with which certificate and key (PEM).

    With `client_ca`, callers must show a certificate that it signed.
    """

    host: str
    port: int
    certificate: Path
    key: Path
    client_ca: Path | None = None


class _Protocol(H11Protocol):
    """HTTP over TLS; tells a caller who lacks a certificate that one is needed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        demanded = self.config.ssl_cert_reqs == ssl.CERT_OPTIONAL
        if demanded and not transport.get_extra_info("peercert"):
            self.app = refuse_unknown

    def shutdown(self) -> None:
        super().shutdown()
        # Else an idle caller, who need not answer the end of TLS, holds the server up.
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.transport.abort()


def bound(listening: Listening) -> socket.socket:
    """Return a socket that listens; a ParameterError if the address is taken."""
    try:
        # asyncio sends small answers at once only over a socket that says it is TCP's.
        family, _, protocol, _, address = socket.getaddrinfo(
            listening.host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )[0]
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address[0], listening.port, *address[2:]))
            listener.listen(BACKLOG)
            stack.pop_all()
            return listener
    except (OSError, OverflowError, UnicodeError):
        raise ParameterError(
            f"the server cannot listen at --host {listening.host!r}, --port {listening.port}; "
            "expected an address of this machine and a free port"
        ) from None


def greet(greeting: str, listener: socket.socket) -> None:
    """Print the greeting with the address."""
    host, port = listener.getsockname()[:2]
    sys.stdout.write(f"{greeting} at https://{host}:{port}\n")
    sys.stdout.flush()


def stop_on_signals() -> None:
    """Have SIGTERM end this process as Ctrl-C does: files are still to be closed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def configured(app: ASGIApp, listening: Listening) -> uvicorn.Config:
    """Return how requests are answered; a ParameterError if certificate or key cannot be used."""
    wanted = ssl.CERT_NONE if listening.client_ca is None else ssl.CERT_OPTIONAL
    config = uvicorn.Config(
        app,
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
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
        ssl_cert_reqs=wanted,
        ssl_ca_certs=None if listening.client_ca is None else str(listening.client_ca),
    )
    try:
        config.load()
    except OSError:  # ssl.SSLError is one
        raise ParameterError(
            "--certificate, --key or --client-ca cannot be used; expected files in PEM, and the "
            "certificate's own key"
        ) from None
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        config.ssl.num_tickets = 0  # owners come once; nothing to take up again
    return config


def answer(config: uvicorn.Config, listener: socket.socket, connections: Connections) -> None:
    """Answer requests until a signal ends this process."""
    own = Listener(connections, listener.family, listener.proto, listener.detach())
    with own:
        gc.freeze()  # what stays need not be searched for what connections leave
        # At its end uvicorn raises the signal again, and the files are still to be closed.
        stop_on_signals()
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([own])
