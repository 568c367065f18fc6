"""Access control: one browser, requests from the app's own pages, short forms."""

from __future__ import annotations

import hmac

from attrs import define, field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nolook.privacy.noise import SystemEntropy

__all__ = ["Guard"]

_LARGEST_FORM = 1 << 20  # bytes
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'self'; style-src-attr "
    "'unsafe-inline'; script-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with less, browsers hide the origin of a form
    "x-content-type-options": "nosniff",
}
_OTHER_PAGE = "the request comes from another page"


def _new_secret() -> str:
    return SystemEntropy().words(4).tobytes().hex()


@define
class Guard:
    """Refuses other hosts, other origins, requests without the session's cookie, and long forms.

    The token in the first address is good for one browser: it is exchanged for a cookie.
    """

    app: ASGIApp
    port: int
    token: str | None = field(factory=_new_secret)
    _secret: str = field(factory=_new_secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        left = _LARGEST_FORM

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, "the form is too large")
            return message

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                have = {name for name, _ in message["headers"]}
                more = ((name.encode(), value.encode()) for name, value in _HEADERS.items())
                message["headers"] += [pair for pair in more if pair[0] not in have]
            await send(message)

        await (self._refusal(Request(scope)) or self.app)(scope, limited, headed)

    def _refusal(self, request: Request) -> Response | None:
        """Return why a request is not answered, None if it is."""
        headers, reads = request.headers, request.method in {"GET", "HEAD"}
        origins = [f"http://{host}:{self.port}" for host in ("127.0.0.1", "localhost")]
        given = request.query_params.get("token", "")
        if f"http://{headers.get('host', '')}" not in origins:
            return _refuse(421, "this server answers at its own address only")
        if headers.get("origin", origins[0] if reads else "") not in origins or headers.get(
            "sec-fetch-site", "none"
        ) not in {"none", "same-origin"}:
            return _refuse(403, _OTHER_PAGE)
        cookie = f"nolook-{self.port}"  # cookies are of a host, whatever the port
        if hmac.compare_digest(request.cookies.get(cookie, "").encode(), self._secret.encode()):
            return RedirectResponse("/", 303) if given else None
        token, answer = self.token or "", RedirectResponse("/", 303)
        if not (token and reads and hmac.compare_digest(given.encode(), token.encode())):
            return _refuse(403, "open the address that nolook app printed; it works once")
        self.token = None
        answer.set_cookie(cookie, self._secret, httponly=True, samesite="strict")
        return answer


def _refuse(status: int, why: str) -> Response:
    return PlainTextResponse(f"nolook app: {why}\n", status)
