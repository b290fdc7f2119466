"""The handling around every request, in plain ASGI: ids, headers, HEAD, OPTIONS, time limit, errors, metrics."""

from __future__ import annotations

import asyncio
import os
import time
from binascii import hexlify
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from starlette.responses import Response

from counterfoil.registry.access.counting import network_of
from counterfoil.registry.access.identity import no_proxies
from counterfoil.registry.access.rights import CALLER, NOBODY
from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.http.bodies import CONTENT_ENCODING, accepts_gzip, too_large, unpacking
from counterfoil.registry.http.origins import BROWSER_HEADERS
from counterfoil.registry.http.paths import rewrite
from counterfoil.registry.logs import LOGGER, masked_query
from counterfoil.schema.errors import AnswerTimeout, RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from counterfoil.registry.access.identity import ListedProxies
    from counterfoil.registry.access.rights import Caller
    from counterfoil.registry.http.bodies import Packing
    from counterfoil.registry.http.origins import OriginGuard
    from counterfoil.registry.telemetry import Telemetry


# Who sent a request, as far as limits and the audit have to know: a caller, or else the address of a client.

REQUEST: Final[ContextVar[Scope | None]] = ContextVar("counterfoil_request", default=None)
"""The scope of the request that is handled; None outside of one."""


def client_address(scope: Scope, proxies: ListedProxies | None, *, unknown: str = "") -> str:
    """Return the address of the client: that of the peer, or the one that a listed proxy names."""
    address, _ = scope.get("client") or (unknown, 0)
    return address if proxies is None else proxies.client_address(address, scope["headers"])


def client_network(scope: Scope, proxies: ListedProxies | None) -> str:
    """Return what counts as one client: an address of IPv4, a network of IPv6."""
    return network_of(client_address(scope, proxies))


def sender_of(scope: Scope, proxies: ListedProxies | None) -> str:
    """Return who sent a request, for counting: the caller's name, or the network of a client that has none."""
    caller: Caller | None = scope.get(CALLER)
    if caller is not None and caller.is_member:
        return caller.name
    return client_network(scope, proxies)


class PresentSender:
    """Returns who sent the request that is handled; ``proxies`` returns those in front of the server."""

    def __init__(self) -> None:
        self.proxies: Callable[[], ListedProxies | None] = no_proxies

    def __call__(self) -> str:
        """Return the sender; an empty text where no request is handled."""
        scope = REQUEST.get()
        return "" if scope is None else sender_of(scope, self.proxies())


# The methods that a path has: for OPTIONS, and for the ``Allow`` header of a 405 (RFC 9110, 9.3.7 and 10.2.1).

_NO_CONTENT: Final = 204
_ANY_PATH: Final = "*"


class Methods:
    """The methods of each path that ``routes`` serve."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    def allowed(self, path: str) -> str:
        """Return the methods of ``path`` as ``Allow`` lists them; an empty text if there is no such path."""
        found = {
            method
            for route in self._routes
            if path == _ANY_PATH or route.path_regex.match(path)
            for method in route.methods or ()
        }
        if "GET" in found:
            found.add("HEAD")
        return ", ".join(sorted({*found, "OPTIONS"})) if found else ""

    def options(self, path: str) -> Response | None:
        """Return the response to OPTIONS; None if there is no such path."""
        allowed = self.allowed(path)
        return Response(status_code=_NO_CONTENT, headers={"allow": allowed}) if allowed else None


# The handling around every request, in plain ASGI: paths, HEAD, request ids, headers, unexpected errors, metrics.

REQUEST_ID: Final = b"x-request-id"
_FIXED_HEADERS: Final = [
    (b"cache-control", b"no-cache, no-store, must-revalidate"),
    (b"x-xss-protection", b"1; mode=block"),
    (b"x-content-type-options", b"nosniff"),
]
_OF_CALLERS: Final = (b"vary", b"Authorization")
"""The header of responses that are made of what the caller may read, for caches that store them nevertheless."""


def fixed_headers(*, has_access_control: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response."""
    return [*_FIXED_HEADERS, _OF_CALLERS] if has_access_control else _FIXED_HEADERS


