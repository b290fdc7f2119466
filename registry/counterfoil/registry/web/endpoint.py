"""A page as a route: its declaration, the request as builders read it, and the handling of one request."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope

from counterfoil.pages.frame import Crumb, EarlierState, Notice, PageFrame, PrintedFoot
from counterfoil.pages.links import Section, ServerLinks
from counterfoil.registry.access.resources import AccessResource, subject_resource
from counterfoil.registry.access.rights import CALLER, Caller
from counterfoil.registry.changes.as_of import resolve_moment
from counterfoil.registry.http.access import Access, RequestCaller, Services, request_of, services_of
from counterfoil.registry.http.answers import Answer, error_answer
from counterfoil.registry.http.envelope import ROUTE_HOLDER
from counterfoil.registry.http.request import ApiRequest
from counterfoil.registry.http.route import Endpoint
from counterfoil.registry.http.shapes import AS_OF
from counterfoil.registry.search.searching import Searching
from counterfoil.registry.store.changes import JournalChange
from counterfoil.registry.use_cases import UseCases, use_cases_as_of
from counterfoil.registry.web.answers import (
    ERROR_HELP,
    ErrorHelp,
    PageSite,
    content_tag,
    is_known,
    journal_tag,
    not_modified,
    page_answer,
    see_other,
    unbound_endpoint,
)
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, RegistryError, StoreTimeout, StoreUnavailable, UnsupportedMediaType
from counterfoil.schema.rest.inspection import IndexState

# A page before it is printed.


@dataclass(frozen=True, slots=True)
class BuiltPage:
    """The value of a page, and what its frame needs to know of it.

    ``json`` is the address of its JSON twin below the server. ``canonical`` is its chosen address, if it has two.
    ``missing`` names what cannot be read as of an earlier moment. ``texts`` are the versions whose texts it shows, for
    the audit. ``status`` is that of the error which a form with faults has. ``can_be_printed``: it can be one
    page without windows.
    """

    page: str
    value: object
    title: str
    section: Section | None = None
    crumbs: tuple[Crumb, ...] = ()
    json: str = ""
    command: str = ""
    canonical: str = ""
    context: str = ""
    search: str = ""
    notices: tuple[Notice, ...] = ()
    missing: tuple[str, ...] = ()
    may_stream: bool = False
    texts: tuple[tuple[QualifiedSubject, int], ...] = ()
    status: int = HTTPStatus.OK
    can_be_printed: bool = False


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The answer that leads to another page."""

    url: str


# The request as builders read it.

_FORM_TYPE: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 100
_IN_THREAD_BYTES: Final = 64 * 1024
_WINDOW: Final = frozenset({"after", "lines"})
"""The parameters that choose a window, which a printed page has none of."""

PRINT: Final = "print"
"""The parameter that requests a page to be printed."""

_NOT_SENT_AGAIN: Final = frozenset({AS_OF, PRINT})

MOST_PRINTED: Final = 5_000
"""The largest number of rows of each table of a printed page."""

_MAX_DIGITS: Final = 18
_HOST: Final = re.compile(rb"[A-Za-z0-9.:\[\]_-]{1,255}")


