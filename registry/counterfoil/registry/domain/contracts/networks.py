"""Which addresses the server may send webhooks to. Pure functions.

Without this rule, whoever may create a webhook could have the server send requests to services that only it can reach.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return networks in their usual text form; raise ``ValueError`` for a text that is none.

    >>> parse_networks(["127.0.0.0/8", "fd00::/8"])
    (IPv4Network('127.0.0.0/8'), IPv6Network('fd00::/8'))
    """
    return tuple(ip_network(text) for text in texts)


def parse_address(text: str) -> Address | None:
    """Return an IP address, that of an IPv4 address inside IPv6 for such a one; None for a text that is none.

    >>> parse_address("::ffff:127.0.0.1"), parse_address("hooks.example")
    (IPv4Address('127.0.0.1'), None)
    """
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    inner = (found.ipv4_mapped or found.sixtofour) if isinstance(found, IPv6Address) else None
    return inner or found


def is_listed(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether an address is in one of the networks."""
    return any(address in each for each in networks)


def is_permitted(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether webhooks may be sent to an address: one of the public network, or one of ``networks``.

    >>> from ipaddress import ip_address
    >>> [is_permitted(ip_address(each), ()) for each in ("93.184.215.14", "10.0.0.1", "169.254.169.254", "::1")]
    [True, False, False, False]
    """
    return is_listed(address, networks) or (address.is_global and not address.is_multicast and not address.is_reserved)
