"""The composition root: the one place that knows storage, use cases, routes and middleware together."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib import metadata
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from counterfoil.registry.api.answers import error_answer
from counterfoil.registry.api.endpoints import api_routes
from counterfoil.registry.api.event_stream import HEARTBEAT_S, EventStreams
from counterfoil.registry.api.fast_lane import FastLane
from counterfoil.registry.api.middleware import Envelope, Paths, unforeseen
from counterfoil.registry.api.operations import Lifecycle, operation_routes
from counterfoil.registry.api.replies import Replies
from counterfoil.registry.kms.opening import open_kms
from counterfoil.registry.service.feed import Feed
from counterfoil.registry.service.use_cases import use_cases
from counterfoil.registry.store.committer import WriteLimits
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.telemetry import Telemetry
from counterfoil.schema.errors import MethodNotAllowed, NotFound, RegistryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.service.keys_wrapping import KeyWrapping
    from counterfoil.registry.service.storage import Storage
    from counterfoil.registry.settings import ServerSettings

_REPLY_MEMORY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RegistryApp:
    """The registry as an ASGI application, and what whoever runs it needs beside it.

    ``asgi`` is the application with everything around it: the envelope, the fast lane, the reading of paths, and
    the routes innermost.
    """

    asgi: ASGIApp
    storage: Storage
    lifecycle: Lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        await self.asgi(scope, receive, send)


def create_app(settings: ServerSettings) -> RegistryApp:
    """The registry as an ASGI application over the store that ``settings`` name.

    The store is opened here and closed when the application's lifespan ends. ``StoreNotUsable`` when it cannot be
    opened.
    """
    limits = WriteLimits(settings.max_waiting_writes, settings.write_timeout_s)
    return assemble(open_store(settings.store, limits=limits), settings)


def assemble(
    storage: Storage,
    settings: ServerSettings,
    *,
    wrapping: KeyWrapping | None = None,
    heartbeat_s: float = HEARTBEAT_S,
) -> RegistryApp:
    """The registry as an ASGI application over ``storage``.

    ``wrapping`` uses key management services; by default those that the environment names. ``heartbeat_s`` is how long
    its event streams are silent at most.
    """
    lifecycle, telemetry = Lifecycle(), Telemetry()
    wrapping = wrapping or open_kms(os.environ, timeout_s=settings.kms_timeout_s)
    cases = use_cases(storage, wrapping=wrapping, max_keys=settings.max_keys, associations=settings.associations)
    replies = Replies(storage, memory_bytes=_REPLY_MEMORY_BYTES if settings.fast_lane else 0)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        lifecycle.stop()
        await wrapping.close()
        await storage.close()

    app = Starlette(
        routes=[
            *api_routes(cases, replies, max_body_bytes=settings.max_body_bytes),
            *operation_routes(storage, telemetry, lifecycle),
            Route("/openapi.json", _description),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _framework_error, Exception: _unforeseen_error},
    )
    app.router.redirect_slashes = False
    feed = Feed(storage)
    lifecycle.at_stop(feed.close)
    asgi: ASGIApp = EventStreams(app, feed, storage, heartbeat_s=heartbeat_s)
    asgi = Paths(asgi, max_body_bytes=settings.max_body_bytes)
    if settings.fast_lane:
        asgi = FastLane(asgi, replies=replies)
    return RegistryApp(Envelope(asgi, telemetry=telemetry, log_requests=settings.log_requests), storage, lifecycle)


async def _description(_: Request) -> Response:
    """The API in the terms of OpenAPI."""
    return JSONResponse(await asyncio.to_thread(_described))


@cache
def _described() -> dict[str, Any]:
    from counterfoil.registry.api.description import describe_api

    return describe_api(metadata.version("counterfoil"))


async def _framework_error(request: Request, error: Exception) -> Response:
    """The API's error body for what the framework's router refuses."""
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    path = request.scope["path"][:200]
    if status == HTTPStatus.NOT_FOUND:
        return error_answer(NotFound(f"There is nothing at {path!r}"))
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return error_answer(MethodNotAllowed(f"{request.method} is not possible at {path!r}"))
    return error_answer(RegistryError(str(error)[:200], status=status, code=status))


async def _unforeseen_error(_: Request, __: Exception) -> Response:
    """The answer to what nobody foresaw; the framework raises the error on, and the envelope logs it."""
    return error_answer(unforeseen())
