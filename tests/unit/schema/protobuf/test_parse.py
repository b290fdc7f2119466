"""What a Protobuf text becomes, what its references supply, and what is refused or warned of."""

from __future__ import annotations

import pytest

from counterfoil.schema import parse_schema
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.describe.known_files import KNOWN_PATHS, known_file
from counterfoil.schema.languages.protobuf.read.syntax_tree import ImportKind, Label, ProtoMapType, ProtoRange
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import Validation
from strategies.cases.pointers import pointer as pointer_of

PROTO3 = 'syntax = "proto3";\n'


def _reference(name: str, text: str) -> ResolvedReference:
    return ResolvedReference(Reference(name, f"subject-of-{name}", 3), text)


def test_the_front_door_reads_protobuf() -> None:
    schema = parse_schema(PROTO3 + "package a.b; message C { int32 n = 1; }", SchemaType.PROTOBUF)
    assert schema.schema_type is SchemaType.PROTOBUF
    assert schema.name == "a.b.C"
    assert parse_schema(PROTO3, SchemaType.PROTOBUF).name is None


def test_a_message_holds_everything_that_stands_in_it() -> None:
    file = parse_protobuf(
        """
        package p;
        import public "google/protobuf/any.proto"; import weak "google/protobuf/empty.proto";
        option java_package = "x";
        message Outer {
          option deprecated = true;
          optional int32 a = 1 [default = 7, deprecated = true, json_name = "A"];
          oneof one { string s = 2; Inner i = 3; }
          map<string, Inner> m = 0x4;
          repeated group Grp = 5 { required bool g = 1; }
          message Inner {}
          enum Kind { ZERO = 0; MINUS = -1 [deprecated = true]; reserved 5 to max, 4; reserved "GONE"; }
          extensions 100 to 199, 500 to max;
          extend Outer { optional string ext = 120; }
          reserved 90, 62 to 64; reserved "old";
        }
        service S {
          rpc R (stream Outer) returns (stream Outer.Inner) { option deprecated = true; }
          rpc Q (Outer) returns (Outer);
        }
        """
    ).file
    message = file.messages[0]
    assert [(item.path[16:], item.kind) for item in file.imports] == [
        ("any.proto", ImportKind.PUBLIC),
        ("empty.proto", ImportKind.WEAK),
    ]
    assert [field.name for field in message.all_fields] == ["a", "s", "i", "m", "Grp"]
    assert [field.name for field in message.fields] == ["a", "m", "Grp"]
    assert [option.name for option in message.fields[0].options] == ["deprecated", "default", "json_name"]
    assert message.fields[0].label is Label.OPTIONAL
    assert message.fields[1].map == ProtoMapType("string", "Inner")
    assert message.fields[1].number == 4
    group = message.fields[2].group
    assert group is not None
    assert [field.pointer for field in group.fields] == [("Outer", "Grp", "g")]
    assert [field.pointer for field in message.oneofs[0].fields] == [("Outer", "s"), ("Outer", "i")]
    assert message.extensions[0].values == (ProtoRange(100, 199), ProtoRange(500, 536_870_911, is_max=True))
    assert [statement.values for statement in message.reserved] == [(90, ProtoRange(62, 64)), ("old",)]
    kind = message.enums[0]
    assert [(each.name, each.number) for each in kind.constants] == [("ZERO", 0), ("MINUS", -1)]
    assert kind.reserved[0].values[0] == ProtoRange(5, 2**31 - 1, is_max=True)
    assert message.extends[0].fields[0].pointer == ("Outer", "ext")
    first, second = file.services[0].rpcs
    assert (first.request_streaming, first.response_streaming, first.options[0].name) == (True, True, "deprecated")
    assert (second.request, second.response, second.request_streaming) == ("Outer", "Outer", False)


@pytest.mark.parametrize("edition", ["2023", "2024"])
def test_editions_are_read(edition: str) -> None:
    schema = parse_protobuf(
        f'edition = "{edition}"; message A {{ int32 a = 1 [features.field_presence = IMPLICIT]; reserved foo; }}'
    )
    assert schema.file.edition == edition
    assert schema.file.messages[0].reserved[0].values == ("foo",)
    assert schema.canonical().startswith(f'edition = "{edition}";\n\nmessage A {{\n  reserved foo;\n')
    assert parse_protobuf(schema.canonical()).canonical() == schema.canonical()


