"""The API's description in the terms of OpenAPI, made from the table of routes by FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.api.http.media_types import PRODUCED
from counterfoil.registry.api.openapi.errors import described_errors
from counterfoil.registry.api.operations import SUMMARIES
from counterfoil.registry.api.table import TABLE

if TYPE_CHECKING:
    from counterfoil.registry.api.routes import Route


OPERATIONS: Final = "operations"
_JSON: Final = "application/json"


def describe_api(version: str) -> dict[str, Any]:
    """The whole description. Takes a second to make, and FastAPI's modules: to be asked for only when needed."""
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse, PlainTextResponse

    app = FastAPI(
        title="counterfoil registry",
        version=version,
        description="A schema registry for event streams, compatible with Confluent's REST API.",
    )
    for route in TABLE:
        app.add_api_route(
            route.path,
            _nothing,
            methods=[route.method],
            tags=[route.tag],
            summary=(route.operation.__doc__ or "").split("\n")[0],
            operation_id=f"{route.operation.__name__}_{route.method.lower()}_{_slug(route.path)}",
            response_model=None,
            responses=_responses(route),
            openapi_extra=route.openapi(),
        )
    for path, summary in SUMMARIES.items():
        app.add_api_route(
            path,
            _nothing,
            methods=["GET"],
            tags=[OPERATIONS],
            summary=summary,
            operation_id=f"get_{_slug(path)}",
            response_model=None,
            response_class=PlainTextResponse if path == "/metrics" else JSONResponse,
            responses={503: {"description": "Not now."}} if path == "/health/ready" else None,
        )
    return _in_all_media_types(_add_body_shapes(app.openapi()))


def _nothing() -> None:  # stands for the operations: the table says what they take and give
    return


def _add_body_shapes(description: dict[str, Any]) -> dict[str, Any]:
    """``description`` with the shapes that the bodies of requests are made of."""
    shapes = description.setdefault("components", {}).setdefault("schemas", {})
    for route in TABLE:
        if route.body is not None:
            whole = route.body.model_json_schema(ref_template="#/components/schemas/{model}")
            shapes.update(whole.get("$defs", {}))
    return description


def _slug(path: str) -> str:
    return "_".join(segment.strip("{}") for segment in path.split("/") if segment) or "root"


def _responses(route: Route) -> dict[int | str, dict[str, Any]]:
    described = described_errors(route)
    if route.result is str:
        text = "The text itself: JSON, or for Protobuf no JSON, whatever the media type says."
        described[200] = {"description": text, "content": {_JSON: {"schema": {}}}}
    elif route.result is not None:
        described[route.status] = {"model": route.result}
    else:
        described[204] = {"description": "Done."}
    if route.has_tag:
        described[304] = {"description": "The caller has this answer already, as its `If-None-Match` says."}
    return described


def _in_all_media_types(description: dict[str, Any]) -> dict[str, Any]:
    """``description`` with the names of this API's own media types beside that of JSON."""
    for operations in description["paths"].values():
        for operation in operations.values():
            if operation["tags"] == [OPERATIONS]:
                continue
            for described in (*operation["responses"].values(), operation.get("requestBody", {})):
                content = described.get("content", {})
                if _JSON in content:
                    described["content"] = dict.fromkeys(PRODUCED, content[_JSON])
    return description
