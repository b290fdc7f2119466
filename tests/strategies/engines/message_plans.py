"""Plans between schemas of the three languages, and single messages through them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import converter_of, recipe_of
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.plans.model import ConversionPlan

SOURCE_ID, TARGET_ID = 7, 9


def avro(*fields: tuple[str, Any]) -> ParsedSchema:
    members = [{"name": name, "type": kind} for name, kind in fields]
    return parse_schema(json.dumps({"type": "record", "name": "Ride", "fields": members}))


def js(properties: dict[str, Any], *required: str, **more: Any) -> ParsedSchema:
    document = {"type": "object", "properties": properties, "required": list(required), **more}
    return parse_schema(json.dumps(document), SchemaType.JSON)


def proto(body: str, *, syntax: str = "proto3") -> ParsedSchema:
    words = ("timestamp", "wrappers", "duration", "struct")
    imports = "".join(f'import "google/protobuf/{word}.proto"; ' for word in words)
    text = f'syntax = "{syntax}"; {imports} import "google/type/date.proto"; message Ride {{ {body} }}'
    return parse_schema(text, SchemaType.PROTOBUF)


def plan_of(source: ParsedSchema, target: ParsedSchema, drop: Any = None, **rules: Any) -> ConversionPlan:
    return derive_plan(source, target, parse_rules(rules, drop))


def converted(plan: ConversionPlan, body: bytes) -> bytes | str:
    """The converted body without its frame, or the field and code of the failure."""
    assert not plan.problems, plan.problems
    converter = converter_of(recipe_of(Conversion(plan, {SOURCE_ID: plan.source}, TARGET_ID)).packed)
    outcome = converter.convert_value(frame(SOURCE_ID, body))
    if outcome.failure is not None:
        return f"{outcome.failure.field} {outcome.failure.code}".strip()
    assert outcome.value is not None
    assert outcome.value[:5] == frame(TARGET_ID, b"")
    return outcome.value[5:]


def from_json(plan: ConversionPlan, **value: Any) -> Any:
    made = converted(plan, json.dumps(value).encode())
    return made if isinstance(made, str) else json.loads(made)


def message_of(schema: Any, **values: Any) -> bytes:
    """The message indexes and the bytes of the first message."""
    types = MessageTypes(pooled_file(schema, schema.text))
    made: bytes = class_of(types.find(None))(**values).SerializeToString(deterministic=True)
    return b"\x00" + made


def as_dict(schema: Any, body: bytes | str) -> Any:
    assert isinstance(body, bytes), body
    assert body[:1] == b"\x00"
    types = MessageTypes(pooled_file(schema, schema.text))
    return MessageToDict(class_of(types.find(None)).FromString(body[1:]), preserving_proto_field_name=True)


def problems(plan: ConversionPlan) -> list[str]:
    return [str(problem) for problem in plan.problems]