_MAX_REQUEST_ID: Final = 200
_ID_DIGITS: Final = 32
_IDS_AT_ONCE: Final = 64
_SERVER_ERROR: Final = 500
_OTHER_ROUTE: Final = "(none)"

ROUTE_HOLDER: Final = "counterfoil.route"
"""The key in the scope under which an endpoint leaves its path for the metrics: a list of one text."""

REQUEST_ID_KEY: Final = "counterfoil.request_id"
"""The key in the scope for the id of the request."""

ENVELOPE: Final = "counterfoil.envelope"
"""The key in the scope for the :class:`PlainEnvelope` of a request whose response is not compressed."""

CONNECTION: Final = "counterfoil.connection"
"""The key in the scope under which the server leaves its :class:`WholeAnswers`; other servers have none."""


class WholeAnswers(Protocol):
    """A connection that accepts a response in one piece: without ASGI messages, and without checks of known headers.

    ``known_caller`` is where the gate leaves whom the header of the last request has proven.
    """

    known_caller: Any

    def answer(self, scope: Scope, head: Sequence[bytes], body: bytes) -> bool:
        """Return whether the response was accepted: status 200, and the lines of ``head`` after those of the server."""


class PlainEnvelope:
    """The request id of a response that is not compressed.

    ``status`` is set by code that responds without ASGI messages.
    """

    __slots__ = ("request_id", "status")

    def __init__(self, request_id: bytes) -> None:
        self.request_id = request_id
        self.status = 0


HEAD_ONLY: Final = "counterfoil.head"
"""The key in the scope of a GET that was sent as HEAD, for a response that would not end by itself."""


