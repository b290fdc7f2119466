"""What a store declares about access, as one value: who exists, and the rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.names import SERVICE, USER
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.patterns import parse_pattern
from counterfoil.registry.domain.access.roles import ALIASES, ROLES
from counterfoil.registry.domain.access.rules import Rule, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.registry.domain.access.records import (
        AccessBinding,
        AccessRole,
        AccessService,
        AccessToken,
        AccessUser,
        TokenScope,
    )

OPERATIONS_BY_WORD: Final[Mapping[str, frozenset[Operation]]] = {
    **{operation.value: frozenset({operation}) for operation in Operation},
    **ROLES,
    **ALIASES,
}
"""What the names of operations and of built-in roles stand for."""


@dataclass(frozen=True)
class StoredAccess:
    """The records about access of one store, as of ``revision``; ``revisions`` are those of the bindings.

    ``is_required``: every server on the store demands credentials.
    """

    is_required: bool = False
    revision: int = 0
    users: Mapping[str, AccessUser] = field(default_factory=dict)
    services: Mapping[str, AccessService] = field(default_factory=dict)
    tokens: Mapping[str, AccessToken] = field(default_factory=dict)
    bindings: Mapping[str, AccessBinding] = field(default_factory=dict)
    roles: Mapping[str, AccessRole] = field(default_factory=dict)
    revisions: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever stored."""
        return not self.revision

    @cached_property
    def words(self) -> Mapping[str, frozenset[Operation]]:
        """What names of operations and roles stand for, with the roles of the store."""
        own = {name: _known(role.operations) for name, role in self.roles.items()}
        return {**own, **OPERATIONS_BY_WORD}

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The bindings as rules."""
        return tuple(self._rule(each) for each in self.bindings.values())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The principals of users and services."""
        return (*(USER + name for name in self.users), *(SERVICE + name for name in self.services))

    def operations_of(self, role: AccessRole) -> frozenset[Operation]:
        """Return what a role of the store stands for, as far as this version knows it."""
        return _known(role.operations)

    def scopes(self, token: AccessToken) -> tuple[Scope, ...] | None:
        """Return what a token is limited to; None for one without scopes."""
        if not token.is_scoped:
            return None
        return tuple(self.scope(each) for each in token.scopes)

    def scope(self, given: TokenScope) -> Scope:
        """Return a limit of a token."""
        return Scope(self._operations(given.operations, whole=False), parse_pattern(given.on))

    def has_active(self, principal: str) -> bool:
        """Return whether a principal is an enabled user or service of the store."""
        user, service = self.users.get(principal.removeprefix(USER)), self.services.get(principal.removeprefix(SERVICE))
        if principal.startswith(USER):
            return user is not None and not user.is_disabled
        return service is not None and not service.is_disabled

    def _rule(self, binding: AccessBinding) -> Rule:
        operations = self._operations(binding.operations, whole=not binding.allows)
        return Rule(binding.principal, binding.allows, operations, parse_pattern(binding.on), f"binding {binding.id}")

    def _operations(self, words: Iterable[str], *, whole: bool) -> frozenset[Operation]:
        """Return what ``words`` stand for. One that is not known is nothing, or with ``whole`` everything."""
        unknown = frozenset(Operation) if whole else frozenset[Operation]()
        return frozenset[Operation]().union(*(self.words.get(word, unknown) for word in words))


def _known(words: Iterable[str]) -> frozenset[Operation]:
    """Return the operations that this version knows."""
    return frozenset[Operation]().union(*(OPERATIONS_BY_WORD.get(word, frozenset()) for word in words))
