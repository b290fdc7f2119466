"""A route: its declaration, the errors it can respond with, and the handling of one request."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial, update_wrapper, wraps
from http import HTTPStatus
from inspect import Signature
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.convertors import CONVERTOR_TYPES, StringConvertor
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from counterfoil.registry.access.rights import EVERY_CALLER, Needs
from counterfoil.registry.changes.as_of import resolve_moment
from counterfoil.registry.http.access import Access, RequestCaller, Services, guarded, request_of, services_of
from counterfoil.registry.http.answers import (
    DENIED,
    NO_CONTENT,
    NOTHING,
    V1,
    Answer,
    answer,
    check_consumed,
    error_answer,
    ignored_header,
    negotiate,
    refusal_link,
    shaper,
    tolerates_new_fields,
)
from counterfoil.registry.http.envelope import REQUEST_ID_KEY, ROUTE_HOLDER
from counterfoil.registry.http.replies import (
    MAX_KEPT_BODY_BYTES,
    WARNING,
    Basis,
    CachedReply,
    Lifetime,
    entity_tag,
    request_key,
    tagged,
)
from counterfoil.registry.http.request import ApiRequest, refusal
from counterfoil.registry.http.shapes import AS_OF, SCHEMA_TEXT, described_request, schema_of
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.store.committing import until_current
from counterfoil.registry.store.protocol import Storage, StoreSlow
from counterfoil.registry.subjects.compatibility import RefusedVersion
from counterfoil.registry.subjects.documents import ERROR
from counterfoil.registry.use_cases import UseCases, use_cases_as_of
from counterfoil.schema import errors
from counterfoil.schema.errors import BadRequest, Forbidden, RegistryError, StoreTimeout, StoreUnavailable
from counterfoil.schema.rest.object_forms import Document, HasJsonSchema

# The errors that each route can respond with, for the OpenAPI description.

_ANYWHERE: Final = (
    errors.BadRequest,
    errors.Unauthorized,
    errors.Forbidden,
    errors.NotFound,
    errors.NotAcceptable,
    errors.SlowRequest,
    errors.RequestTooLarge,
    errors.HeadTooLarge,
    errors.StoreUnavailable,
    errors.StoreTimeout,
    errors.TooManyConnections,
    errors.AnswerTimeout,
)
_WITH_BODY: Final = (errors.UnsupportedMediaType, errors.MissingBody)
_WAIT_STATUS: Final = 503
_ERROR_BODY: Final = {"application/json": {"schema": schema_of(ERROR)}}


def described_errors(
    method: str, own: tuple[type[RegistryError], ...], *, takes_as_of: bool
) -> dict[int | str, Document]:
    """Return the error responses of a route by status, as OpenAPI describes them.

    ``own`` are its errors beside those that any request can cause.
    """
    then = (errors.SchemaNotFound,) if takes_as_of else ()  # for what existed then and was permanently deleted since
    with_body = _WITH_BODY if method in {"POST", "PUT"} else ()
    kinds_by_status: dict[int, list[type[RegistryError]]] = defaultdict(list)
    for kind in sorted({*_ANYWHERE, *with_body, *then, *own}, key=lambda kind: kind.code):
        kinds_by_status[int(kind.status)].append(kind)
        if kind in {
            errors.StoreUnavailable,
            errors.StoreTimeout,
        }:  # where waiting helps, it is no error of the server itself
            kinds_by_status[_WAIT_STATUS].append(kind)
    return {
        status: {"description": "  \n".join(map(_line, kinds)), "content": _ERROR_BODY}
        for status, kinds in sorted(kinds_by_status.items())
    }


def _line(kind: type[RegistryError]) -> str:
    return f"`{kind.code}`: {(kind.__doc__ or '').splitlines()[0]}"


# The handling of one request: media types, the state of the store to read, errors, entity tags.

_Operation: TypeAlias = "Callable[[ApiRequest, RequestCaller], Awaitable[object]]"

_BODY_METHODS: Final = frozenset({"POST", "PUT"})


class ServedRoute(Protocol):
    """The declaration of a route, as its endpoint needs it; :class:`ApiRoute` says what its attributes mean."""

    @property
    def method(self) -> str:
        """The method."""

    @property
    def path_format(self) -> str:
        """The path, with the names of its segments in braces."""

    @property
    def status_code(self) -> int | None:
        """The status of a success."""

    @property
    def access(self) -> Access:
        """The needs of its callers."""

    @property
    def query(self) -> tuple[str, ...]:
        """The parameters that it describes."""

    @property
    def body(self) -> HasJsonSchema | None:
        """The form of the body."""

    @property
    def result(self) -> HasJsonSchema | type[BaseModel] | None:
        """The shape of a success."""

    @property
    def cached(self) -> Lifetime | None:
        """The dependency of a response that may be kept."""

    @property
    def has_tag(self) -> bool:
        """Whether a response has an entity tag."""

    @property
    def reads_store(self) -> bool:
        """Whether it reads the store."""

    @property
    def only_reads(self) -> bool:
        """Whether a resource that may not be read is answered as if it were absent."""

    @property
    def may_be_stale(self) -> bool:
        """Whether it is answered from memory while the store cannot be reached."""


class MadeAnswer(NamedTuple):
    """The answer of one attempt, its dependencies if it may be cached, and the right of all who get the same."""

    answer: Answer
    basis: Basis | None
    needs: Needs | None


class Endpoint:
    """The operation of a route as a small ASGI application, which calls it with the request and sends its result."""

    def __init__(self, route: ServedRoute, operation: _Operation) -> None:
        self._route = route
        self._operation = operation
        self._access = route.access
        self._path = route.path_format
        self._status = route.status_code or HTTPStatus.OK
        self._has_body = route.method in _BODY_METHODS
        self._has_tag = route.has_tag
        self._reads_store = route.reads_store
        self._may_be_stale = route.may_be_stale
        self._only_reads = route.only_reads
        self._cached = route.cached

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
        request, caller = request_of(scope, receive, form=self._route.body)
        try:
            media_type = _agree(scope, has_body=self._has_body)
            made, is_stale = await self.made_for_caller(request, caller, services)
            is_cached = caller.record(made.answer)
        except RegistryError as error:
            # no variable keeps the error: with its traceback, that would be a cycle of all that the request had
            response = error_answer(
                dialect.translated(error if caller.authenticated is None else caller.shown_error(error)), media_type
            )
            if isinstance(error, RefusedVersion) and services.refusal_pages:
                response.headers["link"] = refusal_link(services.refusal_pages, scope[REQUEST_ID_KEY])
            return response
        value, ignored = made.answer.value, (*request.ignored, *made.answer.ignored)
        shape = shaper(dialect, self._route.result)
        response = answer(shape(value) if shape is not None else value, media_type, status=self._status)
        body = bytes(response.body)
        tag = entity_tag(body) if self._has_tag else b""
        if is_cached and not (is_stale or ignored) and made.basis is not None:
            reply = CachedReply(body, self._path, made.basis, tag, self._may_be_stale, needs=made.needs)
            self._keep(request, reply, caller=caller, services=services, is_tolerant=is_tolerant)
        if tag:
            response = tagged(response, tag, scope["headers"])
        if is_stale:
            response.raw_headers.append(WARNING)
        if ignored:
            response.raw_headers.append(ignored_header(ignored))
        return response

    def _keep(
        self,
        request: ApiRequest,
        reply: CachedReply,
        *,
        caller: RequestCaller,
        services: Services,
        is_tolerant: bool,
    ) -> None:
        """Cache a response, if it is known who gets the same."""
        known, needs = caller.authenticated, reply.needs
        if len(request.body or b"") > MAX_KEPT_BODY_BYTES or (known is not None and needs is None):
            return
        key = request_key(request.raw_path, request.body, is_tolerant=is_tolerant, is_python=request.is_python)
        if needs is EVERY_CALLER and known is not None:
            key += known.rights.key
        services.replies.put(key, reply)

    async def made_for_caller(
        self, request: ApiRequest, caller: RequestCaller, services: Services
    ) -> tuple[MadeAnswer, bool]:
        """Return the answer of :meth:`_made`; a resource that may not be read may be answered as if it were absent."""
        cases = services.cases
        if request.has_query and request.texts(AS_OF):
            cases = await self._cases_as_of(request.text(AS_OF), services)
        try:
            return await self._made(request, caller, cases, services)
        except Forbidden:
            if services.nothing is None or not (caller.denies_read and self._only_reads):
                raise
        made = await self._attempt(request, caller.unrestricted(), services, services.nothing)
        return made._replace(basis=None), False

    async def _made(
        self, request: ApiRequest, caller: RequestCaller, cases: UseCases, services: Services
    ) -> tuple[MadeAnswer, bool]:
        """Return the answer, and whether it is from memory, since the store cannot be reached."""
        attempt = partial(self._attempt, request, caller, services)
        storage = services.cases.storage
        if not self._may_be_stale or cases is not services.cases:
            return await self._current(partial(attempt, cases), storage, storage.catch_up), False
        try:
            return await self._current(partial(attempt, cases), storage, services.stale.catch_up), False
        except (StoreUnavailable, StoreTimeout) as failure:
            made = await services.stale.value(attempt, failure=failure)
            if made is not None:
                return made, True
            if not isinstance(failure, StoreSlow):
                raise
        return await self._current(partial(attempt, cases), storage, storage.catch_up), False

    async def _current(
        self, attempt: Callable[[], Awaitable[MadeAnswer]], storage: Storage, catch_up: Callable[[], Awaitable[None]]
    ) -> MadeAnswer:
        """Return the answer from the present store."""
        if self._reads_store:
            await catch_up()
        return await until_current(attempt, catch_up=storage.catch_up)

    async def _attempt(
        self, request: ApiRequest, caller: RequestCaller, services: Services, cases: UseCases
    ) -> MadeAnswer:
        """Return the answer over ``cases``; raise ``Forbidden`` unless the caller has the route's rights."""
        request.restart(cases)
        basis = needs = None
        if caller.authenticated is not None:
            caller.restart()
            needs = await self._access.check(request, caller)
            caller.has_asked = False
        if self._cached is not None and not request.has_query:
            epoch = services.replies.epoch
            basis = services.replies.basis(await self._cached(request), epoch)
        value = await self._operation(request, caller)
        if caller.authenticated is not None and self._access.asks and not caller.has_asked:
            LOGGER.error("an operation did not ask about rights, and its result was not sent: a defect of this server")
            raise Forbidden(DENIED)
        found = value if isinstance(value, Answer) else Answer(value)
        return MadeAnswer(found, basis if found.is_cached else None, found.needs or needs)

    async def _cases_as_of(self, moment: str, services: Services) -> UseCases:
        """Return the use cases over the state as of then; raise ``BadRequest`` if the route cannot read the past.

        To return the present state when the past was requested would be worse than an error.
        """
        if AS_OF not in self._route.query:
            method, path = self._route.method, self._path
            raise BadRequest(f"as_of is not possible for {method} {path}; leave it out to ask what is true now")
        storage = services.cases.storage
        return use_cases_as_of(services.cases, await resolve_moment(storage, moment))


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


