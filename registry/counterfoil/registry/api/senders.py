"""Who sent a request, as far as limits and the audit have to know: a caller, or else the address of a client."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.buckets import network_of
from counterfoil.registry.domain.access.caller import CALLER
from counterfoil.registry.domain.access.identity import no_proxies

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from counterfoil.registry.domain.access.caller import Caller
    from counterfoil.registry.domain.access.identity import ListedProxies

REQUEST: Final[ContextVar[Scope | None]] = ContextVar("counterfoil_request", default=None)
"""The scope of the request that is handled; None outside of one."""


def client_address(scope: Scope, proxies: ListedProxies | None, *, unknown: str = "") -> str:
    """Return the address of the client: that of the peer, or the one that a listed proxy names."""
    address, _ = scope.get("client") or (unknown, 0)
    return address if proxies is None else proxies.client_address(address, scope["headers"])


def client_network(scope: Scope, proxies: ListedProxies | None) -> str:
    """Return what counts as one client: an address of IPv4, a network of IPv6."""
    return network_of(client_address(scope, proxies))


def sender_of(scope: Scope, proxies: ListedProxies | None) -> str:
    """Return who sent a request, for counting: the caller's name, or the network of a client that has none."""
    caller: Caller | None = scope.get(CALLER)
    if caller is not None and caller.is_member:
        return caller.name
    return client_network(scope, proxies)


class PresentSender:
    """Returns who sent the request that is handled; ``proxies`` returns those in front of the server."""

    def __init__(self) -> None:
        self.proxies: Callable[[], ListedProxies | None] = no_proxies

    def __call__(self) -> str:
        """Return the sender; an empty text where no request is handled."""
        scope = REQUEST.get()
        return "" if scope is None else sender_of(scope, self.proxies())
