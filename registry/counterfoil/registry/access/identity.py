"""Who calls: what a request brings as proof, also by a trusted proxy, and what is known of the caller afterwards."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from enum import Enum
from hmac import compare_digest
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.access.rules import GROUP, USER, is_name, is_user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.registry.access.rules import OperationScope


# Who calls: what a request brings as proof, and what is known of the caller after it was examined.


@dataclass(frozen=True, slots=True)
class PresentedCredentials:
    """What a request brings as proof of its sender's identity.

    ``authorization`` is the value of its only ``Authorization`` header, ``address`` the peer's, ``headers`` are all
    headers of the request, for the rules about proxies, ``certificate`` is the client's in DER form.
    """

    authorization: bytes | None
    address: str
    headers: tuple[tuple[bytes, bytes], ...] = ()
    certificate: bytes | None = None

    def __repr__(self) -> str:
        """Return a text without the credentials, for logs."""
        return f"Credentials(address={self.address!r})"


@dataclass(frozen=True, slots=True)
class CallerIdentity:
    """A caller whose credentials were right.

    ``principal`` is ``User:NAME`` or ``Service:NAME``, ``groups`` are ``Group:NAME``, ``method`` is how it was
    proven (``password``, ``token``, ``jwt``, ``certificate``, ``proxy``, ``anonymous``). ``expires`` is a time in
    seconds since 1970. ``scopes`` limit the caller's rights; None does not. ``act`` is who acts for the principal.
    """

    principal: str
    groups: frozenset[str] = frozenset()
    method: str = ""
    issuer: str | None = None
    expires: float | None = None
    token_id: str | None = None
    scopes: tuple[OperationScope, ...] | None = None
    act: str | None = None


class UnprovenReason(Enum):
    """Why no caller was accepted; the value is the word in measures."""

    MISSING = "missing"  # no credentials, and anonymous callers are not let in
    WRONG = "wrong"  # whatever is wrong: one answer for all
    EXPIRED = "expired"  # a token that was right once
    MALFORMED = "malformed"  # the request itself is wrong, such as two Authorization headers
    THROTTLED = "throttled"  # too many failures
    UNAVAILABLE = "unavailable"  # it cannot be decided now: keys were never fetched, or the store cannot be reached


@dataclass(frozen=True, slots=True)
class UnprovenCaller:
    """No caller: why, and for ``THROTTLED`` and ``UNAVAILABLE`` after how many seconds to try again.

    ``method`` is how the caller was to be proven; an empty text if nothing was sent.
    """

    reason: UnprovenReason
    retry_after_s: int | None = None
    method: str = field(default="", compare=False)


class CallerProof(Protocol):
    """A caller that was proven before, by credentials that a next request may repeat."""

    @property
    def identity(self) -> CallerIdentity:
        """The caller."""
        ...

    def holds(self) -> bool:
        """Return whether these credentials still prove it."""
        ...


class Authenticator(Protocol):
    """Finds out who sent a request."""

    @property
    def takes_bearer(self) -> bool:
        """Whether tokens are accepted besides passwords, so that the answer to wrong credentials offers them."""
        ...

    def recall(self, header: bytes, /) -> CallerProof | None:
        """Return what a header ``Authorization`` has proven before, if that still holds."""
        ...

    async def authenticate(self, credentials: PresentedCredentials) -> CallerIdentity | UnprovenCaller:
        """Return the caller, or why there is none."""
        ...


class ListedProxies(Protocol):
    """The proxies in front of a server, which send the requests of many clients over one connection."""

    def is_at(self, address: str, /) -> bool:
        """Return whether one of them has this address."""
        ...

    def client_address(self, address: str, headers: Sequence[tuple[bytes, bytes]], /) -> str:
        """Return the address of the client whose request was sent from ``address``."""
        ...


def no_proxies() -> ListedProxies | None:
    """Return None: all clients send their requests themselves."""
    return None


# Proxies in front of the server that have found out who calls, and say so in a header.
#
# Off unless the access file lists their addresses. The name of a header is compared exactly: one with an underscore is
# another name. A header that is there twice is refused, since nobody knows which of them the proxy wrote.

if TYPE_CHECKING:
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

    def identify(self, address: str, headers: Headers) -> CallerIdentity | UnprovenCaller | None:
        """Return whom a proxy names; a refusal where its headers are wrong; None if this is no statement of a proxy."""
        if not self.is_at(address):
            return None
        try:
            name = _only(headers, self.user_header)
            groups = None if self.groups_header is None else _only(headers, self.groups_header)
            secret = None if self.secret_header is None else _only(headers, self.secret_header)
        except AmbiguousHeader:
            return UnprovenCaller(UnprovenReason.WRONG)
        if name is None:
            return None
        if self.secret is not None and not compare_digest((secret or b""), self.secret.encode()):
            return UnprovenCaller(UnprovenReason.WRONG)
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

    def _identity(self, name: bytes, groups: bytes) -> CallerIdentity | UnprovenCaller:
        try:
            named = name.decode()
            listed = [self.prefix + group.strip() for group in groups.decode().split(",") if group.strip()]
        except UnicodeDecodeError:
            return UnprovenCaller(UnprovenReason.WRONG)
        if not is_name(named) or not is_user_name(self.prefix + named) or len(listed) > _MAX_GROUPS:
            return UnprovenCaller(UnprovenReason.WRONG)
        return CallerIdentity(
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