class Paths:
    """Prepares paths for routing: still encoded, no slash at the end, contexts in the names, HEAD as GET.

    It answers OPTIONS, and decompresses a compressed body.
    """

    def __init__(self, app: ASGIApp, *, max_body_bytes: int, methods: Methods) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application; respond here if its path cannot be read or its body is too large."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            receive = self._body_of(scope, receive)
            scope = _routed(scope)
        except RegistryError as error:
            await error_answer(error)(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            scope["method"] = "GET"
            scope[HEAD_ONLY] = True
            send = _without_body(send)
        elif scope["method"] == "OPTIONS":
            response = self._methods.options(scope["path"])
            if response is not None:
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _body_of(self, scope: Scope, receive: Receive) -> Receive:
        """Return the callable that returns the request's body, decompressed.

        Raises if the headers show that the body is refused.
        """
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._max_body_bytes:
                raise too_large(self._max_body_bytes)
            if name == CONTENT_ENCODING:
                receive = unpacking(receive, value, max_bytes=self._max_body_bytes)
        return receive


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
    """Request ids, fixed headers, a response to unexpected errors, and the metrics of each request.

    With ``packing``, responses are compressed for clients that accept it. ``guard`` refuses requests of pages of other
    origins. ``has_access_control``: responses depend on who calls.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        telemetry: Telemetry,
        log_requests: bool,
        packing: Packing | None = None,
        guard: OriginGuard | None = None,
        has_access_control: bool = False,
    ) -> None:
        self._app = app
        self._fixed = fixed_headers(has_access_control=has_access_control)
        self._telemetry = telemetry
        self._log_requests = log_requests
        self._packing = packing
        self._guard = guard
        self._fresh_id = FreshIds().next

    def surround(self, app: ASGIApp, guard: OriginGuard | None, *, has_access_control: bool) -> None:
        """Pass requests to another application from now on, if another guard accepts them."""
        self._app, self._guard = app, guard
        self._fixed = fixed_headers(has_access_control=has_access_control)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, and complete its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        callers_id, encodings, is_browser = _read_headers(scope["headers"])
        request_id = callers_id or self._fresh_id()
        status, is_complete = 0, False
        plain: PlainEnvelope | None = None

        async def send_in_envelope(message: Message) -> None:
            nonlocal status, is_complete
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._fixed, (REQUEST_ID, request_id)]
            else:
                is_complete = not message.get("more_body", False)
            await send(message)

        inner_send: Send = send_in_envelope
        if encodings and self._packing is not None and accepts_gzip(encodings):
            inner_send = self._packing.wrap(send_in_envelope)
        else:
            plain = scope[ENVELOPE] = PlainEnvelope(request_id)
        route = [_OTHER_ROUTE]
        try:
            scope[ROUTE_HOLDER], scope[REQUEST_ID_KEY] = route, request_id
            guard = self._guard if self._guard is not None and (is_browser or self._guard.sees_all) else None
            app = self._app if guard is None else guard.checked(scope, self._app, is_browser=is_browser)
            await app(scope, receive, inner_send)
        except Exception:
            LOGGER.exception("unexpected error", extra={"request_id": request_id.decode("latin-1"), **_facts(scope)})
            if not status:
                await error_answer(unforeseen())(scope, receive, send_in_envelope)
            elif not is_complete:
                raise
        if plain is not None:
            status = status or plain.status
        duration_s = time.perf_counter() - begun
        self._telemetry.record(scope["method"], route[0], status, duration_s)
        if self._log_requests or status >= _SERVER_ERROR:
            extra = {"request_id": request_id.decode("latin-1"), "status": status, "duration_s": round(duration_s, 6)}
            LOGGER.info("request", extra={**extra, **_facts(scope)})


def unforeseen() -> RegistryError:
    """Return the error of a response to an unexpected exception."""
    return RegistryError("An unexpected error; the server's log has it under the request id")


def _facts(scope: Scope) -> dict[str, str]:
    """Return the client and the request, for the log."""
    host, port = scope.get("client") or ("-", 0)
    caller: Caller = scope.get(CALLER, NOBODY)
    return {
        "method": scope["method"],
        "path": scope.get("raw_path", b"").decode("latin-1"),
        "query": masked_query(scope["query_string"].decode("latin-1")),
        "client": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        "principal": caller.name,
    }


def _read_headers(headers: list[tuple[bytes, bytes]]) -> tuple[bytes, bytes, bool]:
    """Return the client's request id, the accepted encodings, and whether a browser sent the request.

    The request id is empty unless exactly one that is not blank was sent.
    """
    request_id = encodings = b""
    is_browser = False
    ids = 0
    for name, value in headers:
        if name == REQUEST_ID:
            request_id = value.strip()
            ids += 1
        elif name == b"accept-encoding":
            encodings = encodings + b"," + value if encodings else value
        elif name in BROWSER_HEADERS:
            is_browser = True
    is_usable = ids == 1 and len(request_id) <= _MAX_REQUEST_ID
    return (request_id if is_usable else b""), encodings, is_browser


class FreshIds:
    """Random UUIDs (version 4) as text; made here since each request needs one, and Python's own take longer."""

    def __init__(self) -> None:
        self._digits = b""
        self._used = 0

    def next(self) -> bytes:
        """Return the next one."""
        at = self._used
        if at == len(self._digits):  # one system call for many
            self._digits = hexlify(os.urandom(_IDS_AT_ONCE * _ID_DIGITS // 2))
            at = 0
        self._used = at + _ID_DIGITS
        digits = self._digits[at : at + _ID_DIGITS]
        return b"%b-%b-4%b-a%b-%b" % (digits[:8], digits[8:12], digits[13:16], digits[17:20], digits[20:])


# The longest time that a request may take: after it, the client receives an error.


class Deadlines:
    """Answers 504 to a request whose response has not begun after ``timeout_s``, and cancels the work on it.

    A write that was passed to the store by then may be carried out nevertheless; registering again is safe. A response
    that has begun, such as a feed of changes, is not limited.
    """

    def __init__(self, app: ASGIApp, *, timeout_s: float) -> None:
        self._app = app
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, with the time limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = REQUEST.set(scope)
        deadline = asyncio.timeout(self._timeout_s)

        async def send_in_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                deadline.reschedule(None)
            await send(message)

        try:
            async with deadline:
                await self._app(scope, receive, send_in_time)
        except TimeoutError:
            if not deadline.expired():
                raise
            error = AnswerTimeout(f"There is no answer after {self._timeout_s:g} s, which is the limit here")
            await error_answer(error)(scope, receive, send)
        finally:
            REQUEST.reset(token)
