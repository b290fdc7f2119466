"""The normalised text: full names, and everything that has no meaning in one order."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given

from counterfoil.schema.languages.protobuf.describe.descriptors import descriptor_set
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from strategies.protobuf.schemas import protobuf_schemas

PROTO3 = 'syntax = "proto3";\n'


def _normalized(text: str) -> str:
    return parse_protobuf(text).normalized()


def test_everything_without_meaning_is_put_in_order() -> None:
    text = """
        syntax = "proto2"; package p;
        import "google/protobuf/timestamp.proto"; import "google/protobuf/descriptor.proto";
        option java_package = "a"; option go_package = "b"; option (f) = 0x10;
        extend google.protobuf.FileOptions { optional int32 f = 50001; }
        message B {
          reserved "z", 9, 4 to 6, "a"; extensions 300, 100 to 200;
          oneof two { B q = 8; int32 r = 3; } oneof one { string s = 2; } oneof none {}
          optional google.protobuf.Timestamp t = 20; map<string, B> m = 1;
          optional E e = 10 [deprecated = true, default = X];
          enum E { Y = 5; X = 0; N = -1; }
        }
        message A { optional .p.B b = 1; optional B.E e = 2; }
        service S { rpc Z (A) returns (stream B); rpc Y (B) returns (A); }
    """
    assert _normalized(text) == dedent(
        """\
        package p;

        import "google/protobuf/descriptor.proto";
        import "google/protobuf/timestamp.proto";

        option go_package = "b";
        option java_package = "a";
        option (p.f) = 16;

        message B {
          reserved 4 to 6;
          reserved 9;
          reserved "a";
          reserved "z";

          map<string, .p.B> m = 1;
          optional .p.B.E e = 10 [
            default = X,
            deprecated = true
          ];
          optional .google.protobuf.Timestamp t = 20;

          oneof one {
            string s = 2;
          }
          oneof two {
            int32 r = 3;
            .p.B q = 8;
          }

          extensions 100 to 200;
          extensions 300;

          enum E {
            N = -1;
            X = 0;
            Y = 5;
          }
        }
        message A {
          optional .p.B b = 1;
          optional .p.B.E e = 2;
        }

        extend .google.protobuf.FileOptions {
          optional int32 f = 50001;
        }

        service S {
          rpc Z (.p.A) returns (stream .p.B);
          rpc Y (.p.B) returns (.p.A);
        }
        """
    )


@pytest.mark.parametrize(
    ("written", "normalized"),
    [
        *(("0x1F", "31"), ("010", "8"), ("1.0", "1"), ("1e3", "1000"), ("-7", "-7"), ("inf", "inf"), ("-inf", "-inf")),
        *(("1e-7", "1e-7"), ("0.0000001", "1e-7"), ("1.50", "1.5"), ("1e300", "1e300"), ("-0.5", "-0.5")),
        *(
            ("0.0", "0"),
            ("-0.0", "-0"),
            ("-0", "-0"),
            ("-0e5", "-0"),
            ("nan", "nan"),
            ("-nan", "-nan"),
            ("-0x1F", "-31"),
        ),
    ],
)
def test_a_number_has_one_spelling_and_keeps_its_value(written: str, normalized: str) -> None:
    assert f"[default = {normalized}]" in _normalized(f"message A {{ optional double a = 1 [default = {written}]; }}")


@pytest.mark.parametrize("kind", ["int32", "uint64", "sint32", "sfixed64"])
def test_a_whole_number_has_no_negative_zero(kind: str) -> None:
    assert "[default = 0]" in _normalized(f"message A {{ optional {kind} a = 1 [default = -0]; }}")


def test_the_options_of_extension_ranges_are_put_in_order() -> None:
    declared = 'declaration = { type: "int32", number: 0x0A, full_name: ".b" }'
    text = f"message A {{ extensions 20 to 30, 10 [verification = DECLARATION, {declared}]; }}"
    assert _normalized(text) == dedent(
        """
        message A {
          extensions 10 [
            declaration = {
              full_name: ".b",
              number: 10,
              type: "int32"
            },
            verification = DECLARATION
          ];
          extensions 20 to 30 [
            declaration = {
              full_name: ".b",
              number: 10,
              type: "int32"
            },
            verification = DECLARATION
          ];
        }
        """
    )


OPTIONS = """
    import "google/protobuf/descriptor.proto";
    message O {
      optional string s = 1; optional int32 n = 2; optional O o = 3; repeated int32 r = 4; optional double d = 5;
      repeated O many = 6; extensions 100 to 200;
    }
    extend O { optional O e = 100; }
    extend google.protobuf.FieldOptions {
      optional O f = 50000; repeated O fs = 50001; repeated string t = 50002; optional double z = 50003;
    }
