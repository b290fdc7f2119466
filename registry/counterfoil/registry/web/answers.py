"""The responses of pages: their headers, their entity tags, and errors as pages."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import Message, Scope, Send

from counterfoil.pages.frame import Crumb, EarlierState, PageFrame
from counterfoil.pages.links import ServerLinks
from counterfoil.registry.access.rights import CALLER, Caller
from counterfoil.registry.http.envelope import REQUEST_ID
from counterfoil.registry.http.replies import IF_NONE_MATCH, NOT_MODIFIED, entity_tag, is_matched
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.settings import NAMES_IN_PATHS, ServerSettings
from counterfoil.schema.rest.inspection import IndexState

if TYPE_CHECKING:
    from counterfoil.pages.models import ErrorPage

# What is the same for all pages of an application.


@dataclass(frozen=True)
class PageSite:
    """The pages of one application: ``prefix`` is what a proxy strips of their paths.

    ``names`` is where links have the names of subjects. ``address`` is that of the server for browsers, empty if the
    settings do not name it.
    """

    prefix: str = ""
    names: Literal["path", "query"] = "path"
    address: str = ""

    @cached_property
    def version(self) -> str:
        """The version of the server."""
        return metadata.version("counterfoil")

    @cached_property
    def links(self) -> ServerLinks:
        """The addresses of the pages now."""
        from counterfoil.pages.static import assets  # it reads files, which costs start time

        return ServerLinks(prefix=self.prefix, names=self.names, assets=assets().hash)

    def links_as_of(self, moment: str) -> ServerLinks:
        """Return the addresses of pages that show an earlier moment, as the parameter names it; an empty one is now."""
        return replace(self.links, as_of=moment) if moment else self.links

    async def prepare(self) -> None:
        """Read what all pages need, once: beside the event loop, since these are files."""
        if "links" not in self.__dict__:
            await asyncio.to_thread(getattr, self, "links")

    async def printed(self, page: str, value: object, frame: PageFrame) -> str:
        """Return the HTML of a page: printed beside the event loop, which a long page would hold for a while.

        The first page also loads Jinja2, and each first one of its kind its templates.
        """
        return await asyncio.to_thread(_printed, page, value, frame)


def _printed(page: str, value: object, frame: PageFrame) -> str:
    from counterfoil.pages.render import render_page  # with Jinja2, which costs start time

    return render_page(page, value, frame)


def site_of(settings: ServerSettings) -> PageSite:
    """Return what the settings say of pages."""
    prefix = (settings.public_path or urlsplit(settings.public_url).path).rstrip("/")
    names: Literal["path", "query"] = "path" if settings.ui_names == NAMES_IN_PATHS else "query"
    return PageSite(prefix, names, settings.public_url.rstrip("/"))


async def unbound_endpoint(_: object) -> Response:
    """Stand for the endpoint of a route that has an application instead: the route reads nothing but its path."""
    raise NotImplementedError


# Headers.
#
# Source: Content Security Policy 3; Trusted Types; the HTML standard (cross-origin opener policies); Fetch (CORP).

_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
GUARDS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""The headers of every page and static file that limit what a browser does with it."""

ASKED_AGAIN: Final = (b"cache-control", b"private, no-cache")
"""The header of what a browser may keep, and has to ask about each time."""

IMMUTABLE: Final = (b"cache-control", b"private, max-age=31536000, immutable")
_HTML: Final = (b"content-type", b"text/html; charset=utf-8")


def sent(body: bytes, *headers: tuple[bytes, bytes], status: int = HTTPStatus.OK) -> Response:
    """Return a response with these headers and the guards."""
    response = Response(body, status_code=status)
    response.raw_headers += [*headers, *GUARDS]
    return response


def page_answer(text: str, *, status: int = HTTPStatus.OK, tag: bytes = b"") -> Response:
    """Return the response with a page; a text has no lone surrogates, which no page could show."""
    named = [(b"etag", tag)] if tag else []
    return sent(text.encode("utf-8", "replace"), _HTML, ASKED_AGAIN, *named, status=status)


def see_other(url: str) -> Response:
    """Return the response that leads a browser to another page."""
    return sent(b"", (b"location", url.encode("ascii")), ASKED_AGAIN, status=HTTPStatus.SEE_OTHER)


def not_modified(tag: bytes) -> Response:
    """Return the response to a browser that has the page already."""
    return sent(b"", (b"etag", tag), ASKED_AGAIN, status=NOT_MODIFIED)


# Entity tags.


def journal_tag(site: PageSite, scope: Scope, seq: int, index: IndexState | None) -> bytes:
    """Return the entity tag of a page that depends on the journal up to change ``seq``, and on its caller's rights.

    It is known before the page is read. Callers with equal rules and scopes have equal tags. ``index`` is the state of
    the search index, which the foot of every page names.
    """
    caller: Caller | None = scope.get(CALLER)
    known = b"" if caller is None else caller.rights.digest + caller.name.encode("utf-8", "surrogatepass")
    facts = (
        site.links.assets.encode(),
        scope["raw_path"],
        scope["query_string"],
        b"%d" % seq,
        repr(index).encode(),
        known,
    )
    return entity_tag(b"\0".join(facts))


def content_tag(text: str) -> bytes:
    """Return the entity tag of a page that depends on more than the journal: that of its text."""
    return entity_tag(text.encode("utf-8", "replace"))


