"""A route: method, path, endpoint, possible responses. FastAPI describes it from its declaration."""

from __future__ import annotations

from functools import partial, update_wrapper, wraps
from http import HTTPStatus
from inspect import Signature
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.routing import APIRoute
from starlette.convertors import CONVERTOR_TYPES, StringConvertor
from starlette.routing import Route as StarletteRoute

from counterfoil.registry.api.http.answers import NO_CONTENT, NOTHING, answer
from counterfoil.registry.api.http.media_types import V1
from counterfoil.registry.api.http.validation import refusal
from counterfoil.registry.api.openapi.errors import described_errors
from counterfoil.registry.api.openapi.shapes import SCHEMA_TEXT, schema_of
from counterfoil.registry.api.routes.access import guarded
from counterfoil.registry.api.routes.endpoint import Endpoint
from counterfoil.registry.api.routes.parameters import AS_OF, described_request
from counterfoil.schema.rest.object_forms import Described

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import Request
    from pydantic import BaseModel
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from counterfoil.registry.api.call import Call
    from counterfoil.registry.api.routes.access import Access
    from counterfoil.schema.errors import RegistryError

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
    (:mod:`~counterfoil.registry.api.routes.services`). ``access`` is what it needs of its callers
    (:mod:`~counterfoil.registry.api.routes.access`); there is no default, so that no route is without.
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
        """Return ``app``, which answers only callers who have what the route needs."""
        return guarded(app, self.access)


class ApiRoute(DeclaredRoute):
    """A route of the registry's API: negotiated media types, one error body, reads of what is stored now.

    ``errors`` are its errors beside those that any request can cause, ``result`` is the shape of a success (a pydantic
    model if FastAPI validates it) and ``status`` its status; without a result it is 204. ``has_tag``: the response
    hardly ever changes, so that it has an entity tag, and is not sent again to a client that sends the tag.
    ``reads_store``: the writes of other servers have to be read first. ``looks_up``: it is a POST that reads what is
    stored, as every GET does.
    """

    body: Described | None = None
    """The shape of the body, for a route that reads it by itself."""

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
        openapi_extra: dict[str, Any] | None = None,
        result: Described | type[BaseModel] | None = None,
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
        if isinstance(result, Described):
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

    ``query`` names the parameters, ``body`` is the shape of the body: they are described, not enforced.
    """

    def __init__(
        self,
        method: str,
        path: str,
        operation: Callable[[Call], Awaitable[Any]],
        *,
        query: tuple[str, ...] = (),
        body: Described | None = None,
        **declared: Any,
    ) -> None:
        self.body = body
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
        """Return FastAPI's own handler, wrapped in what surrounds every operation of the API."""
        if self.response_model is None and self.dependant.call is not None:
            self.dependant.call = _printed(self.dependant.call, self.status_code or HTTPStatus.OK)
        handler = super().get_route_handler()

        async def operation(call: Call) -> Response:
            try:
                return await handler(await call.request(has_body=self.body_field is not None))
            except RequestValidationError as error:
                raise refusal(error) from None

        endpoint = Endpoint(self, operation)

        async def respond(request: Request) -> Response:
            return await endpoint.response(request.scope, request.receive)

        return respond


def _printed(operation: Callable[..., Awaitable[Any]], status: int) -> Callable[..., Awaitable[Response]]:
    """Return an operation that returns its response, since its result is plain JSON already.

    FastAPI would first copy the result value by value, which takes ten times as long as printing it.
    """

    @wraps(operation)
    async def printed(**given: Any) -> Response:
        value = await operation(**given)
        return answer(NOTHING if status == NO_CONTENT else value, V1, status=status)

    return printed


def _slug(path: str) -> str:
    return "_".join(segment.strip("{}") for segment in path.split("/") if segment) or "root"
