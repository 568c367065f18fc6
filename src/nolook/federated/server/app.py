"""A server's addresses: who may call them, and what is refused without a word about content.

Every error is ``{"error": "one line"}``. Nothing is logged.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from nolook.federated.failures import RefusedError, ReportError
from nolook.federated.server.calls import Calls
from nolook.federated.server.connections import Connections
from nolook.federated.server.door import Door
from nolook.federated.server.rates import Rates
from nolook.federated.tokens import Token, Tokens

__all__ = ["make_app", "refuse_unknown"]

_AFTER = re.compile(r"[0-9a-f]{0,64}")
_MOST_DISCARDED = 2**24  # bytes read and dropped, so that the sender hears the refusal
_PATIENCE = 30.0  # seconds for a body
_PATIENCE_DISCARDING = 2.0
_INTERNAL = "internal error; the server's operator was told"
_UNKNOWN = "no valid token or certificate; ask the server's operator for one"

Batches: TypeAlias = dict[str, tuple[Door, Calls]]


def make_app(
    batches: Sequence[tuple[Door, Calls]], tokens: Tokens, connections: Connections, rates: Rates
) -> ASGIApp:
    """Return the application of a server that keeps some batches, here or in another process."""
    known = {door.batch.name: (door, calls) for door, calls in batches}

    def route(path: str, method: str, roles: set[str], handler: Handler) -> Route:
        endpoint = _Endpoint(known, tokens, connections, rates, roles, handler)
        return Route(f"/v1/batches/{{name}}{path}", endpoint.answer, methods=[method])

    routes = [
        route("/reports/{report}", "PUT", {"owner"}, _put),
        route("", "GET", {"analyst", "peer"}, _reply("status")),
        route("/freeze", "POST", {"analyst"}, _reply("freeze")),
        route("/answer", "POST", {"analyst"}, _reply("answer")),
        route("/end", "POST", {"analyst"}, _reply("end")),
        route("/set", "GET", {"peer"}, _reply("set")),
        route("/entries", "GET", {"peer"}, _entries),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_address})
    app.router.redirect_slashes = False
    return app


async def refuse_unknown(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a caller who shows no certificate."""
    await _error(401, _UNKNOWN)(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of a caller who may make it."""

    request: Request
    token: Token
    door: Door
    calls: Calls


Handler = Callable[[_Asked], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One address: which roles may call it, and what answers them."""

    batches: Batches
    tokens: Tokens
    connections: Connections
    rates: Rates
    roles: set[str]
    handler: Handler

    async def answer(self, request: Request) -> Response:
        """Check who calls, call the handler, and turn whatever it raises into one line."""
        try:
            return await self.handler(self._asked(request))
        except (RefusedError, ReportError) as error:
            return _error(error.status, str(error))
        except ClientDisconnect:
            return _error(400, "the request was cut short")
        except Exception as error:  # noqa: BLE001 -- a message may quote what was sent
            sys.stderr.write(f"nolook: error: internal error in serve: {type(error).__name__}\n")
            return _error(500, _INTERNAL)

    def _asked(self, request: Request) -> _Asked:
        """Return the request with the batch that it is about, if the caller may make it."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = self.tokens.find(given.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise RefusedError(_UNKNOWN, 401)
        if token.role not in self.roles:
            wanted = " or ".join(sorted(self.roles))
            raise RefusedError(f"the token is of another role; expected one of role {wanted}", 403)
        if request.client is None or not self.connections.admit(
            (request.client.host, request.client.port), token.role
        ):
            raise RefusedError("the server has too many connections; try again later", 503)
        if not self.rates.allow(token):
            raise RefusedError("the token sends too many reports a second; try again later", 429)
        found = self.batches.get(request.path_params["name"])
        if found is None:
            raise RefusedError("there is no such batch here", 404)
        return _Asked(request, token, *found)


async def _put(asked: _Asked) -> Response:
    report_id = asked.door.report_id(asked.request.path_params["report"])
    body = await _body(asked.request, asked.door.largest)
    stored = asked.calls.put(asked.door.arrival(body, report_id, asked.token))
    new = await asyncio.wrap_future(stored)
    return JSONResponse({"stored": True}, 201 if new else 200)


def _reply(method: str, most: int = 0) -> Handler:
    async def handler(asked: _Asked) -> Response:
        body = await _body(asked.request, most)
        content = await asyncio.wrap_future(asked.calls.call(method, body))
        return Response(content, media_type="application/json")

    return handler


async def _entries(asked: _Asked) -> Response:
    after = asked.request.query_params.get("after", "")
    if not _AFTER.fullmatch(after) or len(after) % 2:
        raise RefusedError("the list begins after an id; expected hex digits", 400)
    content = await asyncio.wrap_future(asked.calls.call("entries", bytes.fromhex(after)))
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
