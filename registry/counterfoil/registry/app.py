"""The application: all routes in the order in which they are tried, and what is around them."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from counterfoil.registry.access.control import ServerAccess, administration_of
from counterfoil.registry.access.gate import AccessGate, RateLimits, RequestLimits, unrecorded
from counterfoil.registry.access.identity import no_proxies
from counterfoil.registry.access.resources import ResourceKind
from counterfoil.registry.access.routes import ACCESS_ROUTES
from counterfoil.registry.access.rules import InvalidPattern, parse_pattern
from counterfoil.registry.associations.routes import ASSOCIATION_ROUTES
from counterfoil.registry.associations.routes import TAG as ASSOCIATIONS
from counterfoil.registry.audit.file import AuditFile, unsigned
from counterfoil.registry.audit.recording import AuditRecords, Recorder
from counterfoil.registry.audit.routes import AUDIT_ROUTES
from counterfoil.registry.bridges.routes import BRIDGE_ROUTES
from counterfoil.registry.changes.feed import Feed
from counterfoil.registry.changes.routes import CHANGE_ROUTES, HEARTBEAT_S, EventSource
from counterfoil.registry.contracts.events import parse_networks
from counterfoil.registry.contracts.report_endpoints import MIGRATION_ROUTES
from counterfoil.registry.contracts.routes import CONTRACT_ROUTES
from counterfoil.registry.contracts.usage import ActivityLimits
from counterfoil.registry.contracts.webhooks import Courier, Sender
from counterfoil.registry.http.access import ServerLifecycle, Services
from counterfoil.registry.http.answers import choose_dialects, error_answer
from counterfoil.registry.http.envelope import (
    ANY_HOST,
    ANY_ORIGIN,
    Deadlines,
    Envelope,
    HostGuard,
    Methods,
    OriginGuard,
    Paths,
    PlainPort,
    PresentSender,
    is_loopback,
    unforeseen,
)
from counterfoil.registry.http.replies import FastLane, Replies, StaleReads
from counterfoil.registry.http.request import Packing, refusal
from counterfoil.registry.http.server_routes import (
    DESCRIPTION_ROUTE,
    OPEN_TO_EVERYONE,
    OPERATION_ROUTES,
    SERVER_ROUTES,
    Description,
)
from counterfoil.registry.inspection.routes import INSPECTION_ROUTES
from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.judges.processes import JudgeLimits, JudgeProcesses, Mailbox
from counterfoil.registry.keys.routes import KEY_ROUTES
from counterfoil.registry.keys.services import open_kms
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.routes import SEARCH_ROUTES
from counterfoil.registry.search.stored_refusals import refusal_records
from counterfoil.registry.settings import NO_PAGES
from counterfoil.registry.settings_reading import SettingsNotUsable
from counterfoil.registry.store.committing import WriteLimits
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.registry.subjects.routes import LEVEL_ROUTES, SUBJECT_ROUTES
from counterfoil.registry.subjects.schema_routes import SCHEMA_ROUTES
from counterfoil.registry.telemetry import Counting, Gauges, Telemetry
from counterfoil.registry.topics.routes import SKETCH_ROUTES
from counterfoil.registry.use_cases import UseCases, epoch_ms, use_cases
from counterfoil.registry.web.answers import ErrorPages, site_of
from counterfoil.registry.web.routes import BROWSER_ROUTE, PAGE_ROUTES, STATIC_ROUTE
from counterfoil.schema.errors import MethodNotAllowed, NotFound, RegistryError
from counterfoil.schema.rest.object_forms import Document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

    from counterfoil.registry.access.gate import AccessControl
    from counterfoil.registry.access.identity import AccessCounts, ListedProxies
    from counterfoil.registry.access.rules import ResourcePattern
    from counterfoil.registry.http.answers import ResponseDialect
    from counterfoil.registry.http.route import DeclaredRoute
    from counterfoil.registry.judges.judging import Judges
    from counterfoil.registry.keys.services import KeyWrapping
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.settings import ServerSettings
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.registry.web.answers import PageSite


# All routes of the application, in the order in which they are tried.

ROUTES: Final[tuple[DeclaredRoute, ...]] = (
    *SUBJECT_ROUTES,
    *SCHEMA_ROUTES,
    *LEVEL_ROUTES,
    *SERVER_ROUTES,
    *ASSOCIATION_ROUTES,
    *KEY_ROUTES,
    *BRIDGE_ROUTES,
    *SKETCH_ROUTES,
    *CONTRACT_ROUTES,
    *MIGRATION_ROUTES,
    *ACCESS_ROUTES,
    *AUDIT_ROUTES,
    *CHANGE_ROUTES,
    *INSPECTION_ROUTES,
    *SEARCH_ROUTES,
    *OPERATION_ROUTES,
    DESCRIPTION_ROUTE,
)


def served_routes(dialect: ResponseDialect, *, associations: bool) -> list[DeclaredRoute]:
    """Return the routes of ``dialect``, with those of associations if they are turned on."""
    return [
        route for route in ROUTES if dialect.has(route.path_format) and (associations or ASSOCIATIONS not in route.tags)
    ]


_ROOT: Final = "/"


def _turn(route: BaseRoute) -> int:
    """Return when a route is tried: those of the root last, so that no other request passes the one for browsers."""
    is_of_root = isinstance(route, StarletteRoute) and route.path == _ROOT
    return 1 + (route is not BROWSER_ROUTE) if is_of_root else 0


# The composition root: the only module that imports storage, use cases, routes and middleware together.

_CHECK_EVERY_S = 1.0
_WARN_EVERY_S = 3600.0
_WATCHED_KINDS = frozenset({ResourceKind.REGISTRY, ResourceKind.CONTEXT, ResourceKind.SUBJECT})
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT")


@dataclass(frozen=True, slots=True)
class RegistryApp:
    """The registry as an ASGI application, with the objects that its runner needs.

    ``asgi`` is the application with all of its middleware: the envelope, the fast lane, the reading of paths, and the
    routes innermost. ``read_again`` is what SIGHUP causes, if there is an access file; ``proxies`` returns those in
    front of the server. ``prepare`` raises if the application cannot start; its lifespan would only log that.
    """

    asgi: ASGIApp
    storage: Storage
    lifecycle: ServerLifecycle
    courier: Courier
    read_again: Callable[[], None] | None = None
    proxies: Callable[[], ListedProxies | None] = no_proxies
    prepare: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        await self.asgi(scope, receive, send)


def create_app(
    settings: ServerSettings, *, telemetry: Telemetry | None = None, mailbox: Mailbox | None = None
) -> RegistryApp:
    """Return the registry as an ASGI application over the store that ``settings`` name.

    The store is opened here and closed when the application's lifespan ends. ``mailbox`` is shared with the other
    processes of the server. Raises ``StoreNotUsable`` if it cannot be
    opened, ``InvalidAccessFile``, ``InvalidPrincipalRules``, and ``SettingsNotUsable``.
    """
    reads = _watched(settings)
    limits = WriteLimits(settings.max_waiting_writes, settings.write_timeout_s)
    signed = _signing(settings)
    file = _audit_file(settings, signed) if settings.audit_file else None
    storage = open_store(settings.store, limits=limits)
    audit = AuditRecords(storage, file=file, signed=signed, keep_days=settings.audit_keep_days, reads=reads)
    telemetry = telemetry or Telemetry()
    server = ServerAccess(storage, settings, record=audit.record, took=telemetry.access.passwords.record)
    judges = JudgeProcesses(
        mailbox or Mailbox(settings.judgement_processes),
        JudgeLimits(settings.judgement_timeout_s, settings.judgement_memory_bytes),
    )
    index = open_index(settings.store) if settings.search == "on" else None
    app = assemble(storage, settings, telemetry=telemetry, server=server, audit=audit, judges=judges, index=index)
    return replace(
        app,
        read_again=server.request_reading if settings.auth_file else None,
        proxies=server.proxies,
        prepare=server.start,
    )


def _signing(settings: ServerSettings) -> Callable[[Document], Document]:
    """Return the function that signs the heads of the audit, if there is a key."""
    if not settings.audit_key_file:
        return unsigned
    from counterfoil.registry.audit.keys import SigningKey  # it costs start time

    return SigningKey(Path(settings.audit_key_file)).signed


def _watched(settings: ServerSettings) -> list[ResourcePattern]:
    """Return the patterns of subjects whose reads are recorded."""
    try:
        found = [parse_pattern(each) for each in settings.audit_reads]
    except InvalidPattern as problem:
        raise SettingsNotUsable(f"audit_reads: {problem}") from None
    for each in found:
        if each.kind not in _WATCHED_KINDS:
            raise SettingsNotUsable(f"audit_reads: {each} is no subject, no context, and not the registry")
    return found


def _audit_file(settings: ServerSettings, signed: Callable[[Document], Document]) -> AuditFile:
    refuses = settings.audit_on_failure == "refuse"
    try:
        return AuditFile(settings.audit_file, max_bytes=settings.audit_max_bytes, refuses=refuses, signed=signed)
    except OSError as error:
        raise StoreNotUsable(f"The audit file {settings.audit_file} cannot be opened: {error.strerror}") from None


def _provide(
    app: Starlette, services: Services, events: EventSource, description: Description, *, site: PageSite
) -> None:
    """Store what endpoints find in the state of their application."""
    app.state.services = services
    app.state.events = events
    app.state.description = description
    app.state.site = site


def _application(
    routes: Sequence[DeclaredRoute], lifespan: Lifespan[Starlette], *, has_pages: bool
) -> tuple[Starlette, Methods]:
    """Return the application with its routes, those of the pages included, and the methods of each path."""
    pages = (BROWSER_ROUTE, *PAGE_ROUTES, STATIC_ROUTE) if has_pages else ()
    methods = Methods([*routes, *pages])
    app = Starlette(
        routes=sorted([*routes, *pages], key=_turn),
        lifespan=lifespan,
        exception_handlers={
            HTTPException: partial(_framework_error, methods),
            RegistryError: _refused,
            RequestValidationError: _refused,
            Exception: _unforeseen_error,
        },
    )
    app.router.redirect_slashes = False
    return app, methods


def assemble(
    storage: Storage,
    settings: ServerSettings,
    *,
    wrapping: KeyWrapping | None = None,
    heartbeat_s: float = HEARTBEAT_S,
    telemetry: Telemetry | None = None,
    access: AccessControl | None = None,
    server: ServerAccess | None = None,
    audit: AuditRecords | None = None,
    judges: Judges | None = None,
    index: SearchIndex | None = None,
) -> RegistryApp:
    """Return the registry as an ASGI application over ``storage``.

    ``wrapping`` uses key management services; by default those that the environment names. ``heartbeat_s`` is the
    longest pause in its event streams. ``telemetry`` records the application's metrics. ``access`` demands credentials
    and checks rights; without it every caller may do everything. ``server`` decides about that when the application
    starts, and while it runs. ``audit`` records writes and refused requests if credentials are demanded or it has a
    file; it is closed at the end. ``judges`` carry out long judgements; without them, threads do. ``index`` is kept in
    step with the store and searched; it is closed at the end.
    """
    lifecycle, telemetry, log = ServerLifecycle(), telemetry or Telemetry(), audit or AuditRecords(storage)
    wrapping = wrapping or open_kms(os.environ, timeout_s=settings.kms_timeout_s)
    networks, asker = parse_networks(settings.webhook_networks), PresentSender()
    long = LongJudgements(judges, most_of_caller=settings.judgement_limit, asker=asker)
    cases_over = partial(
        use_cases,
        long=long,
        wrapping=wrapping,
        max_keys=settings.max_keys,
        associations=settings.associations,
        kafka_cluster_id=settings.kafka_cluster_id,
        limits=ActivityLimits(settings.usage_active_days, settings.usage_stale_days),
        webhook_networks=networks,
    )
    refusals = refusal_records(index, epoch_ms) if settings.refusals == "on" else None
    cases = cases_over(storage, refusals=refusals, index=index)
    courier = Courier(cases.contracts.webhooks, Sender(networks), looks=cases.contracts.looks, now_ms=epoch_ms)
    storage.observe(courier.wake, of_records=True)
    stale = StaleReads(cases, limit_s=settings.stale_reads_s, count=telemetry.count_stale_answer)
    replies = Replies(storage, memory_bytes=settings.cache_bytes if settings.fast_lane else 0, catch_up=stale.catch_up)
    counting = Counting(storage)
    telemetry.read_gauges(partial(_gauges, storage, replies, counting, lifecycle, log, cases=cases))
    dialects = choose_dialects(settings.compat_version, withholds_new_fields=settings.withhold_new_fields)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        chores = [_watch(storage), courier.run(), _warn(lifecycle), log.run(), *_following(cases)]
        if server is not None:
            await server.start()
            demand(server.control)
            chores.append(server.run(demand))
        async with _running(chores):
            yield
        lifecycle.stop()
        if refusals is not None:
            await refusals.close()
        for each in (log, wrapping, long, storage, cases.search):
            await each.close()

    has_pages, site = settings.ui != NO_PAGES, site_of(settings)
    routes = served_routes(dialects.usual, associations=settings.associations)
    feed = Feed(storage)
    lifecycle.at_stop(feed.close)
    events = EventSource(feed, storage, heartbeat_s=heartbeat_s, most_of_caller=settings.stream_limit)
    app, methods = _application(routes, lifespan, has_pages=has_pages)
    _provide(
        app,
        Services(
            cases=cases,
            replies=replies,
            stale=stale,
            dialects=dialects,
            max_body_bytes=settings.max_body_bytes,
            telemetry=telemetry,
            lifecycle=lifecycle,
            counting=counting,
            access=administration_of(storage, max_token_days=settings.token_max_days)
            if server is None
            else server.administration,
            nothing=cases_over(open_store("sqlite://")) if settings.denied_reads == "404" else None,
            refusal_pages=f"{site.prefix}/ui/refusals/" if has_pages and settings.refusals == "on" else "",
        ),
        events,
        Description(routes),
        site=site,
    )
    paths = Deadlines(
        Paths(app, max_body_bytes=settings.max_body_bytes, methods=methods), timeout_s=settings.request_timeout_s
    )

    def composed(access: AccessControl | None) -> ASGIApp:
        """Return what the envelope surrounds, with a gate if credentials are demanded.

        The audit is behind the responses from memory, which cause no event; what is refused before them is recorded by
        itself.
        """
        lifecycle.is_open_to_everyone = access is None and not is_loopback(settings.host)
        lifecycle.access_state = None if access is None else lambda: access.state
        events.demands_credentials = access is not None
        events.proxies = asker.proxies = proxies = no_proxies if access is None else access.proxies
        recorder = Recorder(log, proxies) if access is not None or log.has_file else None
        asgi: ASGIApp = paths if recorder is None else recorder.recorded(paths)
        if settings.fast_lane:
            asgi = FastLane(
                asgi,
                replies=replies,
                stale=stale,
                knows_tolerant=dialects.tolerant is not None,
                answers_whole=not settings.cors_origins,  # their headers would be missing
                checks_rights=access is not None,
            )
        return _behind_checks(asgi, settings, access, counts=telemetry.access, recorder=recorder)

    access = server.control if access is None and server is not None else access
    envelope = Envelope(
        composed(access),
        telemetry=telemetry,
        log_requests=settings.log_requests,
        packing=Packing(min_bytes=settings.gzip_min_bytes) if settings.gzip_min_bytes else None,
        guard=_guard(settings, has_access_control=access is not None),
        has_access_control=access is not None,
        error_pages=ErrorPages(site).translating if has_pages else None,
    )

    def demand(access: AccessControl | None) -> None:
        guard = _guard(settings, has_access_control=access is not None)
        envelope.surround(composed(access), guard, has_access_control=access is not None)

    return RegistryApp(envelope, storage, lifecycle, courier)


def _behind_checks(
    app: ASGIApp,
    settings: ServerSettings,
    access: AccessControl | None,
    *,
    counts: AccessCounts,
    recorder: Recorder | None,
) -> ASGIApp:
    """Return ``app`` behind the checks that need no body: the limits innermost, since they count by caller."""
    limits, refused = None, unrecorded if recorder is None else recorder.refused
    if settings.rate_limit or settings.write_rate_limit:
        limits = RequestLimits(
            a_second=settings.rate_limit, writes_a_second=settings.write_rate_limit, burst=settings.rate_burst
        )
        proxies = no_proxies if access is None else access.proxies
        app = RateLimits(app, limits, proxies=proxies, refused=refused)
    if access is not None:
        app = AccessGate(app, access, counts=counts, limits=limits, refused=refused)
    if settings.cors_origins:
        app = _open_to_pages(app, settings.cors_origins)
    return PlainPort(app, settings.public_url) if settings.redirect_port else app


def _guard(settings: ServerSettings, *, has_access_control: bool) -> OriginGuard | None:
    """Return the check of pages; and of names by which a server on a loopback address is requested that is open."""
    if ANY_ORIGIN in settings.cors_origins:
        return None
    hosts = None
    if not has_access_control and is_loopback(settings.host) and ANY_HOST not in settings.allowed_hosts:
        own = urlsplit(settings.public_url).hostname
        hosts = HostGuard(allowed=(*settings.allowed_hosts, own or ""))
    return OriginGuard(host=settings.host, allowed=settings.cors_origins, public_url=settings.public_url, hosts=hosts)


@asynccontextmanager
async def _running(chores: Sequence[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run ``chores`` during the block."""
    tasks = [asyncio.create_task(each) for each in chores]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _gauges(
    storage: Storage,
    replies: Replies,
    counting: Counting,
    lifecycle: ServerLifecycle,
    audit: AuditRecords,
    *,
    cases: UseCases,
) -> Gauges:
    """Return the functions that measure the application's current state."""
    long, following = cases.long, cases.following
    load, totals = storage.load, counting.totals
    return Gauges(
        store_up=storage.contact.error is None,
        pool_in_use=load.connections_in_use,
        pool_size=load.max_connections,
        waiting_writes=load.waiting_writes,
        cache_entries=replies.count,
        cache_bytes=replies.size_bytes,
        waiting_judgements=long.waiting,
        judges=long.judges.count,
        ended_judgements=long.judges.ended,
        subjects=None if totals is None else totals.subjects,
        versions=None if totals is None else totals.versions,
        is_open_to_everyone=lifecycle.is_open_to_everyone,
        audit_failures=audit.failures,
        search_behind=None if following is None else following.behind,
        access=None if lifecycle.access_state is None else lifecycle.access_state(),
    )


def _following(cases: UseCases) -> list[Coroutine[Any, Any, None]]:
    """Return the task that keeps the index of the search in step, if there is one."""
    return [] if cases.following is None else [cases.following.run()]


async def _watch(storage: Storage) -> None:
    """Check the store repeatedly, so that its loss is noticed and logged without a request."""
    while True:
        await asyncio.sleep(_CHECK_EVERY_S)
        with suppress(RegistryError):
            await storage.check()


async def _warn(lifecycle: ServerLifecycle) -> None:
    """Log each hour that everyone may do everything, while that is so."""
    while True:
        if lifecycle.is_open_to_everyone:
            LOGGER.warning(OPEN_TO_EVERYONE)
        await asyncio.sleep(_WARN_EVERY_S)


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
