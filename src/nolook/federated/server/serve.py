"""Run a server: TLS always, certificates of the callers if they are asked for."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nolook.errors import ParameterError
from nolook.federated.server.app import refuse_unknown

__all__ = ["Listening", "serve"]

_MOST_CONNECTIONS = 1000
_KEEP_ALIVE = 30  # seconds
_BACKLOG = 512
_GRACE = 10  # seconds for the requests at hand when it is told to end


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, and with which certificate.

    Parameters
    ----------
    host : str
    port : int
        0 for any that is free.
    certificate, key : Path
        In PEM.
    client_ca : Path or None
        If given, callers must show a certificate that it signed.
    """

    host: str
    port: int
    certificate: Path
    key: Path
    client_ca: Path | None = None


class _Protocol(H11Protocol):
    """HTTP over TLS; whoever shows no certificate where one is asked for is told so."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        demanded = self.config.ssl_cert_reqs == ssl.CERT_OPTIONAL
        if demanded and not transport.get_extra_info("peercert"):
            self.app = _refuse


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    response = await refuse_unknown(Request(scope, receive))
    await response(scope, receive, send)


def serve(app: ASGIApp, listening: Listening, greeting: str) -> None:
    """Answer requests until told to end by a signal.

    Parameters
    ----------
    app : ASGI application
    listening : Listening
    greeting : str
        Printed with the address once connections are taken.

    Raises
    ------
    ParameterError
        If the address is taken, or certificate and key are none.
    """
    wanted = ssl.CERT_NONE if listening.client_ca is None else ssl.CERT_OPTIONAL
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
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
    with _socket(listening) as listener:
        host, port = listener.getsockname()[:2]
        sys.stdout.write(f"{greeting} at https://{host}:{port}\n")
        sys.stdout.flush()
        uvicorn.Server(config).run([listener])


def _socket(listening: Listening) -> socket.socket:
    try:
        # Only of a socket that is known to be TCP's does asyncio send small answers at once.
        family, kind, protocol, _, address = socket.getaddrinfo(
            listening.host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )[0]
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address[0], listening.port, *address[2:]))
            listener.listen(_BACKLOG)
            stack.pop_all()
            return listener
    except (OSError, OverflowError, UnicodeError):
        raise ParameterError(
            f"--host {listening.host!r} and --port {listening.port} cannot be listened at; "
            "expected an address of this machine and a free port"
        ) from None
