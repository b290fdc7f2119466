"""The protocol between the client and the network: a request is sent, and a reply is returned or none arrives.

A transport has no retries, no caches and no schemas. Tests and embedded registries have their own (see
:mod:`counterfoil.sdk.testing`); the default one, in :mod:`counterfoil.sdk.connection.http`, is httpx.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``url`` is absolute and percent-encoded, without credentials; ``body`` is JSON or None."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete HTTP response. The names in ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class NoReply(CounterfoilError):
    """A transport received no complete reply. The client retries, and finally raises ``RegistryUnavailable``.

    ``was_sent`` is false where the request certainly did not reach a server, so that even one that must not be
    repeated may be tried again.
    """

    def __init__(self, problem: str, *, was_sent: bool = True) -> None:
        super().__init__(problem)
        self.problem = problem
        self.was_sent = was_sent


class Transport(Protocol):
    """Sends requests, for :class:`counterfoil.sdk.Registry`. Used by several threads at once."""

    def send(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise :class:`NoReply` if there is none."""

    def close(self) -> None:
        """Close the connections; a transport that was closed is not used again."""


class AsyncTransport(Protocol):
    """Sends requests, for :class:`counterfoil.sdk.AsyncRegistry`. Used by several tasks at once."""

    async def asend(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise :class:`NoReply` if there is none."""

    async def aclose(self) -> None:
        """Close the connections; a transport that was closed is not used again."""
