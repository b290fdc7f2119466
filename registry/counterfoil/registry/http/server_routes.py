"""The routes about the server itself: liveness, readiness, metrics, version, and the API's description in OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property, partial
from http import HTTPStatus
from importlib import metadata
from typing import Annotated, Final, Literal

from fastapi import Depends, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import CALLER, Caller
from counterfoil.registry.http.access import (
    MEMBER,
    OPEN,
    RequestCaller,
    ServerLifecycle,
    ServicesOfApp,
    on,
    the_registry,
)
from counterfoil.registry.http.answers import PRODUCED, UNAVAILABLE_HEADERS
from counterfoil.registry.http.replies import StaleReads
from counterfoil.registry.http.request import ApiRequest, parse_json
from counterfoil.registry.http.route import ApiRoute, ConfluentRoute, DeclaredRoute
from counterfoil.registry.http.shapes import ANY_OBJECT, components
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.documents import ERROR
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.rest.object_forms import TEXT_BY_KEY, Document, HasJsonSchema, RequestJson

# Operations on the server itself.


async def get_root(_: ApiRequest, __: RequestCaller) -> object:
    """Return an empty object, which shows that the server responds."""
    return {}


async def post_root(request: ApiRequest, _: RequestCaller) -> object:
    """Return an empty object for any object of texts in the body."""
    body = await request.raw_body()
    if body.strip():
        RequestJson(parse_json(body)).members()
    return {}


async def get_cluster_id(request: ApiRequest, _: RequestCaller) -> object:
    """Return the id of the registry, and of its Kafka cluster, which is empty if it is not configured."""
    clusters = {"kafka-cluster": request.cases.kafka_cluster_id, "schema-registry-cluster": "counterfoil"}
    return {"scope": {"path": [], "clusters": clusters}}


async def get_server_version(_: ApiRequest, __: RequestCaller) -> object:
    """Return the version of the server."""
    return {"version": metadata.version("counterfoil"), "commitId": "unknown"}


async def get_deployment(_: ApiRequest, __: RequestCaller) -> object:
    """Return the attributes of the deployment: there are none."""
    return {"attributes": []}


# The routes about the server itself.

_route = partial(ConfluentRoute, access=MEMBER, tag="server", reads_store=False, errors=())

SERVER_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route("GET", "/", get_root, result=TEXT_BY_KEY),
    _route("POST", "/", post_root, result=TEXT_BY_KEY),
    _route("GET", "/v1/metadata/id", get_cluster_id, result=ANY_OBJECT),
    _route("GET", "/v1/metadata/version", get_server_version, result=TEXT_BY_KEY),
    _route("GET", "/v1/metadata/deployment", get_deployment, result=ANY_OBJECT),
)


# Routes for operators: liveness, readiness and metrics. They are no part of the registry's own API.

OPERATIONS: Final = "operations"
"""The tag of these routes in the description of the API."""

OPEN_TO_EVERYONE: Final = "open to everyone: no authentication"

_SERVING: Final = frozenset({"ready", "stale reads"})
_EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"


class LiveBody(BaseModel):
    """That the process answers."""

    status: Literal["live"] = "live"


class StepBody(BaseModel):
    """One of the steps before requests are served; ``on`` names the thing that it waits for."""

    step: str
    state: str
    on: str | None = None


class ReadyBody(BaseModel):
    """Whether requests are served. Where credentials are demanded, steps and ``rules`` are for callers who have some.

    ``rules`` is a digest of the rules in force, by which servers are compared.
    """

    status: Literal["ready", "not ready"]
    steps: list[StepBody] | None = None
    rules: str | None = None
    warnings: list[str] | None = None


async def live() -> LiveBody:
    """Report that the process responds."""
    return LiveBody()


async def ready(services: ServicesOfApp, request: Request, response: Response) -> ReadyBody:
    """Report whether requests are served, and what each step waits for."""
    steps = [await _store_step(services.cases.storage, services.stale), _server_step(services.lifecycle)]
    caller: Caller | None = request.scope.get(CALLER)
    shown = steps if caller is None or caller.is_member else None
    state = services.lifecycle.access_state
    rules = state().rules if state is not None and caller is not None and caller.is_member else None
    warnings = [OPEN_TO_EVERYONE] if services.lifecycle.is_open_to_everyone else None
    if all(step.state in _SERVING for step in steps):
        return ReadyBody(status="ready", steps=shown, rules=rules, warnings=warnings)
    response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    response.headers.update(UNAVAILABLE_HEADERS)
    return ReadyBody(status="not ready", steps=shown, rules=rules, warnings=warnings)


async def metrics(services: ServicesOfApp) -> Response:
    """Return the metrics in the format of Prometheus."""
    await services.counting.refresh()
    return Response(services.telemetry.exposition(), headers={"content-type": _EXPOSITION})


OPERATION_ROUTES: Final = (
    DeclaredRoute("GET", "/health/live", live, access=OPEN, tag=OPERATIONS, response_model=LiveBody),
    DeclaredRoute(
        "GET",
        "/health/ready",
        ready,
        access=OPEN,
        tag=OPERATIONS,
        response_model=ReadyBody,
        response_model_exclude_none=True,
        responses={503: {"model": ReadyBody, "description": "Not now."}},
    ),
    DeclaredRoute(
        "GET",
        "/metrics",
        metrics,
        access=on(AccessOperation.METRICS, the_registry),
        tag=OPERATIONS,
        response_model=None,
        response_class=PlainTextResponse,
    ),
)


async def _store_step(storage: Storage, stale: StaleReads) -> StepBody:
    """Return whether the store responds; while reads are answered from memory, the server stays ready for them.

    The store is not checked then: the storage does that by itself.
    """
    reason = stale.reason
    if reason is None:
        try:
            await storage.check()
        except RegistryError as error:
            reason = error
    if reason is None:
        return StepBody(step="store", state="ready")
    if stale.reason is None:
        return StepBody(step="store", state="waiting", on=reason.message)
    said = f"{reason.message}. Reads are answered from memory for {stale.left_s:.0f} s more, writes are refused"
    return StepBody(step="store", state="stale reads", on=said)


def _server_step(lifecycle: ServerLifecycle) -> StepBody:
    if lifecycle.stopping:
        return StepBody(step="server", state="waiting", on="the requests under way, before it stops")
    return StepBody(step="server", state="ready")


# The API's description in OpenAPI, made by FastAPI from the routes that are served.

_JSON: Final = "application/json"
_FOREIGN: Final = ("HTTPValidationError", "ValidationError")


class Description:
    """The OpenAPI description of ``routes``, made at the first request, since that takes a second."""

    def __init__(self, routes: Sequence[DeclaredRoute]) -> None:
        self._routes = routes

    @cached_property
    def document(self) -> Document:
        """The whole description."""
        description = get_openapi(
            title="counterfoil registry",
            version=metadata.version("counterfoil"),
            description="A schema registry for event streams, compatible with Confluent's REST API.",
            routes=self._routes,
            separate_input_output_schemas=False,
        )
        routes = [route for route in self._routes if isinstance(route, ApiRoute)]
        bodies = [each for route in routes for each in (route.body, route.result) if isinstance(each, HasJsonSchema)]
        description["components"]["schemas"].update(components([ERROR, *bodies]))
        return _in_our_terms(description)


def _description(request: Request) -> Description:
    description: Description = request.app.state.description
    return description


async def get_description(description: Annotated[Description, Depends(_description)]) -> JSONResponse:
    """Return the OpenAPI description of the API."""
    return JSONResponse(await asyncio.to_thread(lambda: description.document))


DESCRIPTION_ROUTE: Final = DeclaredRoute(
    "GET", "/openapi.json", get_description, access=MEMBER, include_in_schema=False
)


def _in_our_terms(description: Document) -> Document:
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


def _is_foreign(response: Document) -> bool:
    schema = response.get("content", {}).get(_JSON, {}).get("schema", {})
    return bool(schema.get("$ref", "").endswith(_FOREIGN[0]))
