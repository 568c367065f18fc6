"""A server's addresses: who may call them, and what is refused without a word about content.

Every error is ``{"error": "one line"}``. Nothing is logged.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from nolook.federated.failures import RefusedError
from nolook.federated.server.batch_service import BatchService
from nolook.federated.server.connections import Connections
from nolook.federated.tokens import Tokens
from nolook.federated.wire import ReportError, report_bytes

__all__ = ["make_app", "refuse_unknown"]

_ID = re.compile(r"[0-9a-f]{32}")
_LARGEST_QUESTION = 2**17
_MOST_DISCARDED = 2**24  # bytes read and dropped, so that the sender hears the refusal
_PATIENCE = 30.0  # seconds for a body
_PATIENCE_DISCARDING = 2.0
_INTERNAL = "internal error; the server's operator was told"
_UNKNOWN = "no valid token or certificate; ask the server's operator for one"

Handler = Callable[[BatchService, Request], Awaitable[Response]]


def make_app(services: Sequence[BatchService], tokens: Tokens, connections: Connections) -> ASGIApp:
    """Return the application of a server that keeps some batches."""
    known = {service.batch.name: service for service in services}

    def route(path: str, method: str, roles: set[str], handler: Handler) -> Route:
        endpoint = _Endpoint(known, tokens, connections, roles, handler)
        return Route(f"/v1/batches/{{name}}{path}", endpoint.answer, methods=[method])

    routes = [
        route("/reports/{report}", "PUT", {"owner"}, _put),
        route("", "GET", {"analyst", "peer"}, _reply(BatchService.status)),
        route("/freeze", "POST", {"analyst"}, _reply(BatchService.freeze)),
        route("/answer", "POST", {"analyst"}, _question),
        route("/set", "GET", {"peer"}, _reply(BatchService.reports)),
        route("/ids", "GET", {"peer"}, _ids),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_address})
    app.router.redirect_slashes = False
    return app


async def refuse_unknown(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a caller who shows no certificate."""
    await _error(401, _UNKNOWN)(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One address: which roles may call it, and what answers them."""

    services: dict[str, BatchService]
    tokens: Tokens
    connections: Connections
    roles: set[str]
    handler: Handler

    async def answer(self, request: Request) -> Response:
        """Check who calls, call the handler, and turn whatever it raises into one line."""
        try:
            return await self.handler(self._service(request), request)
        except (RefusedError, ReportError) as error:
            return _error(error.status, str(error))
        except ClientDisconnect:
            return _error(400, "the request was cut short")
        except Exception as error:  # noqa: BLE001 -- a message may quote what was sent
            sys.stderr.write(f"nolook: error: internal error in serve: {type(error).__name__}\n")
            return _error(500, _INTERNAL)

    def _service(self, request: Request) -> BatchService:
        """Return the batch that is asked about, if the caller may ask."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        held = self.tokens.roles(token.strip()) if scheme.lower() == "bearer" else set()
        if not held:
            raise RefusedError(_UNKNOWN, 401)
        if not held & self.roles:
            wanted = " or ".join(sorted(self.roles))
            raise RefusedError(f"the token is of another role; expected one of role {wanted}", 403)
        if request.client is None or not self.connections.admit(
            (request.client.host, request.client.port), min(held & self.roles)
        ):
            raise RefusedError("the server has too many connections; try again later", 503)
        service = self.services.get(request.path_params["name"])
        if service is None:
            raise RefusedError("there is no such batch here", 404)
        return service


async def _put(service: BatchService, request: Request) -> Response:
    address = request.path_params["report"]
    if not _ID.fullmatch(address):
        raise RefusedError(
            "the address does not end with a report's id; expected 32 hex digits", 400
        )
    body = await _body(request, report_bytes(service.batch))
    stored = service.accept(body, bytes.fromhex(address))
    new = await asyncio.wrap_future(stored)
    return JSONResponse({"stored": True}, 201 if new else 200)


def _reply(call: Callable[[BatchService], dict[str, Any]]) -> Handler:
    async def handler(service: BatchService, request: Request) -> Response:
        await _body(request, 0)
        return JSONResponse(await run_in_threadpool(call, service))

    return handler


async def _question(service: BatchService, request: Request) -> Response:
    body = await _body(request, _LARGEST_QUESTION)
    try:
        question = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError("the question is not JSON", 400) from None
    answer = await run_in_threadpool(service.answer, question)
    return Response(answer, media_type="application/json")


async def _ids(service: BatchService, _: Request) -> Response:
    ids = await run_in_threadpool(service.ids)
    return Response(ids, media_type="application/octet-stream")


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
