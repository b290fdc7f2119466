"""Callers of a registry that demands credentials: the name of each is its token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.access.gate import AccessControl
from counterfoil.registry.access.identity import CallerIdentity, UnprovenCaller, UnprovenReason
from counterfoil.registry.access.resources import ROLES, AccessOperation
from counterfoil.registry.access.rules import (
    ANONYMOUS,
    EVERYTHING,
    OperationScope,
    RulesInForce,
    administrator,
    allow,
    parse_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.access.identity import PresentedCredentials
    from counterfoil.registry.access.rules import AccessRule

OWN = ("own.*", ":.own:*", "context:.own", "kek:own*", "application:own*", "environment:own*", "bridge:own*")
ADMIN = "admin"
TEAM = ("reader", "developer", "owner")
CALLERS = ("nobody", *TEAM, "operator", "auditor", ADMIN, "scoped")


class NamedCallers:
    """Accepts a token that is the name of a caller; ``Basic`` and other names are wrong."""

    takes_bearer = True

    def __init__(self, names: Iterable[str] = CALLERS, *, lets_anonymous_in: bool = False) -> None:
        self._identities = {
            name: CallerIdentity(f"User:{name}", method="token", scopes=SCOPES if name == "scoped" else None)
            for name in names
        }
        self._anonymous = (
            CallerIdentity(ANONYMOUS, method="anonymous")
            if lets_anonymous_in
            else UnprovenCaller(UnprovenReason.MISSING)
        )
        self.refusal: UnprovenCaller | None = None
        """Whatever is sent, the answer, for tests of the answer."""

    def recall(self, header: bytes, /) -> None:
        """Return None: every header is examined."""

    async def authenticate(self, credentials: PresentedCredentials) -> CallerIdentity | UnprovenCaller:
        if self.refusal is not None:
            return self.refusal
        if credentials.authorization is None:
            return self._anonymous
        name = credentials.authorization.decode().removeprefix("Bearer ")
        return self._identities.get(
            name, UnprovenCaller(UnprovenReason.EXPIRED if name == "expired" else UnprovenReason.WRONG)
        )

    def revoke(self, name: str) -> None:
        del self._identities[name]

    def admit(self, name: str) -> None:
        """Accept the token of a caller, again after it was revoked."""
        self._identities[name] = CallerIdentity(f"User:{name}", method="token")


SCOPES = (OperationScope(frozenset({AccessOperation.READ}), parse_pattern("own.*")),)


def rules_of_teams() -> tuple[AccessRule, ...]:
    """Return the rules of the matrix: roles for the team's own things, roles for the whole registry."""
    roles = [*TEAM, "scoped"]
    team = [
        allow(f"User:{name}", ROLES["owner" if name == "scoped" else name], parse_pattern(text))
        for name in roles
        for text in OWN
    ]
    whole = [allow(f"User:{name}", ROLES[name], EVERYTHING) for name in ("operator", "auditor")]
    return (*team, *whole, administrator(f"User:{ADMIN}"))


class Rules:
    """The rules in force, which a test can replace."""

    def __init__(self, rules: Iterable[AccessRule] = (), *open_paths: bytes) -> None:
        self.open_paths = frozenset(open_paths)
        self.set(rules)

    def set(self, rules: Iterable[AccessRule]) -> None:
        self._policy = RulesInForce(tuple(rules), self.open_paths)

    def __call__(self) -> RulesInForce:
        return self._policy


def access(
    rules: Rules | None = None, callers: NamedCallers | None = None, *, lets_anonymous_in: bool = False
) -> AccessControl:
    """Return the access control of an application, by default that of the matrix."""
    callers = callers or NamedCallers(lets_anonymous_in=lets_anonymous_in)
    return AccessControl(callers, rules or Rules(rules_of_teams()))
