"""Who calls: what a request brings as proof, and what is known of the caller after it was examined."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.registry.domain.access.rules import Scope


@dataclass(frozen=True, slots=True)
class Credentials:
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
class Identity:
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
    scopes: tuple[Scope, ...] | None = None
    act: str | None = None


class Reason(Enum):
    """Why no caller was accepted; the value is the word in measures."""

    MISSING = "missing"  # no credentials, and anonymous callers are not let in
    WRONG = "wrong"  # whatever is wrong: one answer for all
    EXPIRED = "expired"  # a token that was right once
    MALFORMED = "malformed"  # the request itself is wrong, such as two Authorization headers
    THROTTLED = "throttled"  # too many failures
    UNAVAILABLE = "unavailable"  # it cannot be decided now: keys were never fetched, or the store cannot be reached


@dataclass(frozen=True, slots=True)
class Refusal:
    """No caller: why, and for ``THROTTLED`` and ``UNAVAILABLE`` after how many seconds to try again.

    ``method`` is how the caller was to be proven; an empty text if nothing was sent.
    """

    reason: Reason
    retry_after_s: int | None = None
    method: str = field(default="", compare=False)


class Proof(Protocol):
    """A caller that was proven before, by credentials that a next request may repeat."""

    @property
    def identity(self) -> Identity:
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

    def recall(self, header: bytes, /) -> Proof | None:
        """Return what a header ``Authorization`` has proven before, if that still holds."""
        ...

    async def authenticate(self, credentials: Credentials) -> Identity | Refusal:
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
