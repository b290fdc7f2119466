"""The stored text: one layout for every spelling of a file, and everything in it that matters."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from strategies.protobuf.schemas import protobuf_schemas

PROTO3 = 'syntax = "proto3";\n'


def _canonical(text: str) -> str:
    return parse_protobuf(text).canonical()


def test_the_order_and_layout_of_a_file() -> None:
    text = """
        syntax = 'proto2'; // comment
        service S { rpc R(A)returns(stream A){option deprecated=true;option idempotency_level=IDEMPOTENT;}; }
        extend A { optional int32 x = 100; }
        enum E { reserved "OLD"; Z=0; option deprecated = true; reserved 5 to max; }
        message A {
          enum N { Q = 0; } message M {}
          extensions 100 to max;
          optional group G = 3 { optional int32 g = 1; }
          oneof o { option (x) = 1; string s = 1; }
          optional M m = 2 [json_name='j', default=q, deprecated=true];
          option deprecated = true; reserved 9; extend A { optional M i = 101; }
        }
        import "google/protobuf/any.proto"; option java_package = "a"; package p.q;
        import public "google/protobuf/empty.proto"; import weak "google/protobuf/api.proto";
    """
    assert _canonical(text) == dedent(
        """\
        syntax = "proto2";
        package p.q;

        import "google/protobuf/any.proto";
        import public "google/protobuf/empty.proto";

        option java_package = "a";

        message A {
          reserved 9;

          option deprecated = true;

          optional M m = 2 [
            deprecated = true,
            default = q,
            json_name = "j"
          ];

          oneof o {
            option (x) = 1;
        ~
            string s = 1;
          }

          optional group G = 3 {
            optional int32 g = 1;
          }

          extensions 100 to max;

          message M {}
          enum N {
            Q = 0;
          }

          extend A {
            optional M i = 101;
          }
        }
        enum E {
          reserved "OLD";
          reserved 5 to max;
          option deprecated = true;
          Z = 0;
        }

        extend A {
          optional int32 x = 100;
        }

        service S {
          rpc R (A) returns (stream A) {
            option deprecated = true;
            option idempotency_level = IDEMPOTENT;
          };
        }
        """
    ).replace("~", "  ")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("message A {}", "\nmessage A {}\n"),
        ("package a;", "package a;\n"),
        (PROTO3, PROTO3),
    ],
)
def test_a_text_without_a_syntax_line_starts_with_an_empty_line(text: str, canonical: str) -> None:
    assert _canonical(text) == canonical


@pytest.mark.parametrize(
    ("kind", "written", "stored"),
    [
        ("int32", '"7"', "7"),
        ("string", "7", '"7"'),
        ("string", r"'it\'s \"x\" \\ \n'", r'"it' + r"'" + r's \"x\" \\ \n"'),
        ("string", r'"\303\251\001"', r'"é\001"'),
        ("bytes", '"b"', "b"),
        ("double", "-inf", "-inf"),
        ("float", "1e-7", "1e-7"),
        ("bool", "true", "true"),
    ],
)
def test_defaults_are_spelt_by_their_fields_type(kind: str, written: str, stored: str) -> None:
    text = _canonical(f"message A {{ optional {kind} a = 1 [default = {written}]; }}")
    assert f"[default = {stored}];" in text
    assert _canonical(text) == text


@pytest.mark.parametrize("kind", ["bytes", "int32"])
def test_a_default_that_the_stored_text_cannot_carry_is_refused_and_kept_where_it_is_stored(kind: str) -> None:
    text = rf'message A {{ optional {kind} a = 1 [default = "\000 \377"]; }}'
    with pytest.raises(SchemaParseError, match=f"a default of {kind} that is not one word"):
        parse_protobuf(text)
    stored = parse_protobuf(text, validation=Validation.LENIENT).canonical()
    assert r'[default = "\000 \377"]' in stored
    assert parse_protobuf(stored, validation=Validation.LENIENT).canonical() == stored


def test_values_in_braces_and_brackets_stand_in_lines_of_their_own() -> None:
    text = PROTO3 + 'option (a).b = { x: [1], y { z: "q" } y < z: "r" > w: [] };'
    assert _canonical(text) == PROTO3 + dedent(
        """
        option (a).b = {
          x: [
            1
          ],
          y: [
            {
              z: "q"
            },
            {
              z: "r"
            }
          ],
          w: [
          ]
        };
        """
    )
    assert _canonical(_canonical(text)) == _canonical(text)


def test_strings_are_escaped_where_they_must_be() -> None:
    text = PROTO3 + r"""option java_package = 'a"b\\c\n\tü\177\376';"""
    assert r'option java_package = "a\"b\\c\n\tü\177\376";' in _canonical(text)
    assert _canonical(_canonical(text)) == _canonical(text)


def test_an_empty_line_in_a_nested_message_is_as_far_indented_as_the_message() -> None:
    text = _canonical(
        PROTO3 + "message A { message B { int32 a = 1; message C { int32 b = 1; oneof o { int32 c = 2; } } } }"
    )
    assert "    int32 a = 1;\n  \n    message C {\n      int32 b = 1;\n    \n      oneof o {\n" in text


def test_a_weak_import_is_stored_only_where_a_type_comes_through_it() -> None:
    weak = PROTO3 + '\nimport weak "google/protobuf/empty.proto";\n'
    used = weak + "\nmessage A {\n  google.protobuf.Empty e = 1;\n}\n"
    assert _canonical(used) == used
    assert _canonical(_canonical(used)) == used
    assert ".google.protobuf.Empty e = 1;" in parse_protobuf(used).normalized()
    assert _canonical(weak + "message A {}") == PROTO3 + "\nmessage A {}\n"


def test_comments_and_spaces_do_not_count() -> None:
    plain = "package a;message A{optional int32 b=1;}"
    spaced = "/* x */ package\na ; // y\n message  A {\r\n\t; optional /* z */ int32 b = 0x1 ; ; };\n"
    first, second = parse_protobuf(plain), parse_protobuf(spaced)
    assert first.is_equivalent(second)
    assert not first.is_equivalent(parse_protobuf(plain.replace("b", "c")))


@given(protobuf_schemas())
def test_the_stored_text_is_read_as_itself(text: str) -> None:
    canonical = _canonical(text)
    again = parse_protobuf(canonical)
    assert again.canonical() == canonical
    assert again.normalized() == parse_protobuf(text).normalized()
