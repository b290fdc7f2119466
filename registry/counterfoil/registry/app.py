"""The composition root: the only module that imports storage, use cases, routes and middleware together."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from counterfoil.registry.api.cache.fast_lane import FastLane
from counterfoil.registry.api.cache.replies import Replies
from counterfoil.registry.api.cache.stale_reads import StaleReads
from counterfoil.registry.api.changes.event_stream import HEARTBEAT_S, EventSource
from counterfoil.registry.api.dialects import choose_dialects
from counterfoil.registry.api.http.answers import error_answer
from counterfoil.registry.api.http.deadlines import Deadlines
from counterfoil.registry.api.http.methods import Methods
from counterfoil.registry.api.http.middleware import Envelope, Paths, unforeseen
from counterfoil.registry.api.http.origins import ANY_ORIGIN, OriginGuard
from counterfoil.registry.api.http.packing import Packing
from counterfoil.registry.api.http.validation import refusal
from counterfoil.registry.api.openapi.description import Description
from counterfoil.registry.api.operations import Lifecycle
from counterfoil.registry.api.routes.services import Services
from counterfoil.registry.api.routes.table import served_routes
from counterfoil.registry.kms.opening import open_kms
from counterfoil.registry.service.counting import Counting
from counterfoil.registry.service.feed import Feed
from counterfoil.registry.service.use_cases import use_cases
from counterfoil.registry.store.committer import WriteLimits
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.telemetry import Gauges, Telemetry
from counterfoil.schema.errors import MethodNotAllowed, NotFound, RegistryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from counterfoil.registry.service.keys.wrapping import KeyWrapping
    from counterfoil.registry.service.storage import Storage
    from counterfoil.registry.settings import ServerSettings

_CHECK_EVERY_S = 1.0
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT")


@dataclass(frozen=True, slots=True)
class RegistryApp:
    """The registry as an ASGI application, with the objects that its runner needs.

    ``asgi`` is the application with all of its middleware: the envelope, the fast lane, the reading of paths, and the
    routes innermost.
    """

    asgi: ASGIApp
    storage: Storage
    lifecycle: Lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        await self.asgi(scope, receive, send)


def create_app(settings: ServerSettings, *, telemetry: Telemetry | None = None) -> RegistryApp:
    """Return the registry as an ASGI application over the store that ``settings`` name.

    The store is opened here and closed when the application's lifespan ends. Raises ``StoreNotUsable`` if it cannot be
    opened.
    """
    limits = WriteLimits(settings.max_waiting_writes, settings.write_timeout_s)
    return assemble(open_store(settings.store, limits=limits), settings, telemetry=telemetry)


def assemble(
    storage: Storage,
    settings: ServerSettings,
    *,
    wrapping: KeyWrapping | None = None,
    heartbeat_s: float = HEARTBEAT_S,
    telemetry: Telemetry | None = None,
) -> RegistryApp:
    """Return the registry as an ASGI application over ``storage``.

    ``wrapping`` uses key management services; by default those that the environment names. ``heartbeat_s`` is the
    longest pause in its event streams. ``telemetry`` records the application's metrics.
    """
    lifecycle, telemetry = Lifecycle(), telemetry or Telemetry()
    wrapping = wrapping or open_kms(os.environ, timeout_s=settings.kms_timeout_s)
    cases = use_cases(
        storage,
        wrapping=wrapping,
        max_keys=settings.max_keys,
        associations=settings.associations,
        kafka_cluster_id=settings.kafka_cluster_id,
    )
    stale = StaleReads(cases, limit_s=settings.stale_reads_s, count=telemetry.count_stale_answer)
    replies = Replies(storage, memory_bytes=settings.cache_bytes if settings.fast_lane else 0, catch_up=stale.catch_up)
    counting = Counting(storage)
    telemetry.read_gauges(partial(_gauges, storage, replies, counting))
    dialects = choose_dialects(settings.compat_version, withholds_new_fields=settings.withhold_new_fields)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_watch(storage))
        yield
        watch.cancel()
        lifecycle.stop()
        await wrapping.close()
        await storage.close()

    routes = served_routes(dialects.usual, associations=settings.associations)
    feed = Feed(storage)
    lifecycle.at_stop(feed.close)
    methods = Methods(routes)
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            HTTPException: partial(_framework_error, methods),
            RegistryError: _refused,
            RequestValidationError: _refused,
            Exception: _unforeseen_error,
        },
    )
    app.router.redirect_slashes = False
    app.state.services = Services(
        cases=cases,
        replies=replies,
        stale=stale,
        dialects=dialects,
        max_body_bytes=settings.max_body_bytes,
        telemetry=telemetry,
        lifecycle=lifecycle,
        counting=counting,
        events=EventSource(feed, storage, heartbeat_s=heartbeat_s),
        description=Description(routes),
    )
    asgi: ASGIApp = Paths(app, max_body_bytes=settings.max_body_bytes, methods=methods)
    asgi = Deadlines(asgi, timeout_s=settings.request_timeout_s)
    if settings.fast_lane:
        asgi = FastLane(
            asgi,
            replies=replies,
            stale=stale,
            knows_tolerant=dialects.tolerant is not None,
            answers_whole=not settings.cors_origins,  # their headers would be missing
        )
    if settings.cors_origins:
        asgi = _open_to_pages(asgi, settings.cors_origins)
    is_open = ANY_ORIGIN in settings.cors_origins
    guard = None if is_open else OriginGuard(host=settings.host, allowed=settings.cors_origins)
    packing = Packing(min_bytes=settings.gzip_min_bytes) if settings.gzip_min_bytes else None
    envelope = Envelope(asgi, telemetry=telemetry, log_requests=settings.log_requests, packing=packing, guard=guard)
    return RegistryApp(envelope, storage, lifecycle)


def _gauges(storage: Storage, replies: Replies, counting: Counting) -> Gauges:
    """Return the functions that measure the application's current state."""
    load, totals = storage.load, counting.totals
    return Gauges(
        store_up=storage.contact.error is None,
        pool_in_use=load.connections_in_use,
        pool_size=load.max_connections,
        waiting_writes=load.waiting_writes,
        cache_entries=replies.count,
        cache_bytes=replies.size_bytes,
        subjects=None if totals is None else totals.subjects,
        versions=None if totals is None else totals.versions,
    )


