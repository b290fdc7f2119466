"""The rules of compatibility, with the examples that ``make docs`` writes from ``tests/rules``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.errors import NotFound
from counterfoil.schema.languages.rules import RULE_BY_ID
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.inspection import RULE_EXAMPLE, RuleExample, RuleInspection, RuleRow, RuleRows
from counterfoil.schema.rest.object_forms import ReplyJson

_EXAMPLES: Final = "examples/rules.json"


def rule_rows(
    *, schema_type: SchemaType | None = None, policy: CompatibilityPolicy | None = None, query: str = ""
) -> RuleRows:
    """Return the rules of a language that break under a policy and have the words of a query, in any letter case."""
    words = query.lower().split()
    return RuleRows(
        tuple(
            _row(rule)
            for rule in RULE_BY_ID.values()
            if schema_type in {None, rule.schema_type}
            and (policy is None or policy in rule.breaks)
            and all(word in _searched(rule) for word in words)
        )
    )


def rule_page(rule_id: str) -> RuleInspection:
    """Return a rule with its reasons and its example; raise ``NotFound``."""
    rule = RULE_BY_ID.get(rule_id)
    if rule is None:
        raise NotFound(f"There is no compatibility rule {rule_id[:80]!r}; GET /inspect/v1/rules lists all of them")
    return RuleInspection(_row(rule), rule.why, rule.fix, rule.forward_fix, _examples().get(rule_id))


def _row(rule: CompatibilityRule) -> RuleRow:
    schema_type = "" if rule.schema_type is None else rule.schema_type.value
    policies = tuple(policy.value for policy in CompatibilityPolicy if policy in rule.breaks)
    return RuleRow(rule.id, schema_type, rule.sentence, policies, rule.error_type)


def _searched(rule: CompatibilityRule) -> str:
    return f"{rule.id}\n{rule.error_type}\n{rule.sentence}\n{rule.why}\n{rule.fix}".lower()


@cache
def _examples() -> Mapping[str, RuleExample]:
    text = files(__package__).joinpath(_EXAMPLES).read_text(encoding="utf-8")
    return {rule_id: RULE_EXAMPLE.read(ReplyJson(each)) for rule_id, each in json.loads(text).items()}
