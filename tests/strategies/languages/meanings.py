"""Seeded pairs of schemas with logical and well-known types and formats, and changes of them."""

from __future__ import annotations

import copy
import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.languages.jsonschema.document import subschemas

if TYPE_CHECKING:
    from random import Random

Json = Any

AVRO_LOGICAL: Final = (
    ("int", "date"),
    ("int", "time-millis"),
    ("long", "time-micros"),
    *(
        ("long", f"{kind}-{unit}")
        for kind in ("timestamp", "local-timestamp")
        for unit in ("millis", "micros", "nanos")
    ),
    ("string", "uuid"),
    ("bytes", "big-decimal"),
    ("bytes", "decimal"),
)
AVRO_PLAIN: Final = ("int", "long", "float", "double", "string", "bytes", "boolean", "null")
WELL_KNOWN: Final = {
    "Timestamp": "timestamp",
    "Duration": "duration",
    "Empty": "empty",
    "Any": "any",
    "FieldMask": "field_mask",
    "Struct": "struct",
    "ListValue": "struct",
    "Value": "struct",
    **{f"{scalar}Value": "wrappers" for scalar in ("Bool", "Int32", "Int64", "UInt32", "Double", "String", "Bytes")},
}
SCALARS: Final = ("int32", "sint32", "uint32", "fixed32", "sfixed32", "float", "int64", "bool", "string", "bytes")
TEXT_FORMATS: Final = ("date-time", "date", "time", "duration", "uuid", "email", "idn-email", "uri", "regex", "colour")
NUMBER_FORMATS: Final = ("int32", "int64", "float", "double")
ENCODINGS: Final = ("base64", "base16", "base32", "quoted-printable", "7bit", "rot13")


def avro_meaning_pair(random: Random) -> tuple[str, str]:
    """Return reader and writer; they may be incompatible."""
    first = [_avro_type(random, f"N{index}") for index in range(random.randint(1, 4))]
    second = [_avro_change(random, each, f"N{index}") for index, each in enumerate(first)]
    return _avro_record(first), _avro_record(second)


def _avro_record(types: list[Json]) -> str:
    fields = [{"name": f"f{index}", "type": each} for index, each in enumerate(types)]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def _avro_leaf(random: Random, name: str) -> Json:
    chance = random.random()
    if chance < 0.3:
        return random.choice(AVRO_PLAIN[:-1])
    if chance < 0.5:
        size, kind = random.choice(((12, "duration"), (16, "uuid"), (12, "decimal"), (16, "decimal"), (12, "")))
        fixed = {"type": "fixed", "name": name, "size": size, "logicalType": kind}
        return fixed | (_digits(random) if kind == "decimal" else {})
    base, logical = random.choice(AVRO_LOGICAL)
    return {"type": base, "logicalType": logical} | (_digits(random) if logical == "decimal" else {})


def _digits(random: Random) -> Json:
    precision = random.randint(1, 12)
    return {"precision": precision, "scale": random.randint(0, precision)}


def _avro_type(random: Random, name: str) -> Json:
    leaf = _avro_leaf(random, name)
    match random.randrange(6):
        case 0:
            return ["null", leaf]
        case 1:
            return {"type": "array", "items": leaf}
        case 2:
            return {"type": "map", "values": ["null", leaf]}
        case 3:
            return {"type": "enum", "name": name, "symbols": random.sample(("A", "B", "C"), 2), "default": "A"}
    return leaf


def _avro_change(random: Random, kind: Json, name: str) -> Json:
    """Return the type with another leaf in most cases."""
    if random.random() < 0.4:
        return copy.deepcopy(kind)
    leaf = _avro_leaf(random, name)
    if isinstance(kind, list):
        return ["null", leaf]
    if isinstance(kind, dict) and kind["type"] in {"array", "map"}:
        return {key: leaf if key in {"items", "values"} else each for key, each in kind.items()}
    return _avro_type(random, name) if random.random() < 0.2 else leaf


def protobuf_meaning_pair(random: Random) -> tuple[str, str]:
    """Return reader and writer; they may be incompatible, and one may be in an edition with other features."""
    types = [_proto_type(random) for _ in range(random.randint(1, 5))]
    other = [each if random.random() < 0.5 else _proto_type(random) for each in types]
    return _proto_file(random, types), _proto_file(random, other)


def _proto_type(random: Random) -> str:
    return random.choice(
        (
            *SCALARS,
            *(f"google.protobuf.{name}" for name in WELL_KNOWN),
            "E",
            "F",
            "In",
            "map<string, E>",
            "map<int32, In>",
        )
    )


def _proto_file(random: Random, types: list[str]) -> str:
    head = random.choice(('syntax = "proto3";', 'syntax = "proto3";', 'edition = "2023";'))
    used = {file for name, file in WELL_KNOWN.items() if any(each.endswith(f".{name}") for each in types)}
    numbers = count(1)
    lines = [_proto_field(random, head, each, next(numbers)) for each in types]
    split = random.randint(0, len(lines))
    members = [
        line.replace("repeated ", "")
        for line, kind in zip(lines[split:], types[split:], strict=True)
        if "map" not in kind
    ]
    oneof = [f"oneof choice {{ {' '.join(members)} }}"] if members and random.random() < 0.5 else lines[split:]
    return "\n".join(
        [
            head,
            *(f'import "google/protobuf/{file}.proto";' for file in sorted(used)),
            f"message Out {{ In in = 100; map<string, In> ins = 101; repeated In more = 102; {' '.join(oneof)} }}",
            f"message In {{ {' '.join(line for line in lines[:split])} int32 id = 50; }}",
            f"enum E {{ {_proto_symbols(random)} }}",
            "enum F { F_ZERO = 0; F_ONE = 1; }",
        ]
    )


def _proto_field(random: Random, head: str, kind: str, number: int) -> str:
    is_message = kind == "In" or kind.startswith("google.")
    delimited = is_message and "edition" in head and random.random() < 0.5
    label = "repeated " if "map" not in kind and random.random() < 0.2 else ""
    option = " [features.message_encoding = DELIMITED]" if delimited else ""
    return f"{label}{kind} f{number} = {number}{option};"


def _proto_symbols(random: Random) -> str:
    names = random.choice((("A", "B", "C"), ("A", "C", "B"), ("A", "B", "X"), ("A", "B")))
    return " ".join(f"{name} = {number};" for number, name in enumerate(names))


def json_with_meanings(random: Random, schema: Json) -> Json:
    """Return ``schema`` with formats and encodings at some of the schemas inside it."""
    schema = copy.deepcopy(schema)
    waiting = [schema]
    while waiting:
        place = waiting.pop()
        waiting += [child for _, child in subschemas(place) if isinstance(child, dict)]
        if random.random() < 0.5:
            place["format"] = random.choice((*TEXT_FORMATS, *NUMBER_FORMATS))
        if random.random() < 0.15:
            place["contentEncoding"] = random.choice(ENCODINGS)
    return schema
