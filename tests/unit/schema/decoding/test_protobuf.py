"""Protobuf messages part by part: Google's runtime reads the same values, and refuses what has a fault here."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.schema.decoding import find_frame
from counterfoil.schema.languages.protobuf.messages import runtime_of
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import encode_message_indexes
from strategies.avro.codec_outcomes import damaged
from strategies.cases.depth import IS_DEEP
from strategies.languages.decoded import check_partition, decoded, leaves
from strategies.protobuf.messages import messages
from strategies.protobuf.pairs import seeded_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.languages.protobuf.schema import ProtobufSchema

EVERYTHING = """
syntax = "proto2";
package shop;
enum State { NEW = 0; PAID = 5; }
message Order {
  required int64 id = 1;
  optional sint32 delta = 2;
  repeated int32 unpacked = 3;
  repeated int32 packed = 4 [packed = true];
  map<string, Line> lines = 5;
  optional group Extra = 6 { optional string note = 1; repeated Line inner = 2; }
  oneof paid { string card = 7; bytes token = 8; }
  optional State state = 9;
  optional fixed32 f32 = 10;
  optional sfixed64 s64 = 11;
  optional float real = 12;
  optional bool flag = 13;
  repeated double reals = 14 [packed = true];
  map<bool, State> states = 15;
  optional Order inside = 16;
  extensions 100 to 200;
  message Deep { message Deeper { optional uint64 big = 1; } optional Deeper deeper = 1; }
  optional Deep deep = 17;
}
message Line { optional uint32 amount = 1; }
extend Order { optional string more = 100; }
"""


def schema_of(text: str) -> ProtobufSchema:
    return parse_protobuf(text, validation=Validation.LENIENT)


def as_json(message: Any) -> Any:
    """The message as the decode lab shows it: the runtime's JSON, with numbers for 64 bits."""
    return with_numbers(json_format.MessageToDict(message, preserving_proto_field_name=True), message)


def with_numbers(shown: dict[str, Any], message: Any) -> dict[str, Any]:
    fields = {each.name: each for each in message.DESCRIPTOR.fields}
    return {name: held_as_json(fields.get(name), held, message) for name, held in shown.items()}


def held_as_json(field: Any, held: Any, message: Any) -> Any:
    if field is None:  # an extension
        return held
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields_by_name["value"]
        keys = {str(key).lower() if isinstance(key, bool) else str(key): key for key in value}
        return {name: one_as_json(inner, each, value[keys[name]]) for name, each in held.items()}
    if field.is_repeated:
        return [one_as_json(field, each, inner) for each, inner in zip(held, value, strict=True)]
    return one_as_json(field, held, value)


def one_as_json(field: Any, held: Any, value: Any) -> Any:
    if field.message_type is not None:
        return with_numbers(held, value)
    if field.cpp_type == field.CPPTYPE_FLOAT and isinstance(held, float):
        return value  # the runtime shows fewer digits
    is_long = field.cpp_type in {field.CPPTYPE_INT64, field.CPPTYPE_UINT64}
    return int(held) if is_long else held


def is_refused(schema: ProtobufSchema, name: str, body: bytes) -> bool:
    message = runtime_of(schema).new(name)
    try:
        message.ParseFromString(body)
    except (DecodeError, UnicodeDecodeError):
        return True
    return not message.IsInitialized()


def check_message(schema: ProtobufSchema, message: Any) -> None:
    body = message.SerializeToString()
    found = decoded(schema, body)
    check_partition(found, body)
    assert (found.fault, found.rest) == (None, 0)
    assert found.value is not None
    assert json.loads(found.value) == as_json(message)


@given(st.data())
def test_a_message_is_what_the_runtime_reads(data: st.DataObject):
    schema = schema_of(EVERYTHING)
    message = data.draw(messages(runtime_of(schema).new("shop.Order").DESCRIPTOR))
    check_message(schema, message)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(0, 10_000))
def test_a_message_of_any_schema_is_what_the_runtime_reads(data: st.DataObject, seed: int):
    schema = schema_of(seeded_pair(seed)[0])
    assert schema.name is not None
    check_message(schema, data.draw(messages(runtime_of(schema).new(schema.name).DESCRIPTOR)))


def filled() -> Any:
    """A message with something in each field."""
    message = runtime_of(schema_of(EVERYTHING)).new("shop.Order")
    json_format.ParseDict(
        {
            "id": 300,
            "delta": -5,
            "unpacked": [1, 300],
            "packed": [1, -1, 300],
            "lines": {"a": {"amount": 1}, "": {}},
            "extra": {"note": "é", "inner": [{"amount": 7}, {}]},
            "token": "AP8=",
            "state": "PAID",
            "f32": 1,
            "s64": -2,
            "real": 1.5,
            "flag": True,
            "reals": [0.5, 2],
            "states": {"true": "NEW"},
            "inside": {"id": 2},
            "deep": {"deeper": {"big": 2**64 - 1}},
            "[shop.more]": "x",
        },
        message,
        descriptor_pool=message.DESCRIPTOR.file.pool,
    )
    return message


def test_each_field_of_a_filled_message_is_what_the_runtime_reads():
    check_message(schema_of(EVERYTHING), filled())


