"""What callers may grant to others: nothing that they do not have themselves, unless they may change all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.api.denials import DENIED
from counterfoil.registry.domain.access.operations import Operation, allowed_by
from counterfoil.registry.domain.access.resources import REGISTRY
from counterfoil.registry.domain.access.rules import ANONYMOUS
from counterfoil.schema.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.registry.api.call import Call
    from counterfoil.registry.domain.access.patterns import Pattern
    from counterfoil.registry.domain.access.rules import Rule, Scope


def require_administrator(call: Call) -> None:
    """Raise ``Forbidden`` unless the caller may change who may do what."""
    call.require(Operation.ALTER_ACCESS, REGISTRY)


def permit_rule(call: Call, rule: Rule) -> None:
    """Raise ``Forbidden`` unless the caller may make ``rule``.

    Who may not change all rules grants operations that it has, on patterns inside one where it may grant, to callers
    with credentials.
    """
    if call.may(Operation.ALTER_ACCESS, REGISTRY):
        return
    if not rule.allows or rule.principal == ANONYMOUS:
        raise Forbidden(f"{DENIED} A rule that denies, and one for anonymous callers, needs ALTER_ACCESS")
    _require_all(call, {Operation.GRANT, *rule.affected}, rule.pattern)


def permit_held_rule(call: Call, rule: Rule) -> None:
    """Raise ``Forbidden``, as for a rule that does not exist, unless the caller may change or delete ``rule``."""
    try:
        permit_rule(call, rule)
    except Forbidden:
        require_administrator(call)


def permit_own_scopes(call: Call, scopes: Sequence[Scope]) -> None:
    """Raise ``Forbidden`` if a scope of the caller's own token has more than the caller."""
    for each in scopes:
        _require_all(call, allowed_by(each.operations), each.pattern)


def _require_all(call: Call, operations: Iterable[Operation], pattern: Pattern) -> None:
    missing = [each.value for each in operations if call.caller is None or not call.caller.rights.holds(each, pattern)]
    if missing:
        raise Forbidden(f"{DENIED} {call.caller_name} does not have {', '.join(sorted(missing))} on all of {pattern}")
