"""Talk to a server: over TLS only, and what may have been lost on the way is sent again."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import httpx
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.failures import RefusedError
from nolook.federated.reports import ID_BYTES
from nolook.federated.sealing import seal
from nolook.federated.tokens import read_tokens

__all__ = ["Access", "ServerClient", "check_tokens", "printable", "submit"]

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_SLOWEST = 600.0  # seconds until the whole of an answer is here
_LARGEST = 1 << 16  # bytes of what a server says of a batch, or why it refuses
_LARGEST_PAGE = 1 << 20  # of its reports' entries
_LARGEST_ANSWER = 1 << 26
_ATTEMPTS = 5
_FIRST_PAUSE = 0.1  # seconds, doubled each time
_LONGEST_SHOWN = 300
_LATER = (429, 503)  # what is tried again
_UPLOADERS = 8


@frozen
class Access:
    """How to reach a server: its https address, and files."""

    url: str
    token: Path  # holds nothing else, or one token a report
    ca: Path  # the certificates to trust, in PEM
    certificate: Path | None = None  # to show a server that demands one, in PEM
    key: Path | None = None


class ServerClient:
    """One server, which threads may share; it may be busy or away for `patience` seconds."""

    def __init__(self, access: Access, patience: float = 60.0) -> None:
        if not access.url.startswith("https://"):
            raise ParameterError(
                "a server's address does not begin with https:// (nothing is sent without TLS)"
            )
        self.url = access.url.rstrip("/")
        self._patience = patience
        self._tokens = read_tokens(access.token)
        self._client = httpx.Client(
            base_url=self.url,
            verify=_context(access),
            timeout=_TIMEOUT,
            trust_env=False,
            limits=httpx.Limits(max_connections=2 * _UPLOADERS),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return len(self._tokens)

    def put(self, name: str, report: bytes, report_id: bytes, which: int = 0) -> bool:
        """Send a report, perhaps twice, which is the same as once; tell whether it was new.

        `which` of the tokens is shown.
        """
        address = f"/v1/batches/{name}/reports/{report_id.hex()}"
        return self._call("PUT", address, report, which)[0] == 201

    def status(self, name: str) -> dict[str, Any]:
        """Return a batch's state and number of reports."""
        return self._document("GET", f"/v1/batches/{name}")

    def freeze(self, name: str) -> dict[str, Any]:
        """Ask for no more reports; return the state."""
        return self._document("POST", f"/v1/batches/{name}/freeze")

    def reports(self, name: str) -> dict[str, Any]:
        """Return which reports are there: for the other server."""
        return self._document("GET", f"/v1/batches/{name}/set")

    def entries(self, name: str, after: bytes) -> bytes:
        """Return some of its reports' entries, after an id: for the other server."""
        address = f"/v1/batches/{name}/entries?after={after.hex()}"
        return self._call("GET", address, largest=_LARGEST_PAGE)[1]

    def end(self, name: str) -> dict[str, Any]:
        """End a batch, whose answers stay; return the state."""
        return self._document("POST", f"/v1/batches/{name}/end")

    def answer(self, name: str) -> bytes:
        """Return the answer about a batch, waiting while the server adds up."""
        address = f"/v1/batches/{name}/answer"
        return self._call("POST", address, largest=_LARGEST_ANSWER)[1]

    def _document(self, method: str, address: str) -> dict[str, Any]:
        try:
            document = json.loads(self._call(method, address)[1])
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise RefusedError(f"{self.url} does not answer like a nolook server", 502)
        return document

    def _call(
        self, method: str, address: str, body: bytes = b"", which: int = 0, largest: int = _LARGEST
    ) -> tuple[int, bytes]:
        """Send a request until it is granted; return status and content, of `largest` bytes."""
        token = f"Bearer {self._tokens[which]}"
        # What is compressed could be far more than what arrives.
        headers = {"authorization": token, "accept-encoding": "identity"}
        deadline, pause, attempt = time.monotonic() + self._patience, _FIRST_PAUSE, 0
        while True:
            attempt += 1
            try:
                with self._client.stream(
                    method, address, content=body, headers=headers
                ) as response:
                    status, content = response.status_code, _read(self.url, response, largest)
            except httpx.TransportError as error:
                if "CERTIFICATE_VERIFY_FAILED" in str(error):
                    raise RefusedError(
                        f"{self.url} shows a certificate that is not trusted; expected one for "
                        "this address, signed by an authority of --ca",
                        502,
                    ) from None
                if attempt >= _ATTEMPTS or time.monotonic() > deadline:
                    raise RefusedError(
                        f"{self.url} cannot be reached ({type(error).__name__})", 503
                    ) from None
            except httpx.HTTPError as error:
                raise RefusedError(
                    f"{self.url} does not answer in HTTP ({type(error).__name__})", 502
                ) from None
            else:
                if status in range(200, 300):
                    return status, content
                if status not in _LATER or time.monotonic() > deadline:
                    raise _refusal(self.url, status, content)
            time.sleep(pause)
            pause = min(2 * pause, 2.0)


def check_tokens(servers: Sequence[ServerClient], reports: int) -> None:
    """Refuse tokens that are neither one nor one for each of so many reports."""
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
    check_tokens(servers, len(reports[0]))

    def send(which: int) -> None:
        for role, server in enumerate(servers):
            report = bytes(reports[role][which])
            token = which if server.tokens > 1 else 0
            server.put(batch.name, seal(batch, role, report), report[-ID_BYTES:], token)

    with ThreadPoolExecutor(_UPLOADERS) as pool:
        try:
            for _ in pool.map(send, range(len(reports[0]))):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _context(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if access.certificate is not None:
            context.load_cert_chain(access.certificate, access.key)
    except OSError:  # ssl.SSLError is one
        raise ParameterError(
            "--ca, --certificate or --key cannot be used; expected certificates and a key in PEM"
        ) from None
    return context


def _read(url: str, response: httpx.Response, largest: int) -> bytes:
    """Return what a response holds; one that is too long or too slow is not read to its end."""
    content, latest = bytearray(), time.monotonic() + _SLOWEST
    for part in response.iter_raw():
        content += part
        if len(content) > largest or time.monotonic() > latest:
            raise RefusedError(
                f"{url} does not answer like a nolook server: more than {largest} bytes, or for "
                f"longer than {_SLOWEST:.0f} seconds",
                502,
            )
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