@pytest.mark.slow
def test_cut_bytes_have_a_fault_where_the_runtime_refuses_them_and_the_same_parts_before_it():
    schema, body = schema_of(EVERYTHING), filled().SerializeToString()
    whole = leaves(decoded(schema, body))
    starts = {node.first: index for index, node in enumerate(whole)}
    refused = 0
    for cut in range(len(body)):
        found = decoded(schema, body[:cut])
        check_partition(found, body[:cut])
        before = leaves(found)
        assert (found.fault is not None) == is_refused(schema, "shop.Order", body[:cut])
        assert before == whole[: len(before)]
        refused += found.fault is not None
        if found.fault is None:
            assert cut in starts
    assert refused > len(body) / 2


@pytest.mark.slow
def test_damaged_bytes_have_a_fault_where_the_runtime_refuses_them():
    schema, body, random = schema_of(EVERYTHING), filled().SerializeToString(), Random(3)
    outcomes = []
    count = 3_000 if IS_DEEP else 600
    for _ in range(count):
        data = damaged(random, body)
        found = decoded(schema, data)
        check_partition(found, data)
        is_refusal = is_refused(schema, "shop.Order", data)
        assert (found.fault is not None) == is_refusal, (data.hex(), found.fault)
        outcomes.append(is_refusal)
    assert count / 10 < sum(outcomes) < count * 29 / 30


def parts_of(schema: ProtobufSchema, body: bytes) -> Iterator[tuple[int, int, str, str, str | None]]:
    for node in decoded(schema, body).nodes:
        yield node.first, node.end, node.path, node.type, node.value


def test_unknown_fields_are_listed_by_number_and_wire_type():
    schema = schema_of('syntax = "proto3"; message A { int32 a = 1; }')
    body = bytes.fromhex("10 05 19 0100000000000000 22 02 6869 2b 08 01 2c 35 01000000 0a 01 61")
    assert [*parts_of(schema, body)] == [
        (0, 27, "", "message A", None),
        (0, 2, "2", "unknown field 2, varint", "5"),
        (2, 11, "3", "unknown field 3, 64 bits", '"AQAAAAAAAAA="'),
        (11, 15, "4", "unknown field 4, length-delimited", '"aGk="'),
        (15, 16, "5", "unknown field 5, start of a group", "5"),
        (16, 19, "5", "unknown group 5", None),
        (16, 18, "5.1", "unknown field 1, varint", "1"),
        (18, 19, "5", "end of a group", "5"),
        (19, 24, "6", "unknown field 6, 32 bits", '"AQAAAA=="'),
        (24, 27, "1", "unknown field 1, length-delimited", '"YQ=="'),
    ]
    assert decoded(schema, body).value == "{}"


@pytest.mark.parametrize(
    ("body", "offset", "path", "expected"),
    [
        ("00", 0, "", "the number of a field, 1 or more"),
        ("0e", 0, "", "a wire type from 0 to 5"),
        ("08", 1, "a", "a number (int32)"),
        ("0d0100", 1, "1", "4 bytes"),
        ("0c", 0, "", "a field"),
        ("1b0801", 3, "3", "the end of group 3"),
        ("1203ff", 2, "s", "the text announced"),
        ("1201ff", 2, "s", "text in UTF-8"),
        ("08" + "ff" * 10 + "01", 1, "a", "a number (int32)"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_be_right(body: str, offset: int, path: str, expected: str):
    schema = schema_of('syntax = "proto3"; message A { int32 a = 1; string s = 2; }')
    fault = decoded(schema, bytes.fromhex(body)).fault
    assert fault is not None
    assert (fault.offset, fault.path, fault.expected) == (offset, path, expected)


def test_a_required_field_that_is_not_there_is_a_fault_after_all_parts():
    schema = schema_of(EVERYTHING)
    found = decoded(schema, bytes.fromhex("10 02"))
    assert [node.path for node in leaves(found)] == ["delta"]
    assert found.fault is not None
    assert found.fault.expected == "the required field id"
    twice = bytes.fromhex("0801 820102 1002 820102 0805")  # the second part of it has its id
    assert decoded(schema, twice).fault is None


def test_the_message_is_the_one_at_the_indexes():
    schema = schema_of(EVERYTHING)
    deeper = runtime_of(schema).new("shop.Order.Deep.Deeper")
    deeper.big = 9
    deep = deeper.DESCRIPTOR.containing_type
    nested = [0, [*deep.containing_type.nested_types].index(deep), [*deep.nested_types].index(deeper.DESCRIPTOR)]
    data = b"\x00\x00\x00\x00\x07" + encode_message_indexes(nested) + deeper.SerializeToString()
    found = decoded(schema, data, find_frame(data))
    assert (found.value, found.fault) == ('{"big": 9}', None)
    assert [node.type for node in found.nodes][2] == "indexes of the message type in its file"
    wrong = b"\x00\x00\x00\x00\x07" + encode_message_indexes([9]) + deeper.SerializeToString()
    fault = decoded(schema, wrong, find_frame(wrong)).fault
    assert fault is not None
    assert "no message with the indexes [9]" in fault.message


def test_messages_inside_one_another_end_at_the_largest_depth():
    schema = schema_of('syntax = "proto3"; message A { A a = 1; int32 b = 2; }')
    body = b"\x10\x01"
    for _ in range(150):
        body = b"\x0a" + varint(len(body)) + body
    found = decoded(schema, body)
    assert found.fault is not None
    assert is_refused(schema, "A", body)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)
