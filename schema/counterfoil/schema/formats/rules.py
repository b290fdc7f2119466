"""Every compatibility rule by its id: the tables of all languages together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.table import FORMATS
from counterfoil.schema.logical import rules as logical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule

RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {
    rule.id: rule for rules in (*(each.rules() for each in FORMATS), logical.RULES) for rule in rules
}