# A route: method, path, endpoint, possible responses. FastAPI describes it from its declaration.

_JSON: Final = "application/json"
_TEXT_ITSELF: Final = "The text of the schema; a Protobuf text is not JSON, whatever the media type is."
_SUCCESS: Final = "Successful Response"
_NOT_SENT_AGAIN: Final = "The content still has the entity tag in `If-None-Match`."


class _SegmentConvertor(StringConvertor):
    """A path segment as it was sent, which may be empty: a subject's name can be."""

    regex = "[^/]*"


CONVERTOR_TYPES["segment"] = _SegmentConvertor()


class DeclaredRoute(APIRoute):
    """One route, whose ``endpoint`` FastAPI calls. Its path is matched as it was sent.

    It is declared once for all applications of the process; the endpoint finds the application by the request
    (:mod:`~counterfoil.registry.http.access`). ``access`` is what it needs of its callers
    (:mod:`~counterfoil.registry.http.access`); there is no default, so that no route is without.
    """

    matches = StarletteRoute.matches  # FastAPI's own also search included routers, at every route that is tried
    handle = StarletteRoute.handle

    def __init__(
        self, method: str, path: str, endpoint: Callable[..., Any], *, access: Access, tag: str = "", **described: Any
    ) -> None:
        self.method = method
        self.access = access
        super().__init__(
            path.replace("}", ":segment}"),
            endpoint,
            methods=[method],
            tags=[tag],
            summary=(endpoint.__doc__ or "").split("\n")[0],
            **{"operation_id": f"{method.lower()}_{_slug(path)}", **described},
        )
        self.description = ""  # it would repeat the summary
        self.app = AsyncExitStackMiddleware(self._guarded(self.app))  # as FastAPI's own application does

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        """Return ``app``, which answers only callers with the rights that the route needs."""
        return guarded(app, self.access)


