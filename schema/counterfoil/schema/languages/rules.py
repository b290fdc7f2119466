"""Every compatibility rule by its id: the tables of all languages together, and the advice about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterfoil.schema.compatibility import Direction
from counterfoil.schema.compatibility.findings import CompatibilityRule, Sentence, SideNames
from counterfoil.schema.languages import logical_rules as logical
from counterfoil.schema.languages.table import SCHEMA_LANGUAGES, language_for

RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {
    rule.id: rule for rules in (*(each.rules() for each in SCHEMA_LANGUAGES), logical.RULES) for rule in rules
}

ADVICE_NAMES: Final = SideNames("this schema", "the earlier schema", "this schema's", "the earlier schema's")
"""The names of the two sides in advice about a schema that fails to read."""


def advice_of_rule(rule: str, direction: Direction | None = None) -> str:
    """Return how to fix a finding of a compatibility rule; empty for an unknown rule, or if nothing needs to be fixed.

    With ``Direction.FORWARD`` the failing reader is an earlier schema, which a change cannot fix; with ``BACKWARD`` it
    is the schema that is checked, and the text names it so.
    """
    known = RULE_BY_ID.get(rule)
    if known is None:
        return ""
    if direction is Direction.FORWARD and known.breaks and known.schema_type is not None:
        return known.forward_fix or language_for(known.schema_type).forward_fix
    return Sentence(known.fix).render(ADVICE_NAMES) if direction is Direction.BACKWARD else known.fix
