"""What an access file declares, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.registry.domain.access.names import USER
from counterfoil.registry.domain.access.rules import lets_anonymous_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from counterfoil.registry.auth.jwt.issuers import Issuer
    from counterfoil.registry.auth.passwords.verifier import StoredUser
    from counterfoil.registry.auth.proxy import TrustedProxy
    from counterfoil.registry.domain.access.operations import Operation
    from counterfoil.registry.domain.access.rules import Rule
    from counterfoil.schema.position import Position


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read: its digest and what ``stat`` returned; None for one that could not be read."""

    path: Path
    digest: bytes | None = None
    signature: tuple[int, int, int, int] | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was declared."""

    path: str
    position: Position

    def __str__(self) -> str:
        return f"{self.path}:{self.position.line}"


@dataclass(frozen=True, slots=True)
class AccessFile:
    """The content of an access file and of the files that it names.

    ``rules`` are all of them, with those of the administrators and of anonymous callers. ``groups`` has the members of
    each group, ``places`` where users and groups were declared, by principal. ``certificate_prefix`` is before the
    names of callers in their certificates, as the server's settings declare; None if these name nobody.
    """

    path: Path
    admins: tuple[str, ...] = ()
    issuers: tuple[Issuer, ...] = ()
    users: Mapping[str, StoredUser] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Mapping[str, frozenset[Operation]] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    open_paths: frozenset[bytes] = frozenset()
    proxy: TrustedProxy | None = None
    certificate_prefix: str | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    states: tuple[FileState, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The principals of its users, and its groups."""
        return tuple(self.places)

    @property
    def enabled(self) -> frozenset[str]:
        """The principals of its users that are not disabled."""
        return frozenset(USER + user.name for user in self.users.values() if not user.is_disabled)

    @property
    def foreign_prefixes(self) -> tuple[str, ...]:
        """What the names that issuers, a proxy and certificates give begin with; an empty text for any name."""
        return tuple(prefix for _, prefix in self.prefixes)

    @property
    def prefixes(self) -> tuple[tuple[str, str], ...]:
        """The sources of names outside of the file, each with the prefix of its names."""
        found = [(issuer.name, issuer.prefix) for issuer in self.issuers]
        found += [("the proxy", self.proxy.prefix)] if self.proxy is not None else []
        found += [("client certificates", self.certificate_prefix)] if self.certificate_prefix is not None else []
        return tuple(found)

    @property
    def has_anonymous(self) -> bool:
        """Whether requests without credentials are let in: some rule gives rights to them."""
        return lets_anonymous_in(self.rules)
