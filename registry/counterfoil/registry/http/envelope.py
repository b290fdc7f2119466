"""The handling around every request, in plain ASGI: origins, ids, headers, methods, time limit, errors, metrics."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from binascii import hexlify
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterfoil.registry.access.identity import ListedProxies, network_of, no_proxies
from counterfoil.registry.access.rights import CALLER, NOBODY, Caller
from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.http.request import CONTENT_ENCODING, Packing, accepts_gzip, rewrite, too_large, unpacking
from counterfoil.registry.logs import LOGGER, masked_query
from counterfoil.registry.telemetry import Telemetry
from counterfoil.schema.errors import AnswerTimeout, Forbidden, RegistryError

# Requests of web pages of other origins, which are refused: a user who visits such a page does not intend them.
#
# A body without a ``Content-Type`` is read as JSON, so that a browser sends what a page writes to a registry on the
# same machine or network without a preflight request.
#
# Source: the Fetch standard (``Origin``), W3C's Fetch Metadata Request Headers, OWASP's resource isolation policy.

ANY_ORIGIN: Final = "*"
ANY_HOST: Final = "*"

_ORIGIN: Final = b"origin"
_SITE: Final = b"sec-fetch-site"
BROWSER_HEADERS: Final = (_SITE, _ORIGIN)
"""The headers by which browsers name the page that sends a request."""

_OWN_SITES: Final = frozenset({b"same-origin", b"none"})
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
_EMBEDDED: Final = frozenset({b"object", b"embed"})
_SHOWN_CHARACTERS: Final = 200
_HOST: Final = b"host"
_MAX_ACCEPTED: Final = 100


class HostGuard:
    """Accepts requests by the names of a server that everybody on its machine may use, and nobody else.

    A page whose name was changed to point to this machine (DNS rebinding) is of the same origin as what it requests
    there, so that its browser lets it read. It still sends its own name as ``Host``. A name without a dot is accepted:
    it is of the machine's own network, and no page on the Internet has one.
    """

    def __init__(self, *, allowed: Collection[str]) -> None:
        self._allowed = frozenset(each.lower() for each in allowed)
        self._accepted: set[bytes] = set()

    def refusal(self, headers: list[tuple[bytes, bytes]]) -> ASGIApp | None:
        """Return the response to a request with another name, the error 403; None if the request is accepted."""
        for name, value in headers:
            if name == _HOST and value not in self._accepted:
                host = value.decode("latin-1").lower()
                if not self._is_own(host):
                    return error_answer(Forbidden(_other_name(host), code=HTTPStatus.FORBIDDEN))
                if len(self._accepted) < _MAX_ACCEPTED:
                    self._accepted.add(value)
        return None

    def _is_own(self, host: str) -> bool:
        name = _without_port(host)
        return name in self._allowed or is_loopback(name) or not {".", ":"} & set(name)


class OriginGuard:
    """Accepts requests that come from no page, from a page of this server, or from one of the origins ``allowed``.

    ``host`` is the address that the server listens on, ``public_url`` that of its pages where a browser uses another
    one. OPTIONS is accepted: browsers send it before other requests. A link that a user follows is accepted, too.
    ``hosts`` are the names that any request must have, whoever sends it; then it ``sees_all`` requests.
    """

    def __init__(
        self, *, host: str, allowed: Collection[str], public_url: str = "", hosts: HostGuard | None = None
    ) -> None:
        self._hosts = hosts
        self.sees_all = hosts is not None
        own = "://".join(urlsplit(public_url)[:2]).lower() if public_url else ""
        self._allowed = frozenset(each for each in (*allowed, own) if each)
        self._is_local = is_loopback(host)

    def checked(self, scope: Scope, app: ASGIApp, *, is_browser: bool) -> ASGIApp:
        """Return the application for a request: ``app``, or the error 403.

        ``is_browser`` is whether it has one of :data:`BROWSER_HEADERS`.
        """
        if scope["method"] == "OPTIONS":
            return app
        page = self._page_refusal(scope) if is_browser else None
        other_name = self._hosts.refusal(scope["headers"]) if self._hosts is not None else None
        return page or other_name or app

    def _page_refusal(self, scope: Scope) -> ASGIApp | None:
        fields = _joined_fields(scope["headers"])
        origin = fields.get(_ORIGIN, b"").decode("latin-1")
        is_read = scope["method"] in {"GET", "HEAD"}
        if origin in self._allowed or self._is_own(fields, origin) or (is_read and _is_link(fields)):
            return None
        page = f"of {origin[:_SHOWN_CHARACTERS]}" if origin else "of another origin"
        return error_answer(
            Forbidden(
                f"A web page {page} sent this request; --cors-origins names the origins whose pages may send any",
                code=HTTPStatus.FORBIDDEN,  # about the page; the code of the class is about the caller's rights
            )
        )

    def _is_own(self, fields: dict[bytes, bytes], origin: str) -> bool:
        """Return whether the request comes from a page of this server, or from none.

        Browsers that send the origin alone are older ones, or reach the server over plain HTTP by a name other than
        ``localhost``. If the server listens for its own machine only, such a name is not accepted: it may have been
        made to point there (DNS rebinding).
        """
        site = fields.get(_SITE)
        if site or not origin:
            return not site or site in _OWN_SITES
        scheme, _, authority = origin.lower().partition("://")
        port = _DEFAULT_PORTS.get(scheme, "")
        host = fields.get(_HOST, b"").decode("latin-1").lower()
        is_same = bool(authority) and authority.removesuffix(port) == host.removesuffix(port)
        return is_same and (not self._is_local or is_loopback(_without_port(authority)))


def _other_name(host: str) -> str:
    shown = host[:_SHOWN_CHARACTERS]
    return (
        f"The request is for the host {shown!r}; without authentication this server is for its own machine alone; "
        "--allowed-hosts names further hosts"
    )


def _without_port(authority: str) -> str:
    name, colon, port = authority.rpartition(":")
    return (name if colon and port.isdigit() else authority).strip("[]")


def is_loopback(host: str) -> bool:
    """Return whether a name or address is always that of the machine itself (RFC 6761, section 6.3, for names)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _joined_fields(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the header fields by name; the values of a repeated one are joined with commas."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = found[name] + b", " + value if name in found else value
    return found


def _is_link(fields: dict[bytes, bytes]) -> bool:
    """Return whether the response becomes a page of its own, which the page with the link cannot read."""
    return fields.get(b"sec-fetch-mode") == b"navigate" and fields.get(b"sec-fetch-dest") not in _EMBEDDED


# The port without TLS beside the one with TLS: it sends browsers to the other one, and answers nothing else.
#
# Requests of programs are not redirected: their credentials were not encrypted, and nobody would notice.

_READS: Final = frozenset({"GET", "HEAD"})


class PlainPort:
    """Answers requests that arrive without TLS; ``url`` is the address with TLS, without a slash at its end."""

    def __init__(self, app: ASGIApp, url: str) -> None:
        self._app = app
        self._url = url.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request that arrived over TLS to the application."""
        if scope["type"] != "http" or scope["scheme"] == "https":
            await self._app(scope, receive, send)
            return
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp:
        if scope["method"] in _READS and _is_for_page(scope):
            query = scope["query_string"]
            rest = scope["raw_path"] + (b"?" + query if query else b"")
            return RedirectResponse(f"{self._url}{rest.decode('latin-1')}", HTTPStatus.PERMANENT_REDIRECT)
        return error_answer(
            Forbidden(
                f"This port has no TLS and answers nothing; use {self._url}, and replace what was sent as a secret",
                code=HTTPStatus.FORBIDDEN,
            )
        )


def _is_for_page(scope: Scope) -> bool:
    """Return whether a browser would show the response to its user, and no credentials were sent."""
    headers = dict(scope["headers"])
    return b"authorization" not in headers and b"text/html" in headers.get(b"accept", b"")


# Who sent a request, as far as limits and the audit have to know: a caller, or else the address of a client.

REQUEST: Final[ContextVar[Scope | None]] = ContextVar("counterfoil_request", default=None)
"""The scope of the request that is handled; None outside of one."""


def client_address(scope: Scope, proxies: ListedProxies | None, *, unknown: str = "") -> str:
    """Return the address of the client: that of the peer, or the one that a listed proxy names."""
    address, _ = scope.get("client") or (unknown, 0)
    return address if proxies is None else proxies.client_address(address, scope["headers"])


def client_network(scope: Scope, proxies: ListedProxies | None) -> str:
    """Return the name that stands for one client: an address of IPv4, a network of IPv6."""
    return network_of(client_address(scope, proxies))


def sender_of(scope: Scope, proxies: ListedProxies | None) -> str:
    """Return who sent a request, for counting: the caller's name, or the network of a client that has none."""
    caller: Caller | None = scope.get(CALLER)
    if caller is not None and caller.is_member:
        return caller.name
    return client_network(scope, proxies)


class PresentSender:
    """Returns who sent the request that is handled; ``proxies`` returns the proxies in front of the server."""

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
_CACHE_CONTROL: Final = b"cache-control"
_FIXED_HEADERS: Final = [
    (_CACHE_CONTROL, b"no-cache, no-store, must-revalidate"),
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
        """Return whether the response was accepted: status 200, and the lines of ``head`` after the server's."""


class PlainEnvelope:
    """The request id of a response that is not compressed.

    ``status`` is set by code that responds without ASGI messages.
    """

    __slots__ = ("request_id", "status")

    def __init__(self, request_id: bytes) -> None:
        self.request_id = request_id
        self.status = 0


UI: Final = "/ui"
"""The path of the first page; all others are below it."""

_BELOW_UI: Final = f"{UI}/"


def is_of_pages(path: str) -> bool:
    """Return whether a path is that of a page, or of a static file of pages."""
    return path.startswith(_BELOW_UI) or path == UI


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
    origins. ``has_access_control``: responses depend on who calls. ``error_pages`` returns what sends the errors of a
    request for a page as pages.
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
        error_pages: Callable[[Scope, Send], Send] | None = None,
    ) -> None:
        self._app = app
        self._error_pages = error_pages
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

    def _to_client(self, scope: Scope, send: Send) -> Send:
        """Return the function that sends the response to one request."""
        pages = self._error_pages
        return send if pages is None or not is_of_pages(scope["path"]) else pages(scope, send)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, and complete its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        send = self._to_client(scope, send)
        callers_id, encodings, is_browser = _read_headers(scope["headers"])
        request_id = callers_id or self._fresh_id()
        status, is_complete = 0, False
        plain: PlainEnvelope | None = None

        async def send_in_envelope(message: Message) -> None:
            nonlocal status, is_complete
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*_completed(message["headers"], self._fixed), (REQUEST_ID, request_id)]
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


def _completed(own: list[tuple[bytes, bytes]], fixed: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response with the fixed ones; one that says how long it may be kept is left as it is."""
    if any(name == _CACHE_CONTROL for name, _ in own):
        return [*own, *(each for each in fixed if each[0] != _CACHE_CONTROL)]
    return [*own, *fixed]


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
