"""Where SOUND and Confluent's answer part: bytes of the writer, as the protobuf runtime reads them for the reader."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError

from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier, Witness
from counterfoil.schema.judgement import (
    check_compatibility,
    confirm_compatible,
    confirm_unguarded,
    search_for_witness,
    search_unguarded,
)
from counterfoil.schema.languages.protobuf.describe.descriptors import descriptor_set
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from each_case import check_each
from protobuf_pairs import seeded_pair

SOUND = CompatibilityPolicy.SOUND
REFUSED = "the reader refuses it"
P2, P3, E23 = 'syntax = "proto2";', 'syntax = "proto3";', 'edition = "2023";'


def m(body: str, head: str = P3) -> str:
    return f"{head} message M {{ {body} }}"


E_AB, E_BA = "enum E { A = 0; B = 1; C = 2; }", "enum E { A = 0; C = 1; B = 2; }"
N_S, N_I = "message N { string s = 1; }", "message N { int32 s = 1; }"

ADDED = {
    # what Confluent lets pass: writer, reader, rule, the record, what the reader has of it
    "optional made required": (
        m("optional string a = 1;", P2),
        m("required string a = 1;", P2),
        "field-made-required",
        {},
        REFUSED,
    ),
    "message made required": (
        m("optional M a = 1; optional int32 b = 2;", P2),
        m("required M a = 1; optional int32 b = 2;", P2),
        "field-made-required",
        {"b": 1},
        REFUSED,
    ),
    "proto3 field made required": (
        m("int32 a = 1;"),
        m("required int32 a = 1;", P2),
        "field-made-required",
        {},
        REFUSED,
    ),
    "repeated strings made required": (
        m("repeated string a = 1;", P2),
        m("required string a = 1;", P2),
        "field-made-required",
        {},
        REFUSED,
    ),
    "packed numbers to one": (
        m("repeated int32 a = 1;"),
        m("int32 a = 1;"),
        "packed-repeated-to-singular",
        {"a": [1, 2]},
        {},
    ),
    "numbers to one, not packed": (
        m("repeated int32 a = 1 [packed = false];"),
        m("int32 a = 1;"),
        "repeated-to-singular",
        {"a": [1, 2]},
        {"a": 2},
    ),
    "strings to one": (
        m("repeated string a = 1;"),
        m("string a = 1;"),
        "repeated-to-singular",
        {"a": ["x", "y"]},
        {"a": "y"},
    ),
    "messages to one": (
        m("repeated N a = 1; message N { int32 x = 1; int32 y = 2; }"),
        m("N a = 1; message N { int32 x = 1; int32 y = 2; }"),
        "repeated-to-singular",
        {"a": [{"x": 1}, {"y": 2}]},
        {"a": {"x": 1, "y": 2}},
    ),
    "bytes to string": (m("bytes a = 1;"), m("string a = 1;"), "bytes-to-string", {"a": "/w=="}, REFUSED),
    "int64 to int32": (m("int64 a = 1;"), m("int32 a = 1;"), "integer-narrowed", {"a": "1099511627783"}, {"a": 7}),
    "int32 to uint32": (m("int32 a = 1;"), m("uint32 a = 1;"), "integer-narrowed", {"a": -1}, {"a": 4294967295}),
    "uint32 to int32": (m("uint32 a = 1;"), m("int32 a = 1;"), "integer-narrowed", {"a": 4294967295}, {"a": -1}),
    "uint64 to int64": (
        m("uint64 a = 1;"),
        m("int64 a = 1;"),
        "integer-narrowed",
        {"a": "18446744073709551615"},
        {"a": "-1"},
    ),
    "int32 to bool": (m("int32 a = 1;"), m("bool a = 1;"), "integer-narrowed", {"a": 2}, {"a": True}),
    "sint64 to sint32": (m("sint64 a = 1;"), m("sint32 a = 1;"), "integer-narrowed", {"a": "4294967298"}, {"a": 2}),
    "fixed32 to sfixed32": (
        m("fixed32 a = 1;"),
        m("sfixed32 a = 1;"),
        "integer-narrowed",
        {"a": 4294967295},
        {"a": -1},
    ),
    "fixed64 to sfixed64": (
        m("fixed64 a = 1;"),
        m("sfixed64 a = 1;"),
        "integer-narrowed",
        {"a": "18446744073709551615"},
        {"a": "-1"},
    ),
    "enum to bool": (m("E a = 1;") + E_AB, m("bool a = 1;"), "integer-narrowed", {"a": "C"}, {"a": True}),
    "map's value narrowed": (
        m("map<string, int64> a = 1;"),
        m("map<string, int32> a = 1;"),
        "integer-narrowed",
        {"a": {"k": "4294967296"}},
        {"a": {"k": 0}},
    ),
    "map's keys narrowed": (
        m("map<int64, bool> a = 1;"),
        m("map<int32, bool> a = 1;"),
        "integer-narrowed",
        {"a": {"4294967297": True}},
        {"a": {"1": True}},
    ),
    "symbols changed places": (
        m("E a = 1;") + E_AB,
        m("E a = 1;") + E_BA,
        "enum-value-renumbered",
        {"a": "B"},
        {"a": "C"},
    ),
    "symbol renamed": (
        m("E a = 1;") + E_AB,
        m("E a = 1;") + E_AB.replace("C", "X"),
        "enum-value-renamed",
        {"a": "C"},
        {"a": "X"},
    ),
    "another enum of the same numbers": (
        m("E a = 1;") + E_AB,
        m("F a = 1;") + "enum F { X = 0; Y = 1; Z = 2; }",
        "enum-value-renamed",
        {"a": "B"},
        {"a": "Y"},
    ),
    "the symbol of nothing set renamed": (
        m("E a = 1;") + "enum E { A = 0; }",
        m("E a = 1;") + "enum E { X = 0; }",
        "enum-value-renamed",
        {},
        {},
    ),
    "symbols in a map renamed": (
        m("map<string, E> a = 1;") + E_AB,
        m("map<string, E> a = 1;") + E_AB.replace("C", "X"),
        "enum-value-renamed",
        {"a": {"k": "C"}},
        {"a": {"k": "X"}},
    ),
    "another default of a oneof's member": (
        m("oneof o { int32 a = 1 [default = 5]; int32 b = 2; }", P2),
        m("oneof o { int32 a = 1 [default = 6]; int32 b = 2; }", P2),
        "default-value-changed",
        {"b": 1},
        {"b": 1},
    ),
    "closed enum lost a symbol": (
        m("optional E a = 1;", P2) + E_AB,
        m("optional E a = 1;", P2) + "enum E { A = 0; B = 1; }",
        "closed-enum-loses-value",
        {"a": "C"},
        {},
    ),
    "number to closed enum": (
        m("int32 a = 1;"),
        m("optional E a = 1;", P2) + E_AB,
        "closed-enum-loses-value",
        {"a": 9},
        {},
    ),
    "another default": (
        m("optional int32 a = 1 [default = 5];", P2) + "message W { optional M m = 1; }",
        m("optional int32 a = 1 [default = 6];", P2) + "message W { optional M m = 1; }",
        "default-value-changed",
        {},
        {},
    ),
    "group to message": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional G g = 1; message G { optional int32 x = 1; }", P2),
        "message-encoding-changed",
        {"g": {"x": 1}},
        {},
    ),
    "delimited message": (
        m("N a = 1;", E23) + N_S,
        m("N a = 1 [features.message_encoding = DELIMITED];", E23) + N_S,
        "message-encoding-changed",
        {"a": {"s": "x"}},
        {},
    ),
    "group's number used again": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional int32 n = 1;", P2),
        "field-kind-changed",
        {"g": {"x": 1}},
        {},
    ),
}
DROPPED = {
    # what Confluent refuses: writer, reader, error type, the record, what the reader has of it
    "package": (
        P3 + "package a; message M { int32 a = 1; }",
        P3 + "package b; message M { int32 a = 1; }",
        "PACKAGE_CHANGED",
        {"a": 1},
        {"a": 1},
    ),
    "message that nothing uses removed": (
        m("int32 a = 1;") + N_S,
        m("int32 a = 1;"),
        "MESSAGE_REMOVED",
        {"a": 1},
        {"a": 1},
    ),
    "message renamed": (
        m("N a = 1;") + N_S,
        m("O a = 1;") + N_S.replace("N", "O"),
        "FIELD_NAMED_TYPE_CHANGED",
        {"a": {"s": "x"}},
        {"a": {"s": "x"}},
    ),
    "message renamed and a field of it removed": (
        m("N a = 1;") + "message N { string s = 1; int32 i = 2; }",
        m("O a = 1;") + "message O { string s = 1; }",
        "FIELD_NAMED_TYPE_CHANGED",
        {"a": {"s": "x", "i": 1}},
        {"a": {"s": "x"}},
    ),
    "message moved to the top": (
        m("N a = 1; " + N_S),
        m("N a = 1;") + N_S,
        "MESSAGE_REMOVED",
        {"a": {"s": "x"}},
        {"a": {"s": "x"}},
    ),
    "one number to many": (
        m("optional int32 a = 1;"),
        m("repeated int32 a = 1;"),
        "FIELD_NUMERIC_LABEL_CHANGED",
        {"a": 1},
        {"a": [1]},
    ),
    "required to optional": (
        m("required int32 a = 1;", P2),
        m("optional int32 a = 1;", P2),
        "FIELD_NUMERIC_LABEL_CHANGED",
        {"a": 1},
        {"a": 1},
    ),
    "required field removed": (
        m("required int32 a = 1; optional int32 b = 2;", P2),
        m("optional int32 b = 2;", P2),
        "REQUIRED_FIELD_REMOVED",
        {"a": 1, "b": 2},
        {"b": 2},
    ),
    "map to its entries": (
        m("map<string, int32> a = 1;"),
        m("repeated N a = 1; message N { string key = 1; int32 value = 2; }"),
        "FIELD_KIND_CHANGED",
        {"a": {"k": 1}},
        {"a": [{"key": "k", "value": 1}]},
    ),
    "message to bytes": (
        m("N a = 1;") + N_S,
        m("bytes a = 1;") + N_S,
        "FIELD_KIND_CHANGED",
        {"a": {"s": "x"}},
        {"a": "CgF4"},
    ),
}
BOTH_LET_PASS = {
    "int32 to int64": (m("int32 a = 1;"), m("int64 a = 1;")),
    "uint32 to int64": (m("uint32 a = 1;"), m("int64 a = 1;")),
    "sint32 to sint64": (m("sint32 a = 1;"), m("sint64 a = 1;")),
    "bool to int32": (m("bool a = 1;"), m("int32 a = 1;")),
    "enum to int32": (m("E a = 1;") + E_AB, m("int32 a = 1;")),
    "int32 to open enum": (m("int32 a = 1;"), m("E a = 1;") + E_AB),
    "string to bytes": (m("string a = 1;"), m("bytes a = 1;")),
    "implicit to optional": (m("int32 a = 1;"), m("optional int32 a = 1;")),
    "optional to implicit": (m("optional int32 a = 1;"), m("int32 a = 1;")),
    "string to strings": (m("string a = 1;"), m("repeated string a = 1;")),
    "packed to not packed": (m("repeated int32 a = 1;"), m("repeated int32 a = 1 [packed = false];")),
    "open enum lost a symbol": (m("E a = 1;") + E_AB, m("E a = 1;") + "enum E { A = 0; B = 1; }"),
    "alias of a symbol": (
        m("E a = 1;") + "enum E { option allow_alias = true; A = 0; B = 1; C = 1; }",
        m("E a = 1;") + "enum E { A = 0; C = 1; }",
    ),
    "field renamed": (m("int32 a = 1;"), m("int32 b = 1;")),
    "field into a oneof of its own": (m("int32 a = 1;"), m("oneof o { int32 a = 1; }")),
    "oneof dissolved": (m("oneof o { int32 a = 1; int32 b = 2; }"), m("int32 a = 1; int32 b = 2;")),
    "the same default in another spelling": (
        m("optional int32 a = 1 [default = 16];", P2),
        m("optional int32 a = 1 [default = 0x10];", P2),
    ),
    "map renamed": (m("map<string, int32> a = 1;"), m("map<string, int32> b = 1;")),
    "group's fields": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional group G = 1 { optional int64 x = 1; }", P2),
    ),
}
BOTH_REFUSE = {
    "message of other fields": (m("N a = 1;") + N_S, m("O a = 1;") + N_I.replace("N", "O")),
    "first message removed": (m("int32 a = 1;") + N_S, P3 + N_S),
    "entries that may repeat to a map": (
        m("repeated N a = 1; message N { string key = 1; int32 value = 2; }"),
        m("map<string, int32> a = 1; message N { string key = 1; int32 value = 2; }"),
    ),
    "bytes to message": (m("bytes a = 1;") + N_S, m("N a = 1;") + N_S),
    "two fields into a oneof": (m("int32 a = 1; int32 b = 2;"), m("oneof o { int32 a = 1; int32 b = 2; }")),
    "packed numbers to one, labels written": (m("repeated int32 a = 1;"), m("optional int32 a = 1;")),
    "a oneof's choice removed": (m("oneof o { int32 a = 1; int32 b = 2; }"), m("oneof o { int32 a = 1; }")),
}


def differences(writer: str, reader: str, policy: CompatibilityPolicy) -> list[Any]:
    return find_differences(parsed(reader), parsed(writer), policy=policy)


def parsed(text: str) -> Any:
    return parse_protobuf(text, validation=Validation.LENIENT)


def new_message(text: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    schema = parsed(text)
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set(schema)).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(schema.name))()


def read(writer: str, reader: str, record: Any) -> Any:
    """The record, written by the runtime and read by it, in JSON."""
    body = json_format.ParseDict(record, new_message(writer)).SerializeToString()
    message = new_message(reader)
    try:
        message.ParseFromString(body)
    except DecodeError:
        return REFUSED
    return json_format.MessageToDict(message) if message.IsInitialized() else REFUSED


@pytest.mark.parametrize("case", ADDED)
def test_what_confluent_lets_pass_and_a_record_breaks(case: str):
    writer, reader, rule, record, expected = ADDED[case]
    assert differences(writer, reader, CompatibilityPolicy.STRICT) == []
    assert rule in {each.rule for each in differences(writer, reader, SOUND)}
    assert read(writer, reader, record) == expected


@pytest.mark.parametrize("case", ADDED)
def test_each_of_them_has_a_witness_and_fails_to_be_confirmed(case: str):
    writer, reader = parsed(ADDED[case][0]), parsed(ADDED[case][1])
    for difference in find_differences(reader, writer, policy=SOUND):
        witness = search_for_witness(reader, writer, difference)
        assert isinstance(witness, Witness)
        assert json.loads(witness.datum_json) is not None
    assert confirm_compatible(reader, writer, 200).counter_witness


@pytest.mark.parametrize("case", DROPPED)
def test_what_confluent_refuses_and_every_record_survives(case: str):
    writer, reader, error_type, record, expected = DROPPED[case]
    assert error_type in {each.error_type for each in differences(writer, reader, CompatibilityPolicy.STRICT)}
    assert differences(writer, reader, SOUND) == []
    assert read(writer, reader, record) == expected
    assert confirm_compatible(parsed(reader), parsed(writer), 200).round_tripped == 200


@pytest.mark.parametrize("case", DROPPED)
def test_none_of_them_has_a_witness(case: str):
    writer, reader = parsed(DROPPED[case][0]), parsed(DROPPED[case][1])
    for difference in find_differences(reader, writer):
        assert not search_for_witness(reader, writer, difference)


@pytest.mark.parametrize("case", BOTH_LET_PASS)
def test_what_both_let_pass_is_read(case: str):
    writer, reader = BOTH_LET_PASS[case]
    assert differences(writer, reader, CompatibilityPolicy.STRICT) == []
    assert differences(writer, reader, SOUND) == []
    assert confirm_compatible(parsed(reader), parsed(writer), 200).round_tripped == 200


@pytest.mark.parametrize("case", BOTH_REFUSE)
def test_what_both_refuse_keeps_its_error_types_and_has_a_witness(case: str):
    writer, reader = BOTH_REFUSE[case]
    kept = [each for each in differences(writer, reader, SOUND) if each.error_type]
    assert kept
    assert any(search_for_witness(parsed(reader), parsed(writer), each) for each in kept)


WRAPPERS = ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
WELL_KNOWN = (
    *("timestamp.Timestamp", "duration.Duration", "empty.Empty", "any.Any", "field_mask.FieldMask"),
    *("struct.Struct", "struct.ListValue", "struct.Value"),
    *(f"wrappers.{name}Value" for name in WRAPPERS),
)
KEEPS_WRAPPED = {
    "Bool": {"Int32", "Int64", "UInt32", "UInt64"},
    "Int32": {"Int64"},
    "UInt32": {"Int64", "UInt64"},
    "String": {"Bytes"},
}


def holding(message: str) -> str:
    file, _, name = message.partition(".")
    return f'{P3} import "google/protobuf/{file}.proto"; message M {{ google.protobuf.{name} a = 1; }}'


@pytest.mark.slow
def test_a_well_known_type_is_read_as_no_other():
    """Those of equal fields too; but a wrapper is as good as what it wraps."""
    check_each(((f"{one} as {other}", (one, other)) for one, other in product(WELL_KNOWN, repeat=2)), check_well_known)


def check_well_known(pair: tuple[str, str]):
    written, read = pair
    writer, reader = parsed(holding(written)), parsed(holding(read))
    found = find_differences(reader, writer, policy=SOUND)
    mine, theirs = (each.removeprefix("wrappers.").removesuffix("Value") for each in (read, written))
    if read == written or mine in KEEPS_WRAPPED.get(theirs, ()):
        assert found == []
        assert confirm_unguarded(reader, writer, 100).round_tripped == 100
        return
    assert found
    assert any(search_unguarded(reader, writer, each) for each in found)
    assert confirm_unguarded(reader, writer, 100).counter_witness


def test_a_well_known_type_of_equal_fields_shows_both_meanings():
    writer, reader = parsed(holding("timestamp.Timestamp")), parsed(holding("duration.Duration"))
    witness = confirm_unguarded(reader, writer, 100).counter_witness
    assert witness
    assert witness.step.endswith("2024-05-01T12:34:56.789Z is read as 1714566896.789s")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("date.Date", "timeofday.TimeOfDay"),
        ("fraction.Fraction", "latlng.LatLng"),
        ("timeofday.TimeOfDay", "date.Date"),
    ],
)
def test_googles_common_types_are_read_as_no_other(written: str, read: str):
    writer, reader = (
        parsed(f'{P3} import "google/type/{file}.proto"; message M {{ google.type.{name} a = 1; }}')
        for file, _, name in (written.partition("."), read.partition("."))
    )
    assert find_differences(reader, writer, policy=SOUND)
    assert confirm_unguarded(reader, writer, 100).counter_witness


def test_a_message_of_ones_own_may_stand_for_a_well_known_one_of_its_fields():
    own = m("Moment a = 1;") + "message Moment { int64 seconds = 1; int32 nanos = 2; }"
    for writer, reader in ((own, holding("timestamp.Timestamp")), (holding("timestamp.Timestamp"), own)):
        assert differences(writer, reader, SOUND) == []
        assert confirm_unguarded(parsed(reader), parsed(writer), 100).round_tripped == 100


def test_a_loss_above_the_place_of_a_difference_is_not_about_it():
    """The message around the place is gone as a whole, since it is enclosed otherwise."""
    writer = parsed(P3 + "message B { C a = 5; } message C { int64 v = 1; }")
    reader = parsed(E23 + "message B { D a = 5 [features.message_encoding = DELIMITED]; } message D { uint32 v = 1; }")
    for policy in CompatibilityPolicy:
        for difference in find_differences(reader, writer, policy=policy):
            search_unguarded(reader, writer, difference)
    found = {
        each.rule: search_unguarded(reader, writer, each) for each in find_differences(reader, writer, policy=SOUND)
    }
    assert found["message-encoding-changed"]
    assert not found["integer-narrowed"]


def test_a_default_that_is_not_written_is_each_readers_own():
    writer, reader, *_ = ADDED["another default"]
    assert (new_message(writer).a, new_message(reader).a) == (5, 6)


def test_a_file_that_protobuf_forbids_is_refused():
    twice = m("int32 a = 1; int32 b = 1;")
    found = differences(twice, twice, SOUND)
    assert {each.rule for each in found} == {"invalid-protobuf-file"}
    assert differences(twice, twice, CompatibilityPolicy.STRICT) == []
    assert {each.text.partition("'s file")[0] for each in found} == {
        "The reader cannot rely on the reader",
        "The reader cannot rely on the writer",
    }


SETTLED = {
    "duplicate-constant-name": "enum S { X = 0; X = 1; }",
    "duplicate-field-name": "string b = 2; string b = 3;",
    "empty-oneof": "oneof o {}",
    "explicit-map-entry": "message E { option map_entry = true; string key = 1; int32 value = 2; } repeated E e = 2;",
    "field-number-of-extensions": "extensions 2 to 5; int32 b = 3;",
    "field-number-of-runtime": "int32 b = 19000;",
    "invalid-name": "message 1N {}",
    "json-name-conflict": "int32 a_b = 2; int32 aB = 3;",
    "map-in-oneof": "oneof o { map<string, int32> b = 2; }",
    "overlapping-ranges": "reserved 5 to 9, 7;",
    "proto3-extension-range": "extensions 100 to 200;",
    "proto3-group": "group G = 2 { int32 b = 1; }",
    "reserved-constant": "enum S { X = 0; Y = 1; reserved 1; }",
    "reserved-field": "reserved 2; int32 b = 2;",
}
"""Parts of a message of proto3 that protoc refuses, whose bytes have one meaning, by the rule of the warning."""

OPEN = {
    "contested extension": "extensions 2 to 5; int32 b = 3; } extend M { int32 c = 3;",
    "duplicate-field-number": "int32 b = 2; int64 c = 2;",
    "empty-enum": "enum S {} S b = 2;",
    "field-number-out-of-range": "int32 b = 0;",
    "first-constant-not-zero": "enum S { X = 1; } S b = 2;",
    "map-key-type": "map<double, int32> b = 2;",
    "proto3-default": "int32 b = 2 [default = 5];",
    "unknown-option of bytes": 'repeated int32 b = 2 [packed = "x"];',
}
"""Parts that leave open what was written: two fields of one number, the meaning of a value that is left out."""


@pytest.mark.parametrize("fault", SETTLED)
@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE"])
def test_a_fault_of_an_earlier_version_with_one_meaning_does_not_lock_the_subject(fault, level):
    faulty, sound = parsed(m(f"int32 a = 1; {SETTLED[fault]}")), parsed(m("int32 a = 1;"))
    assert fault in {each.rule for each in faulty.warnings()}
    assert [each.rule for each in faulty.warnings() if each.leaves_open] == []
    history = [Earlier(faulty)]
    assert check_compatibility(sound, history, CompatibilityLevel(level), policy=SOUND).is_compatible
    refused = check_compatibility(faulty, [Earlier(sound)], CompatibilityLevel(level), policy=SOUND)
    assert {each.rule for failure in refused.failures for each in failure.differences} == {"invalid-protobuf-file"}


@pytest.mark.parametrize("fault", OPEN)
@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE"])
def test_a_fault_that_leaves_open_what_was_written_counts_in_every_version(fault, level):
    faulty, sound = parsed(m(f"int32 a = 1; {OPEN[fault]}")), parsed(m("int32 a = 1;"))
    report = check_compatibility(sound, [Earlier(faulty)], CompatibilityLevel(level), policy=SOUND)
    assert "invalid-protobuf-file" in {each.rule for failure in report.failures for each in failure.differences}


def test_a_break_beside_a_fault_with_one_meaning_is_found():
    writer, reader = m("int32 a = 1; reserved 5 to 9, 7;"), m("string a = 1;")
    report = check_compatibility(parsed(reader), [Earlier(parsed(writer))], CompatibilityLevel.BACKWARD, policy=SOUND)
    assert [each.rule for each in report.failures[0].differences] == ["field-scalar-kind-changed"]


def of_last_message(text: str, written: bytes) -> tuple[Any, Any]:
    """The record of the message M, read by the runtime, and the extension in the message E."""
    file = pooled_file(parsed(text))
    messages = file.message_types_by_name
    record = message_factory.GetMessageClass(messages["M"]).FromString(written)
    return record, messages["E"].extensions_by_name["ext"]


def test_extensions_of_a_message_set_are_lost_without_its_option():
    """The runtime writes the item of a message set as a group, and a reader without the option does not read it."""
    extended = "message E { extend S { optional E ext = 10; } optional int32 a = 1; } message M { optional S s = 1; }"
    plain = f"{P2} message S {{ extensions 4 to 536870911; }} {extended}"
    items = f"{P2} message S {{ option message_set_wire_format = true; extensions 4 to max; }} {extended}"
    assert [each.rule for each in differences(items, plain, SOUND)] == ["message-set-changed"]
    assert differences(plain, items, SOUND) == differences(items, items, SOUND) == []
    written = bytes.fromhex("0a080b100a1a0208070c")
    for text, is_read in ((items, True), (plain, False)):
        record, extension = of_last_message(text, written)
        assert record.s.HasExtension(extension) is is_read
    record, extension = of_last_message(items, bytes.fromhex("0a0452020807"))
    assert record.s.Extensions[extension].a == 7


@pytest.mark.slow
def test_generated_pairs_break_exactly_where_messages_are_lost():
    broken = 0
    for seed in range(300):
        writer, reader = map(parsed, seeded_pair(seed))
        found = find_differences(reader, writer, policy=SOUND)
        broken += bool(found)
        if not found:
            confirmed = confirm_compatible(reader, writer, 50)
            assert (confirmed.round_tripped, confirmed.counter_witness) == (50, None), seed
        assert all(search_for_witness(reader, writer, difference) for difference in found), seed
    assert 60 < broken < 200


def test_extensions_are_fields_too():
    def extended(kind: str) -> str:
        return m("extensions 100 to max;", P2) + f"extend M {{ optional {kind} x = 100; }}"

    assert differences(extended("int32"), extended("int64"), SOUND) == []
    (found,) = differences(extended("int32"), extended("string"), SOUND)
    assert (found.rule, found.path) == ("field-scalar-kind-changed", "#/M/100")
    assert differences(extended("int32"), extended("string"), CompatibilityPolicy.STRICT) == []


def test_messages_exchanged_without_end_are_judged_within_a_bound():
    def web(step: int) -> Any:
        fields = [f"message M{i} {{ M{(i * 7 + 1) % 400} a = 1; M{(i * step + 2) % 400} b = 2; }}" for i in range(400)]
        return parsed(P3 + " ".join(fields))

    assert find_differences(web(3), web(5), policy=SOUND)
    assert find_differences(web(3), web(3), policy=SOUND) == []
