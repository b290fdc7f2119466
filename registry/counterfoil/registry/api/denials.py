"""The errors for callers without a right: what is denied, and what they may do there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.access.names import GROUP
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.patterns import pattern_of
from counterfoil.registry.domain.access.resources import REGISTRY
from counterfoil.registry.domain.audit.events import context_facts
from counterfoil.schema.errors import Forbidden

if TYPE_CHECKING:
    from counterfoil.registry.domain.access.caller import Caller
    from counterfoil.registry.domain.access.resources import Resource

DENIED: Final = "User is denied operation on this server."


class ScopeTooNarrow(Forbidden):
    """The caller would have the right, but the scopes of its token do not include it."""


def denied(caller: Caller, operation: Operation, resource: Resource, *, named: Resource | None = None) -> Forbidden:
    """Return the error for ``operation``, which ``caller`` may not do to ``resource``.

    ``named`` is what the request names, if it is something else. Who may not do ``operation`` to an alias either gets
    the error for a name that is no alias; to others there is no command that explains the denial, since it would show
    whose alias it is.
    """
    if named is not None and not caller.rights.allows(operation, named):
        resource = named
    command = "" if named not in {None, resource} else _command(caller, operation, resource)
    named = named or resource
    is_allowed = caller.rights.decision(operation, resource).allowed
    kind = ScopeTooNarrow if is_allowed else Forbidden
    if named == REGISTRY:
        return kind(DENIED)
    own = [each.value for each in Operation if caller.rights.allows(each, resource)]
    has = f"may {', '.join(own)} there" if own else "has no rights there"
    return kind(f"User is denied operation {_word(operation)} on {named}; {caller.name} {has}{command}")


def refused_facts(caller: Caller, operation: Operation, resource: Resource) -> dict[str, str]:
    """Return what the audit says of a denial: the operation, the resource, and the rule that decided, if one did.

    If that is a rule for a group of the caller, it is named.
    """
    facts = {"operation": operation.value, "resource": str(resource), **context_facts(resource)}
    decision = caller.rights.decision(operation, resource)
    if decision.allowed or decision.by is None:
        return facts
    principal = decision.by.principal
    group = {"group": principal} if principal.startswith(GROUP) else {}
    return {**facts, "rule": decision.by.source, **group}


def _command(caller: Caller, operation: Operation, resource: Resource) -> str:
    """Return the end of a sentence with the command that names the rules; an empty text for an anonymous caller."""
    if not caller.is_member:
        return ""
    words = (caller.name, operation.value, str(pattern_of(resource)))
    return f"; `counterfoil auth can {' '.join(map(shlex.quote, words))}` explains it"


def _word(operation: Operation) -> str:
    """Return the name of an operation as Kafka prints it.

    >>> _word(Operation.ALTER_CONFIGS)
    'AlterConfigs'
    """
    return operation.value.title().replace("_", "")