def is_known(tag: bytes, scope: Scope) -> bool:
    """Return whether the browser has what has this entity tag."""
    known = b",".join([value for name, value in scope["headers"] if name == IF_NONE_MATCH])
    return bool(known) and is_matched(tag, known)


# Errors as pages.

ERROR_HELP: Final = "counterfoil.error_help"
"""The key in the scope for what the page of an error says besides: an :class:`ErrorHelp`."""

_ERROR: Final = 400
_LENGTH: Final = b"content-length"
_TYPE: Final = b"content-type"
_RETRY: Final = b"retry-after"
_PLAIN: Final = "<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{message}</p></html>"


@dataclass(slots=True)
class ErrorHelp:
    """What the page of an error says besides the error; it is filled while the request is handled.

    ``command`` does what the page does. ``missing`` is what is not there, ``removed`` the number and the time of the
    change that removed it, ``nearest`` are names like it. ``here`` and ``parameters`` are of the form that asks for an
    earlier moment, ``as_of`` is the one that was requested.
    """

    command: str = ""
    missing: str = ""
    removed: tuple[int, int] | None = None
    nearest: tuple[str, ...] = ()
    crumbs: tuple[Crumb, ...] = ()
    here: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    as_of: str = ""


class ErrorPages:
    """Sends the errors of requests for pages as pages, with the status, the code and the headers of the API.

    Every part of the server that refuses a request answers with the error body of the API: the check of origins, the
    gate, limits, the router, time limits. The envelope has this around all of them.
    """

    def __init__(self, site: PageSite) -> None:
        self._site = site

    def translating(self, scope: Scope, send: Send) -> Send:
        """Return ``send`` for the response to a request for a page."""
        scope[ERROR_HELP] = ErrorHelp()
        start: Message | None = None
        parts: list[bytes] = []

        async def send_page(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_error_body(message):
                start = message
            elif start is None:
                await send(message)
            else:
                parts.append(bytes(message.get("body", b"")))
                if not message.get("more_body", False):
                    await self._send(scope, start, b"".join(parts), send)

        return send_page

    async def _send(self, scope: Scope, start: Message, body: bytes, send: Send) -> None:
        """Send the page of an error; the response to HEAD has no body, and neither has its page."""
        headers = dict(start["headers"])
        page = await self._page(scope, start["status"], headers, _read_error(body))
        text = page.encode("utf-8", "replace")
        kept = [each for each in start["headers"] if each[0] not in {_LENGTH, _TYPE}]
        length = (_LENGTH, b"%d" % len(text))
        await send({**start, "headers": [*kept, _HTML, length, *GUARDS]})
        await send({"type": "http.response.body", "body": text if body else b""})

    async def _page(self, scope: Scope, status: int, headers: dict[bytes, bytes], document: dict[str, Any]) -> str:
        found: ErrorHelp = scope[ERROR_HELP]
        if status == HTTPStatus.NOT_FOUND and not found.missing:
            found.missing = f"page {scope['path']}"
        page = error_page(
            status,
            document,
            request_id=headers.get(REQUEST_ID, b"").decode("latin-1"),
            found=found,
            retry_s=int(headers[_RETRY]) if headers.get(_RETRY, b"").isdigit() else None,
        )
        await self._site.prepare()
        frame = PageFrame(
            page.title,
            links=self._site.links,
            version=self._site.version,
            crumbs=found.crumbs,
            here=found.here,
            parameters=found.parameters,
            as_of=EarlierState(found.as_of, found.here) if found.as_of else None,
            refresh_s=page.retry_s,
        )
        try:
            return await self._site.printed("error", page, frame)
        except Exception:  # noqa: BLE001 - the page of an error must not end in another one
            LOGGER.exception("the page of an error cannot be printed", extra={"request_id": page.request_id})
            return _PLAIN.format(title=html.escape(page.title), message=html.escape(page.message))


def _is_error_body(start: Message) -> bool:
    headers: Sequence[tuple[bytes, bytes]] = start["headers"]
    return start["status"] >= _ERROR and not any(name == _TYPE and value == _HTML[1] for name, value in headers)


def _read_error(body: bytes) -> dict[str, Any]:
    """Return the document of an error; an empty one for a body that is none."""
    try:
        document = json.loads(body) if body else {}
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def error_page(
    status: int, document: dict[str, Any], *, request_id: str, found: ErrorHelp, retry_s: int | None = None
) -> ErrorPage:
    """Return the page of an error with this status and body."""
    from counterfoil.pages.models import ErrorPage  # the values of pages cost start time

    is_absent = status == HTTPStatus.NOT_FOUND
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    return ErrorPage(
        status=status,
        title=phrase,
        message=str(document.get("message", "")) or phrase,
        error_code=document.get("error_code"),
        request_id=request_id,
        missing=found.missing if is_absent else "",
        nearest=found.nearest if is_absent else (),
        removed_seq=found.removed[0] if found.removed and is_absent else None,
        removed_ts=found.removed[1] if found.removed and is_absent else None,
        command=found.command if status in {HTTPStatus.GATEWAY_TIMEOUT, HTTPStatus.SERVICE_UNAVAILABLE} else "",
        retry_s=retry_s if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS} else None,
    )
