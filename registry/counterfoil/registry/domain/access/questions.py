"""Questions about what was declared: may a caller do something, who may, and which rule says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.domain.access.decision import decide, principals_of
from counterfoil.registry.domain.access.identity import Identity
from counterfoil.registry.domain.access.names import GROUP, SERVICE, USER, is_name
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.patterns import InvalidPattern, parse_pattern
from counterfoil.registry.domain.access.resources import Kind, Resource
from counterfoil.registry.domain.access.rule_text import rule_text
from counterfoil.registry.domain.access.rules import EVERYBODY
from counterfoil.schema.documents.blocks import likely
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.registry.domain.access.rules import Rule

_MOST_NEAR: Final = 5
_FIELDS: Final = {Kind.REGISTRY: (), Kind.CONTEXT: ("context",), Kind.SUBJECT: ("name", "context")}
"""What identifies a resource, where it is not its name alone."""


class Declarations(Protocol):
    """What an access file declares, a store, or both: the rules, the members of groups, and the names of callers."""

    @property
    def rules(self) -> tuple[Rule, ...]:
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
class Answer:
    """Whether something is allowed, the rule that decided, and the rules that came near it."""

    allowed: bool
    by: Rule | None
    near: tuple[Rule, ...]


def parse_operation(text: str) -> Operation:
    """Return the operation with this name, in any letter case."""
    try:
        return Operation(text.upper())
    except ValueError:
        names = [operation.value for operation in Operation]
        raise InvalidQuestion(f"{text} is not an operation; {likely(text.upper(), names)}") from None


def parse_principal(text: str) -> str:
    """Return a principal such as ``User:alice``."""
    word, colon, name = text.partition(":")
    if f"{word}{colon}" not in {USER, SERVICE, GROUP} or not is_name(name):
        raise InvalidQuestion(f"{text} is no principal; expected User:NAME, Service:NAME or Group:NAME")
    return text


def parse_resource(text: str) -> Resource:
    """Return the resource that ``text`` names, in the form of patterns without a star.

    >>> parse_resource(":.c:orders-value")
    Resource(kind=<Kind.SUBJECT: 'subject'>, name='orders-value', context='.c')
    """
    try:
        pattern = parse_pattern(text)
    except InvalidPattern as mistake:
        raise InvalidQuestion(str(mistake)) from None
    fields = _FIELDS.get(pattern.kind, ("name",))
    globs = {field: getattr(pattern, field) for field in fields}
    if not all(glob.is_literal for glob in globs.values()):
        raise InvalidQuestion(f"{text} is a pattern; expected one resource, such as orders-value or registry")
    return Resource(pattern.kind, **{field: glob.parts[0] for field, glob in globs.items()})


def may(
    declared: Declarations, principal: str, groups: Iterable[str], operation: Operation, resource: Resource
) -> Answer:
    """Return whether ``principal``, with the declared groups and ``groups``, may do ``operation``."""
    own = principals_named(declared, principal, groups)
    found = decide(declared.rules, own, operation, resource)
    near = [rule for rule in declared.rules if rule is not found.by and rule.principal in own]
    near = [rule for rule in near if operation in rule.affected or rule.pattern.covers(resource)]
    return Answer(found.allowed, found.by, tuple(near[:_MOST_NEAR]))


def who_can(declared: Declarations, operation: Operation, resource: Resource) -> tuple[tuple[str, Rule], ...]:
    """Return the declared principals that may do ``operation`` to ``resource``, each with the deciding rule."""
    named = [rule.principal for rule in declared.rules]
    named += list(declared.names)
    named += [member for members in declared.groups.values() for member in sorted(members)]
    found = (
        (name, decide(declared.rules, principals_named(declared, name, ()), operation, resource))
        for name in dict.fromkeys(named)
    )
    return tuple((name, decision.by) for name, decision in found if decision.allowed and decision.by is not None)


def shown_rule(rule: Rule) -> str:
    """Return a rule as a line: where it is, and what it says."""
    return f"{rule.source}: {rule_text(rule)}"


def principals_named(declared: Declarations, principal: str, groups: Iterable[str]) -> frozenset[str]:
    """Return the principals whose rules hold for ``principal``, with the declared groups and ``groups``."""
    if principal == EVERYBODY:
        return frozenset({EVERYBODY})
    own = frozenset(group for group, members in declared.groups.items() if principal in members)
    return principals_of(Identity(principal, own | frozenset(groups)))
