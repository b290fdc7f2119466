"""Every compatibility rule by its id: the tables of all languages together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.languages import logical_rules as logical
from counterfoil.schema.languages.table import SCHEMA_LANGUAGES

RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {
    rule.id: rule for rules in (*(each.rules() for each in SCHEMA_LANGUAGES), logical.RULES) for rule in rules
}