"""
MERGED = {
    "two fields": ('(f).s = "x", (f).n = 1', '(f) = { n: 1, s: "x" }'),
    "fields inside fields": ('(f).o.s = "x", (f).n = 1, (f).o.o.n = 2', '(f) = { n: 1, o: { o { n: 2 } s: "x" } }'),
    "a whole and a field of it": ('(f) = { s: "x" o { n: 1 } }, (f).o.d = -1.0', '(f) = { o { d: -1 n: 1 } s: "x" }'),
    "a field that is a list": ('(f).r = 1, (f).r = 2, (f).s = "x"', '(f) = { r: [1, 2] s: "x" }'),
    "an extension inside": ("(f).(e).n = 1, (f).(e).o.n = 2", "(f) = { [e] { n: 1 o { n: 2 } } }"),
    "full names": ('(.f).s = "x", (f).n = 1', '(f) = { n: 1, s: "x" }'),
    "others between them": (
        '(f).s = "x", deprecated = true, (f).n = 1, (t) = "a", (t) = "b"',
        '(f) = { n: 1, s: "x" }, (t) = "a", (t) = "b", deprecated = true',
    ),
}


def _with_options(options: str) -> str:
    return f"{OPTIONS} message A {{ optional int32 a = 1 [{options}]; }}"


@pytest.mark.parametrize("case", MERGED)
def test_options_that_set_fields_of_one_extension_are_one(case: str) -> None:
    written, merged = map(_with_options, MERGED[case])
    assert _normalized(written) == _normalized(merged)
    assert parse_protobuf(written).warnings() == parse_protobuf(merged).warnings() == []
    assert _options_of(_normalized(written)) == _options_of(written)


def _options_of(text: str) -> Any:
    """The options of the field A.a, as a runtime has them that knows the file's extensions."""
    files = FileDescriptorSet.FromString(descriptor_set(parse_protobuf(text))).file
    pool = DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    options = next(message for message in files[-1].message_type if message.name == "A").field[0].options
    known = GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FieldOptions"))
    return known.FromString(options.SerializeToString()).SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    ("written", "normalized"),
    [
        ("(z) = -0.0", "(z) = -0.0"),
        ("(z) = -0", "(z) = 0"),
        ("(z) = -nan", "(z) = -nan"),
        ("(f).d = -0e1", "(f).d = -0.0"),
        ("(f) = { d: -0 }", "d: -0\n"),
        ("(f) = { d: -0.0 }", "d: -0.0\n"),
        ("(f) = { d: -nan }", "d: -nan\n"),
        ("(f).d = -0.0, (f).n = -0", "d: -0.0,\n    n: 0\n"),
    ],
)
def test_negative_zeros_and_negative_nan_keep_their_sign(written: str, normalized: str) -> None:
    text = _normalized(_with_options(written))
    assert normalized in text
    assert _normalized(text) == text
    if "nan" not in written:
        assert _options_of(text) == _options_of(_with_options(written))


@pytest.mark.parametrize(
    "options",
    [
        '(f).s = "x"',
        "(f).o.n = 1",
        '(t) = "a",\n    (t) = "b"',
        "(fs) = {\n      n: 1\n    },\n    (fs) = {\n      n: 2\n    }",
        "features.field_presence = EXPLICIT,\n    features.repeated_field_encoding = PACKED",
    ],
)
def test_other_options_stay_as_they_are_written(options: str) -> None:
    assert options.replace("\n  ", "\n") in _normalized(_with_options(options)).replace("\n  ", "\n")


def test_a_list_of_one_loses_its_brackets_and_entries_are_sorted() -> None:
    text = PROTO3 + "option (a) = { z: [1], b { y: 2, x: [0x3, 4] } };"
    assert _normalized(text) == PROTO3 + dedent(
        """
        option (a) = {
          b: {
            x: [
              3,
              4
            ],
            y: 2
          },
          z: 1
        };
        """
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("message A { A a = 1; int32 b = 2; }", "message A { int32 b = 2; .A a = 1; }"),
        ("message A { reserved 1, 2; }", "message A { reserved 2; reserved 1; }"),
        (
            "message A { int32 a = 1 [deprecated = true, json_name = 'x']; }",
            'message A { int32 a = 1 [json_name = "x", deprecated = true]; }',
        ),
        ("message A { oneof o { A a = 1; A b = 2; } }", "message A { oneof o { .A b = 2; A a = 0x1; } }"),
        ("enum E { A = 0; B = 1; }", "enum E { A = 0; B = 01; }"),
    ],
)
def test_other_spellings_have_one_normalised_text(one: str, other: str) -> None:
    first, second = parse_protobuf(PROTO3 + one), parse_protobuf(PROTO3 + other)
    assert first.normalized() == second.normalized()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("message A {} message B {}", "message B {} message A {}"),
        ("enum A { X = 0; } enum B { Y = 0; }", "enum B { Y = 0; } enum A { X = 0; }"),
    ],
)
def test_the_order_of_types_counts_since_message_indexes_depend_on_it(one: str, other: str) -> None:
    assert _normalized(PROTO3 + one) != _normalized(PROTO3 + other)


def test_types_of_references_get_their_full_names() -> None:
    reference = ResolvedReference(Reference("b.proto", "b", 1), PROTO3 + "package a.b; message B { enum E { X = 0; } }")
    schema = parse_protobuf(
        PROTO3 + 'package a; import "b.proto"; message A { b.B b = 1; .a.b.B.E e = 2; }', [reference]
    )
    assert ".a.b.B b = 1;\n  .a.b.B.E e = 2;" in schema.normalized()
    assert "  b.B b = 1;" in schema.canonical()


@given(protobuf_schemas())
def test_normalising_twice_changes_nothing(text: str) -> None:
    normalized = _normalized(text)
    assert _normalized(normalized) == normalized
