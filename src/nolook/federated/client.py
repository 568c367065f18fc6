"""Talk to a server: over TLS only, and what may have been lost on the way is sent again."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError
from nolook.federated.reports import MOST_TOGETHER
from nolook.federated.sealing import seal
from nolook.federated.tokens import read_tokens

__all__ = ["Access", "ServerClient", "check_tokens", "printable", "submit"]

_CONNECTING, _READING = 10.0, 60.0  # seconds
_SLOWEST = 600.0  # seconds until the whole of an answer is here
_LARGEST = 1 << 16  # bytes of what a server says of a batch, or why it refuses
_LARGEST_PAGE = 1 << 20  # of its reports' entries
_LARGEST_ANSWER = 1 << 26
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # seconds, doubled each time
_LONGEST_SHOWN = 300
_LATER = (429, 503)  # what is tried again
_UNTOUCHED = (401, 404, 409)  # refusals of reports of which none is stored
_UPLOADERS = 8


@frozen
class Access:
    """The way to a server: its https address, the authority to trust in PEM, and files."""

    url: str
    token: Path  # holds nothing else, or one token a report
    authority: str  # empty for those that the system trusts


class ServerClient:
    """One server, which threads may share; connections are kept.

    It may be busy or away for `patience` seconds. `report` is called once for each refusal that is
    waited for; the wait begins again where a server says how far it is.
    """

    def __init__(
        self, access: Access, patience: float = 60.0, report: Callable[[str], None] | None = None
    ) -> None:
        if not access.url.startswith("https://"):
            raise ParameterError(
                "a server's address does not begin with https:// (nothing is sent without TLS)"
            )
        self.url = access.url.rstrip("/")
        self._patience, self._report = patience, report
        self._tokens = read_tokens(access.token)
        self._context = _context(access.authority)
        self._idle: list[HTTPSConnection] = []
        self._heard: set[str] = set()
        #: The number of reports that the server said it has.
        self.stored = 0
        #: Whether it surely stored nothing of what was sent.
        self.untouched = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return len(self._tokens)

    def put(self, name: str, reports: Sequence[bytes], which: int = 0) -> int:
        """Send sealed reports, perhaps twice, which is the same as once; return how many were new.

        `which` of the tokens is shown.
        """
        address = f"/v1/batches/{name}/reports"
        said = self._document("POST", address, b"".join(reports), which)
        self.stored = max(self.stored, int(said.get("count", 0)))
        return int(said.get("new", 0))

    def status(self, name: str) -> dict[str, Any]:
        """Return a batch's state and number of reports."""
        return self._document("GET", f"/v1/batches/{name}")

    def freeze(self, name: str) -> dict[str, Any]:
        """Ask for no more reports; return the state."""
        return self._document("POST", f"/v1/batches/{name}/freeze")

    def reports(self, name: str) -> dict[str, Any]:
        """Return the ids of the reports that are there: for the other server."""
        return self._document("GET", f"/v1/batches/{name}/set")

    def entries(self, name: str, after: bytes) -> bytes:
        """Return some of its reports' entries, after an id: for the other server."""
        address = f"/v1/batches/{name}/entries?after={after.hex()}"
        return self._call("GET", address, largest=_LARGEST_PAGE)

    def end(self, name: str) -> dict[str, Any]:
        """End a batch, whose answers stay; return the state."""
        return self._document("POST", f"/v1/batches/{name}/end")

    def answer(self, name: str) -> bytes:
        """Return the answer about a batch, waiting while the server adds up."""
        return self._call("POST", f"/v1/batches/{name}/answer", largest=_LARGEST_ANSWER)

    def _document(
        self, method: str, address: str, body: bytes = b"", which: int = 0
    ) -> dict[str, Any]:
        try:
            document = json.loads(self._call(method, address, body, which))
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise RefusedError(f"{self.url} does not answer like a nolook server", 502)
        return document

    def _call(
        self, method: str, address: str, body: bytes = b"", which: int = 0, largest: int = _LARGEST
    ) -> bytes:
        """Send a request until it is granted; return the content, of `largest` bytes at most."""
        # What is compressed could be far more than what arrives.
        headers = {"authorization": f"Bearer {self._tokens[which]}", "accept-encoding": "identity"}
        deadline, pause = time.monotonic() + self._patience, _FIRST_PAUSE
        while True:
            try:
                status, content = self._answered(method, address, body, headers, largest)
            except ssl.SSLCertVerificationError:
                raise RefusedError(
                    f"{self.url} shows a certificate that is not trusted by the batch", 502
                ) from None
            except (OSError, HTTPException) as error:
                said = f"{self.url} cannot be reached ({type(error).__name__})"
                refusal = RefusedError(said, 503)
            else:
                if status in range(200, 300):
                    return content
                refusal = _refusal(self.url, status, content)
            if refusal.status not in _LATER or time.monotonic() > deadline:
                raise refusal from None
            said, long = str(refusal), pause > 4 * _FIRST_PAUSE  # else it is not worth a message
            if self._report and long and said not in self._heard:  # whatever threads wait
                self._heard.add(said)
                self._report(f"{said}; trying again, for up to {self._patience:.0f} seconds")
                deadline = time.monotonic() + self._patience
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _answered(
        self, method: str, address: str, body: bytes, headers: dict[str, str], largest: int
    ) -> tuple[int, bytes]:
        """Return the status and content of the answer to one request."""
        connection = self._connected()
        try:
            connection.request(method, address, body, headers)
            with connection.getresponse() as response:
                content = _read(self.url, response, largest)
        except BaseException:
            self.untouched = False
            connection.close()
            raise
        self.untouched &= response.status in _UNTOUCHED
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, content

    def _connected(self) -> HTTPSConnection:
        """Return a connection that is not in use."""
        with suppress(IndexError):
            return self._idle.pop()
        try:
            place = urlsplit(self.url)
            host, port = place.hostname or "", place.port
        except ValueError:
            raise ParameterError(f"a server's address, {self.url!r}, is not one") from None
        made = HTTPSConnection(host, port, timeout=_CONNECTING, context=self._context)
        made.connect()
        made.sock.settimeout(_READING)
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