def test_edition_2024_has_visibility_and_option_imports() -> None:
    text = (
        'edition = "2024";\n\nimport option "google/protobuf/descriptor.proto";\n\n'
        "export message A {\n  local enum K {\n    K_UNSPECIFIED = 0;\n  }\n}\nlocal message B {}\n"
    )
    assert parse_protobuf(text).canonical() == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("message A {} message A {}", "'A' is declared twice, first at line 2, column 1"),
        ("message A {} enum A { X = 0; }", "'A' is declared twice"),
        ("message A { enum B { X = 0; } message B {} }", "'B' is declared twice"),
        ("service S {} service S {}", "'S' is declared twice"),
        ("message A { Nope a = 1; }", "no type 'Nope' is known"),
        ("message A { map<string, Nope> a = 1; }", "no type 'Nope' is known"),
        ("service S { rpc A (Nope) returns (Nope); }", "no type 'Nope' is known"),
        ("extend Nope { optional int32 a = 1; }", "no type 'Nope' is known"),
        ("message A { required int32 a = 1; }", "a required field in proto3"),
        ("message A { oneof o { group G = 1 { int32 x = 1; } } }", "a group in a oneof"),
        ("message A { optional group G = 1 { optional group H = 1 { } } }", "a group in a group"),
        ("message A { optional group G = 1 { message B {} } }", "a group with more than fields in it"),
    ],
)
def test_a_new_schema_is_refused_and_a_stored_one_is_read(text: str, problem: str) -> None:
    with pytest.raises(SchemaParseError) as caught:
        parse_protobuf(PROTO3 + text)
    assert problem in caught.value.problem
    assert caught.value.position is not None
    assert parse_protobuf(PROTO3 + text, validation=Validation.LENIENT).canonical()


@pytest.mark.parametrize("text", ["", " \n\t", "// only a comment", ";;"])
def test_an_empty_text_is_no_schema(text: str) -> None:
    with pytest.raises(SchemaParseError, match="the text declares nothing"):
        parse_protobuf(text, validation=Validation.LENIENT)


@pytest.mark.parametrize("label", ["optional", "required"])
def test_editions_have_no_such_labels(label: str) -> None:
    with pytest.raises(SchemaParseError, match=f"the label {label} in edition 2023"):
        parse_protobuf(f'edition = "2023"; message A {{ {label} int32 a = 1; }}')


def test_names_are_looked_for_in_the_innermost_scope_first() -> None:
    schema = parse_protobuf(
        PROTO3
        + "package a.b; message C { message D {} D one = 1; C.D two = 2; b.C three = 3; .a.b.E four = 4; E e = 5; }"
        " message D {} enum E { X = 0; }"
    )
    types = {field.name: schema.symbols.resolve(field.type, "a.b.C") for field in schema.file.messages[0].fields}
    names = {name: symbol.full_name for name, symbol in types.items() if symbol is not None}
    assert names == {"one": "a.b.C.D", "two": "a.b.C.D", "three": "a.b.C", "four": "a.b.E", "e": "a.b.E"}


def test_references_are_found_by_import_path() -> None:
    item = PROTO3 + 'package shop; import public "base.proto"; message Item { Base base = 1; }'
    schema = parse_protobuf(
        PROTO3 + 'import "item.proto"; message Order { shop.Item item = 1; shop.Base base = 2; }',
        [_reference("base.proto", PROTO3 + "package shop; message Base {}"), _reference("item.proto", item)],
    )
    assert set(schema.imports) == {"item.proto", "base.proto"}
    assert schema.imports["item.proto"].path == "item.proto"
    assert schema.references["item.proto"] == Reference("item.proto", "subject-of-item.proto", 3)


def test_a_type_of_an_import_of_an_import_is_not_seen_unless_it_is_public() -> None:
    references = [
        _reference("base.proto", PROTO3 + "message Base {}"),
        _reference("item.proto", PROTO3 + 'import "base.proto"; message Item { Base base = 1; }'),
    ]
    with pytest.raises(SchemaParseError, match="no type 'Base' is known"):
        parse_protobuf(PROTO3 + 'import "item.proto"; message Order { Base base = 1; }', references)


def test_a_missing_import_is_named_with_who_asks_and_what_is_known() -> None:
    references = [_reference("item.proto", PROTO3 + 'import "deep.proto"; message Item {}')]
    with pytest.raises(SchemaParseError) as caught:
        parse_protobuf(PROTO3 + 'import "item.proto"; import "nope.proto"; message A { Nope a = 1; }', references)
    assert "'nope.proto' (imported by the schema)" in caught.value.problem
    assert "'deep.proto' (imported by item.proto)" in caught.value.problem
    assert "imports that were found: 'item.proto'" in caught.value.problem
    assert parse_protobuf(PROTO3 + 'import "nope.proto"; message A {}').name == "A"


