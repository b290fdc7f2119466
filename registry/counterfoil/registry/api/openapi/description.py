"""The API's description in OpenAPI, made by FastAPI from the routes that are served."""

from __future__ import annotations

import asyncio
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from counterfoil.registry.api.bodies import ERROR
from counterfoil.registry.api.http.media_types import PRODUCED
from counterfoil.registry.api.openapi.shapes import components
from counterfoil.registry.api.operations import OPERATIONS
from counterfoil.registry.api.routes.access import MEMBER
from counterfoil.registry.api.routes.route import ApiRoute, DeclaredRoute
from counterfoil.registry.api.routes.services import ServicesOfApp
from counterfoil.schema.rest.object_forms import Described

if TYPE_CHECKING:
    from collections.abc import Sequence

_JSON: Final = "application/json"
_FOREIGN: Final = ("HTTPValidationError", "ValidationError")


class Description:
    """The OpenAPI description of ``routes``, made at the first request, since that takes a second."""

    def __init__(self, routes: Sequence[DeclaredRoute]) -> None:
        self._routes = routes

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole description."""
        description = get_openapi(
            title="counterfoil registry",
            version=metadata.version("counterfoil"),
            description="A schema registry for event streams, compatible with Confluent's REST API.",
            routes=self._routes,
            separate_input_output_schemas=False,
        )
        routes = [route for route in self._routes if isinstance(route, ApiRoute)]
        bodies = [each for route in routes for each in (route.body, route.result) if isinstance(each, Described)]
        description["components"]["schemas"].update(components([ERROR, *bodies]))
        return _in_our_terms(description)


async def get_description(services: ServicesOfApp) -> JSONResponse:
    """Return the OpenAPI description of the API."""
    return JSONResponse(await asyncio.to_thread(lambda: services.description.document))


DESCRIPTION_ROUTE: Final = DeclaredRoute(
    "GET", "/openapi.json", get_description, access=MEMBER, include_in_schema=False
)


def _in_our_terms(description: dict[str, Any]) -> dict[str, Any]:
    """Return ``description`` with all media types of this API, and without FastAPI's own error, which is never sent."""
    shapes = description["components"]["schemas"]
    for name in _FOREIGN:
        shapes.pop(name, None)
    for operations in description["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            if _is_foreign(responses.get("422", {})):
                del responses["422"]
            if operation["tags"] == [OPERATIONS]:
                continue
            for described in (*responses.values(), operation.get("requestBody", {})):
                content = described.get("content", {})
                if _JSON in content:
                    described["content"] = {**content, **dict.fromkeys(PRODUCED, content[_JSON])}
    return description


def _is_foreign(response: dict[str, Any]) -> bool:
    schema = response.get("content", {}).get(_JSON, {}).get("schema", {})
    return bool(schema.get("$ref", "").endswith(_FOREIGN[0]))
