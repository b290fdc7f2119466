"""Which addresses the server may send webhooks to. Pure functions.

Without this rule, whoever may create a webhook could have the server send requests to services that only it can reach.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL = tuple(
    ip_network(text)
    for text in (
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
    )
)
"""Networks for special purposes (IANA's registries, and what these had before) that `ipaddress` calls public.

Which ones it calls so depends on the version of Python.
"""
_TRANSLATED = ip_network("64:ff9b::/96")
"""Addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052)."""

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
    return (_inner(found) or found) if isinstance(found, IPv6Address) else found


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def is_listed(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether an address is in one of the networks."""
    return any(address in each for each in networks)


def is_permitted(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether webhooks may be sent to an address: one of the public network, or one of ``networks``.

    >>> from ipaddress import ip_address
    >>> [is_permitted(ip_address(each), ()) for each in ("93.184.215.14", "10.0.0.1", "169.254.169.254", "fec0::1")]
    [True, False, False, False]
    """
    if is_listed(address, networks):
        return True
    is_special = address.is_multicast or address.is_reserved or is_listed(address, _SPECIAL)
    return address.is_global and not is_special
