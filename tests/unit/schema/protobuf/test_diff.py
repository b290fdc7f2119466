"""The diff of two Protobuf files: what a person would say was changed, and where it stands."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

from counterfoil.schema.change import ChangeKind
from counterfoil.schema.languages.protobuf import diff as protobuf
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsing import find_changes

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "verdicts.protobuf.jsonl"
P3 = 'syntax = "proto3";\n'
P2 = 'syntax = "proto2";\n'


def order(*lines: str, head: str = P3, name: str = "Order") -> str:
    return "\n".join([head, f"message {name} {{", *lines, "}"])


def enum(*lines: str) -> str:
    return "\n".join([P3, "enum Status {", "NEW = 0;", *lines, "}"])


SERVICE = P3 + "message A {{ }} message B {{ }} service Shop {{ {} }}"

CASES = {
    # what happened: earlier, later, the changes in words with their elements
    "nothing": (order("string id = 1;"), order("string  id=1 ;"), []),
    "field added": (order(), order("string id = 1;"), ["Order.id field added: string = 1"]),
    "field removed": (order("string id = 1;"), order(), ["Order.id field removed: string"]),
    "field renamed": (order("string id = 1;"), order("string key = 1;"), ["Order.key field renamed: id → key"]),
    "field renumbered": (order("string id = 1;"), order("string id = 2;"), ["Order.id number changed: 1 → 2"]),
    "two numbers swapped": (
        order("string a = 1;", "string b = 2;"),
        order("string a = 2;", "string b = 1;"),
        ["Order.b number changed: 2 → 1", "Order.a number changed: 1 → 2"],
    ),
    "type changed": (order("int32 n = 1;"), order("int64 n = 1;"), ["Order.n type changed: int32 → int64"]),
    "map's value changed": (
        order("map<string, int32> n = 1;"),
        order("map<string, Order> n = 1;"),
        ["Order.n type changed: map<string, int32> → map<string, Order>"],
    ),
    "label changed": (
        order("int32 n = 1;"),
        order("repeated int32 n = 1;"),
        ["Order.n label changed: none → repeated"],
    ),
    "default added": (
        order("optional int32 n = 1;", head=P2),
        order("optional int32 n = 1 [default = 3];", head=P2),
        ["Order.n default added: 3"],
    ),
    "default changed": (
        order("optional int32 n = 1 [default = 2];", head=P2),
        order("optional int32 n = 1 [default = 3];", head=P2),
        ["Order.n default changed: 2 → 3"],
    ),
    "default removed": (
        order("optional int32 n = 1 [default = 2];", head=P2),
        order("optional int32 n = 1;", head=P2),
        ["Order.n default removed: 2"],
    ),
    "option of a field": (
        order("int32 n = 1;"),
        order('int32 n = 1 [deprecated = true, json_name = "m"];'),
        [
            "Order.n option changed: none → deprecated = true",
            'Order.n option changed: none → json_name = "m"',
        ],
    ),
    "comment of a field": (
        order("// The id.", "string id = 1;"),
        order("// The key.", "string id = 1;"),
        ['Order.id doc changed: "The id." → "The key."'],
    ),
    "into a oneof": (
        order("string card = 1;"),
        order("oneof pay { string card = 1; }"),
        ["Order.pay oneof added: pay", "Order.card oneof changed: none → pay"],
    ),
    "out of a oneof": (
        order("oneof pay { string card = 1; string iban = 2; }"),
        order("oneof pay { string card = 1; }", "string iban = 2;"),
        ["Order.iban oneof changed: pay → none"],
    ),
    "oneof renamed": (
        order("oneof pay { string card = 1; string iban = 2; }"),
        order("oneof payment { string card = 1; string iban = 2; }"),
        ["Order.payment oneof renamed: pay → payment"],
    ),
    "oneof removed": (
        order("oneof pay { string card = 1; }"),
        order(),
        ["Order.card field removed: string", "Order.pay oneof removed: pay"],
    ),
    "reserved": (
        order("reserved 2;"),
        order('reserved 2, 4 to 6; reserved "x";'),
        ['Order reserved changed: 2 → 2, 4 to 6, "x"'],
    ),
    "extension ranges": (
        order("extensions 100 to 199;", head=P2),
        order("extensions 100 to max;", head=P2),
        ["Order extensions changed: 100 to 199 → 100 to max"],
    ),
    "message added": (order(), order() + "message Item { }", ["type added: Item"]),
    "message removed": (order() + "message Item { }", order(), ["type removed: Item"]),
    "message renamed": (
        order("Item i = 1;") + "message Item { string a = 1; int32 b = 2; }",
        order("Thing i = 1;") + "message Thing { string a = 1; int32 b = 2; }",
        ["Thing type renamed: Item → Thing"],
    ),
    "message moved inside": (
        order("Item i = 1;") + "message Item { string a = 1; }",
        order("Item i = 1;", "message Item { string a = 1; }"),
        ["Order.Item type moved: Item → Order.Item"],
    ),
    "messages in another order": (
        P3 + "message A { } message B { }",
        P3 + "message B { } message A { }",
        ["types reordered: A, B → B, A"],
    ),
    "option of a message": (
        order(),
        order("option deprecated = true;"),
        ["Order option changed: none → deprecated = true"],
    ),
    "symbol added": (enum(), enum("PAID = 1;"), ["Status symbol added: PAID = 1"]),
    "symbol removed": (enum("PAID = 1;"), enum(), ["Status symbol removed: PAID = 1"]),
    "symbol renamed": (enum("PAID = 1;"), enum("DONE = 1;"), ["Status.DONE symbol renamed: PAID → DONE"]),
    "symbol renumbered": (enum("PAID = 1;"), enum("PAID = 2;"), ["Status.PAID number changed: 1 → 2"]),
    "package": (P3 + "package a;", P3 + "package b;", ["namespace changed: a → b"]),
    "package around types": (
        P3 + "package a; message A { A a = 1; }",
        P3 + "package b; message A { A a = 1; }",
        ["namespace changed: a → b"],
    ),
    "syntax": (P3, 'edition = "2023";', ["syntax changed: proto3 → edition 2023"]),
    "imports": (
        P3 + 'import "google/protobuf/any.proto";',
        P3 + 'import "google/protobuf/empty.proto";',
        ["import removed: google/protobuf/any.proto", "import added: google/protobuf/empty.proto"],
    ),
    "option of the file": (
        P3 + 'option java_package = "a";',
        P3 + 'option java_package = "b";',
        ['option changed: java_package = "a" → java_package = "b"'],
    ),
    "service added": (P3 + "message A { }", P3 + "message A { } service Shop { }", ["service added: Shop"]),
    "service removed": (P3 + "service Shop { }", P3, ["service removed: Shop"]),
    "method added": (
        SERVICE.format(""),
        SERVICE.format("rpc Place(A) returns (B);"),
        ["Shop method added: Place(A) returns (B)"],
    ),
    "method removed": (
        SERVICE.format("rpc Place(A) returns (B);"),
        SERVICE.format(""),
        ["Shop method removed: Place(A) returns (B)"],
    ),
    "method changed": (
        SERVICE.format("rpc Place(A) returns (B);"),
        SERVICE.format("rpc Place(stream A) returns (B);"),
        ["Shop.Place method changed: Place(A) returns (B) → Place(stream A) returns (B)"],
    ),
    "extension": (
        order("extensions 100 to max;", head=P2) + "extend Order { optional int32 x = 100; }",
        order("extensions 100 to max;", head=P2) + "extend Order { optional string x = 100; }",
        ["[Order].x type changed: int32 → string"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_changes_are_reported(case: str):
    earlier, later, expected = CASES[case]
    changes = find_changes(parse_protobuf(earlier), parse_protobuf(later))
    assert [f"{change.element} {change.text}".strip() for change in changes] == expected


def test_every_kind_of_change_that_the_diff_knows_has_a_case():
    known = {ChangeKind[name] for name in re.findall(r"ChangeKind\.([A-Z_]+)", inspect.getsource(protobuf))}
    seen = set()
    for earlier, later, _ in CASES.values():
        seen |= {change.kind for change in find_changes(parse_protobuf(earlier), parse_protobuf(later))}
    assert seen == known


def test_pointers_lead_to_both_texts():
    earlier = parse_protobuf(order("string id = 1;", "int32 n = 2;"))
    later = parse_protobuf(order("int64 n = 2;", "string key = 1;"))
    named = {change.element: change for change in find_changes(earlier, later)}
    assert set(named) == {"Order.n", "Order.key"}
    assert (named["Order.key"].earlier_pointer, named["Order.key"].later_pointer) == (("Order", "id"), ("Order", "key"))
    for change in named.values():
        for schema, pointer in ((earlier, change.earlier_pointer), (later, change.later_pointer)):
            position = schema.locate(pointer)
            assert position is not None
            assert str(pointer[-1]) in schema.text.splitlines()[position.line - 1]


@pytest.mark.slow
def test_nothing_differs_from_itself_and_every_recorded_edit_is_seen():
    for line in RECORDINGS.read_text(encoding="utf-8").splitlines()[::9]:
        record = json.loads(line)
        if record.get("references"):
            continue
        earlier, later = parse_protobuf(record["writer_or_old"]), parse_protobuf(record["reader_or_new"])
        assert find_changes(earlier, earlier) == []
        assert bool(find_changes(earlier, later)) or earlier.normalized() == later.normalized()
