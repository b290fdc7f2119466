"""Registries for tests: one in the memory of the process, and one in a process of its own.

The one in memory is the registry itself, with every rule and error code, over a store in memory, used with the same
clients; only the network is missing. It is part of the extra ``registry``. Responses can be prepared, so that a test
sees how a failure is handled.

>>> from counterfoil.schema import Schema
>>> with InMemoryRegistry().client() as registry:
...     registry.register("rides-value", Schema('"string"')).id
1
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from threading import Lock
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.errors import MissingExtra, needed_by
from counterfoil.sdk.client import Registry
from counterfoil.sdk.client.asynchronous import AsyncRegistry
from counterfoil.sdk.client.settings import BasicAuth, BearerToken
from counterfoil.sdk.transport import NoReply, Reply, Request

# A registry in the memory of the process, used with the same clients, for tests without a server.

URL: Final = "http://registry.invalid"
"""The address that the clients of an in-memory registry use; no such host can exist."""

_REFUSAL: Final = b'{"error_code": 401, "message": "The registry does not accept these credentials"}'
_DISTRIBUTION: Final = "counterfoil"
_REGISTRIES: Final = "counterfoil.registries"
_IN_PROCESS: Final = "in-process"


class InMemoryRegistry:
    """A registry without a server; a transport for both clients, safe for several threads.

    ``level`` is the compatibility level where none is set. With ``auth`` a request without these credentials is refused
    (401). ``requests`` holds what was requested so far, in order.
    ``MissingExtra`` is raised where the extra ``registry`` is not installed.
    """

    def __init__(
        self,
        *,
        level: CompatibilityLevel = CompatibilityLevel.BACKWARD,
        auth: BasicAuth | BearerToken | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self._auth = auth
        self._registry = _in_process_registry()
        self._prepared: deque[Reply | NoReply] = deque()
        self._lock = Lock()
        if level is not CompatibilityLevel.BACKWARD:
            self._registry.handle("PUT", "/config", {}, b'{"compatibility": "%s"}' % level.name.encode())

    def client(self, url: str = URL, **options: Any) -> Registry:
        """Return a client of this registry; ``options`` are those of :class:`counterfoil.sdk.Registry`."""
        return Registry(url, transport=self, **options)

    def async_client(self, url: str = URL, **options: Any) -> AsyncRegistry:
        """Return an async client of this registry; ``options`` are those of :class:`counterfoil.sdk.AsyncRegistry`."""
        return AsyncRegistry(url, transport=self, **options)

    def answer_next(self, *outcomes: Reply | NoReply) -> None:
        """Answer the next requests with these instead: replies are returned, ``NoReply`` is raised."""
        with self._lock:
            self._prepared.extend(outcomes)

    def send(self, request: Request) -> Reply:
        """Return the reply to the request."""
        return self._noted(request) or Reply(*self._registry.handle(*_parts(request)))

    async def asend(self, request: Request) -> Reply:
        """Return the reply to the request."""
        return self._noted(request) or Reply(*await self._registry.ahandle(*_parts(request)))

    def close(self) -> None:
        """Do nothing: there are no connections."""

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _noted(self, request: Request) -> Reply | None:
        """Record the request, and return the reply that was prepared for it or the refusal, if any."""
        with self._lock:
            self.requests.append(request)
            prepared = self._prepared.popleft() if self._prepared else None
        if isinstance(prepared, Reply):
            return prepared
        if prepared is not None:
            raise prepared
        if self._auth is not None and request.headers.get("Authorization") != self._auth.header:
            return Reply(401, {"content-type": "application/json"}, _REFUSAL)
        return None


class _InProcessRegistry(Protocol):
    """A registry that handles a request in this process: method, path with query, headers, and body."""

    def handle(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of the response."""

    async def ahandle(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of the response."""


def _in_process_registry() -> _InProcessRegistry:
    entries = metadata.distribution(_DISTRIBUTION).entry_points.select(group=_REGISTRIES, name=_IN_PROCESS)
    with needed_by("InMemoryRegistry", extra="registry"):
        registry: _InProcessRegistry = next(iter(entries)).load()()
    return registry


def _parts(request: Request) -> tuple[str, str, Mapping[str, str], bytes | None]:
    parts = urlsplit(request.url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return request.method, target, request.headers, request.body


# A registry in a process of its own, for tests of programs that take an address.

_LISTENING: Final = "counterfoil registry listening on "
_END_S: Final = 10.0


@contextmanager
def serving_registry() -> Iterator[str]:
    """Yield the URL of an empty registry in a process of its own, which listens on a free port of this machine.

    Its store is in memory. Raises ``MissingExtra`` where the extra ``registry`` is not installed, and ``RuntimeError``,
    with what the process printed, if it does not start.
    """
    if find_spec("uvicorn") is None:
        raise MissingExtra("A registry", module="uvicorn", extra="registry")
    command = [
        sys.executable,
        "-m",
        "counterfoil.registry",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--store",
        "sqlite://",
    ]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603 (our own module)
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith(_LISTENING):
                process.kill()
                log.seek(0)
                raise RuntimeError(f"The registry did not start: {line}{log.read()}")
            yield line.removeprefix(_LISTENING).partition(",")[0].strip()  # then come the pages
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
