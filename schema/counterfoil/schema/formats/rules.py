"""Every compatibility rule, by its id: the tables of all languages, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro import rules as avro

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule

RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {rule.id: rule for rule in avro.RULES}
