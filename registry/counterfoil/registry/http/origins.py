"""The origins and names by which web pages may send requests, and the port without TLS."""

from __future__ import annotations

import ipaddress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse

from counterfoil.registry.http.answers import error_answer
from counterfoil.schema.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Receive, Scope, Send


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
    """Answers what arrives without TLS; ``url`` is the address with TLS, without a slash at its end."""

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
