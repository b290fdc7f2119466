"""Whether somebody can change who may do what: a change after which nobody could is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from counterfoil.registry.domain.access.decision import decide
from counterfoil.registry.domain.access.names import SERVICE, USER
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.questions import Declarations, principals_named
from counterfoil.registry.domain.access.resources import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from counterfoil.registry.domain.access.rules import Rule
    from counterfoil.registry.domain.access.stored import StoredAccess


class FileDeclarations(Declarations, Protocol):
    """What an access file declares."""

    @property
    def admins(self) -> tuple[str, ...]:
        """The administrators, from whom no rule takes anything away."""

    @property
    def enabled(self) -> Collection[str]:
        """The principals of its users that are not disabled."""

    @property
    def foreign_prefixes(self) -> tuple[str, ...]:
        """What the names that issuers, a proxy and certificates give begin with; an empty text for any name."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What an access file declares; by default nothing, as without one."""

    rules: tuple[Rule, ...] = ()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    enabled: tuple[str, ...] = ()
    foreign_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class United:
    """What an access file and a store declare together; a denial of either is stronger than what the other allows."""

    rules: tuple[Rule, ...]
    groups: Mapping[str, frozenset[str]]
    names: tuple[str, ...]


def united(file: Declarations, stored: StoredAccess) -> United:
    """Return what both declare."""
    return United((*file.rules, *stored.rules), file.groups, tuple(dict.fromkeys((*file.names, *stored.names))))


def has_administrator(file: FileDeclarations, stored: StoredAccess) -> bool:
    """Return whether somebody who can prove who it is may change who may do what."""
    both = united(file, stored)
    named = [rule.principal for rule in both.rules if rule.allows]
    named += [member for members in both.groups.values() for member in members]
    return any(
        decide(both.rules, principals_named(both, name, ()), Operation.ALTER_ACCESS, REGISTRY).allowed
        for name in dict.fromkeys((*named, *both.names))
        if _can_prove_itself(name, file, stored)
    )


def _can_prove_itself(principal: str, file: FileDeclarations, stored: StoredAccess) -> bool:
    """Return whether somebody can call as ``principal``, or as a member of it.

    Of names that an issuer or a proxy gives, and of the members of its groups, this is assumed.
    """
    word, _, name = principal.partition(":")
    if any(name.startswith(prefix) for prefix in file.foreign_prefixes) and f"{word}:" != SERVICE:
        return True
    if f"{word}:" == USER:
        return stored.has_active(principal) or principal in file.enabled
    return stored.has_active(principal) and any(
        token.owner == principal and not token.is_revoked and not token.is_scoped for token in stored.tokens.values()
    )
