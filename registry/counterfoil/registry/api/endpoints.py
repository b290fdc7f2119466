"""From operations to routes: each operation of the table as a small ASGI application behind Starlette's router."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.convertors import CONVERTOR_TYPES, StringConvertor
from starlette.routing import Route as RoutedPath

from counterfoil.registry.api.associations.routes import TAG as ASSOCIATIONS
from counterfoil.registry.api.cache.stale_reads import NOT_KNOWN, WARNING
from counterfoil.registry.api.call import Call
from counterfoil.registry.api.dialects import Dialects, tolerates_new_fields
from counterfoil.registry.api.http.answers import answer, error_answer
from counterfoil.registry.api.http.conditions import entity_tag, tagged
from counterfoil.registry.api.http.media_types import V1, check_consumed, negotiate
from counterfoil.registry.api.http.middleware import ROUTE_HOLDER
from counterfoil.registry.api.routes import AS_OF
from counterfoil.registry.api.table import TABLE
from counterfoil.registry.service.as_of import AsOf
from counterfoil.registry.service.contact import StoreSlow
from counterfoil.registry.service.moments import resolve_moment
from counterfoil.registry.service.retrying import until_current
from counterfoil.registry.service.use_cases import use_cases
from counterfoil.schema.errors import BadRequest, RegistryError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from counterfoil.registry.api.cache.replies import Replies
    from counterfoil.registry.api.cache.stale_reads import StaleReads
    from counterfoil.registry.api.routes import Route
    from counterfoil.registry.service.use_cases import UseCases

SEGMENT: Final = "segment"
_BODY_METHODS: Final = frozenset({"POST", "PUT"})


class _SegmentConvertor(StringConvertor):
    """A path segment as it was sent, which may be empty: a subject's name can be."""

    regex = "[^/]*"


def api_routes(
    cases: UseCases,
    replies: Replies,
    *,
    stale: StaleReads,
    max_body_bytes: int,
    dialects: Dialects | None = None,
) -> list[RoutedPath]:
    """Every operation of the table that is turned on, to be served under its path.

    Answers are in one of ``dialects``; those of ``stale`` are given while the store is away.
    """
    CONVERTOR_TYPES[SEGMENT] = _SegmentConvertor()
    spoken = dialects or Dialects()
    return [
        RoutedPath(
            route.path.replace("}", f":{SEGMENT}}}"),
            _Endpoint(route, cases, replies, stale=stale, max_body_bytes=max_body_bytes, dialects=spoken),
            methods=[route.method],
        )
        for route in TABLE
        if spoken.usual.has(route) and (route.tag != ASSOCIATIONS or cases.associations is not None)
    ]


class _Endpoint:
    """One operation as an ASGI application, which hands it the request and sends what it gives."""

    def __init__(
        self,
        route: Route,
        cases: UseCases,
        replies: Replies,
        *,
        stale: StaleReads,
        max_body_bytes: int,
        dialects: Dialects,
    ) -> None:
        self._route = route
        self._operation = route.operation
        self._status = route.status
        self._has_body = route.method in _BODY_METHODS
        self._has_tag = route.has_tag
        self._reads_store = route.reads_store
        self._may_be_stale = route.may_be_stale
        self._stale = stale
        self._cases = cases
        self._replies = replies
        self._max_body_bytes = max_body_bytes
        self._usual = (dialects.usual, dialects.usual.shaper(route))
        self._tolerant = (dialects.tolerant, dialects.tolerant.shaper(route)) if dialects.tolerant else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope[ROUTE_HOLDER][0] = self._route.path
        response = await self._response(scope, receive)
        await response(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive) -> Response:
        media_type = V1
        dialect, shape = self._usual
        is_tolerant = self._tolerant is not None and tolerates_new_fields(scope["headers"])
        if self._tolerant is not None and is_tolerant:
            dialect, shape = self._tolerant
        try:
            media_type = _agree(scope, has_body=self._has_body)
            call = Call(scope, receive, cases=self._cases, replies=self._replies, max_body_bytes=self._max_body_bytes)
            if call.has_query and call.texts(AS_OF):
                call.cases = await self._cases_as_of(call.text(AS_OF))
            value, is_stale = await self._value(call)
        except RegistryError as error:
            return error_answer(dialect.translated(error), media_type)
        response = answer(shape(value) if shape is not None else value, media_type, status=self._status)
        body = bytes(response.body)
        tag = entity_tag(body) if self._has_tag else b""
        if not is_stale:
            call.keep(body, self._route, tag=tag, is_tolerant=is_tolerant)
        if tag:
            response = tagged(response, tag, scope["headers"])
        if is_stale:
            response.raw_headers.append(WARNING)
        return response

    async def _value(self, call: Call) -> tuple[Any, bool]:
        """What the operation gives, and whether it is from memory, since the store is away."""
        storage = self._cases.storage
        if not self._may_be_stale or call.cases is not self._cases:
            return await self._current(call, storage.catch_up), False
        try:
            return await self._current(call, self._stale.catch_up), False
        except (StoreUnavailable, StoreTimeout) as failure:
            value = await self._stale.value(self._operation, call, failure=failure)
            if value is not NOT_KNOWN:
                return value, True
            if not isinstance(failure, StoreSlow):
                raise
        call.cases = self._cases
        return await self._current(call, storage.catch_up), False

    async def _current(self, call: Call, catch_up: Callable[[], Awaitable[None]]) -> Any:
        """What the operation gives, of what is stored now."""
        if self._reads_store:
            await catch_up()
        return await until_current(partial(self._operation, call), catch_up=self._cases.storage.catch_up)

    async def _cases_as_of(self, moment: str) -> UseCases:
        """The use cases over what was true then; ``BadRequest`` where that cannot be asked.

        To answer with the present where the past was asked for would be worse than not to answer.
        """
        if AS_OF not in self._route.query:
            method, path = self._route.method, self._route.path
            raise BadRequest(f"as_of is not possible for {method} {path}; leave it out to ask what is true now")
        storage = self._cases.storage
        return use_cases(AsOf(storage, await resolve_moment(storage, moment)))


def _agree(scope: Scope, *, has_body: bool) -> str:
    """The media type to answer with; the body's own type is checked first."""
    accept = content_type = b""
    for name, value in scope["headers"]:
        if name == b"accept":
            accept = accept + b"," + value if accept else value
        elif name == b"content-type":
            content_type = value
    if has_body and content_type:
        check_consumed(content_type.decode("latin-1"))
    return negotiate(accept.decode("latin-1"))
