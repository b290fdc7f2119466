"""Proxies in front of the server that have found out who calls, and say so in a header.

Off unless the access file lists their addresses. The name of a header is compared exactly: one with an underscore is
another name. A header that is there twice is refused, since nobody knows which of them the proxy wrote.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.identity import Identity, Reason, Refusal
from counterfoil.registry.domain.access.names import GROUP, USER, is_name, is_user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network
    Headers = Sequence[tuple[bytes, bytes]]

_FORWARDED_FOR: Final = b"x-forwarded-for"
_MAX_GROUPS: Final = 1000


class AmbiguousHeader(Exception):
    """A header that must be there once is there several times."""


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """The proxies at ``networks``: which headers they write, and the secret by which they are recognised."""

    networks: tuple[Network, ...]
    user_header: str = "x-forwarded-user"
    groups_header: str | None = None
    secret_header: str | None = None
    secret: str | None = None
    prefix: str = ""

    def __repr__(self) -> str:
        """Return a text without the secret."""
        return f"TrustedProxy(networks={self.networks!r}, user_header={self.user_header!r})"

    def is_at(self, address: str) -> bool:
        """Return whether a listed proxy has this address."""
        found = _address(address)
        return found is not None and any(found in network for network in self.networks)

    def identify(self, address: str, headers: Headers) -> Identity | Refusal | None:
        """Return whom a proxy names; a refusal where its headers are wrong; None if this is no statement of a proxy."""
        if not self.is_at(address):
            return None
        try:
            name = _only(headers, self.user_header)
            groups = None if self.groups_header is None else _only(headers, self.groups_header)
            secret = None if self.secret_header is None else _only(headers, self.secret_header)
        except AmbiguousHeader:
            return Refusal(Reason.WRONG)
        if name is None:
            return None
        if self.secret is not None and not compare_digest((secret or b""), self.secret.encode()):
            return Refusal(Reason.WRONG)
        return self._identity(name, groups or b"")

    def client_address(self, address: str, headers: Headers) -> str:
        """Return the client's address: the rightmost of ``X-Forwarded-For`` that is no listed proxy.

        It is the peer's where the peer is no listed proxy, since anybody can write the header.
        """
        if not self.is_at(address):
            return address
        listed = b",".join(value for name, value in headers if name == _FORWARDED_FOR).split(b",")
        for each in reversed(listed):
            text = each.strip().decode("latin-1")
            if not self.is_at(text):
                return text if _address(text) is not None else address
        return address

    def _identity(self, name: bytes, groups: bytes) -> Identity | Refusal:
        try:
            named = name.decode()
            listed = [self.prefix + group.strip() for group in groups.decode().split(",") if group.strip()]
        except UnicodeDecodeError:
            return Refusal(Reason.WRONG)
        if not is_name(named) or not is_user_name(self.prefix + named) or len(listed) > _MAX_GROUPS:
            return Refusal(Reason.WRONG)
        return Identity(
            USER + self.prefix + named, frozenset(GROUP + group for group in listed if is_name(group)), method="proxy"
        )


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that are written as addresses or in CIDR form; raise ``ValueError`` with the wrong one."""
    return tuple(ipaddress.ip_network(text, strict=True) for text in texts)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _only(headers: Headers, name: str) -> bytes | None:
    found = [value for key, value in headers if key == name.encode()]
    if len(found) > 1:
        raise AmbiguousHeader
    return found[0] if found else None