class ApiRoute(DeclaredRoute):
    """A route of the registry's API: negotiated media types, one error body, reads of the present store.

    ``errors`` are its errors beside those that any request can cause, ``result`` is the shape of a success (a pydantic
    model if FastAPI validates it) and ``status`` its status; without a result it is 204. ``has_tag``: the response
    hardly ever changes, so that it has an entity tag, and is not sent again to a client that sends the tag.
    ``reads_store``: the writes of other servers have to be read first. ``looks_up``: it is a POST that reads what is
    stored, as every GET does.
    """

    body: HasJsonSchema | None = None
    """The shape of the body, for a route that reads it by itself."""
    cached: Lifetime | None = None
    """What a response depends on, for a route whose responses are cached."""

    def __init__(
        self,
        method: str,
        path: str,
        endpoint: Callable[..., Any],
        *,
        access: Access,
        tag: str,
        errors: tuple[type[RegistryError], ...],
        query: tuple[str, ...] = (),
        openapi_extra: Document | None = None,
        result: HasJsonSchema | type[BaseModel] | None = None,
        status: int = 200,
        has_tag: bool = False,
        reads_store: bool = True,
        looks_up: bool = False,
    ) -> None:
        self.query = query
        self.result = result
        self.has_tag = has_tag
        self.reads_store = reads_store
        self.only_reads = method == "GET" or looks_up
        """Whether what a caller may not read can be answered as if it were absent.

        A compatibility check cannot: what is absent is compatible with everything.
        """
        self.may_be_stale = reads_store and self.only_reads
        """Whether it is answered from memory while the store cannot be reached.

        Compatibility checks are not, since decisions depend on the verdict.
        """
        responses = described_errors(method, errors, takes_as_of=AS_OF in query)
        if isinstance(result, HasJsonSchema):
            content = {_JSON: {"schema": schema_of(result)}}
            responses[status] = {"content": content, "description": _TEXT_ITSELF if result is SCHEMA_TEXT else _SUCCESS}
        if has_tag:
            responses[304] = {"description": _NOT_SENT_AGAIN}
        super().__init__(
            method,
            path,
            endpoint,
            access=access,
            tag=tag,
            operation_id=f"{endpoint.__name__}_{method.lower()}_{_slug(path)}",
            status_code=NO_CONTENT if result is None else status,
            response_model=result if isinstance(result, type) else None,
            response_description="Done." if result is None else _SUCCESS,
            response_model_exclude_none=True,
            responses=responses,
            openapi_extra=openapi_extra,
        )

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        return app  # its endpoint asks, when it knows what is stored now


