"""What operators ask: is it alive, is it ready, what does it measure. No part of the registry's own API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
from starlette.responses import Response
from starlette.routing import Route

from counterfoil.registry.api.answers import UNAVAILABLE_HEADERS
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from counterfoil.registry.service.storage import Storage
    from counterfoil.registry.telemetry import Telemetry

_JSON = {"content-type": "application/json"}
_UNAVAILABLE = 503

SUMMARIES: Final = {
    "/health/live": "The process answers.",
    "/health/ready": "Whether requests are served, and which step waits on what.",
    "/metrics": "Measures in Prometheus' format.",
}
"""What each path is for, for the description of the API."""


class Lifecycle:
    """Whether the server takes requests now; ``stopping`` is set when it begins to end."""

    def __init__(self) -> None:
        self.stopping = False
        self._endings: list[Callable[[], None]] = []

    def at_stop(self, ending: Callable[[], None]) -> None:
        """Call ``ending`` when the server begins to end: for answers that would not end by themselves."""
        self._endings.append(ending)

    def stop(self) -> None:
        """Begin to end."""
        self.stopping = True
        for ending in self._endings:
            ending()


def operation_routes(storage: Storage, telemetry: Telemetry, lifecycle: Lifecycle) -> list[Route]:
    """``/health/live``, ``/health/ready`` and ``/metrics``."""

    async def live(_: Request) -> Response:
        return Response(b'{"status":"live"}', headers=_JSON)

    async def ready(_: Request) -> Response:
        steps = [await _store_step(storage), _server_step(lifecycle)]
        is_ready = all(step["state"] == "ready" for step in steps)
        body = {"status": "ready" if is_ready else "not ready", "steps": steps}
        if is_ready:
            return Response(orjson.dumps(body), headers=_JSON)
        return Response(orjson.dumps(body), status_code=_UNAVAILABLE, headers={**_JSON, **UNAVAILABLE_HEADERS})

    async def metrics(_: Request) -> Response:
        return Response(telemetry.exposition(), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"})

    return [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", metrics)]


async def _store_step(storage: Storage) -> dict[str, str]:
    try:
        await storage.check()
    except RegistryError as error:
        return {"step": "store", "state": "waiting", "on": error.message}
    return {"step": "store", "state": "ready"}


def _server_step(lifecycle: Lifecycle) -> dict[str, str]:
    if lifecycle.stopping:
        return {"step": "server", "state": "waiting", "on": "the requests under way, before it stops"}
    return {"step": "server", "state": "ready"}
