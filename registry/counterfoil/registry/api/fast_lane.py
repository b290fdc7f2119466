"""Answers from memory, ahead of routing: what an id stands for, asked in the plain way.

The bytes are those of the ordinary route. Whatever is not asked in the plain way (a query, another spelling of the id,
an ``Accept`` that cannot be satisfied) goes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.api.media_types import negotiate
from counterfoil.registry.api.middleware import ROUTE_HOLDER
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.api.replies import Replies

_PREFIX: Final = b"/schemas/ids/"
_ROUTE: Final = "/schemas/ids/{id}"
_MAX_DIGITS: Final = 9


class FastLane:
    """Answers ``GET /schemas/ids/{id}`` when the answer is at hand, and hands everything else on."""

    def __init__(self, app: ASGIApp, *, replies: Replies) -> None:
        self._app = app
        self._replies = replies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] == "http" and scope["method"] == "GET" and not scope["query_string"]:
            digits = scope.get("raw_path", b"").removeprefix(_PREFIX)
            if digits.isdigit() and len(digits) <= _MAX_DIGITS and digits[0] != ord("0"):
                reply = await self._kept(int(digits))
                media_type = _media_type(scope["headers"])
                if reply is not None and media_type is not None:
                    scope[ROUTE_HOLDER][0] = _ROUTE
                    length = b"%d" % len(reply)
                    headers = [(b"content-type", media_type), (b"content-length", length)]
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    await send({"type": "http.response.body", "body": reply})
                    return
        await self._app(scope, receive, send)

    async def _kept(self, schema_id: int) -> bytes | None:
        try:
            return await self._replies.kept(schema_id)
        except RegistryError:  # the store does not answer: the ordinary route says so
            return None


def _media_type(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """What to answer with; None where the request must be refused."""
    accept = b",".join([value for name, value in headers if name == b"accept"])
    try:
        return negotiate(accept.decode("latin-1")).encode()
    except RegistryError:
        return None
