"""The handling of one request: media types, the state of the store to read, errors, entity tags."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.registry.api.cache.stale_reads import NOT_KNOWN, WARNING
from counterfoil.registry.api.call import Call
from counterfoil.registry.api.denials import DENIED
from counterfoil.registry.api.dialects import shaper, tolerates_new_fields
from counterfoil.registry.api.http.answers import answer, error_answer, ignored_header
from counterfoil.registry.api.http.conditions import entity_tag, tagged
from counterfoil.registry.api.http.media_types import V1, check_consumed, negotiate
from counterfoil.registry.api.http.middleware import ROUTE_HOLDER
from counterfoil.registry.api.routes.parameters import AS_OF
from counterfoil.registry.api.routes.services import services_of
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.service.as_of import AsOf
from counterfoil.registry.service.contact import StoreSlow
from counterfoil.registry.service.moments import resolve_moment
from counterfoil.registry.service.retrying import until_current
from counterfoil.registry.service.use_cases import use_cases
from counterfoil.schema.errors import BadRequest, Forbidden, RegistryError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from counterfoil.registry.api.routes.route import ApiRoute
    from counterfoil.registry.api.routes.services import Services
    from counterfoil.registry.service.storage import Storage
    from counterfoil.registry.service.use_cases import UseCases

_Operation: TypeAlias = "Callable[[Call], Awaitable[Any]]"

_BODY_METHODS: Final = frozenset({"POST", "PUT"})


class Endpoint:
    """The operation of a route as a small ASGI application, which calls it with the request and sends its result."""

    def __init__(self, route: ApiRoute, operation: _Operation) -> None:
        self._route = route
        self._operation = operation
        self._access = route.access
        self._path = route.path_format
        self._status = route.status_code or HTTPStatus.OK
        self._has_body = route.method in _BODY_METHODS
        self._may_write = route.method != "GET"
        self._has_tag = route.has_tag
        self._reads_store = route.reads_store
        self._may_be_stale = route.may_be_stale
        self._only_reads = route.only_reads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self.response(scope, receive)
        await response(scope, receive, send)

    async def response(self, scope: Scope, receive: Receive) -> Response:
        """Return the response to one request; an error is a response, too."""
        scope[ROUTE_HOLDER][0] = self._path
        services = services_of(scope)
        media_type = V1
        is_tolerant = services.dialects.tolerant is not None and tolerates_new_fields(scope["headers"])
        dialect = services.dialects.of(is_tolerant=is_tolerant)
        call = Call(scope, receive, services)
        call.form = self._route.body
        try:
            media_type = _agree(scope, has_body=self._has_body)
            if call.has_query and call.texts(AS_OF):
                call.cases = await self._cases_as_of(call.text(AS_OF), services)
            with call.authorship() if self._may_write else nullcontext():
                value, is_stale = await self._value_for_caller(call, services)
        except RegistryError as error:
            # no variable keeps the error: with its traceback, that would be a cycle of all that the request had
            return error_answer(
                dialect.translated(error if call.caller is None else call.shown_error(error)), media_type
            )
        shape = shaper(dialect, self._route.result)
        response = answer(shape(value) if shape is not None else value, media_type, status=self._status)
        body = bytes(response.body)
        tag = entity_tag(body) if self._has_tag else b""
        if not is_stale and not call.ignored:
            call.keep(body, self._route, tag=tag, is_tolerant=is_tolerant)
        if tag:
            response = tagged(response, tag, scope["headers"])
        if is_stale:
            response.raw_headers.append(WARNING)
        if call.ignored:
            response.raw_headers.append(ignored_header(call.ignored))
        return response

    async def _value_for_caller(self, call: Call, services: Services) -> tuple[Any, bool]:
        """Return what :meth:`_value` does, if the caller has the right to it."""
        if call.caller is None:
            return await self._value(self._operation, call, services)
        try:
            return await self._value(self._permitted, call, services)
        except Forbidden:
            if services.nothing is None or not (call.denies_read and self._only_reads):
                raise
        call.over_nothing(services.nothing)
        value = await self._operation(call)
        call.rests_on_more()
        return value, False

    async def _permitted(self, call: Call) -> Any:
        """Return the operation's result for a caller who has what the route needs; raise ``Forbidden`` for others."""
        call.restart()
        await self._access.check(call)
        call.has_asked = False
        value = await self._operation(call)
        if self._access.asks and not call.has_asked:
            LOGGER.error("an operation did not ask about rights, and its result was not sent: a defect of this server")
            raise Forbidden(DENIED)
        return value

    async def _value(self, operation: _Operation, call: Call, services: Services) -> tuple[Any, bool]:
        """Return the operation's result, and whether it is from memory, since the store cannot be reached."""
        storage = services.cases.storage
        if not self._may_be_stale or call.cases is not services.cases:
            return await self._current(operation, call, storage, storage.catch_up), False
        try:
            return await self._current(operation, call, storage, services.stale.catch_up), False
        except (StoreUnavailable, StoreTimeout) as failure:
            value = await services.stale.value(operation, call, failure=failure)
            if value is not NOT_KNOWN:
                return value, True
            if not isinstance(failure, StoreSlow):
                raise
        call.cases = services.cases
        return await self._current(operation, call, storage, storage.catch_up), False

    async def _current(
        self, operation: _Operation, call: Call, storage: Storage, catch_up: Callable[[], Awaitable[None]]
    ) -> Any:
        """Return the operation's result, from what is stored now."""
        if self._reads_store:
            await catch_up()
        return await until_current(partial(operation, call), catch_up=storage.catch_up)

    async def _cases_as_of(self, moment: str, services: Services) -> UseCases:
        """Return the use cases over the state as of then; raise ``BadRequest`` if the route cannot read the past.

        To return the present state when the past was requested would be worse than an error.
        """
        if AS_OF not in self._route.query:
            method, path = self._route.method, self._path
            raise BadRequest(f"as_of is not possible for {method} {path}; leave it out to ask what is true now")
        storage = services.cases.storage
        return use_cases(AsOf(storage, await resolve_moment(storage, moment)), long=services.cases.long)


def _agree(scope: Scope, *, has_body: bool) -> str:
    """Return the media type of the response; the body's own type is checked first."""
    accept = content_type = b""
    for name, value in scope["headers"]:
        if name == b"accept":
            accept = accept + b"," + value if accept else value
        elif name == b"content-type":
            content_type = value
    if has_body and content_type:
        check_consumed(content_type.decode("latin-1"))
    return negotiate(accept.decode("latin-1"))
