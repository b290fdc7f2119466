"""The static files of pages: style sheets and scripts, below the hash of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from counterfoil.registry.http.access import Access
from counterfoil.registry.http.answers import error_answer
from counterfoil.registry.http.envelope import ROUTE_HOLDER, UI
from counterfoil.registry.http.replies import entity_tag
from counterfoil.registry.http.request import decode_segment
from counterfoil.registry.web.answers import ASKED_AGAIN, IMMUTABLE, is_known, not_modified, sent, unbound_endpoint
from counterfoil.schema.errors import NotFound, RegistryError

STATIC: Final = f"{UI}/static"
_PATH: Final = f"{STATIC}/{{hash}}/{{name}}"


class _ServedFile:
    """A static file with its headers."""

    def __init__(self, body: bytes, media_type: str) -> None:
        self.body = body
        self.tag = entity_tag(body)
        self.headers = ((b"content-type", media_type.encode()), (b"etag", self.tag))


@cache
def _served() -> tuple[str, Mapping[str, _ServedFile]]:
    from counterfoil.pages.static import assets  # it reads files, which costs start time

    found = assets()
    return found.hash, {name: _ServedFile(file.body, file.media_type) for name, file in found.files.items()}


class StaticRoute(StarletteRoute):
    """The route of all static files.

    Everybody gets them whom the server lets in: they are the same for all. What is below the hash of this version never
    changes; what is below another one is that of a server of another version beside this one, so that it is answered
    with this version's file, which a browser has to ask for again.
    """

    access = Access(is_open=True)
    tags: tuple[str, ...] = ()
    method = "GET"
    twin = ""

    def __init__(self) -> None:
        super().__init__(_PATH.replace("}", ":segment}"), unbound_endpoint, methods=["GET"])
        self.app = self._answered

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE_HOLDER][0] = self.path_format
        await _answer(scope)(scope, receive, send)


def _answer(scope: Scope) -> Response:
    try:
        given, name = (decode_segment(scope["path_params"][each]) for each in ("hash", "name"))
    except RegistryError as error:
        return error_answer(error)
    own, files = _served()
    file = files.get(name)
    if file is None:
        return error_answer(NotFound(f"There is no static file {name[:80]!r}"))
    if is_known(file.tag, scope):
        return not_modified(file.tag)
    return sent(file.body, *file.headers, IMMUTABLE if given == own else ASKED_AGAIN, status=HTTPStatus.OK)
