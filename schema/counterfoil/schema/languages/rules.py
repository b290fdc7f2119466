"""Every compatibility rule by its id: the tables of all languages together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages import logical_rules as logical
from counterfoil.schema.languages.table import SCHEMA_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule


RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {
    rule.id: rule for rules in (*(each.rules() for each in SCHEMA_LANGUAGES), logical.RULES) for rule in rules
}
