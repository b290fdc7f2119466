"""The API's description in the terms of OpenAPI, made from the table of routes by FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.registry.api.models import ErrorBody
from counterfoil.registry.api.operations import SUMMARIES
from counterfoil.registry.api.table import TABLE

if TYPE_CHECKING:
    from counterfoil.registry.api.routes import Route


def describe_api(version: str) -> dict[str, Any]:
    """The whole description. Takes a second to make, and FastAPI's modules: to be asked for only when needed."""
    from fastapi import FastAPI

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
            tags=["operations"],
            summary=summary,
            operation_id=f"get_{_slug(path)}",
            response_model=None,
        )
    return _add_body_shapes(app.openapi())


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
    described: dict[int | str, dict[str, Any]] = {"default": {"model": ErrorBody, "description": "Not a success."}}
    if route.result is not None:
        described[route.status] = {"model": route.result}
    else:
        described[204] = {"description": "Done."}
    return described