async def _watch(storage: Storage) -> None:
    """Check the store repeatedly, so that its loss is noticed and logged without a request."""
    while True:
        await asyncio.sleep(_CHECK_EVERY_S)
        with suppress(RegistryError):
            await storage.check()


def _open_to_pages(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return ``app`` with permission for the web pages of ``origins`` (CORS, the Fetch standard, 3.2)."""
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=_METHODS,
        allow_headers=["*"],
        expose_headers=["ETag", "Retry-After", "Warning", "X-Request-ID"],
    )


async def _framework_error(methods: Methods, request: Request, error: Exception) -> Response:
    """Return the API's error body for a request that the framework's router refuses."""
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    path = request.scope["path"]
    if status == HTTPStatus.NOT_FOUND:
        return error_answer(NotFound(f"There is nothing at {path[:200]!r}"))
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = methods.allowed(path)
        response = error_answer(
            MethodNotAllowed(f"{request.method} is not possible at {path[:200]!r}; there is {allowed}")
        )
        response.headers["allow"] = allowed
        return response
    return error_answer(RegistryError(str(error)[:200], status=status, code=status))


async def _refused(_: Request, error: Exception) -> Response:
    """Return the API's error body for an error of a route that is not part of the registry's own API."""
    found = refusal(error) if isinstance(error, RequestValidationError) else error
    return error_answer(found if isinstance(found, RegistryError) else unforeseen())


async def _unforeseen_error(_: Request, __: Exception) -> Response:
    """Return the response to an unexpected error; the framework raises the error again, and the envelope logs it."""
    return error_answer(unforeseen())
