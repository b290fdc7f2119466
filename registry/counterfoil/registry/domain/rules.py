"""Which rule sets are valid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import InvalidRuleSet
from counterfoil.schema.rest.schemas import MIGRATION_MODES, OTHER_MODES

if TYPE_CHECKING:
    from counterfoil.schema.model import Rule, RuleSet

_PAIRED_MODES: Final = frozenset({"UPDOWN", "WRITEREAD"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,255}")


def check_rule_set(rule_set: RuleSet | None) -> None:
    """Return when the rules are valid; else ``InvalidRuleSet`` naming the first that is not, and why."""
    if rule_set is None:
        return
    seen: set[str] = set()
    for rule in rule_set.migration_rules:
        _check(rule, seen, MIGRATION_MODES)
    for rule in (*rule_set.domain_rules, *rule_set.encoding_rules):
        _check(rule, seen, OTHER_MODES)


def _check(rule: Rule, seen: set[str], modes: tuple[str, ...]) -> None:
    if not _NAME.fullmatch(rule.name):
        raise InvalidRuleSet(
            f"Rule name {rule.name[:80]!r} is not valid; expected a letter or '_', then letters, digits, '_' or '-'"
        )
    if rule.name in seen:
        raise InvalidRuleSet(f"Rule name {rule.name!r} occurs twice; names are unique in a rule set")
    seen.add(rule.name)
    if not rule.type:
        raise InvalidRuleSet(f"Rule {rule.name!r} has no type; expected one such as 'CEL'")
    if rule.mode not in modes:
        raise InvalidRuleSet(f"Rule {rule.name!r} has mode {rule.mode}; expected one of {', '.join(modes)} here")
    for action in (rule.on_success, rule.on_failure):
        if action and "," in action and rule.mode not in _PAIRED_MODES:
            raise InvalidRuleSet(f"Rule {rule.name!r} has a list of actions; mode {rule.mode} takes a single one")