class PageRequest:
    """One request for a page: its query or its form, the use cases that it reads, and who sends it.

    ``links`` are the addresses of pages, which keep the earlier moment that was requested. ``is_dated``: the page can
    show one.
    """

    def __init__(self, request: ApiRequest, caller: RequestCaller, *, is_dated: bool = False) -> None:
        self.viewer = caller
        self.is_dated = is_dated
        self._request = request
        self._scope = request.scope
        self.site = site = site_of_app(self._scope)
        cases = services_of(self._scope).cases
        self._storage, self._search = cases.storage, cases.search
        self.links: ServerLinks = site.links_as_of(request.text(AS_OF))

    @property
    def cases(self) -> UseCases:
        """The use cases over the state that was requested."""
        return self._request.cases

    @property
    def as_of(self) -> str:
        """The earlier moment that was requested, as it was given; empty for now."""
        return self._request.text(AS_OF)

    def text(self, name: str) -> str:
        """Return a parameter of the query without blanks around it; an empty text if there is none."""
        return self._request.text(name).strip()

    def flag(self, name: str) -> bool:
        """Return whether a parameter of the query is ``true``."""
        return self._request.flag(name)

    def number(self, name: str, default: int = 0, *, least: int = 0) -> int:
        """Return a parameter of the query that is a number; raise ``BadRequest`` for another text."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS) or int(text) < least:
            raise BadRequest(f"{name} is {text[:80]!r}; expected a number from {least}")
        return int(text)

    def choice(self, name: str, known: Mapping[str, Any]) -> Any:
        """Return the value that a parameter names; the first one if it is absent; raise ``BadRequest`` for others."""
        text = self.text(name)
        if not text:
            return next(iter(known.values()))
        if text not in known:
            raise BadRequest(f"{name} is {text[:80]!r}; expected one of {', '.join(filter(None, known))}")
        return known[text]

    def segment(self, name: str) -> str:
        """Return a segment of the path."""
        return self._request.segment(name)

    def named_subject(self) -> QualifiedSubject:
        """Return the subject that the path or the query names, without resolving an alias."""
        return _named_subject(self._request)

    @property
    def names_a_subject(self) -> bool:
        """Whether the path or the query names a subject."""
        return bool(self._request.segment("subject") or self._request.text("name"))

    async def subject(self) -> QualifiedSubject:
        """Return the subject that the path or the query names, or the one whose alias it is."""
        return await self.cases.scopes.aliased(self.named_subject())

    def subject_named(self, text: str) -> QualifiedSubject:
        """Return the subject of a name in a query or a form, without resolving an alias."""
        return parse_subject(text)

    @property
    def sender(self) -> Caller | None:
        """Who sent the request, whatever rights the page is built with; None where no authentication is set up."""
        return self._scope.get(CALLER)

    async def last_change(self) -> int:
        """Return the number of the last change that the page rests on.

        It is that of the store also where a page is built over an empty one, since what may not be known looks like
        what does not exist.
        """
        return await (resolve_moment(self._storage, self.as_of) if self.as_of else self._storage.last_change())

    async def index_state(self) -> IndexState | None:
        """Return the state of the search index, as for every page of now; None for an earlier moment, and if unknown.

        It is that of the store's index also where a page is built over an empty one.
        """
        return None if self.as_of else await index_state(self._search)

    async def catch_up(self) -> None:
        """Let what is read from now on be as new as the last change."""
        await self._storage.catch_up()

    async def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return changes of the store."""
        return await self._storage.changes(after, limit)

    def cases_as_of(self, seq: int) -> UseCases:
        """Return the use cases over the state after a change."""
        return use_cases_as_of(self.cases, seq)

    @property
    def is_printed(self) -> bool:
        """Whether the page is to be printed: as one, without windows, up to :data:`MOST_PRINTED` rows."""
        return self.text(PRINT) == "1"

    def window(self, rows: int) -> int:
        """Return how many rows the page shows, which are ``rows`` on a screen."""
        return MOST_PRINTED if self.is_printed else rows

    def print_address(self) -> str:
        """Return the address of this page to be printed, as of the same moment."""
        kept = [each for each in self.parameters() if each[0] not in _WINDOW]
        moment = [(AS_OF, self.as_of)] if self.as_of else []
        return f"{self.path()}?{urlencode([*kept, *moment, (PRINT, '1')], errors='replace')}"

    def whole_address(self) -> str:
        """Return the address of this page on a screen, with the server in it."""
        moment = [(AS_OF, self.as_of)] if self.as_of else []
        query = urlencode([*self.parameters(), *moment], errors="replace")
        path = self.path().removeprefix(self.site.prefix)
        return f"{self.address()}{path}{'?' + query if query else ''}"

    def address(self) -> str:
        """Return the address of the API as the client reaches it, for commands."""
        if self.site.address:
            return self.site.address
        host = next((value for name, value in self._scope["headers"] if name == b"host"), b"")
        named = host.decode("latin-1") if _HOST.fullmatch(host) else "localhost"
        return f"{self._scope['scheme']}://{named}{self.site.prefix}"

    async def form(self) -> Mapping[str, str]:
        """Return the entries of the form in the body; the first of several with one name counts."""
        content_type = next((value for name, value in self._scope["headers"] if name == b"content-type"), b"")
        if content_type.partition(b";")[0].strip().lower() != _FORM_TYPE.encode():
            raise UnsupportedMediaType(f"Forms of pages are sent as {_FORM_TYPE}")
        body = await self._request.raw_body()
        read = partial(_read_form, body)
        return await asyncio.to_thread(read) if len(body) > _IN_THREAD_BYTES else read()

    def api(self, path: str, /, **query: str | int | None) -> str:
        """Return the address of a JSON twin: ``path`` below the server, with the parameters that are not empty."""
        given = {"as_of": self.as_of, **query}
        kept = {name: value for name, value in given.items() if value}
        return f"{self.site.prefix}{path}{'?' + urlencode(kept, errors='replace') if kept else ''}"

    def suggest(self, command: str) -> None:
        """Name the command that does the same, for the page of a time limit."""
        self.error_help.command = command

    @property
    def error_help(self) -> ErrorHelp:
        """What the page of an error will say besides the error."""
        found: ErrorHelp = self._scope[ERROR_HELP]
        return found

    def earlier_address(self) -> str:
        """Return the address to which the form for an earlier moment leads; empty if the page has no earlier state."""
        return self.here() if self.is_dated else ""

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Return the parameters of the query without those of an earlier moment and of printing."""
        pairs = parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace")
        return tuple(each for each in pairs[:_MAX_FIELDS] if each[0] not in _NOT_SENT_AGAIN)

    def path(self) -> str:
        """Return the path of the page as browsers see it."""
        sent = self._request.raw_path.decode("latin-1")
        return f"{self.site.prefix}{sent}{'/' if sent == '/ui' else ''}"

    def here(self) -> str:
        """Return the address of the page now."""
        query = urlencode(self.parameters(), errors="replace")
        return f"{self.path()}?{query}" if query else self.path()


async def index_state(search: Searching) -> IndexState | None:
    """Return the state of the search index; None while it cannot be read, which is no reason to refuse a page."""
    try:
        return await search.state()
    except (StoreTimeout, StoreUnavailable):
        return None


def quoted(name: str) -> str:
    """Return a name as a segment of a path of the API."""
    return quote(name.encode("utf-8", "replace"), safe="")


def _read_form(body: bytes) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except UnicodeDecodeError:
        raise BadRequest("The form is not UTF-8") from None
    except ValueError:
        raise BadRequest(f"The form has more than {_MAX_FIELDS} entries") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value.replace("\r\n", "\n"))
    return found


def _named_subject(request: ApiRequest) -> QualifiedSubject:
    return parse_subject(request.segment("subject") or request.text("name"))


async def the_subject_of_the_page(request: ApiRequest, _: RequestCaller) -> AccessResource:
    """Return the subject that the path or the query of a page names, or the one whose alias it is."""
    return subject_resource(await request.cases.scopes.aliased(_named_subject(request)))


# A page as a route.

Builder: TypeAlias = "Callable[[PageRequest], Awaitable[BuiltPage | Elsewhere]]"
"""Reads what a page shows."""


Absence: TypeAlias = Callable[[RegistryError, PageRequest, UseCases], Awaitable[None]]
"""What lets the page of an error say what is not there."""


class PageRoute(StarletteRoute):
    """One row of the table of pages.

    ``access`` is what it needs of its callers, as for a route of the API. ``twin`` is the route of the API with the
    same answer as JSON, empty if there is none. ``is_dated``: it can show an earlier moment. ``is_of_journal``: it
    depends on the journal alone, so that its entity tag is known before it is read. ``absence`` lets the page of an
    error say what is not there.
    """

    body = None
    result = None
    cached = None
    has_tag = False
    may_be_stale = False
    reads_store = True
    only_reads = True
    status_code: int | None = HTTPStatus.OK
    tags: tuple[str, ...] = ()

    def __init__(
        self,
        method: str,
        path: str,
        build: Builder,
        *,
        access: Access,
        absence: Absence,
        twin: str = "",
        is_dated: bool = False,
        is_of_journal: bool = False,
    ) -> None:
        self.method = method
        self.absence = absence
        self.access = access
        self.build = build
        self.twin = twin
        self.query: tuple[str, ...] = (AS_OF,) if is_dated else ()
        self.is_of_journal = is_of_journal
        super().__init__(path.replace("}", ":segment}"), unbound_endpoint, methods=[method])
        self.app = PageEndpoint(self, build)


def site_of_app(scope: Scope) -> PageSite:
    """Return what the pages of the application have in common."""
    site: PageSite = scope["app"].state.site
    return site


_ATTEMPTS: Final = 2


class PageEndpoint(Endpoint):
    """The handling of one request for a page: rights, the moment, what it rests on, its entity tag, its HTML."""

    def __init__(self, route: PageRoute, build: Builder) -> None:
        super().__init__(route, self._operation_of(build, is_dated=AS_OF in route.query))
        self._is_of_journal = route.is_of_journal
        self._help_with_absence = route.absence
        self._is_dated = AS_OF in route.query

    @staticmethod
    def _operation_of(build: Builder, *, is_dated: bool) -> Callable[[ApiRequest, RequestCaller], Awaitable[object]]:
        async def operation(request: ApiRequest, caller: RequestCaller) -> object:
            return await _built(PageRequest(request, caller, is_dated=is_dated), build)

        return operation

    async def response(self, scope: Scope, receive: Receive) -> Response:
        """Return the response to one request; an error is one of the API, which becomes a page outside."""
        scope[ROUTE_HOLDER][0] = self._path
        services, site = services_of(scope), site_of_app(scope)
        request, caller = request_of(scope, receive)
        await site.prepare()
        tag = b""
        try:
            if self._is_of_journal:
                tag = await self._journal_tag(scope, services, site)
                if is_known(tag, scope):
                    return not_modified(tag)
            made, _ = await self.made_for_caller(request, caller, services)
            caller.record(made.answer)
        except RegistryError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                asked = PageRequest(request, caller, is_dated=self._is_dated)
                await self._help_with_absence(error, asked, services.cases)
            return error_answer(error if caller.authenticated is None else caller.shown_error(error))
        found = made.answer.value
        if isinstance(found, Elsewhere):
            return see_other(found.url)
        if not isinstance(found, FramedPage):
            raise TypeError(type(found))  # a builder returns nothing else
        text = await site.printed(found.built.page, found.built.value, found.frame)
        if found.built.status != HTTPStatus.OK:
            return page_answer(text, status=found.built.status)
        tag = tag or content_tag(text)
        return not_modified(tag) if is_known(tag, scope) else page_answer(text, tag=tag)

    async def _journal_tag(self, scope: Scope, services: Services, site: PageSite) -> bytes:
        storage = services.cases.storage
        await storage.catch_up()
        index = await index_state(services.cases.search)
        return journal_tag(site, scope, await storage.last_change(), index)


@dataclass(frozen=True, slots=True)
class FramedPage:
    """A page with its frame."""

    built: BuiltPage
    frame: PageFrame


async def _built(request: PageRequest, build: Builder) -> Answer:
    """Return the page with its frame, which names the last change that it rests on.

    It is built again if a change came in meanwhile. If that happens each time, the frame says that the page may rest on
    later changes, too: everything up to the one that it names is certain to be in it.
    """
    for _ in range(_ATTEMPTS):
        change = await request.last_change()
        await request.catch_up()  # what is kept in memory may be older than that change
        found = await build(request)
        if isinstance(found, Elsewhere):
            return Answer(found)
        built = found
        has_more = not request.as_of and bool(await request.changes(change, 1))
        if not has_more:
            break
    frame = await _frame(request, built, change, change_is_least=has_more)
    return Answer(FramedPage(built, frame), texts=built.texts)


async def _frame(request: PageRequest, built: BuiltPage, change: int, *, change_is_least: bool) -> PageFrame:
    """Return the frame of a page."""
    member = request.sender
    is_found = built.status == HTTPStatus.OK  # what is not there and what is denied have no number
    return PageFrame(
        built.title,
        links=request.links,
        version=request.site.version,
        section=built.section,
        crumbs=built.crumbs,
        here=request.earlier_address(),
        parameters=request.parameters(),
        context=built.context,
        as_of=await _earlier_state(request, built, change) if request.as_of else None,
        search=built.search,
        index=await request.index_state() if is_found else None,
        change=change if is_found else None,
        change_is_least=change_is_least,
        json_url=built.json,
        command=built.command,
        canonical=built.canonical,
        print_url="" if request.is_printed or not built.can_be_printed else request.print_address(),
        printed=_printed(request) if request.is_printed and built.can_be_printed else None,
        user=member.name if member is not None and member.is_member else "",
        may_stream=built.may_stream,
        notices=built.notices,
    )


def _printed(request: PageRequest) -> PrintedFoot:
    return PrintedFoot(request.whole_address(), time.time_ns() // 1_000_000)


async def _earlier_state(request: PageRequest, built: BuiltPage, change: int) -> EarlierState:
    found = await request.changes(change - 1, 1) if change else ()
    ts = found[0].ts if found else None
    return EarlierState(request.as_of, request.here(), seq=change, ts=ts, missing=built.missing)
