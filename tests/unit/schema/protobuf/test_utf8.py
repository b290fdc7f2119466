"""Strings that are no UTF-8: which writers write them and which readers refuse them, by the protobuf runtime."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.protobuf.describe.descriptors import descriptor_set
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from counterfoil.schema.witness import Witness

P2, P3, E23 = 'syntax = "proto2";', 'syntax = "proto3";', 'edition = "2023";'
NONE = "[features.utf8_validation = NONE]"
OF_FILE = E23 + "option features.utf8_validation = NONE;"
RULE = "utf8-validation-added"


def m(body: str, head: str) -> str:
    return f"{head} message M {{ {body} }}"


BREAKS = {
    # writer, reader, bytes that the writer reads and the reader refuses
    "proto2 to proto3": (m("optional string a = 1;", P2), m("string a = 1;", P3), "0a01ff"),
    "proto2 to an edition": (m("optional string a = 1;", P2), m("string a = 1;", E23), "0a01ff"),
    "file of an edition": (m("string a = 1;", OF_FILE), m("string a = 1;", E23), "0a01ff"),
    "field of an edition": (m(f"string a = 1 {NONE};", E23), m("string a = 1;", E23), "0a01ff"),
    "field against its file": (
        m("string a = 1;", OF_FILE),
        m("string a = 1 [features = { utf8_validation: VERIFY }];", OF_FILE),
        "0a01ff",
    ),
    "repeated": (m("repeated string a = 1;", P2), m("repeated string a = 1;", P3), "0a01ff"),
    "made repeated": (m("optional string a = 1;", P2), m("repeated string a = 1;", P3), "0a01ff"),
    "member of a oneof": (m("oneof o { string a = 1; }", P2), m("oneof o { string a = 1; }", P3), "0a01ff"),
    "keys of a map": (m("map<string, int32> a = 1;", P2), m("map<string, int32> a = 1;", P3), "0a050a01ff1001"),
    "values of a map": (m("map<int32, string> a = 1;", P2), m("map<int32, string> a = 1;", P3), "0a0508011201ff"),
    "values of a map with the feature": (
        m(f"map<int32, string> a = 1 {NONE};", E23),
        m("map<int32, string> a = 1;", E23),
        "0a0508011201ff",
    ),
    "map to its entries": (
        m("map<string, int32> a = 1;", P2),
        m("repeated N a = 1; message N { string key = 1; int32 value = 2; }", P3),
        "0a050a01ff1001",
    ),
    "message inside": (
        m("optional N a = 1; message N { optional string s = 1; }", P2),
        m("N a = 1; message N { string s = 1; }", P3),
        "0a030a01ff",
    ),
    "group": (
        m("optional group G = 1 { optional string s = 1; }", P2),
        m("G g = 1 [features.message_encoding = DELIMITED]; message G { string s = 1; }", E23),
        "0b0a01ff0c",
    ),
}
PASSES = {
    "the same": (m("optional string a = 1;", P2), m("optional string a = 1;", P2)),
    "no longer checked": (m("string a = 1;", P3), m("optional string a = 1;", P2)),
    "map no longer checked": (m("map<string, string> a = 1;", E23), m(f"map<string, string> a = 1 {NONE};", E23)),
    "map that nobody checks": (m("map<string, string> a = 1;", P2), m(f"map<string, string> a = 1 {NONE};", E23)),
    "to bytes": (m("optional string a = 1;", P2), m("bytes a = 1;", P3)),
    "no string": (m("optional int32 a = 1;", P2), m("int32 a = 1;", P3)),
    "entries whose value is in a oneof": (
        m("map<string, string> a = 1;", P3),
        m("repeated N a = 1; message N { string key = 1; oneof o { string value = 2; } }", P3),
    ),
    "entries whose key and value are in two oneofs": (
        m("map<string, int32> a = 1;", P3),
        m("repeated N a = 1; message N { oneof k { string key = 1; } oneof v { int32 value = 2; } }", P3),
    ),
    "entries with an optional value": (
        m("map<string, int32> a = 1;", P3),
        m("repeated N a = 1; message N { optional string key = 1; optional int32 value = 2; }", P3),
    ),
}


def parsed(text: str) -> Any:
    return parse_protobuf(text, validation=Validation.LENIENT)


def rules(writer: str, reader: str) -> list[str]:
    return [each.rule for each in find_differences(parsed(reader), parsed(writer), policy=CompatibilityPolicy.SOUND)]


def read(text: str, body: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set(parsed(text))).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("M")).FromString(bytes.fromhex(body))


@pytest.mark.parametrize("case", BREAKS)
def test_a_reader_that_checks_what_its_writer_does_not_is_refused(case: str):
    writer, reader, body = BREAKS[case]
    assert rules(writer, reader) == [RULE]
    read(writer, body)
    with pytest.raises(DecodeError):
        read(reader, body)


@pytest.mark.parametrize("case", BREAKS)
def test_each_of_them_has_a_witness_that_the_reader_refuses(case: str):
    writer, reader, _ = BREAKS[case]
    (difference,) = find_differences(parsed(reader), parsed(writer), policy=CompatibilityPolicy.SOUND)
    witness = search_for_witness(parsed(reader), parsed(writer), difference)
    assert isinstance(witness, Witness)
    assert "377" in json.loads(witness.datum_json)
    assert "DecodeError" in witness.confirmed_by
    assert confirm_compatible(parsed(reader), parsed(writer), 200).counter_witness


@pytest.mark.parametrize("case", PASSES)
def test_what_no_bytes_break_is_not_refused(case: str):
    writer, reader = PASSES[case]
    assert rules(writer, reader) == []
    assert confirm_compatible(parsed(reader), parsed(writer), 200).round_tripped == 200


def test_keys_and_values_are_one_finding():
    both = m("map<string, string> a = 1;", P2)
    (found,) = find_differences(parsed(both.replace(P2, P3)), parsed(both), policy=CompatibilityPolicy.SOUND)
    assert "requires the keys and the values of field a = 1 to be UTF-8" in found.text


def test_the_string_of_an_extension_is_found():
    text = "message M { extensions 10 to 20; } extend M { %sstring x = 10; }"
    assert rules(P2 + text % "optional ", E23 + text % "") == [RULE]


def test_entries_whose_key_and_value_displace_each_other_are_refused():
    entries = m("repeated N a = 1; message N { oneof o { string key = 1; int32 value = 2; } }", P3)
    assert "field-kind-changed" in rules(m("map<string, int32> a = 1;", P3), entries)
