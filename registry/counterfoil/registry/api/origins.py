"""Requests of web pages of other origins, which are refused: whoever visits such a page does not mean to make them.

A body without a ``Content-Type`` is read as JSON, so that a browser sends what a page writes to a registry on the same
machine or network without asking the registry first.

Source: the Fetch standard (``Origin``), W3C's Fetch Metadata Request Headers, OWASP's resource isolation policy.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from counterfoil.registry.api.answers import error_answer
from counterfoil.schema.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection

    from starlette.types import ASGIApp, Receive, Scope, Send

ANY_ORIGIN: Final = "*"

_ORIGIN: Final = b"origin"
_SITE: Final = b"sec-fetch-site"
_OF_BROWSERS: Final = (_SITE, _ORIGIN)
_OWN_SITES: Final = frozenset({b"same-origin", b"none"})
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
_EMBEDDED: Final = frozenset({b"object", b"embed"})
_SHOWN_CHARACTERS: Final = 200


class OriginGuard:
    """Hands on what comes from no page, from a page of this server, or from one of the origins ``allowed``.

    ``host`` is the address that the server listens on. OPTIONS passes: it is how a browser asks first. So does a link
    that is followed.
    """

    def __init__(self, app: ASGIApp, *, host: str, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = frozenset(each for each in allowed if each)
        self._is_local = _is_loopback(host)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand the request on, or answer 403."""
        if scope["type"] == "http":
            for name, _ in scope["headers"]:
                if name in _OF_BROWSERS:
                    return self._checked(scope)(scope, receive, send)
        return self._app(scope, receive, send)

    def _checked(self, scope: Scope) -> ASGIApp:
        """What answers the request of a browser."""
        fields = _joined_fields(scope["headers"])
        origin = fields.get(_ORIGIN, b"").decode("latin-1")
        is_read = scope["method"] in {"GET", "HEAD"}
        if (
            scope["method"] == "OPTIONS"
            or origin in self._allowed
            or self._is_own(fields, origin)
            or (is_read and _is_link(fields))
        ):
            return self._app
        page = f"of {origin[:_SHOWN_CHARACTERS]}" if origin else "of another origin"
        return error_answer(
            Forbidden(f"A web page {page} sent this request; --cors-origins names the origins whose pages may send any")
        )

    def _is_own(self, fields: dict[bytes, bytes], origin: str) -> bool:
        """Whether the request comes from a page of this server, or from none.

        Browsers that name the origin alone are older ones, or reach the server over plain HTTP by another name than
        ``localhost``. Where the server listens for its own machine only, such a name is not its own: somebody has it
        point there (DNS rebinding).
        """
        site = fields.get(_SITE)
        if site or not origin:
            return not site or site in _OWN_SITES
        scheme, _, authority = origin.lower().partition("://")
        port = _DEFAULT_PORTS.get(scheme, "")
        host = fields.get(b"host", b"").decode("latin-1").lower()
        is_same = bool(authority) and authority.removesuffix(port) == host.removesuffix(port)
        return is_same and (not self._is_local or _is_loopback(_without_port(authority)))


def _without_port(authority: str) -> str:
    name, colon, port = authority.rpartition(":")
    return (name if colon and port.isdigit() else authority).strip("[]")


def _is_loopback(host: str) -> bool:
    """Whether a name or address always is that of the machine itself (RFC 6761, section 6.3, for names)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _joined_fields(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The header fields by name; the values of one that came several times with commas between them."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = found[name] + b", " + value if name in found else value
    return found


def _is_link(fields: dict[bytes, bytes]) -> bool:
    """Whether the answer is to be a page of its own, which the page that led to it cannot read."""
    return fields.get(b"sec-fetch-mode") == b"navigate" and fields.get(b"sec-fetch-dest") not in _EMBEDDED