def test_a_reference_that_cannot_be_read_is_named() -> None:
    with pytest.raises(
        SchemaParseError, match=r"in the reference 'item.proto' \(subject subject-of-item.proto, version 3\)"
    ):
        parse_protobuf(PROTO3 + 'import "item.proto"; message A {}', [_reference("item.proto", "message {")])


def test_imports_in_a_circle_end() -> None:
    references = [
        _reference("a.proto", PROTO3 + 'import "b.proto"; message A {}'),
        _reference("b.proto", PROTO3 + 'import "a.proto"; message B {}'),
    ]
    schema = parse_protobuf(PROTO3 + 'import "a.proto"; message C { A a = 1; }', references)
    assert set(schema.imports) == {"a.proto", "b.proto"}
    assert any("lead back" in warning.text for warning in schema.warnings())


@pytest.mark.parametrize("path", sorted(KNOWN_PATHS))
def test_every_known_file_is_whole(path: str) -> None:
    file = known_file(path)
    assert file is not None
    assert parse_protobuf(PROTO3 + f'import "{path}"; message A {{}}').imports[path] is file
    assert all(item.path in KNOWN_PATHS for item in file.imports)


def test_tags_of_confluents_options_are_kept() -> None:
    text = PROTO3 + 'import "confluent/meta.proto"; message A { string a = 1 [(confluent.field_meta).tags = "PII"]; }'
    schema = parse_protobuf(text)
    assert '[(confluent.field_meta).tags = "PII"]' in schema.canonical()
    assert not schema.warnings()


def test_pointers_have_places() -> None:
    schema = parse_protobuf(PROTO3 + "message A {\n  message B {\n    int32 c = 1;\n  }\n  oneof d { B e = 2; }\n}\n")
    places = {
        pointer: str(schema.locate(pointer_of(pointer)))
        for pointer in ("/A", "/A/B/c", "/A/d", "/A/e", "/A/B/nope", "/Z", "")
    }
    assert places == {
        "/A": "2:1",
        "/A/B/c": "4:5",
        "/A/d": "6:3",
        "/A/e": "6:13",
        "/A/B/nope": "3:3",
        "/Z": "1:1",
        "": "1:1",
    }


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("message A { int32 a = 1; int32 b = 1; }", "duplicate-field-number"),
        ("message A { int32 a = 1; string a = 2; }", "duplicate-field-name"),
        ("message A { int32 a = 0; }", "field-number-out-of-range"),
        ("message A { int32 a = 536870912; }", "field-number-out-of-range"),
        ("message A { int32 a = 19500; }", "field-number-of-runtime"),
        ("message A { reserved 1 to 5; int32 a = 3; }", "reserved-field"),
        ('message A { reserved "a"; int32 a = 3; }', "reserved-field"),
        ("message A { int32 foo_bar = 1; int32 fooBar = 2; }", "json-name-conflict"),
        ("message A { oneof o { map<string, int32> m = 1; } }", "map-in-oneof"),
        ("message A { map<string, map<string, int32>> m = 1; }", "nested-map"),
        ("message A { oneof o {} }", "empty-oneof"),
        ("message A { optional group G = 1 { int32 x = 1; } }", "proto3-group"),
        ("message A { optional int32 a = 1 [default = 3]; }", "proto3-default"),
        ("message A { extensions 100 to 200; }", "proto3-extension-range"),
        ("message A { extensions 100 to 200; } extend A { int32 x = 100; }", "proto3-extension"),
        ("message A { extensions 100 to 200; } extend A { int32 x = 50; }", "extension-number-not-declared"),
        ("message 1A {}", "invalid-name"),
        ("message A-b {}", "invalid-name"),
        ("message A { message b.c {} b.c d = 1; }", "invalid-name"),
        ("message A { int32 a-b = 1; }", "invalid-name"),
        ("message A { oneof o-p { int32 a = 1; } }", "invalid-name"),
        ("enum E-f { A = 0; }", "invalid-name"),
        ("enum E { A-b = 0; }", "invalid-name"),
        ("message A {} service S-t { rpc R (A) returns (A); }", "invalid-name"),
        ("message A {} service S { rpc R-s (A) returns (A); }", "invalid-name"),
        ("message A { option map_entry = true; string key = 1; string value = 2; }", "explicit-map-entry"),
        ("enum E {}", "empty-enum"),
        ("enum E { A = 0; A = 1; }", "duplicate-constant-name"),
        ("enum E { A = 0; } enum F { A = 0; }", "duplicate-constant-name"),
        ("enum E { A = 0; B = 0; }", "duplicate-constant-number"),
        ("enum E { A = 1; }", "first-constant-not-zero"),
        ("enum E { A = 0; B = 5; reserved 4 to 6; }", "reserved-constant"),
        ("message A { reserved 1 to 5, 3 to 9; }", "overlapping-ranges"),
        ("option nope = true;", "unknown-option"),
        ("message A { int32 a = 1 [(nope) = 1]; }", "unknown-option"),
        ('import "nope.proto";', "missing-import"),
        ("enum E { A = 0; } service S { rpc R (E) returns (E); }", "method-of-enum"),
        ("message A {} service S { rpc R (A) returns (A); rpc R (A) returns (A); }", "duplicate-method-name"),
    ],
)
def test_what_the_language_forbids_is_accepted_with_a_warning(text: str, rule: str) -> None:
    warnings = parse_protobuf(PROTO3 + text).warnings()
    assert rule in [warning.rule for warning in warnings]
    assert all(warning.text and warning.text[0].isupper() for warning in warnings)


