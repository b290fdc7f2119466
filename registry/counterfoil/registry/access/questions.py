"""Questions about declarations: who may do something, by which rule, and whether somebody can change it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.access.identity import CallerIdentity
from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rights import decide, principals_of
from counterfoil.registry.access.rules import (
    EVERYBODY,
    GROUP,
    SERVICE,
    USER,
    InvalidPattern,
    is_name,
    parse_pattern,
    rule_text,
)
from counterfoil.schema.documents import likely
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from counterfoil.registry.access.records import StoredAccess
    from counterfoil.registry.access.rules import AccessRule


# Questions about what was declared: may a caller do something, who may, and which rule says so.

_MOST_NEAR: Final = 5
_FIELDS: Final = {
    ResourceKind.REGISTRY: (),
    ResourceKind.CONTEXT: ("context",),
    ResourceKind.SUBJECT: ("name", "context"),
}
"""What identifies a resource, where it is not its name alone."""


class Declarations(Protocol):
    """The declarations of an access file, a store, or both: rules, members of groups, and names of callers."""

    @property
    def rules(self) -> tuple[AccessRule, ...]:
        """All rules."""

    @property
    def groups(self) -> Mapping[str, frozenset[str]]:
        """The members of each group."""

    @property
    def names(self) -> tuple[str, ...]:
        """The principals of users, services and groups."""


class InvalidQuestion(CounterfoilError):
    """A question about something that does not exist: an operation, a resource."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """Whether something is allowed, the rule that decided, and the rules that came near it."""

    allowed: bool
    by: AccessRule | None
    near: tuple[AccessRule, ...]


def parse_operation(text: str) -> AccessOperation:
    """Return the operation with this name, in any letter case."""
    try:
        return AccessOperation(text.upper())
    except ValueError:
        names = [operation.value for operation in AccessOperation]
        raise InvalidQuestion(f"{text} is not an operation; {likely(text.upper(), names)}") from None


def parse_principal(text: str) -> str:
    """Return a principal such as ``User:alice``."""
    word, colon, name = text.partition(":")
    if f"{word}{colon}" not in {USER, SERVICE, GROUP} or not is_name(name):
        raise InvalidQuestion(f"{text} is no principal; expected User:NAME, Service:NAME or Group:NAME")
    return text


def parse_resource(text: str) -> AccessResource:
    """Return the resource that ``text`` names, in the form of patterns without a star.

    >>> parse_resource(":.c:orders-value")
    AccessResource(kind=<ResourceKind.SUBJECT: 'subject'>, name='orders-value', context='.c')
    """
    try:
        pattern = parse_pattern(text)
    except InvalidPattern as mistake:
        raise InvalidQuestion(str(mistake)) from None
    fields = _FIELDS.get(pattern.kind, ("name",))
    globs = {field: getattr(pattern, field) for field in fields}
    if not all(glob.is_literal for glob in globs.values()):
        raise InvalidQuestion(f"{text} is a pattern; expected one resource, such as orders-value or registry")
    return AccessResource(pattern.kind, **{field: glob.parts[0] for field, glob in globs.items()})


def may(
    declared: Declarations, principal: str, groups: Iterable[str], operation: AccessOperation, resource: AccessResource
) -> AccessAnswer:
    """Return whether ``principal``, with the declared groups and ``groups``, may do ``operation``."""
    own = principals_named(declared, principal, groups)
    found = decide(declared.rules, own, operation, resource)
    near = [rule for rule in declared.rules if rule is not found.by and rule.principal in own]
    near = [rule for rule in near if operation in rule.affected or rule.pattern.covers(resource)]
    return AccessAnswer(found.allowed, found.by, tuple(near[:_MOST_NEAR]))


def who_can(
    declared: Declarations, operation: AccessOperation, resource: AccessResource
) -> tuple[tuple[str, AccessRule], ...]:
    """Return the declared principals that may do ``operation`` to ``resource``, each with the deciding rule."""
    named = [rule.principal for rule in declared.rules]
    named += list(declared.names)
    named += [member for members in declared.groups.values() for member in sorted(members)]
    found = (
        (name, decide(declared.rules, principals_named(declared, name, ()), operation, resource))
        for name in dict.fromkeys(named)
    )
    return tuple((name, decision.by) for name, decision in found if decision.allowed and decision.by is not None)


def shown_rule(rule: AccessRule) -> str:
    """Return a rule as a line: its place and its text."""
    return f"{rule.source}: {rule_text(rule)}"


def principals_named(declared: Declarations, principal: str, groups: Iterable[str]) -> frozenset[str]:
    """Return the principals whose rules hold for ``principal``, with the declared groups and ``groups``."""
    if principal == EVERYBODY:
        return frozenset({EVERYBODY})
    own = frozenset(group for group, members in declared.groups.items() if principal in members)
    return principals_of(CallerIdentity(principal, own | frozenset(groups)))


# Whether somebody can change who may do what: a change after which nobody could is refused.


class FileDeclarations(Declarations, Protocol):
    """The declarations of an access file."""

    @property
    def admins(self) -> tuple[str, ...]:
        """The administrators, from whom no rule takes anything away."""

    @property
    def enabled(self) -> Collection[str]:
        """The principals of its users that are not disabled."""

    @property
    def foreign_prefixes(self) -> tuple[str, ...]:
        """The beginnings of the names that issuers, a proxy and certificates give; an empty text for any name."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The declarations of an access file; by default none, as without a file."""

    rules: tuple[AccessRule, ...] = ()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    enabled: tuple[str, ...] = ()
    foreign_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class United:
    """The declarations of an access file and a store; a denial of either is stronger than a permission of the other."""

    rules: tuple[AccessRule, ...]
    groups: Mapping[str, frozenset[str]]
    names: tuple[str, ...]


def united(file: Declarations, stored: StoredAccess) -> United:
    """Return the declarations of both."""
    return United((*file.rules, *stored.rules), file.groups, tuple(dict.fromkeys((*file.names, *stored.names))))


def has_administrator(file: FileDeclarations, stored: StoredAccess) -> bool:
    """Return whether somebody who can prove an identity may change rights."""
    both = united(file, stored)
    named = [rule.principal for rule in both.rules if rule.allows]
    named += [member for members in both.groups.values() for member in members]
    return any(
        decide(both.rules, principals_named(both, name, ()), AccessOperation.ALTER_ACCESS, REGISTRY).allowed
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
