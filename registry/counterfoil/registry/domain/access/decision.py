"""The decision: may a caller do something to a resource, and which rule says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from counterfoil.registry.domain.access.rules import ANONYMOUS, EVERYBODY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from counterfoil.registry.domain.access.identity import Identity
    from counterfoil.registry.domain.access.operations import Operation
    from counterfoil.registry.domain.access.resources import Resource
    from counterfoil.registry.domain.access.rules import Rule


class Decision(NamedTuple):
    """Whether something is allowed, and the rule that decided; None if no rule is about it."""

    allowed: bool
    by: Rule | None


def principals_of(identity: Identity) -> frozenset[str]:
    """Return the principals whose rules hold for a caller: the caller, its groups, and everybody if it has a name."""
    own = identity.groups | {identity.principal}
    return own if identity.principal == ANONYMOUS else own | {EVERYBODY}


def decide(rules: Iterable[Rule], principals: Collection[str], operation: Operation, resource: Resource) -> Decision:
    """Return whether a caller with ``principals`` may do ``operation`` to ``resource``.

    A denying rule is stronger than every allowing one that is not final; without a rule it is not allowed. The order
    of the rules has no effect on what is allowed.
    """
    allowing: Rule | None = None
    denying: Rule | None = None
    for rule in rules:
        if rule.principal in principals and operation in rule.affected and rule.pattern.covers(resource):
            if rule.is_final:
                return Decision(allowed=True, by=rule)
            if rule.allows:
                allowing = allowing or rule
            else:
                denying = denying or rule
    return Decision(allowed=denying is None and allowing is not None, by=denying or allowing)
