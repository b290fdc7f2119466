"""A registry in the memory of the process, behind the same clients, for tests that want no server.

It answers the same requests with the same replies and error codes as a real one, by the rules in
:mod:`counterfoil.sdk.memory`, and can be told to fail.

>>> from counterfoil.schema import Schema
>>> with InMemoryRegistry().client() as registry:
...     registry.register("rides-value", Schema('"string"')).id
1
"""

from __future__ import annotations

from collections import deque
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.sdk.async_client import AsyncRegistry
from counterfoil.sdk.client import Registry
from counterfoil.sdk.memory import Memory
from counterfoil.sdk.memory_routes import answer
from counterfoil.sdk.transport import Reply

if TYPE_CHECKING:
    from counterfoil.sdk.transport import NoReply, Request

URL: Final = "http://registry.invalid"
"""What the clients of an in-memory registry believe to ask; no such host can exist."""


class InMemoryRegistry:
    """A registry without a server; a transport for both clients, safe for several threads.

    ``level`` is the compatibility level where none is set. ``requests`` holds what was asked so far, in order.
    """

    def __init__(self, *, level: CompatibilityLevel = CompatibilityLevel.BACKWARD) -> None:
        self.requests: list[Request] = []
        self._memory = Memory(level)
        self._prepared: deque[Reply | NoReply] = deque()
        self._lock = RLock()

    def client(self, url: str = URL, **options: Any) -> Registry:
        """A client of this registry; ``options`` are those of :class:`counterfoil.sdk.Registry`."""
        return Registry(url, transport=self, **options)

    def async_client(self, url: str = URL, **options: Any) -> AsyncRegistry:
        """An async client of this registry; ``options`` are those of :class:`counterfoil.sdk.AsyncRegistry`."""
        return AsyncRegistry(url, transport=self, **options)

    def answer_next(self, *outcomes: Reply | NoReply) -> None:
        """Answer the next requests with these instead: replies as they are, ``NoReply`` by raising it."""
        with self._lock:
            self._prepared.extend(outcomes)

    def send(self, request: Request) -> Reply:
        """The reply to the request."""
        with self._lock:
            self.requests.append(request)
            if self._prepared:
                prepared = self._prepared.popleft()
                if isinstance(prepared, Reply):
                    return prepared
                raise prepared
            return answer(self._memory, request)

    async def asend(self, request: Request) -> Reply:
        """The reply to the request."""
        return self.send(request)

    def close(self) -> None:
        """Nothing: there are no connections."""

    async def aclose(self) -> None:
        """Nothing: there are no connections."""
