"""The registry without a server: the application itself handles requests in this process, over a store in memory.

:mod:`counterfoil.sdk.testing` finds it by the entry point ``in-process`` of the group ``counterfoil.registries``, so
that the client does not import the server.
"""

from __future__ import annotations

import asyncio
import os
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.registry.app import assemble
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from starlette.types import ASGIApp, Message


_HOST: Final = "registry.invalid"


Response: TypeAlias = "tuple[int, Mapping[str, str], bytes]"
"""Status, headers with names in lower case, and the whole body."""


async def exchange(
    app: ASGIApp,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    messages: Sequence[Message] = (),
) -> Response:
    """Return the response of an ASGI application to one request.

    ``target`` is the path with its query, percent-encoded. ``messages`` are the parts in which the body arrives; by
    default it arrives in one piece.
    """
    path, _, query = target.partition("?")
    sent = {"Content-Length": str(len(body)), **headers} if body is not None else headers
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
        "server": (_HOST, 80),
        "client": (_HOST, 1),
    }
    arriving = iter(messages or [{"type": "http.request", "body": body or b"", "more_body": False}])
    answered: list[Message] = []

    async def receive() -> Message:
        return next(arriving)

    async def send(message: Message) -> None:
        answered.append(message)

    await app(scope, receive, send)
    names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answered[0]["headers"]}
    return answered[0]["status"], names, b"".join(message.get("body", b"") for message in answered[1:])


class InProcessRegistry:
    """A registry over an empty store in memory; it handles requests from any thread and any event loop."""

    def __init__(self) -> None:
        self._app = assemble(MemoryStorage(), ServerSettings(store="sqlite://", log_requests=False))

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        """Return the response to one request; block until it is complete."""
        response: Response = self._submitted(method, target, headers, body).result()
        return response

    async def ahandle(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        """Return the response to one request; the caller's event loop is not blocked."""
        return await asyncio.wrap_future(self._submitted(method, target, headers, body))

    def _submitted(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Future[Response]:
        return asyncio.run_coroutine_threadsafe(exchange(self._app, method, target, headers, body), _LOOP.running())


class _LoopThread:
    """One event loop in a daemon thread, for all registries of the process; a forked process starts one of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner = 0

    def running(self) -> asyncio.AbstractEventLoop:
        """Return the loop of this process, started if need be."""
        with self._lock:
            if self._loop is None or self._owner != os.getpid():
                self._loop, self._owner = _started_loop(), os.getpid()
            return self._loop


def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    started = Event()
    loop.call_soon(started.set)
    Thread(target=loop.run_forever, name="counterfoil-in-process", daemon=True).start()
    started.wait()
    return loop


_LOOP: Final = _LoopThread()
