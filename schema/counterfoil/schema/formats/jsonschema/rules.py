"""Every rule of JSON Schema: those of Confluent and those of SOUND."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.formats.jsonschema.compare import rules as confluent
from counterfoil.schema.formats.jsonschema.sound import rules as sound

RULES: Final = (*confluent.RULES, *sound.RULES)
