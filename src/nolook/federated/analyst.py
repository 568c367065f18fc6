"""The analyst's calls: close a batch at both servers, ask both for their answers, end it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from attrs import frozen

from nolook.federated.answers import Answer
from nolook.federated.batch import Batch
from nolook.federated.client import ServerClient
from nolook.federated.failures import RefusedError

__all__ = ["Frozen", "ask", "end", "freeze"]

_ROUNDS = 3  # of freezing both servers; two suffice


@frozen
class Frozen:
    """What both servers agreed on."""

    counted: int
    rejected: int  # at both servers, but malformed
    stored: tuple[int, int]  # at each server, counted or not


def freeze(batch: Batch, servers: Sequence[ServerClient]) -> Frozen:
    """Close a batch and have both servers agree on its reports."""
    for _ in range(_ROUNDS):
        found = [server.freeze(batch.name) for server in servers]
        if all(one.get("state") in ("frozen", "answered") for one in found):
            stored = (_whole(servers[0], found[0], "count"), _whole(servers[1], found[1], "count"))
            counted, rejected = (_whole(servers[0], found[0], n) for n in ("agreed", "rejected"))
            return Frozen(counted, rejected, stored)
    raise RefusedError("the servers did not agree on the reports; ask their operators", 409)


def _whole(server: ServerClient, said: dict[str, Any], name: str) -> int:
    number = said.get(name)
    if type(number) is not int:
        raise _no_server(server.url)
    return number


def end(batch: Batch, servers: Sequence[ServerClient]) -> None:
    """End a batch at both servers: reports, sums and secrets are erased, answers stay."""
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
