"""The port without TLS beside the one with TLS: it sends browsers to the other one, and answers nothing else.

Requests of programs are not redirected: their credentials were not encrypted, and nobody would notice.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.responses import RedirectResponse

from counterfoil.registry.api.http.answers import error_answer
from counterfoil.schema.errors import Forbidden

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

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