class ConfluentRoute(ApiRoute):
    """A route of Confluent's API: ``operation`` reads the request by itself, as Confluent's registry reads it.

    ``query`` names the parameters, ``body`` is the shape of the body: they are described, not enforced. Responses to
    requests without a query are cached as long as ``cached`` says; an operation whose result depends on more returns an
    :class:`~counterfoil.registry.http.answers.Answer`.
    """

    def __init__(
        self,
        method: str,
        path: str,
        operation: _Operation,
        *,
        query: tuple[str, ...] = (),
        body: HasJsonSchema | None = None,
        cached: Lifetime | None = None,
        **declared: Any,
    ) -> None:
        self.body = body
        self.cached = cached
        endpoint: Any = update_wrapper(partial(operation), operation)
        endpoint.__signature__ = Signature()  # FastAPI has no parameters to read
        extra = described_request(path, query, body)
        super().__init__(method, path, endpoint, query=query, openapi_extra=extra, **declared)
        self.app = Endpoint(self, operation)


class ValidatedRoute(ApiRoute):
    """A route of our own API: FastAPI reads and validates the request as its endpoint declares it.

    The endpoint gets the use cases by a parameter of type ``CasesOfRequest``.
    """

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return FastAPI's own handler, inside the steps that surround every operation of the API."""
        if self.response_model is None and self.dependant.call is not None:
            self.dependant.call = _printed(self.dependant.call, self.status_code or HTTPStatus.OK)
        handler = super().get_route_handler()

        async def operation(request: ApiRequest, caller: RequestCaller) -> object:
            try:
                response = await handler(await request.validated(caller, has_body=self.body_field is not None))
            except RequestValidationError as error:
                raise refusal(error) from None
            return replace(response.given, value=response) if isinstance(response, _PrintedAnswer) else response

        endpoint = Endpoint(self, operation)

        async def respond(request: Request) -> Response:
            return await endpoint.response(request.scope, request.receive)

        return respond


class _PrintedAnswer(Response):
    """The response for an :class:`Answer` of an endpoint that FastAPI calls: with it, the answer's declarations."""

    given: Answer


def _printed(operation: Callable[..., Awaitable[Any]], status: int) -> Callable[..., Awaitable[Response]]:
    """Return an operation that returns its response, since its result is plain JSON already.

    FastAPI would first copy the result value by value, which takes ten times as long as printing it.
    """

    @wraps(operation)
    async def printed(**given: Any) -> Response:
        value = await operation(**given)
        if not isinstance(value, Answer):
            return answer(NOTHING if status == NO_CONTENT else value, V1, status=status)
        print_it = partial(answer, value.value, V1, status=status)
        response = await asyncio.to_thread(print_it) if value.is_long else print_it()
        printed = _PrintedAnswer(response.body, response.status_code, dict(response.headers))
        printed.given = value
        return printed

    return printed


def _slug(path: str) -> str:
    return "_".join(segment.strip("{}") for segment in path.split("/") if segment) or "root"