@pytest.mark.parametrize("name", ["A-b", "A.b", "-A", "1-A"])
def test_a_message_of_such_a_name_is_referred_to_by_it(name: str) -> None:
    text = f"{PROTO3}message {name} {{ {name} a = 1; map<string, {name}> b = 2; }}"
    schema = parse_protobuf(text)
    assert schema.name == name
    assert parse_protobuf(schema.canonical()).canonical() == schema.canonical()
    assert parse_protobuf(schema.normalized()).file.messages[0].name == name


@pytest.mark.parametrize("text", ["message A$ {}", "message A+b {}", "message Ä {}", "message A { int32 1a = 1; }"])
def test_a_name_with_any_other_character_is_refused(text: str) -> None:
    with pytest.raises(SchemaParseError, match="unexpected"):
        parse_protobuf(PROTO3 + text)


@pytest.mark.parametrize("key", ["float", "double", "bytes", "E", "A", ".A", "Nope", "map<string, int32>"])
@pytest.mark.parametrize(
    "text",
    [
        "message A {{ map<{key}, int32> m = 1; }} enum E {{ X = 0; }}",
        "message A {{ oneof o {{ map<{key}, A> m = 1; }} }} enum E {{ X = 0; }}",
        "message A {{ map<string, map<{key}, int32>> m = 1; }} enum E {{ X = 0; }}",
    ],
)
def test_a_map_has_keys_that_are_strings_booleans_or_whole_numbers(text: str, key: str) -> None:
    with pytest.raises(SchemaParseError, match="a map with keys of type") as caught:
        parse_protobuf(PROTO3 + text.format(key=key))
    assert caught.value.path == "/A/m"


def test_a_stored_map_with_other_keys_is_still_read() -> None:
    schema = parse_protobuf(PROTO3 + "message A { map<double, int32> m = 1; }", validation=Validation.LENIENT)
    assert "map-key-type" in [warning.rule for warning in schema.warnings()]


@pytest.mark.parametrize(
    "default",
    [
        "int32 a = 1 [default = 99999999999]",
        "uint64 a = 1 [default = -1]",
        "fixed32 a = 1 [default = 4294967296]",
        "bool a = 1 [default = TRUE]",
        "E a = 1 [default = Y]",
        "A a = 1 [default = x]",
        "float a = 1 [default = x]",
        "string a = 1 [default = x]",
        "int32 a = 1 [default = {}]",
    ],
)
def test_a_default_that_does_not_fit_is_warned_of(default: str) -> None:
    schema = parse_protobuf(f"message A {{ optional {default}; }} enum E {{ X = 0; }}")
    assert "invalid-default" in [warning.rule for warning in schema.warnings()]


@pytest.mark.parametrize(
    "default",
    [
        "int32 a = 1 [default = 0x7fffffff]",
        "sint64 a = 1 [default = -9223372036854775808]",
        "E a = 1 [default = X]",
        "float a = 1 [default = inf]",
        'bytes a = 1 [default = "x"]',
    ],
)
def test_a_default_that_fits_is_not(default: str) -> None:
    assert parse_protobuf(f"message A {{ optional {default}; }} enum E {{ X = 0; }}").warnings() == []


def test_an_enum_of_proto2_in_proto3_is_warned_of() -> None:
    references = [_reference("e.proto", "enum E { X = 0; }")]
    schema = parse_protobuf(PROTO3 + 'import "e.proto"; message A { E e = 1; map<string, E> m = 2; }', references)
    assert [warning.rule for warning in schema.warnings()] == ["proto2-enum-in-proto3", "proto2-enum-in-proto3"]


def test_an_ordinary_file_has_no_warnings() -> None:
    assert parse_protobuf(PROTO3 + "message A { int32 a = 1; reserved 2; oneof o { A b = 3; } }").warnings() == []
