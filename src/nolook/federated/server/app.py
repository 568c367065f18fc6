"""A server's addresses: who may call them, and what is refused without a word about content.

Every error is ``{"error": "one line"}``. Nothing is logged.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from attrs import frozen
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from nolook.federated.failures import RefusedError
from nolook.federated.reports import MOST_TOGETHER
from nolook.federated.sealing import Unsealer, sealed_bytes
from nolook.federated.server.batch_service import BatchService
from nolook.federated.server.connections import Connections
from nolook.federated.server.report_intake import arrivals
from nolook.federated.tokens import Token, Tokens

__all__ = ["Rates", "make_app"]

_AFTER = re.compile(r"(?:[0-9a-f]{2}){0,32}")
_MOST_DISCARDED = 2**24  # bytes read and dropped, so that the sender hears the refusal
_PATIENCE = 30.0  # seconds for a body
_PATIENCE_DISCARDING = 2.0
_INTERNAL = "internal error; the server's operator was told"


class Rates:
    """The reports that each token with a rate may still send in this second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: dict[bytes, tuple[float, float]] = {}

    def allow(self, token: Token) -> bool:
        """Subtract one report; False if the token has none left."""
        if token.rate is None:
            return True
        now, rate = self._clock(), float(token.rate)
        left, then = self._left.get(token.digest, (rate, now))
        left = min(rate, left + (now - then) * rate)
        self._left[token.digest] = (left - 1.0 if left >= 1.0 else left, now)
        return left >= 1.0

    def charge(self, token: Token, more: int) -> None:
        """Subtract what else came with a report; the token waits until it has one again."""
        if token.rate is not None:
            left, then = self._left[token.digest]
            self._left[token.digest] = (left - more, then)


@frozen
class _Asked:
    """A request of a caller who may make it, and the batch that it is about."""

    request: Request
    token: Token
    unsealer: Unsealer
    service: BatchService


Handler = Callable[[_Asked], Awaitable[Response]]


def make_app(
    batches: Sequence[tuple[Unsealer, BatchService]], tokens: Tokens, connections: Connections
) -> ASGIApp:
    """Return the application of a server that keeps some batches."""
    known = {each[0].batch.name: each for each in batches}
    rates = Rates()

    def checked(request: Request, roles: set[str]) -> _Asked:
        token = _token(request, tokens)
        if token.role not in roles:
            wanted = " or ".join(sorted(roles))
            raise RefusedError(f"the token is of another role; expected one of role {wanted}", 403)
        if not rates.allow(token):
            raise RefusedError("the token sends too many reports a second; try again later", 429)
        if request.client is None or not connections.admit(
            (request.client.host, request.client.port), token.role, token.digest
        ):
            raise RefusedError("the server has too many connections; try again later", 503)
        if request.path_params["name"] not in known:
            raise RefusedError("there is no such batch here", 404)
        return _Asked(request, token, *known[request.path_params["name"]])

    def route(path: str, method: str, roles: set[str], handler: Handler) -> Route:
        async def answer(request: Request) -> Response:
            return await _answered(lambda: handler(checked(request, roles)))

        return Route(f"/v1/batches/{{name}}{path}", answer, methods=[method])

    routes = [
        route("/reports", "POST", {"owner"}, partial(_store, rates)),
        route("", "GET", {"analyst", "peer"}, _document(BatchService.status)),
        route("/freeze", "POST", {"analyst"}, _document(BatchService.freeze)),
        route("/answer", "POST", {"analyst"}, _answer),
        route("/end", "POST", {"analyst"}, _document(BatchService.end)),
        route("/set", "GET", {"peer"}, _document(BatchService.reports)),
        route("/entries", "GET", {"peer"}, _entries),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_address})
    app.router.redirect_slashes = False
    return app


def _token(request: Request, tokens: Tokens) -> Token:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    token = tokens.find(given.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        raise RefusedError("no valid token (are the two --token-file the wrong way round?)", 401)
    return token


async def _answered(handler: Callable[[], Awaitable[Response]]) -> Response:
    """Call a handler; turn whatever it raises into one line."""
    try:
        return await handler()
    except RefusedError as error:
        return _error(error.status, str(error))
    except ClientDisconnect:
        return _error(400, "the request was cut short")
    except Exception as error:  # noqa: BLE001 -- a message may quote what was sent
        sys.stderr.write(f"nolook: error: internal error in serve: {type(error).__name__}\n")
        return _error(500, _INTERNAL)


async def _store(rates: Rates, asked: _Asked) -> Response:
    body = await _body(asked.request, MOST_TOGETHER * sealed_bytes(asked.unsealer.batch))
    found = await run_in_threadpool(arrivals, asked.unsealer, body, asked.token)
    rates.charge(asked.token, len(found) - 1)
    new = await asyncio.wrap_future(asked.service.put(*found))
    return JSONResponse({"new": new, "count": asked.service.count})


def _document(call: Callable[[BatchService], object]) -> Handler:
    async def handler(asked: _Asked) -> Response:
        await _body(asked.request, 0)
        return JSONResponse(await run_in_threadpool(call, asked.service))

    return handler


async def _answer(asked: _Asked) -> Response:
    await _body(asked.request, 0)
    content = await run_in_threadpool(asked.service.answer)
    return Response(content, media_type="application/json")


async def _entries(asked: _Asked) -> Response:
    after = asked.request.query_params.get("after", "")
    if not _AFTER.fullmatch(after):
        raise RefusedError("the list begins after an id; expected hex digits", 400)
    content = await run_in_threadpool(asked.service.entries, bytes.fromhex(after))
    return Response(content, media_type="application/octet-stream")


async def _body(request: Request, most: int) -> bytes:
    """Return the body; one that is too long is read to its end, if that is near, but not kept."""
    too_long = RefusedError(f"the request is too long; expected at most {most} bytes", 413)
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced[:20]) > _MOST_DISCARDED:
        raise too_long
    body, length = bytearray(), 0
    try:
        async with asyncio.timeout(_PATIENCE) as limit:
            async for part in request.stream():
                if length <= most < length + len(part):
                    limit.reschedule(asyncio.get_running_loop().time() + _PATIENCE_DISCARDING)
                length += len(part)
                if length > _MOST_DISCARDED:
                    break
                body += part if length <= most else b""
    except TimeoutError:
        if length <= most:
            raise RefusedError("the request took too long", 408) from None
    if length > most:
        raise too_long
    return bytes(body)


async def _no_address(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _error(status, "there is nothing at this address, or not for this method")


def _error(status: int, message: str) -> Response:
    # The rest of what the caller was sending is not read.
    headers: dict[str, Any] = {"connection": "close"} if status in {408, 413} else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse({"error": message}, status, headers)
