"""From operations to routes of the web framework."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.convertors import CONVERTOR_TYPES, StringConvertor
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation

from counterfoil.registry.api.answers import answer, error_answer
from counterfoil.registry.api.call import Call
from counterfoil.registry.api.media_types import V1, check_consumed, negotiate
from counterfoil.registry.api.middleware import ROUTE_HOLDER
from counterfoil.registry.api.models import ErrorBody
from counterfoil.registry.api.routes import ROUTES
from counterfoil.registry.service.retrying import until_current
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import FastAPI
    from starlette.responses import Response

    from counterfoil.registry.api.replies import Replies
    from counterfoil.registry.api.routes import Route
    from counterfoil.registry.service.use_cases import UseCases

_SEGMENT: Final = "segment"
_BODY_METHODS: Final = frozenset({"POST", "PUT"})


class _SegmentConvertor(StringConvertor):
    """A path segment as it was sent, which may be empty: a subject's name can be."""

    regex = "[^/]*"


def add_routes(app: FastAPI, cases: UseCases, replies: Replies, *, max_body_bytes: int) -> None:
    """Serve every operation of the table from ``app``."""
    CONVERTOR_TYPES[_SEGMENT] = _SegmentConvertor()
    for route in ROUTES:
        app.add_api_route(
            route.path.replace("}", f":{_SEGMENT}}}"),
            _endpoint(route, cases, replies, max_body_bytes),
            methods=[route.method],
            tags=[route.tag],
            summary=(route.operation.__doc__ or "").split("\n")[0],
            operation_id=f"{route.operation.__name__}_{route.method.lower()}_{_slug(route.path)}",
            response_model=None,
            responses=_responses(route),
            openapi_extra=route.openapi(),
        )


def add_body_shapes(description: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI ``description`` with the shapes that the bodies of requests are made of."""
    shapes = description.setdefault("components", {}).setdefault("schemas", {})
    for route in ROUTES:
        if route.body is not None:
            whole = route.body.model_json_schema(ref_template="#/components/schemas/{model}")
            shapes.update(whole.get("$defs", {}))
    return description


def _slug(path: str) -> str:
    return "_".join(segment.strip("{}") for segment in path.split("/") if segment) or "root"


def _responses(route: Route) -> dict[int | str, dict[str, Any]]:
    described: dict[int | str, dict[str, Any]] = {"default": {"model": ErrorBody, "description": "Not a success."}}
    if route.result is not None:
        described[200] = {"model": route.result}
    else:
        described[204] = {"description": "Done."}
    return described


def _endpoint(
    route: Route, cases: UseCases, replies: Replies, max_body_bytes: int
) -> Callable[[Request], Awaitable[Response]]:
    operation, path = route.operation, route.path
    has_body = route.method in _BODY_METHODS

    async def endpoint(request: Request) -> Response:
        request.scope[ROUTE_HOLDER][0] = path
        media_type = V1
        try:
            media_type = _agree(request, has_body=has_body)
            call = Call(request.scope, request.receive, cases=cases, replies=replies, max_body_bytes=max_body_bytes)
            value = await until_current(partial(operation, call))
        except RegistryError as error:
            return error_answer(error, media_type)
        response = answer(value, media_type)
        call.keep(bytes(response.body), path)
        return response

    return endpoint


def _agree(request: Request, *, has_body: bool) -> str:
    """The media type to answer with; the body's own type is checked first."""
    accept = content_type = b""
    for name, value in request.scope["headers"]:
        if name == b"accept":
            accept = accept + b"," + value if accept else value
        elif name == b"content-type":
            content_type = value
    if has_body and content_type:
        check_consumed(content_type.decode("latin-1"))
    return negotiate(accept.decode("latin-1"))
