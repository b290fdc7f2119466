"""Confluent's comparison of Protobuf files, change by change: names, labels, oneofs, imports, and its bounds."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from counterfoil.schema.answers import confluent_messages
from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.languages.protobuf.compare.differences import walk
from counterfoil.schema.languages.protobuf.policies import find_differences
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation

P2, P3 = 'syntax = "proto2";', 'syntax = "proto3";'


def parsed(text: str, **imports: tuple[str, int]) -> Any:
    """``imports`` are the text and the version of each file, by its name without ``.proto``."""
    references = [
        ResolvedReference(Reference(f"{name}.proto", name, version), imported)
        for name, (imported, version) in imports.items()
    ]
    return parse_protobuf(text, references, validation=Validation.LENIENT)


def m(body: str, head: str = P3) -> str:
    return f"{head} message M {{ {body} }}"


def told(reader: Any, writer: Any) -> list[str]:
    """Every difference, compatible ones too."""
    return [f"{found.error_type} {found.path}" for found in walk(reader, writer)]


N = "message N { int32 x = 1; }"

CASES = {
    # what happened: writer, reader, every difference in order
    "nothing": (m("int32 a = 1;"), m("int32 a = 1;"), []),
    "type named by another way": (m("N a = 1; " + N), m(".M.N a = 1; " + N), []),
    "type of an outer scope": (m("N a = 1;") + N, m("N a = 1; enum E { A = 0; }") + N, ["ENUM_ADDED #/M/E"]),
    "an inner type hides the outer one": (
        m("N a = 1;") + N,
        m("N a = 1; " + N) + N,
        ["FIELD_NAMED_TYPE_CHANGED #/M/1", "MESSAGE_ADDED #/M/N"],
    ),
    "enum counts as a number": (m("E a = 1; enum E { A = 0; }"), m("int32 a = 1;"), ["ENUM_REMOVED #/M/E"]),
    "enum is no sint32": (
        m("E a = 1;") + "enum E { A = 0; }",
        m("sint32 a = 1;") + "enum E { A = 0; }",
        ["FIELD_SCALAR_KIND_CHANGED #/M/1"],
    ),
    "a type that is nowhere": (m("Nowhere a = 1;"), m("Elsewhere a = 1;"), ["FIELD_NAMED_TYPE_CHANGED #/M/1"]),
    "the same type that is nowhere": (m("Nowhere a = 1;"), m("Nowhere a = 1;"), []),
    "a label that is not written": (m("int32 a = 1;"), m("repeated int32 a = 1;"), []),
    "another label and another type": (
        m("optional int32 a = 1;"),
        m("repeated float a = 1;"),
        ["FIELD_SCALAR_KIND_CHANGED #/M/1"],
    ),
    "label of a message": (m("optional M a = 1;"), m("repeated M a = 1;"), []),
    "label of a string": (
        m("optional string a = 1;"),
        m("repeated bytes a = 1;"),
        ["FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1"],
    ),
    "map's key and value": (
        m("map<int32, string> a = 1;"),
        m("map<string, M> a = 1;"),
        ["FIELD_SCALAR_KIND_CHANGED #/M/1", "FIELD_KIND_CHANGED #/M/1"],
    ),
    "map by its name": (
        m("map<int32, string> a = 1;"),
        m("repeated E a = 1; message E { option map_entry = true; int32 key = 1; string value = 2; }"),
        ["MESSAGE_ADDED #/M/E"],
    ),
    "an entry that goes": (
        m("repeated E a = 1; message E { option map_entry = true; int32 key = 1; string value = 2; }"),
        m("map<int32, string> a = 1;"),
        [],
    ),
    "groups are not looked at": (
        m("optional group G = 1 { optional int32 x = 1; }", P2),
        m("optional string a = 1;", P2),
        ["FIELD_ADDED #/M/1"],
    ),
    "number used again": (
        m("int32 a = 1;"),
        m("string b = 1;"),
        [
            "FIELD_NAME_CHANGED #/M/1",
            "FIELD_SCALAR_KIND_CHANGED #/M/1",
        ],
    ),
    "a number twice: the last counts": (m("int32 a = 1; string b = 1;"), m("string b = 1;"), []),
    "messages in another order": (
        P3 + N + "message O { }",
        P3 + "message O { } " + N,
        ["MESSAGE_MOVED #/N", "MESSAGE_MOVED #/O"],
    ),
    "constants": (
        P3 + "enum E { A = 0; B = 1; C = 2; }",
        P3 + "enum E { A = 0; X = 1; D = 3; }",
        ["ENUM_CONST_CHANGED #/E/1", "ENUM_CONST_REMOVED #/E/2", "ENUM_CONST_ADDED #/E/3"],
    ),
    "a oneof that goes with all its fields": (m("oneof o { int32 a = 1; }"), m(""), ["ONEOF_REMOVED #/M/o"]),
    "a oneof's field that goes": (
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("oneof o { int32 a = 1; }"),
        ["ONEOF_FIELD_REMOVED #/M/o/2"],
    ),
    "a member set free while its oneof goes": (
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("int32 a = 1;"),
        ["ONEOF_REMOVED #/M/o", "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/M/1", "ONEOF_FIELD_REMOVED #/M/o/2"],
    ),
    "one from the top and one of a oneof": (
        m("int32 a = 1; oneof o { int32 b = 2; }"),
        m("oneof p { int32 a = 1; int32 b = 2; }"),
        ["FIELD_MOVED_TO_EXISTING_ONEOF #/M/p", "ONEOF_REMOVED #/M/o", "ONEOF_ADDED #/M/p"],
    ),
    "two from the top beside one of a oneof": (
        m("int32 a = 1; int32 c = 3; oneof o { int32 b = 2; }"),
        m("oneof o { int32 a = 1; int32 b = 2; int32 c = 3; }"),
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o"],
    ),
    "syntax, options, services, reserved": (
        m("optional int32 a = 1;", P2),
        m("optional int32 a = 1 [deprecated = true]; reserved 7;") + "service S { }",
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_difference_is_reported_in_order(case: str):
    writer, reader, expected = CASES[case]
    assert told(parsed(reader), parsed(writer)) == expected


def shared(kind: str, version: int = 1, package: str = "") -> dict[str, tuple[str, int]]:
    return {
        "item": (
            f"{P3} {package} message Item {{ {kind} x = 1; Part p = 2; }} message Part {{ {kind} y = 1; }}",
            version,
        )
    }


OUTER = P3 + 'import "item.proto"; message M { Item a = 1; repeated Item b = 2; }'
IN_PACKAGE = OUTER.replace(" Item ", " other.Item ")
FOUND_IN_ITEM = [
    "FIELD_SCALAR_KIND_CHANGED #/Item/1",
    "FIELD_SCALAR_KIND_CHANGED #/Part/1",
    "FIELD_NAMED_TYPE_CHANGED #/Item/2",
]


def test_imported_messages_are_compared_at_each_field_that_leads_to_them():
    found = told(parsed(OUTER, **shared("string", 2)), parsed(OUTER, **shared("int32", 1)))
    assert found == [*FOUND_IN_ITEM, "FIELD_NAMED_TYPE_CHANGED #/M/1", *FOUND_IN_ITEM, "FIELD_NAMED_TYPE_CHANGED #/M/2"]


def test_files_of_one_subject_and_version_are_not_compared():
    assert told(parsed(OUTER, **shared("string")), parsed(OUTER, **shared("int32"))) == []


def test_another_package_is_no_other_type_where_the_fields_fit():
    other = parsed(IN_PACKAGE, **shared("int32", 2, "package other;"))
    assert told(other, parsed(OUTER, **shared("int32"))) == []
    assert told(parsed(IN_PACKAGE, **shared("int64", 2, "package other;")), parsed(OUTER, **shared("int32"))) == []


def test_what_rests_on_an_unfinished_comparison_is_found_at_the_next_field():
    def cycle(kind: str, version: int) -> Any:
        item = f"{P3} message A {{ B b = 1; {kind} x = 2; }} message B {{ A a = 1; }}"
        return parsed(P3 + 'import "item.proto"; message M { A a = 1; B b = 2; }', item=(item, version))

    assert told(cycle("string", 2), cycle("int32", 1)) == [
        "FIELD_SCALAR_KIND_CHANGED #/A/2",
        "FIELD_NAMED_TYPE_CHANGED #/M/1",
        "FIELD_SCALAR_KIND_CHANGED #/A/2",
        "FIELD_NAMED_TYPE_CHANGED #/B/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/2",
    ]


def test_imports_that_would_repeat_a_difference_without_bound_are_judged_quickly():
    def chain(kind: str, version: int) -> Any:
        links = [f"message A{i} {{ A{i + 1} l = 1; A{i + 1} r = 2; A0 top = 3; }}" for i in range(300)]
        item = f"{P3} {' '.join(links)} message A300 {{ {kind} x = 1; }}"
        return parsed(P3 + 'import "item.proto"; message M { A0 a = 1; A9 b = 2; }', item=(item, version))

    found = told(chain("string", 2), chain("int32", 1))
    assert found[-1] == "FIELD_NAMED_TYPE_CHANGED #/M/2"
    assert "FIELD_NAMED_TYPE_CHANGED #/M/1" in found
    assert len(found) < 5000


@pytest.mark.slow
def test_the_work_is_linear_in_the_size():
    def big(messages: int, kind: str) -> Any:
        fields = " ".join(f"{kind if i % 5 else 'M0'} f{i} = {i + 1};" for i in range(20))
        return parsed(P3 + " ".join(f"message M{i} {{ {fields} }}" for i in range(messages)))

    def calls(messages: int) -> int:
        reader, writer = big(messages, "string"), big(messages, "int64")
        find_differences(reader, writer)
        count = 0

        def note(_: object, event: str, __: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(note)
        try:
            found = find_differences(reader, writer)
        finally:
            sys.setprofile(None)
        assert len(found) == messages * 16
        return count

    assert calls(200) < 5 * calls(50)


@pytest.mark.parametrize("policy", [CompatibilityPolicy.LENIENT, CompatibilityPolicy.STRICT])
def test_lenient_is_strict(policy: CompatibilityPolicy):
    found = find_differences(parsed(m("string a = 1;")), parsed(m("int32 a = 1;")), policy=policy)
    assert [each.rule for each in found] == ["field-scalar-kind-changed"]


def test_messages_are_those_that_clients_parse():
    report = check_compatibility(
        parsed(m("string a = 1;")), [Earlier(parsed(m("int32 a = 1;")), 3)], CompatibilityLevel.BACKWARD
    )
    first, *rest = confluent_messages(report)
    assert first == (
        "{errorType:'FIELD_SCALAR_KIND_CHANGED', description:'The new schema has string in field a = 1, the old schema "
        "int32 (path '#/M/1')', additionalInfo:'int32 to string'}"
    )
    assert rest[0] == "{oldSchemaVersion: 3}"


def test_an_entry_that_holds_itself_is_compared():
    text = m("optional M m = 3; option map_entry = true; optional M key = 1; optional M value = 2;", P2)
    assert told(parsed(text), parsed(text)) == []
    found = told(parsed(text.replace("M value", "int32 value")), parsed(text))
    assert found == [f"FIELD_KIND_CHANGED #/M/{number}" for number in (1, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("policy", CompatibilityPolicy)
def test_messages_nested_as_deep_as_the_parser_takes_are_compared(policy: CompatibilityPolicy):
    def nested(kind: str) -> Any:
        return parsed(P3 + "message M { " * 99 + f"{kind} x = 1;" + " }" * 99)

    assert find_differences(nested("string"), nested("int32"), policy=policy)
