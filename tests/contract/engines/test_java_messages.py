"""The engine ``java`` for Protobuf, JSON, across them and Avro: the reference's bytes, or its code and field."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.choice import AUTO, choose_engine
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.schema.wire import frame
from strategies.avro.bytes import avro_bytes
from strategies.engines.cases import record
from strategies.engines.conversions import SOURCE_ID, TARGET_ID, avro, broken, class_in, conversion_of, covers, schema
from strategies.engines.java import check
from strategies.engines.message_values import BROKEN_NUMBERS, BROKEN_TEXTS, json_ride, protobuf_ride
from strategies.json_schema.evolutions import evolutions
from strategies.json_schema.pairs import random_value
from strategies.protobuf.messages import messages
from strategies.protobuf.pairs import seeded_pair

if TYPE_CHECKING:
    from strategies.engines.java import Convert

SEEDS = st.integers(0, 2**32)


def broken_text(rng: random.Random, data: bytes) -> bytes:
    """Return a framed JSON text with other numbers, other texts, or broken bytes."""
    number, text = rng.choice(BROKEN_NUMBERS), rng.choice(BROKEN_TEXTS)
    kind = rng.random()
    if kind < 0.3:
        return data[:5] + re.sub(rb"\d+(\.\d+)?", lambda _: number, data[5:])
    if kind < 0.6:
        return data[:5] + re.sub(rb'"[a-z]*"(?!:)', lambda _: text, data[5:])
    return broken(rng, data)


# -- every kind of field

PROTOBUF = """syntax = "proto3";
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto"; import "google/type/date.proto";
message R {
  int64 id = 1; double fare = 2; float f = 3; uint64 u = 4; uint32 v = 5; bool b = 6; string s = 7; bytes y = 8;
  enum E { A = 0; B = 1; C = -1; AGAIN = 1; option allow_alias = true; } E e = 9; repeated E es = 10;
  map<string, int32> m = 11; map<int32, string> mi = 12; map<bool, S> mb = 13;
  message S { int32 x = 1; string t = 2; repeated S more = 3; } S sub = 14; repeated S subs = 15;
  oneof o { string os = 16; int64 oi = 17; S om = 18; } optional int32 oo = 19;
  google.protobuf.Timestamp at = 20; google.protobuf.StringValue w = 21; google.protobuf.UInt64Value wu = 22;
  repeated google.protobuf.Timestamp ats = 23; sint32 z = 24; fixed64 fx = 25; repeated double ds = 26 [packed = false];
  google.protobuf.Duration du = 27; google.type.Date da = 28; map<string, google.protobuf.Timestamp> mt = 29;
  map<fixed64, double> mf = 300;
}"""
OTHER = (
    PROTOBUF.replace("int64 id = 1", "string id = 1")
    .replace("uint32 v = 5", "int32 v = 5")
    .replace("uint64 u = 4", "int64 u = 4")
    .replace("map<int32, string> mi", "map<string, string> mi")
    .replace("float f = 3", "int32 f = 3")
    .replace("sint32 z = 24", "uint64 z = 24")
    .replace("fixed64 fx = 25", "float fx = 25")
)
MOMENT = {"type": "string", "format": "date-time"}
JSON = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "fare": {"type": "number", "minimum": -1.5},
        "f": {"type": "number"},
        "u": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
        "v": {"type": "integer"},
        "b": {"type": "boolean"},
        "s": {"type": "string", "maxLength": 3},
        "y": {"type": "string", "contentEncoding": "base64"},
        "e": {"enum": ["A", "B", "C"]},
        "es": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "m": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 3}},
        "mi": {"type": "object", "additionalProperties": {"type": "string"}},
        "oo": {"type": ["integer", "null"]},
        "at": MOMENT,
        "w": {"type": "string", "default": "é"},
        "wu": {"type": "number"},
        "ats": {"type": "array", "items": MOMENT},
        "z": {"type": "number"},
        "ds": {"type": "array", "items": {"type": "number", "exclusiveMaximum": 2.5}},
        "da": {"type": "string", "format": "date"},
        "os": {"type": "string"},
        "mt": {"type": "object", "additionalProperties": MOMENT},
        "either": {"type": ["string", "integer", "null"], "maximum": 5},
        "maybe": {"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "null"}]},
        "list": {"type": "array", "items": {"type": "string", "minItems": 3}, "minLength": 7, "minItems": 1},
        "a b": {"type": "boolean"},
    },
}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
SUB = record(("x", "int"), ("t", "string"), ("more", {"type": "array", "items": "S"}, []), name="S")
AVRO = record(
    ("id", "long"),
    ("fare", "double"),
    ("f", "float"),
    ("u", "long"),
    ("v", "int"),
    ("b", "boolean"),
    ("s", "string"),
    ("y", "bytes"),
    ("e", {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}),
    ("es", {"type": "array", "items": "string"}),
    ("m", {"type": "map", "values": "int"}),
    ("sub", ["null", SUB]),
    ("subs", {"type": "array", "items": "S"}, []),
    ("oo", ["null", "int"]),
    ("at", ["null", MICROS]),
    ("w", ["null", "string"]),
    ("ds", {"type": "array", "items": "double"}),
    ("da", ["null", {"type": "int", "logicalType": "date"}]),
    ("os", ["string", "null"]),
    ("either", ["null", "string", "long"]),
)
RULES = {
    "text": {"format": "at", "as": "yyyy-MM-dd HH:mm:ss.SSSSSS"},
    "sum": {"expr": "fare * 2 + v"},
    "number": {"from": "u", "cast": "string"},
    "word": {"from": "e", "lookup": {"A": "first", "B": "second"}, "else": "other"},
    "spelt": {"from": "fare", "cast": "string", "decimals": 3},
}
FIELDS = {"text": "string", "sum": "number", "number": "string", "word": "string", "spelt": "string"}
DERIVED_JSON = {"type": "object", "properties": {name: {"type": word} for name, word in FIELDS.items()}}
DERIVED_AVRO = record(*((name, ["null", {"number": "double"}.get(word, word)]) for name, word in FIELDS.items()))
DERIVED_PROTOBUF = """syntax = "proto2";
message D { optional string text = 9; optional double sum = 3; optional string number = 1; optional string word = 2;
  optional string spelt = 40; }"""


@pytest.mark.parametrize(
    ("source", "target", "rules"),
    [
        (PROTOBUF, PROTOBUF, {}),
        (PROTOBUF, OTHER, {}),
        (PROTOBUF, JSON, {}),
        (JSON, PROTOBUF, {}),
        (JSON, JSON, {}),
        (PROTOBUF, DERIVED_JSON, RULES),
        (PROTOBUF, DERIVED_PROTOBUF, RULES),
        (JSON, DERIVED_PROTOBUF, {name: rule for name, rule in RULES.items() if name != "text"}),
        (AVRO, PROTOBUF, {}),
        (AVRO, JSON, {}),
        (PROTOBUF, AVRO, {}),
        (JSON, AVRO, {}),
        (AVRO, AVRO, {}),
        (AVRO, DERIVED_PROTOBUF, RULES),
        (PROTOBUF, DERIVED_AVRO, RULES),
    ],
)
def test_java_is_the_reference_for_every_kind_of_field(
    source: Any, target: Any, rules: dict[str, Any], convert: Convert
) -> None:
    rng = random.Random(5)
    conversion = conversion_of(schema(source), schema(target), rules)
    assert conversion is not None
    values = [b"", b"\x00", b"\x01\x00\x00\x00\x07\x00", frame(8, b"\x00"), frame(SOURCE_ID, b"")]
    for _ in range(150):
        if source is PROTOBUF:
            whole = frame(SOURCE_ID, b"\x00" + protobuf_ride(rng, class_in(PROTOBUF)).SerializeToString())
            values += [whole, *(broken(rng, whole) for _ in range(3))]
        elif source is AVRO:
            whole = frame(SOURCE_ID, avro_bytes(rng, avro(AVRO).root))
            values += [whole, *(broken(rng, whole) for _ in range(3))]
        else:
            text = json.dumps(json_ride(rng), ensure_ascii=rng.random() < 0.5).encode()
            values += [frame(SOURCE_ID, text), *(broken_text(rng, frame(SOURCE_ID, text)) for _ in range(3))]
    answers = check(conversion, values, convert)
    assert sum(value is not None for value, _ in answers) > 20


# -- random schemas


@given(seed=SEEDS, data=st.data())
def test_java_is_the_reference_for_random_protobuf_schemas(seed: int, data: st.DataObject, convert: Convert) -> None:
    rng = random.Random(seed)
    texts = seeded_pair(seed)
    written = class_in(texts[0])
    values = []
    for _ in range(3):
        message = data.draw(messages(written.DESCRIPTOR))
        body = frame(SOURCE_ID, b"\x00" + message.SerializePartialToString(deterministic=True))
        values += [body, *(broken(rng, body) for _ in range(6))]
    for text in texts:
        conversion = conversion_of(schema(texts[0]), schema(text))
        if conversion is not None:
            check(conversion, values, convert)


@given(seed=SEEDS)
def test_java_is_the_reference_for_random_json_schemas(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    for first, second in evolutions(rng, 2):
        texts = [json.dumps(random_value(rng, first), default=float).encode() for _ in range(4)]
        values = [each for text in texts for each in _variants(rng, frame(SOURCE_ID, text))]
        for target in (first, second):
            conversion = conversion_of(schema(first), schema(target))
            if conversion is not None and covers(conversion):
                check(conversion, values, convert)


def _variants(rng: random.Random, value: bytes) -> list[bytes]:
    return [value, *(broken_text(rng, value) for _ in range(4))]


SAME_KINDS = [
    ("long", "int64", {"type": "integer"}),
    ("int", "int32", {"type": "integer"}),
    ("double", "double", {"type": "number"}),
    ("float", "float", {"type": "number"}),
    ("boolean", "bool", {"type": "boolean"}),
    ("string", "string", {"type": "string"}),
    ("bytes", "bytes", {"type": "string", "contentEncoding": "base64"}),
]


def same_fields(rng: random.Random, prefix: str, depth: int = 0) -> tuple[list[Any], str, dict[str, Any]]:
    """Return fields of a record of Avro, those of a Protobuf message, and the properties of a JSON object."""
    fields, body, properties = list[Any](), "", dict[str, Any]()
    for number in range(rng.randrange(1, 5)):
        name, (plain, proto, json_type) = f"{prefix}{number}", rng.choice(SAME_KINDS)
        shape = rng.choice(["plain", "null", "list", "map", "record"][: 5 - depth // 2])
        if shape == "record":
            inner, inside, parts = same_fields(rng, f"{name}_", depth + 1)
            plain, proto = record(*inner, name=f"M{name}"), f"M{name}"
            body += f"message M{name} {{ {inside} }} "
            json_type = {"type": "object", "properties": parts}
        label = {"list": "repeated ", "null": "optional "}.get(shape, "")
        body += f"{label}{f'map<string, {proto}>' if shape == 'map' else proto} {name} = {number + 1}; "
        made = {"list": {"type": "array", "items": plain}, "map": {"type": "map", "values": plain}}.get(shape, plain)
        fields.append((name, ["null", made] if shape in {"null", "record"} else made))
        many = {"list": {"type": "array", "items": json_type}}
        many["map"] = {"type": "object", "additionalProperties": json_type}
        properties[name] = many.get(shape, json_type)
    return fields, body, properties


@given(seed=SEEDS)
def test_java_is_the_reference_for_random_schemas_of_every_two_languages(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    fields, body, properties = same_fields(rng, "f")
    sides = [
        avro(record(*fields)),
        schema(f'syntax = "proto3"; message R {{ {body} }}'),
        schema({"type": "object", "properties": properties}),
    ]
    whole = [frame(SOURCE_ID, avro_bytes(rng, sides[0].root)) for _ in range(6)]  # type: ignore[attr-defined]  # Avro
    for source in sides:
        first = conversion_of(sides[0], source)
        assert first is not None
        made = (ReferenceEngine(first).convert_value(each).value for each in whole)
        values = [frame(SOURCE_ID, each[5:]) for each in made if each is not None]
        values += [broken(rng, each) for each in values]
        for target in sides:
            conversion = conversion_of(source, target)
            if conversion is not None:
                check(conversion, values, convert)


# -- frames, depth, sizes


def test_message_indexes_have_two_spellings_and_name_the_plans_message(convert: Convert) -> None:
    text = 'syntax = "proto3"; message A { map<string, A> m = 1; message B { int32 x = 1; } int32 a = 2; } message C {}'
    conversion = conversion_of(schema(text), schema(text))
    assert conversion is not None
    prefixes = ["00", "0200", "0202", "040000", "040002", "01", "8200", "8000", "ff", "feffffff0f", "820100", ""]
    answers = check(conversion, [frame(SOURCE_ID, bytes.fromhex(f"{each}1005")) for each in prefixes], convert)
    assert [value is not None for value, _ in answers[:3]] == [True, True, False]
    assert {failure[0] for _, failure in answers[3:] if failure} == {"undecodable", "not-framed"}


def nested(depth: int, start: bytes = b"") -> bytes:
    body = start
    for _ in range(depth):
        size, length = len(body), bytearray()
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        body = b"\x12" + bytes((*length, size)) + body
    return body


def test_deep_messages_are_refused_at_the_runtimes_depth(convert: Convert) -> None:
    text = 'syntax = "proto3"; message A { int32 a = 1; A b = 2; }'
    conversion = conversion_of(schema(text), schema(text))
    assert conversion is not None
    bodies = [
        *(nested(depth) for depth in (99, 100, 101, 1000)),
        b"\xa3\x06" * 101,
        b"\x12" * 1_000_000,
        b"\x13" * 10**6,
    ]
    answers = check(conversion, [frame(SOURCE_ID, b"\x00" + body) for body in bodies], convert)
    assert [value is not None for value, _ in answers] == [True, True, *[False] * 5]


def test_deep_texts_are_refused(convert: Convert) -> None:
    conversion = conversion_of(schema(JSON), schema(JSON))
    assert conversion is not None
    bodies = [f'{{"zz":{"[" * depth}{"]" * depth}}}'.encode() for depth in (500, 5_000, 1_000_000)]
    answers = check(conversion, [frame(SOURCE_ID, body) for body in bodies], convert)
    assert [value is not None for value, _ in answers] == [True, False, False]


def test_doubles_are_written_with_the_shortest_digits(convert: Convert) -> None:
    rng = random.Random(3)
    texts = [
        "2.0E-3",
        "2e23",
        "4.9e-324",
        "2.2250738585072014e-308",
        "9007199254740993",
        "1e16",
        "123456789012345680.0",
    ]
    texts += ["1.0E23", "8.41E21", "2.98023223876953125E-8", "5e-5", "0.00001", "9.5367431640625e-7", "-0.0", "4.35"]
    texts += [repr(rng.uniform(-1, 1) * 10 ** rng.randrange(-300, 300)) for _ in range(300)]
    texts += [f"{rng.randrange(10**9)}.{rng.randrange(10**9)}" for _ in range(300)]
    one = schema({"type": "object", "properties": {"d": {"type": "number"}}})
    conversion = conversion_of(one, one)
    assert conversion is not None
    answers = check(conversion, [frame(SOURCE_ID, f'{{"d":{text}}}'.encode()) for text in texts], convert)
    assert all(value is not None for value, _ in answers)


def test_a_wide_message_is_converted_in_several_methods(convert: Convert) -> None:
    fields = "".join(f"{('int32', 'string', 'double')[n % 3]} f{n} = {n + 1};" for n in range(400))
    text = f'syntax = "proto3"; message Wide {{ {fields} }}'
    body = class_in(text)(f0=1, f1="x", f2=2.5, f399=7).SerializeToString()
    conversion = conversion_of(schema(text), schema(text))
    assert conversion is not None
    ((value, _),) = check(conversion, [frame(SOURCE_ID, b"\x00" + body)], convert)
    assert value == frame(TARGET_ID, b"\x00" + body)


# -- what Java does not do


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ({"type": "string", "pattern": r"(a)?\1b"}, "a pattern with a back-reference"),
        ({"type": "string", "pattern": r"(?<n>"}, "a pattern that is none of ECMA 262"),
        ({"type": "string", "pattern": "(?:a{1,900}b{1,900}){9}"}, "a pattern whose repetitions are too large"),
        ({"type": "string", "not": {"pattern": r"(a)?\1b"}}, "a pattern with a back-reference"),
        (
            {"oneOf": [{"type": "object", "properties": {"a": {"const": "x"}}}, {"type": "object"}]},
            "a choice whose branches",
        ),
    ],
)
def test_java_names_the_keyword_that_it_lacks_and_auto_takes_another_engine(node: Any, why: str) -> None:
    whole = schema({"type": "object", "properties": {"p": node}})
    conversion = conversion_of(whole, whole)
    assert conversion is not None
    choice = choose_engine(AUTO, conversion)
    assert choice.engine.name == "reference"
    assert "java cannot (p: " in choice.why
    assert why in choice.why


def test_auto_is_java_between_protobuf_and_json() -> None:
    conversion = conversion_of(schema(PROTOBUF), schema(JSON))
    assert conversion is not None
    assert choose_engine(AUTO, conversion).why == "engine java, the fastest that covers the plan"
