"""What operators ask: is it alive, is it ready, what does it measure. No part of the registry's own API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
from starlette.responses import Response
from starlette.routing import Route

from counterfoil.registry.api.http.answers import UNAVAILABLE_HEADERS
from counterfoil.schema.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from counterfoil.registry.api.cache.stale_reads import StaleReads
    from counterfoil.registry.service.counting import Counting
    from counterfoil.registry.service.storage import Storage
    from counterfoil.registry.telemetry import Telemetry

_JSON = {"content-type": "application/json"}
_UNAVAILABLE = 503
_SERVING: Final = frozenset({"ready", "stale reads"})

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


def operation_routes(
    storage: Storage, telemetry: Telemetry, lifecycle: Lifecycle, *, stale: StaleReads, counting: Counting
) -> list[Route]:
    """``/health/live``, ``/health/ready`` and ``/metrics``."""

    async def live(_: Request) -> Response:
        return Response(b'{"status":"live"}', headers=_JSON)

    async def ready(_: Request) -> Response:
        steps = [await _store_step(storage, stale), _server_step(lifecycle)]
        is_ready = all(step["state"] in _SERVING for step in steps)
        body = {"status": "ready" if is_ready else "not ready", "steps": steps}
        if is_ready:
            return Response(orjson.dumps(body), headers=_JSON)
        return Response(orjson.dumps(body), status_code=_UNAVAILABLE, headers={**_JSON, **UNAVAILABLE_HEADERS})

    async def metrics(_: Request) -> Response:
        await counting.refresh()
        return Response(telemetry.exposition(), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"})

    return [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", metrics)]


async def _store_step(storage: Storage, stale: StaleReads) -> dict[str, str]:
    """Whether the store answers. While it is away and reads are answered from memory, the server stays ready for them.

    It is not checked then: the storage does that by itself.
    """
    reason = stale.reason
    if reason is None:
        try:
            await storage.check()
        except RegistryError as error:
            reason = error
    if reason is None:
        return {"step": "store", "state": "ready"}
    if stale.reason is None:
        return {"step": "store", "state": "waiting", "on": reason.message}
    said = f"{reason.message}. Reads are answered from memory for {stale.left_s:.0f} s more, writes are refused"
    return {"step": "store", "state": "stale reads", "on": said}


def _server_step(lifecycle: Lifecycle) -> dict[str, str]:
    if lifecycle.stopping:
        return {"step": "server", "state": "waiting", "on": "the requests under way, before it stops"}
    return {"step": "server", "state": "ready"}
