"""What happens around every request, as plain ASGI: paths, HEAD, request ids, headers, last-resort errors, measures."""

from __future__ import annotations

import os
import time
from binascii import hexlify
from typing import TYPE_CHECKING, Final

from counterfoil.registry.api.answers import error_answer
from counterfoil.registry.api.json_body import too_large
from counterfoil.registry.api.paths import rewrite
from counterfoil.registry.telemetry import LOGGER
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from counterfoil.registry.telemetry import Telemetry

_REQUEST_ID: Final = b"x-request-id"
_MAX_REQUEST_ID: Final = 200
_FIXED_HEADERS: Final = [
    (b"cache-control", b"no-cache, no-store, must-revalidate"),
    (b"x-xss-protection", b"1; mode=block"),
]
_SERVER_ERROR: Final = 500
_OTHER_ROUTE: Final = "(none)"

ROUTE_HOLDER: Final = "counterfoil.route"
"""Where in the scope an endpoint leaves its path for the measures: a list of one text."""

HEAD_ONLY: Final = "counterfoil.head"
"""What is in the scope of a GET that came as a HEAD, for an answer that would not end by itself."""


class Paths:
    """Routes on the path as it was sent: still encoded, no slash at the end, contexts in the names, HEAD as GET."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on; a path that cannot be read, or a body too large to begin with, is answered here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_size(scope)
            scope = _routed(scope)
        except RegistryError as error:
            await error_answer(error)(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            scope["method"] = "GET"
            scope[HEAD_ONLY] = True
            send = _without_body(send)
        await self._app(scope, receive, send)

    def _check_size(self, scope: Scope) -> None:
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._max_body_bytes:
                raise too_large(self._max_body_bytes)


def _routed(scope: Scope) -> Scope:
    path = scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1") or scope["path"]
    if len(path) > 1 and path.endswith("/"):
        path = path[:-1]
    query = scope["query_string"].decode("latin-1")
    if path.startswith("/contexts/"):
        path, query = rewrite(path, query, scope["method"])
    return {**scope, "path": path, "raw_path": path.encode("latin-1"), "query_string": query.encode("latin-1")}


def _without_body(send: Send) -> Send:
    async def headers_only(message: Message) -> None:
        if message["type"] == "http.response.body":
            if not message.get("more_body", False):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        await send(message)

    return headers_only


class Envelope:
    """Request ids, fixed headers, an answer for what nobody foresaw, and the measures of each request."""

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry, log_requests: bool) -> None:
        self._app = app
        self._telemetry = telemetry
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on inside its envelope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        request_id = _request_id(scope)
        status, is_complete = 0, False

        async def send_in_envelope(message: Message) -> None:
            nonlocal status, is_complete
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_FIXED_HEADERS, (_REQUEST_ID, request_id)]
            else:
                is_complete = not message.get("more_body", False)
            await send(message)

        route = [_OTHER_ROUTE]
        try:
            scope[ROUTE_HOLDER] = route
            await self._app(scope, receive, send_in_envelope)
        except Exception:
            LOGGER.exception("unexpected error", extra={"request_id": request_id.decode("latin-1"), **_facts(scope)})
            if not status:
                await error_answer(unforeseen())(scope, receive, send_in_envelope)
            elif not is_complete:
                raise
        duration_s = time.perf_counter() - begun
        self._telemetry.record(scope["method"], route[0], status, duration_s)
        if self._log_requests or status >= _SERVER_ERROR:
            extra = {"request_id": request_id.decode("latin-1"), "status": status, "duration_s": round(duration_s, 6)}
            LOGGER.info("request", extra={**extra, **_facts(scope)})


def unforeseen() -> RegistryError:
    """What is answered to an error that nobody foresaw."""
    return RegistryError("An unexpected error; the server's log holds it under the request id")


def _facts(scope: Scope) -> dict[str, str]:
    return {"method": scope["method"], "path": scope.get("raw_path", b"").decode("latin-1")}


def _request_id(scope: Scope) -> bytes:
    """The caller's request id, when exactly one that is not blank came along, else a fresh one."""
    given = [value.strip() for name, value in scope["headers"] if name == _REQUEST_ID]
    if len(given) == 1 and given[0] and len(given[0]) <= _MAX_REQUEST_ID:
        return bytes(given[0])
    return _fresh_id()


def _fresh_id() -> bytes:
    """A random UUID (version 4) as text; made here since it is needed for each request, and Python's takes longer."""
    digits = hexlify(os.urandom(16))
    return b"%b-%b-4%b-a%b-%b" % (digits[:8], digits[8:12], digits[13:16], digits[17:20], digits[20:])
