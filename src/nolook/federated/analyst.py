"""The analyst's calls: close a batch at both servers, ask both for their answers, end it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np

from nolook.federated.batch import Batch
from nolook.federated.client import ServerClient, printable
from nolook.federated.failures import RefusedError
from nolook.federated.shares import Answer
from nolook.formats.strict import Broken, Content, convert

__all__ = ["Status", "agreement", "ask", "end", "freeze", "status"]

_ROUNDS = 3  # of freezing both servers; two suffice


class Status(Content, frozen=True):
    """The status of a batch at one server."""

    name: str
    kind: str
    state: Literal["open", "closed", "frozen", "answered", "ended"]
    opened: str
    closed: str | None
    count: int  # stored, whether it will count or not
    missing: tuple[int, str] | None  # HTTP status and reason why it cannot be closed
    agreed: int | None
    rejected: int | None


def freeze(batch: Batch, servers: Sequence[ServerClient]) -> str:
    """Close a batch and have both servers agree on its reports; return their agreement.

    If either server lacks something, the batch stays open at both.
    """
    for server, before in zip(servers, status(batch, servers), strict=True):
        if before.missing is not None:
            http_status, reason = before.missing
            raise RefusedError(
                f"{batch.name} stays open: {server.url}: {printable(reason)}", http_status
            )
    for _ in range(_ROUNDS):
        found = [_status(server, server.freeze(batch.name)) for server in servers]
        if all(one.state in {"frozen", "answered"} for one in found):
            return agreement(found)
    raise RefusedError("the servers did not agree on the reports; ask their operators", 409)


def agreement(found: Sequence[Status]) -> str:
    """Return the numbers of reports counted and not counted in a frozen batch, in a sentence."""
    counts = {(one.agreed, one.rejected) for one in found}
    counted, rejected = counts.pop()
    if counts or counted is None or rejected is None:
        raise RefusedError("the servers state different counts; ask their operators", 502)
    reasons = "that the servers do not agree on", "only at server 0", "only at server 1"
    numbers = (rejected, *(one.count - counted - rejected for one in found))
    out = ", ".join(f"{n:,} {why}" for n, why in zip(numbers, reasons, strict=True) if n)
    return f"{counted:,} reports count." + f" Not counted: {out}." * bool(out)


def status(batch: Batch, servers: Sequence[ServerClient]) -> list[Status]:
    """Return the status of a batch at both servers."""
    return [_status(server, server.status(batch.name)) for server in servers]


def _status(server: ServerClient, said: dict[str, Any]) -> Status:
    try:
        return convert(said, Status)
    except Broken:
        raise _no_server(server.url) from None


def end(batch: Batch, servers: Sequence[ServerClient], *, unanswered: bool = False) -> None:
    """End a batch at both servers: reports, sums and secrets are erased, answers stay.

    A batch that was not answered at both is refused unless `unanswered`: it never would be.
    """
    for server, before in zip(servers, status(batch, servers), strict=True):
        if not unanswered and before.state not in {"answered", "ended"}:
            state = f"{batch.name} is {before.state} at {server.url} and has no answer"
            raise RefusedError(f"{state} (to end it without one: --unanswered)", 409)
    for server in servers:
        if server.end(batch.name).get("state") != "ended":
            raise _no_server(server.url)


def ask(batch: Batch, servers: Sequence[ServerClient]) -> tuple[Answer, Answer]:
    """Ask both servers for their answer, in the order of their roles.

    The answers are useless apart; :mod:`nolook.federated.answers` puts them together.
    """
    with ThreadPoolExecutor(len(servers)) as pool:
        contents = list(pool.map(lambda server: server.answer(batch.name), servers))
    first, second = (
        _decoded(content, server.url) for server, content in zip(servers, contents, strict=True)
    )
    return first, second


def _decoded(content: bytes, url: str) -> Answer:
    try:
        document = json.loads(content)
        numbers = {
            str(name): np.frombuffer(b64decode(text, validate=True), dtype="<u8").astype(np.uint64)
            for name, text in document["answer"].items()
        }
        batch, reports = (bytes.fromhex(document[name]) for name in ("batch", "reports"))
        return Answer(int(document["role"]), batch, reports, int(document["count"]), numbers)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise _no_server(url) from None


def _no_server(url: str) -> RefusedError:
    return RefusedError(f"{url} does not answer like a nolook server", 502)
