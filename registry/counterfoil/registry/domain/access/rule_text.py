"""A rule as a sentence, for answers and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.registry.domain.access.rules import Rule


def rule_text(rule: Rule) -> str:
    """Return what a rule says, without its place."""
    if rule.is_final:
        return f"{rule.principal} is one of the admins"
    operations = ", ".join(sorted(operation.value for operation in rule.operations))
    return f"{'allow' if rule.allows else 'deny'} {operations} to {rule.principal} on {rule.pattern}"
