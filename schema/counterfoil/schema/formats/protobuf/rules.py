"""Every rule of Protobuf: those of Confluent, of SOUND, and of WIRE and WIRE_JSON."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.formats.protobuf.compare.rules import CONFLUENT_RULES
from counterfoil.schema.formats.protobuf.compare.sound_rules import SOUND_RULES
from counterfoil.schema.formats.protobuf.wire.rules import WIRE_RULES

RULES: Final = (*CONFLUENT_RULES, *SOUND_RULES, *WIRE_RULES)
