"""Conversions between schemas of any two languages for the engine ``java``, and framed messages that are broken."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.java.engine import JavaEngine
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import Deriver
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of

if TYPE_CHECKING:
    import random

    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.parsed import ParsedSchema

SOURCE_ID: Final = 7
TARGET_ID: Final = 9


def conversion_of(source: ParsedSchema, target: ParsedSchema, rules: dict[str, Any] | None = None) -> Conversion | None:
    """Return the plan that casts without rules; None if there is no plan."""
    plan = Deriver(parse_rules(rules or {}, "rest"), needs_rules=False).derive(source, target)
    return None if plan.problems else Conversion(plan, {SOURCE_ID: source}, TARGET_ID)


def schema(content: Any) -> ParsedSchema:
    """Return the schema of a text of Protobuf, or of a document of Avro or JSON Schema."""
    if isinstance(content, str):
        return parse_schema(content, SchemaType.PROTOBUF)
    if content.get("type") == "record":
        return avro(content)
    return parse_schema(json.dumps(content), SchemaType.JSON, validation=Validation.LENIENT)


def avro(content: Any) -> AvroSchema:
    """Return the schema of a document of Avro."""
    return parse_avro(json.dumps(content), validation=Validation.LENIENT)


@cache
def class_in(text: str) -> Any:
    """Return the class of the first message."""
    descriptor = MessageTypes(pooled_file(schema(text), text)).find(None)  # type: ignore[arg-type]
    assert descriptor is not None
    return class_of(descriptor)


def broken(rng: random.Random, data: bytes) -> bytes:
    """Return a framed message with bytes changed, repeated, cut off or added."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 2])):
        if len(made) > 6:
            made[rng.randrange(6, len(made))] = rng.choice([rng.randrange(256), 255, 128, 0, 2, 34, 92])
    if rng.random() < 0.2 and len(made) > 6:
        start = rng.randrange(6, len(made))
        made += made[start : rng.randrange(start, len(made)) + 1]
    cut = rng.choice([0, 0, 1, 2, -1, -9])
    return bytes(made[: len(made) - cut]) if cut >= 0 else bytes(made) + rng.randbytes(-cut)


def covers(conversion: Conversion) -> bool:
    """Return whether the engine has the plan."""
    try:
        JavaEngine(conversion)
    except EngineCannot:
        return False
    return True
