"""Files that are not to be registered: what Protobuf permits and registries refuse, with protoc as the judge."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.judgement import check_compatibility, confirm_compatible
from counterfoil.schema.languages.protobuf.describe.descriptors import file_descriptor
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from strategies.protobuf.classes import compiled, file_without_json_names

INT = "optional int32 x = 1;"
REFUSED = {
    "message in a group": "optional group G = 1 { message N { optional int32 x = 1; } optional N n = 1; }",
    "enum in a group": "optional group G = 1 { enum E { A = 0; } optional E e = 1; }",
    "oneof in a group": "optional group G = 1 { oneof o { int32 x = 1; string s = 2; } }",
    "reserved in a group": f"optional group G = 1 {{ reserved 4 to 6; {INT} }}",
    "option in a group": f"optional group G = 1 {{ option deprecated = true; {INT} }}",
    "extensions in a group": f"optional group G = 1 {{ extensions 4 to 6; {INT} }}",
    "extend in a group": f"extensions 9; optional group G = 1 {{ extend M {{ optional int32 e = 9; }} {INT} }}",
    "empty statement in a group": f"optional group G = 1 {{ {INT}; }}",
    "group in a group": f"repeated group G = 1 {{ required group H = 2 {{ {INT} }} }}",
    "group in a oneof": f"oneof o {{ group G = 1 {{ {INT} }} int32 b = 2; }}",
    "group in an extension": f"extensions 9; extend M {{ optional group G = 9 {{ message N {{}} {INT} }} }}",
    "all of them": f"oneof o {{ group G = 1 {{ oneof p {{ group H = 4 {{ enum E {{ A = 0; }} {INT} }} }} }} }}",
    "bytes as octal escapes": r'optional bytes b = 1 [default = "\001\377"];',
    "bytes as other escapes": r'optional bytes b = 1 [default = "\xff\n\\\""];',
    "bytes with a space": 'optional bytes b = 1 [default = "a b"];',
    "empty bytes": 'optional bytes b = 1 [default = ""];',
    "bytes that are UTF-8": 'optional bytes b = 1 [default = "é"];',
    "bytes in two parts": 'optional bytes b = 1 [default = "ab" " cd"];',
    "bytes in a group": r'optional group G = 1 { optional bytes b = 1 [default = "\000"]; }',
}


def file_of(body: str) -> str:
    return f'syntax = "proto2";\npackage shop;\nmessage M {{\n  {body}\n}}\n'


def comparable(file: FileDescriptorProto) -> FileDescriptorProto:
    file_without_json_names(file)
    file.ClearField("name")
    file.ClearField("syntax")  # proto2 is the default
    waiting = list(file.message_type)
    for message in waiting:  # canonical texts have fields before groups
        in_order = sorted(message.field, key=lambda field: field.number)
        del message.field[:]
        message.field.extend(in_order)
        waiting.extend(message.nested_type)
    return file


@pytest.mark.parametrize("name", REFUSED)
def test_protocs_descriptor_is_that_of_the_file_and_of_its_canonical_texts(name):
    text = file_of(REFUSED[name])
    schema = parse_protobuf(text, validation=Validation.FILE)
    assert schema.warnings() == []
    wanted = comparable(compiled({"m.proto": text}).file[-1])
    for each in (text, schema.canonical(), schema.normalized()):
        again = parse_protobuf(each, validation=Validation.FILE)
        assert comparable(FileDescriptorProto.FromString(file_descriptor(again))) == wanted


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("validation", [Validation.STRICT, Validation.LOOKUP])
def test_a_schema_to_register_is_refused_with_who_refuses_it(name, validation):
    with pytest.raises(SchemaParseError, match=r"which registries (refuse|cannot store)"):
        parse_protobuf(file_of(REFUSED[name]), validation=validation)


@pytest.mark.parametrize("policy", [each for each in CompatibilityPolicy if each is not CompatibilityPolicy.LOGICAL])
@pytest.mark.parametrize("name", REFUSED)
def test_such_files_are_judged(name, policy):
    before = parse_protobuf(file_of(f"{REFUSED[name]} optional int64 z = 20;"), validation=Validation.FILE)
    same = check_compatibility(before, [Earlier(before)], CompatibilityLevel.FULL, policy=policy)
    assert same.is_compatible
    assert confirm_compatible(before, before, 5).counter_witness is None
    after = parse_protobuf(file_of(f"{REFUSED[name]} optional string z = 20;"), validation=Validation.FILE)
    broken = check_compatibility(after, [Earlier(before)], CompatibilityLevel.BACKWARD, policy=policy)
    assert [each.path for failure in broken.failures for each in failure.differences][:1] == ["#/M/20"]


def test_a_difference_deep_in_groups_is_found():
    deep = "oneof o {{ group G = 1 {{ optional group H = 2 {{ optional {} x = 3; }} }} }}"
    before, after = (
        parse_protobuf(file_of(deep.format(kind)), validation=Validation.FILE) for kind in ("int32", "string")
    )
    for policy in (CompatibilityPolicy.SOUND, CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON):
        report = check_compatibility(after, [Earlier(before)], CompatibilityLevel.BACKWARD, policy=policy)
        assert [each.path for each in report.failures[0].differences] == ["#/M/G/H/3"]


@pytest.mark.parametrize(
    "default", [r'optional int32 b = 1 [default = "a b"];', r'optional E b = 1 [default = ""]; enum E { A = 0; }']
)
def test_what_the_language_forbids_is_refused_in_files_too(default):
    with pytest.raises(SchemaParseError, match="not one word"):
        parse_protobuf(file_of(default), validation=Validation.FILE)
