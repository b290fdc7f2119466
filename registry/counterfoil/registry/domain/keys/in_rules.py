"""The names of keys in rules that encrypt, filled in when a rule has only a key id.

Source: Confluent's documentation of client-side field level encryption, for the names of the parameters.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.schema.model import Rule, RuleSet

_KEY_ID: Final = "encrypt.kms.key.id"
_KMS_TYPE: Final = "encrypt.kms.type"
_KEK_NAME: Final = "encrypt.kek.name"
_AWS_MARK: Final = "arn:"
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")


def with_key_names(rule_set: RuleSet | None) -> RuleSet | None:
    """Return ``rule_set`` with the key's name in each domain rule with a key id, and for AWS also the key's type."""
    if rule_set is None or not any(_KEY_ID in rule.params for rule in rule_set.domain_rules):
        return rule_set
    return replace(rule_set, domain_rules=tuple(_completed(rule) for rule in rule_set.domain_rules))


def _completed(rule: Rule) -> Rule:
    key_id = rule.params.get(_KEY_ID)
    if not key_id:
        return rule
    params = {_KEK_NAME: _ILLEGAL.sub("-", key_id.removeprefix(_AWS_MARK)), **rule.params}
    if key_id.startswith(_AWS_MARK):
        params = {_KMS_TYPE: "aws-kms", **params}
    return replace(rule, params=dict(sorted(params.items())))