def check_tokens(servers: Sequence[ServerClient], reports: int) -> None:
    """Refuse tokens that are neither one in all nor one for each report."""
    for server in servers:
        if server.tokens not in {1, reports}:
            raise ParameterError(
                f"--token-file for {server.url} holds {server.tokens} tokens; expected 1, or 1 for "
                f"each of the {reports} reports"
            )


def submit(
    batch: Batch,
    reports: Sequence[Sequence[bytes] | NDArray[np.uint8]],
    servers: Sequence[ServerClient],
) -> None:
    """Seal the reports for role 0 and 1 and send them; all are stored when this returns.

    If a server has several tokens, each report is sent with its own. After an error the same call
    may be made again.
    """
    count = len(reports[0])
    check_tokens(servers, count)
    together = 1 if any(server.tokens > 1 for server in servers) else MOST_TOGETHER

    def send(first: int) -> None:
        for role, server in enumerate(servers):
            some = reports[role][first : first + together]
            sealed = [seal(batch, role, bytes(report)) for report in some]
            server.put(batch.name, sealed, first if server.tokens > 1 else 0)

    with ThreadPoolExecutor(_UPLOADERS) as pool:
        try:
            for _ in pool.map(send, range(0, count, together)):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _context(authority: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=authority or None)
    except (OSError, ValueError):  # ssl.SSLError is one
        raise ParameterError(
            "the batch's authorities are not certificates in PEM (make it from the public.json "
            "that `nolook federated setup` wrote)"
        ) from None


def _read(url: str, response: HTTPResponse, largest: int) -> bytes:
    """Return the body of a response; one that is too long or too slow is not read to its end."""
    content, latest = bytearray(), time.monotonic() + _SLOWEST
    while part := response.read1(1 << 16):
        content += part
        if len(content) > largest or time.monotonic() > latest:
            said = f"more than {largest} bytes, or longer than {_SLOWEST:.0f} seconds"
            raise RefusedError(f"{url} does not answer like a nolook server: {said}", 502)
    if response.length:
        raise IncompleteRead(bytes(content), response.length)
    return bytes(content)


def _refusal(url: str, status: int, content: bytes) -> RefusedError:
    try:
        said = str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        said = "without saying why"
    return RefusedError(f"{url} refused ({status}): {printable(said)}", status)


def printable(said: str) -> str:
    """Return a text of a server, fit for a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in said[:_LONGEST_SHOWN])
