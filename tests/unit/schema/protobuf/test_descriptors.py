"""Descriptors of schemas against those of protoc, and texts out of descriptors."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import grpc_tools
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc
from hypothesis import given

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.protobuf.describe.descriptors import descriptor_set, file_descriptor
from counterfoil.schema.languages.protobuf.read.syntax_tree import json_name_of, map_entry_name
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from strategies.protobuf.schemas import protobuf_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.languages.protobuf.schema import ProtobufSchema

WELL_KNOWN = Path(grpc_tools.__file__).parent / "_proto"
MAIN = "main.proto"

FILES = {
    "defaults": r"""syntax = "proto2"; package d;
        message A {
          optional string s = 1 [default = "it's \"x\" \\ \303\251 \n"];
          optional string s2 = 2 [default = 'a' "b"  'c'];
          optional bytes b = 3 [default = "\001\xfe'\"\\\n\303"];
          optional double d = 4 [default = 1e-7]; optional double d2 = 5 [default = -inf];
          optional double d3 = 6 [default = 123456789.123456789]; optional double d4 = 7 [default = -1.5e3];
          optional double d5 = 8 [default = - 2.5]; optional double d6 = 9 [default = 1e+3];
          optional double d7 = 10 [default = .5]; optional double d8 = 11 [default = 1.];
          optional float f = 12 [default = 0.1]; optional float f2 = 13 [default = 3.4028235e+38];
          optional float f3 = 14 [default = nan]; optional float f4 = 15 [default = 5];
          optional float f5 = 16 [default = 16777217]; optional int32 i = 17 [default = -0x7F];
          optional uint64 u = 18 [default = 18446744073709551615]; optional sint64 octal = 19 [default = 010];
          optional bool z = 20 [default = true]; optional E e = 21 [default = Y];
        }
        enum E { X = 0; Y = 017; Z = -0x10; }""",
    "groups, maps and extensions": """syntax = "proto2"; package g.h;
        message A {
          optional group Grp = 1 {
            optional int32 x = 1; repeated group Deep_er = 2 { required string y = 1; }
          }
          oneof o { group Og = 7 { optional int32 z = 1; } int32 k = 8; }
          map<string, A> my_map = 9; message N {} map<int32, Grp> m2 = 10; optional N n = 11;
          extensions 100 to 200; extensions 300, 400 to max;
        }
        extend A { optional group Ext = 100 { optional int32 q = 1; } repeated int32 r = 101 [packed = true]; }
        message B { extend A { optional group Inner = 102 { optional A a = 1; } optional B b = 103; } }""",
    "options": r"""syntax = "proto3"; package o.p;
        import "google/protobuf/descriptor.proto";
        option java_package = "x.y"; option (file_opt) = "h\303\251\001"; option cc_enable_arenas = false;
        option (file_msg).a = 5; option (file_msg).inner.b = "x"; option (rep) = 1; option (rep) = 2;
        message Opt {
          int32 a = 1; Inner inner = 2; repeated string s = 3; map<string, int32> m = 4; E e = 5; bytes raw = 6;
          float fl = 7; message Inner { string b = 1; Opt o = 2; } enum E { Z = 0; ONE = 1; } bool flag = 8;
          google.protobuf.FieldOptions fo = 9; double db = 10;
        }
        extend google.protobuf.FileOptions { string file_opt = 50001; Opt file_msg = 50002; }
        extend google.protobuf.FileOptions { repeated int32 rep = 50003; }
        extend google.protobuf.MessageOptions { Opt msg_opt = 50001; }
        extend google.protobuf.FieldOptions { Opt fopt = 50001; Opt.E eopt = 50002; optional bool bopt = 50003; }
        extend google.protobuf.EnumOptions { double eo = 50001; }
        extend google.protobuf.EnumValueOptions { sint32 evo = 50001; }
        extend google.protobuf.OneofOptions { uint64 oo = 50001; }
        extend google.protobuf.ServiceOptions { fixed32 so = 50001; }
        extend google.protobuf.MethodOptions { string mo = 50001; }
        message A {
          option deprecated = true;
          option (msg_opt) = {
            a: 1 inner { b: "q" o: { a: -3; s: ["x", "y"] } } s: "1" s: "2", m { key: "k" value: 3 }
            m: [{key: "l" value: 4}], e: ONE raw: "\377\001" fl: 1.5 flag: true db: inf
            fo <deprecated: true [o.p.eopt]: ONE>
          };
          int32 x = 1 [(fopt).a = 1, (fopt).inner.o.a = 2, deprecated = true, (o.p.eopt) = ONE, (.o.p.bopt) = true,
                       json_name = "XX"];
          oneof c { option (oo) = 0x10; string s = 2; bytes t = 3; }
          repeated int32 p = 4 [packed = false]; string jt = 5 [jstype = JS_NORMAL, ctype = CORD];
          reserved 10, 20 to 30, 40 to max; reserved "foo", "bar";
        }
        enum E {
          option (eo) = -1.5; option allow_alias = true; ZERO = 0 [(evo) = -4]; ALIAS = 0 [deprecated = true];
          NEG = -1; reserved -5 to -3, 100 to max; reserved "OLD";
        }
        service S {
          option (so) = 7;
          rpc M (A) returns (stream Opt) { option (mo) = "x" "y"; option idempotency_level = NO_SIDE_EFFECTS; }
          rpc N (stream .o.p.A) returns (A);
        }""",
    "optional in proto3, and JSON names": """syntax = "proto3";
        import "google/protobuf/descriptor.proto";
        message A {
          optional int32 a = 1; oneof _a { int32 b = 2; } optional string c_d = 3; optional int32 _c_d_ = 5;
          oneof z { A q = 4; } int32 fooBar = 6; int32 _x = 8; int32 FOO_bar2_3 = 9;
          map<string, int64> foo_bar_map = 10; map<sfixed32, E> M2 = 11;
        }
        enum E { A0 = 0; }
        extend google.protobuf.FieldOptions { optional int32 ext_opt = 60001; repeated int32 rep_opt = 60002; }""",
    "scopes and words": """syntax = "proto3"; package a.b.c;
        import public "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto";
        message A {
          message A { message A {} A a = 1; }
          A a = 1; A.A aa = 2; c.A x = 3; b.c.A y = 4; a.b.c.A z = 5; .a.b.c.A w = 6;
          google.protobuf.Timestamp t = 7; B b = 8; google.protobuf.Any any = 9; enum B { Q = 0; }
        }
        enum B { R = 0; }
        message Words {
          int32 message = 1; int32 syntax = 2; string string = 3; bool optional = 4; int32 to = 5; int32 max = 6;
          int32 package = 7; int32 oneof = 8; int32 stream = 9; int32 import = 10; int32 inf = 11; int32 rpc = 12;
          int32 returns = 13; int32 map = 14; int32 group = 15; int32 reserved = 16;
        }
        service stream { rpc rpc (A) returns (A); rpc option (stream A) returns (stream A); }
        enum Strange { message = 0; enum = 1; reserved_ = 2; map = 3; syntax = 4; }""",
    "message sets and extension ranges": """syntax = "proto2";
        message S { option message_set_wire_format = true; extensions 4 to max; }
        message M { extend S { optional M m = 10; } }
        message X {
          extensions 10 to 20, 30 [verification = UNVERIFIED];
          extensions 40 to 50 [declaration = { number: 41, full_name: ".x.y", type: "int32" }];
        }""",
    "edition 2023": """edition = "2023"; package e;
        option features.field_presence = IMPLICIT; option features.repeated_field_encoding = EXPANDED;
        message A {
          int32 a = 1; string b = 2 [features.field_presence = EXPLICIT, default = "x"];
          int32 r = 3 [features.field_presence = LEGACY_REQUIRED];
          repeated int32 p = 4 [features.repeated_field_encoding = PACKED];
          A sub = 5 [features.message_encoding = DELIMITED]; map<string, A> m = 6; oneof o { int32 q = 7; }
          map<string, string> raw = 8 [features.utf8_validation = NONE, deprecated = true];
          reserved foo, bar; extensions 100 to 110;
        }
        enum E { option features.enum_type = CLOSED; X = 1; reserved Y; }
        extend A { int32 ext = 100; }""",
    "edition 2024": """edition = "2024"; package e;
        export message A { int32 a = 1; local message N {} local enum K { K_UNSPECIFIED = 0; } N n = 2; K k = 3; }
        local enum E { E_UNSPECIFIED = 0; }""",
    "spaces, comments and semicolons": """/* head */ // more
        syntax="proto2";;;package x.y;
        message A{optional/*c*/int32//d
        a=1/**/[/**/deprecated/**/=/**/true/**/]/**/;;optional int32 b=0x02;optional int32 c=003;message B{};;}
        enum E{Z=0;;};;""",
}


def _compile(text: str, others: Mapping[str, str] | None = None) -> FileDescriptorSet:
    """What protoc makes of a file, with everything it imports."""
    with TemporaryDirectory() as folder:
        for path, content in {MAIN: text, **(others or {})}.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        out = Path(folder, "out.bin")
        flags = ("--include_imports", "--retain_options", f"--descriptor_set_out={out}")
        status = protoc.main(["protoc", f"-I{folder}", f"-I{WELL_KNOWN}", *flags, MAIN])
        assert status == 0, text
        return FileDescriptorSet.FromString(out.read_bytes())


def _serialized(schema: ProtobufSchema) -> str:
    return b64encode(file_descriptor(schema)).decode()


def _load(files: FileDescriptorSet) -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
        pool.FindFileByName(file.name)
    return pool


def _shown(files: FileDescriptorSet) -> str:
    """The last file, its options named by the extensions that the files declare."""
    pool = _load(files)
    file = files.file[-1]
    try:
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto"))
    except KeyError:
        return str(file)
    return str(kind.FromString(file.SerializeToString()))


def _ours(text: str, references: tuple[ResolvedReference, ...] = ()) -> FileDescriptorSet:
    schema = parse_protobuf(text, references, validation=Validation.LENIENT)
    return FileDescriptorSet.FromString(descriptor_set(schema, name=MAIN))


@pytest.mark.parametrize("case", FILES)
def test_a_descriptor_is_the_one_of_protoc(case: str) -> None:
    assert _shown(_ours(FILES[case])) == _shown(_compile(FILES[case]))


@pytest.mark.parametrize("case", FILES)
def test_what_protoc_takes_has_no_warnings(case: str) -> None:
    assert parse_protobuf(FILES[case], validation=Validation.LENIENT).warnings() == []


@pytest.mark.parametrize("case", FILES)
def test_a_descriptor_comes_back_as_the_same_content(case: str) -> None:
    schema = parse_protobuf(FILES[case], validation=Validation.LENIENT)
    once = parse_protobuf(_serialized(schema), validation=Validation.LENIENT)
    twice = parse_protobuf(_serialized(once), validation=Validation.LENIENT)
    assert twice.canonical() == once.canonical()
    assert once.name == schema.name


@given(protobuf_schemas())
def test_a_generated_file_has_the_descriptor_of_protoc_and_no_warnings(text: str) -> None:
    ours = _ours(text)
    assert ours.file[-1] == _compile(text).file[-1]
    assert _load(ours).FindFileByName(MAIN)
    assert parse_protobuf(text).warnings() == []


@pytest.mark.slow
@given(protobuf_schemas().filter(lambda text: "e-7" not in text))
def test_text_to_descriptor_to_text_keeps_the_normalised_text(text: str) -> None:
    schema = parse_protobuf(text)
    back = parse_protobuf(_serialized(schema))
    assert back.normalized() == schema.normalized()
    again = parse_protobuf(_serialized(back))
    assert again.canonical() == back.canonical()


RECORDED_SERIALIZED = {
    'syntax = "proto3";\npackage s1n075;\nmessage Order {\n  int64 id = 1;\n}\n': (
        "CgdkZWZhdWx0EgZzMW4wNzUiEQoFT3JkZXISCAoCaWQYASgDYgZwcm90bzM="
    ),
    'syntax = "proto3"; package s1n085; message Item { string sku = 1; }': (
        "CgdkZWZhdWx0EgZzMW4wODUiEQoESXRlbRIJCgNza3UYASgJYgZwcm90bzM="
    ),
    'syntax = "proto3";\npackage s1n012;\nimport "google/protobuf/timestamp.proto";\noption java_package = "x.y";\n'
    "message Order { int64 id = 1; google.protobuf.Timestamp at = 2; map<string, int32> m = 3; } "
    "message Second { Order o = 1; }": (
        "CgdkZWZhdWx0EgZzMW4wMTIaH2dvb2dsZS9wcm90b2J1Zi90aW1lc3RhbXAucHJvdG8ibQoFT3JkZXISCAoCaWQYASgDEiMKAmF0GAIo"
        "CzIZZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIPCgFtGAMgAzIGbUVudHJ5GiQKBm1FbnRyeRIJCgNrZXkYASgJEgsKBXZhbHVlGAIo"
        "BToCOAEiGAoGU2Vjb25kEg4KAW8YASgLMgVPcmRlckIFCgN4LnliBnByb3RvMw=="
    ),
}


@pytest.mark.parametrize("text", RECORDED_SERIALIZED)
def test_the_serialised_form_is_the_references_byte_for_byte(text: str) -> None:
    assert parse_protobuf(text).serialized() == RECORDED_SERIALIZED[text]


@pytest.mark.slow
@given(protobuf_schemas().filter(lambda text: "e-7" not in text))
def test_the_serialised_form_is_read_as_the_same_text_and_the_runtime_takes_it(text: str) -> None:
    schema = parse_protobuf(text)
    once = schema.serialized()
    back = parse_protobuf(once)
    assert back.normalized() == schema.normalized()
    assert back.serialized() == once
    pool = _load(FileDescriptorSet(file=_ours(text).file[:-1]))
    pool.AddSerializedFile(b64decode(once))
    assert pool.FindMessageTypeByName(schema.name or "")


def test_references_stand_before_the_schema_and_are_found_by_the_runtime() -> None:
    texts = {
        "base.proto": 'syntax = "proto3"; package b; import "google/protobuf/any.proto";'
        "message B { google.protobuf.Any a = 1; }",
        "item.proto": 'syntax = "proto3"; package i; import public "base.proto"; message I { b.B b = 1; }',
    }
    references = tuple(ResolvedReference(Reference(name, name, 1), text) for name, text in texts.items())
    main = 'syntax = "proto3"; import "item.proto"; message M { i.I i = 1; b.B b = 2; }'
    ours = _ours(main, references)
    assert [file.name for file in ours.file] == ["google/protobuf/any.proto", "base.proto", "item.proto", MAIN]
    theirs = {file.name: file for file in _compile(main, texts).file}
    assert all(file == theirs[file.name] for file in ours.file[1:])
    assert _load(ours).FindMessageTypeByName("M").fields_by_name["b"].message_type.full_name == "b.B"


def test_known_files_without_a_runtime_module_are_described_too() -> None:
    text = 'syntax = "proto3"; import "confluent/type/decimal.proto"; import "google/type/date.proto";'
    pool = _load(_ours(text + "message A { confluent.type.Decimal d = 1; google.type.Date e = 2; }"))
    fields = pool.FindMessageTypeByName("confluent.type.Decimal").fields
    assert [(field.name, field.number) for field in fields] == [("value", 1), ("precision", 2), ("scale", 3)]


def test_an_option_of_confluent_is_interpreted_and_comes_back_by_name() -> None:
    text = (
        'syntax = "proto3";\n\nimport "confluent/meta.proto";\n\nmessage A {\n'
        '  string a = 1 [(confluent.field_meta) = {\n    tags: [\n      "PII"\n    ]\n  }];\n}\n'
    )
    schema = parse_protobuf(text)
    proto = FileDescriptorProto.FromString(file_descriptor(schema))
    assert not proto.message_type[0].field[0].options.uninterpreted_option
    assert parse_protobuf(schema.serialized()).canonical() == text


def test_an_option_that_nobody_knows_stays_as_it_was_written() -> None:
    text = 'syntax = "proto3"; option (nope).x = { a: [1, "b"] }; option (n2) = -5; option (n3) = 1.5; message A {}'
    schema = parse_protobuf(text)
    proto = FileDescriptorProto.FromString(file_descriptor(schema))
    assert [option.name[0].name_part for option in proto.options.uninterpreted_option] == ["nope", "n2", "n3"]
    back = parse_protobuf(schema.serialized()).canonical()
    assert 'option (nope).x = {\n  a: [\n    1,\n    "b"\n  ]\n};\n' in back
    assert "option (n2) = -5;\noption (n3) = 1.5;\n" in back


def test_a_set_of_descriptors_is_its_last_file_with_the_others_as_imports() -> None:
    files = _compile(
        'syntax = "proto3"; import "item.proto"; message M { I i = 1; }',
        {"item.proto": 'syntax = "proto3"; message I {}'},
    )
    schema = parse_protobuf(b64encode(files.SerializeToString()).decode())
    assert schema.canonical() == 'syntax = "proto3";\n\nimport "item.proto";\n\nmessage M {\n  .I i = 1;\n}\n'
    assert schema.imports["item.proto"].messages[0].name == "I"


def test_a_descriptor_may_be_a_reference() -> None:
    item = parse_protobuf('syntax = "proto3"; package p; message I {}').serialized()
    reference = ResolvedReference(Reference("item.proto", "item", 1), item)
    schema = parse_protobuf('syntax = "proto3"; import "item.proto"; message M { p.I i = 1; }', [reference])
    assert ".p.I i = 1;" in schema.normalized()


def test_a_missing_import_that_is_not_used_is_left_out() -> None:
    files = _ours('syntax = "proto3"; import "nope.proto"; message A { int32 a = 1; }')
    assert [file.name for file in files.file] == [MAIN]
    assert _load(files).FindMessageTypeByName("A")


def test_imports_in_a_circle_are_refused() -> None:
    reference = ResolvedReference(Reference("a.proto", "a", 1), 'syntax = "proto3"; import "a.proto"; message A {}')
    schema = parse_protobuf('syntax = "proto3"; import "a.proto"; message B { A a = 1; }', [reference])
    with pytest.raises(InvalidSchema, match="lead back to it"):
        descriptor_set(schema)


@pytest.mark.parametrize("text", ["null", "abcd", "A" * 400, b64encode(b"\x00\x01\x02").decode(), "AAAA AAAA"])
def test_base64_that_is_no_descriptor_is_read_as_text(text: str) -> None:
    with pytest.raises(InvalidSchema, match="line 1, column 1"):
        parse_protobuf(text)


@pytest.mark.parametrize(
    ("name", "json_name", "entry"),
    [("foo_bar", "fooBar", "FooBarEntry"), ("_x", "X", "XEntry"), ("a__b2", "aB2", "AB2Entry"), ("X", "X", "XEntry")],
)
def test_derived_names(name: str, json_name: str, entry: str) -> None:
    assert (json_name_of(name), map_entry_name(name)) == (json_name, entry)
