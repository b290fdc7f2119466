"""Every compatibility rule, by its id: the tables of all languages, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.compare import rules as avro
from counterfoil.schema.formats.jsonschema.compare import rules as jsonschema
from counterfoil.schema.formats.protobuf.compare import rules as protobuf
from counterfoil.schema.logical import rules as logical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule

RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {
    rule.id: rule for rules in (avro.RULES, protobuf.RULES, jsonschema.RULES, logical.RULES) for rule in rules
}
