"""Routes for operators: liveness, readiness and metrics. They are no part of the registry's own API."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from counterfoil.registry.api.http.answers import UNAVAILABLE_HEADERS
from counterfoil.registry.api.routes.access import OPEN, on, the_registry
from counterfoil.registry.api.routes.route import DeclaredRoute
from counterfoil.registry.api.routes.services import ServicesOfApp
from counterfoil.registry.domain.access.caller import CALLER
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.api.cache.stale_reads import StaleReads
    from counterfoil.registry.domain.access.caller import Caller
    from counterfoil.registry.domain.access.measures import AccessState
    from counterfoil.registry.service.storage import Storage

OPERATIONS: Final = "operations"
"""The tag of these routes in the description of the API."""

OPEN_TO_EVERYONE: Final = "open to everyone: no authentication"

_SERVING: Final = frozenset({"ready", "stale reads"})
_EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"


class Lifecycle:
    """Whether the server accepts requests; ``stopping`` is set when it begins to stop.

    ``is_open_to_everyone``: other machines reach it, and it demands no credentials. ``access_state`` returns the state
    of its access control, if it demands some.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.is_open_to_everyone = False
        self.access_state: Callable[[], AccessState] | None = None
        self._endings: list[Callable[[], None]] = []

    def at_stop(self, ending: Callable[[], None]) -> None:
        """Register ``ending``, which is called when the server begins to stop.

        It ends the responses that do not end by themselves.
        """
        self._endings.append(ending)

    def stop(self) -> None:
        """Begin to stop."""
        self.stopping = True
        for ending in self._endings:
            ending()


class LiveBody(BaseModel):
    """That the process answers."""

    status: Literal["live"] = "live"


class StepBody(BaseModel):
    """One of the steps before requests are served; ``on`` says what it waits on."""

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
        access=on(Operation.METRICS, the_registry),
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


def _server_step(lifecycle: Lifecycle) -> StepBody:
    if lifecycle.stopping:
        return StepBody(step="server", state="waiting", on="the requests under way, before it stops")
    return StepBody(step="server", state="ready")
