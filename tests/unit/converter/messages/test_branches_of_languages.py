"""Branches of JSON schemas and oneofs of Protobuf in bridges: their names in rules, and what becomes of values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from strategies.avro.unions import branched
from strategies.engines.message_plans import as_dict, avro, converted, from_json, js, message_of, problems, proto


def obj(title: str, *required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "title": title, "properties": properties, "required": [*required]}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
CARD = obj("Card", "pan", "year", pan=TEXT, year=WHOLE)
IBAN = obj("Iban", "iban", iban=TEXT)
PAYMENT = obj("Payment", "number", number=TEXT)


def record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": node} for each, node in fields]}


AVRO_CARD = record("Card", ("pan", "string"), ("year", "long"))
AVRO_IBAN = record("Iban", ("iban", "string"))


@pytest.mark.parametrize("names", [("Card", "Iban"), ("0", "1")])
def test_branches_of_one_of_are_named_by_title_or_by_number(names: tuple[str, str]) -> None:
    source = js({"p": {"oneOf": [CARD, IBAN]}}, "p")
    target = js({"p": {"oneOf": [IBAN, PAYMENT]}}, "p")
    rules = {f"p<{names[0]}>": {"to": "<Payment>"}, f"p<{names[0]}>.number": {"from": "pan"}}
    plan = derive_plan(source, target, parse_rules(rules, ["p<Card>.year"]))
    assert from_json(plan, p={"pan": "4", "year": 30}) == {"p": {"number": "4"}}
    assert from_json(plan, p={"iban": "DE"}) == {"p": {"iban": "DE"}}


def test_the_number_of_a_branch_counts_null() -> None:
    untitled = [{key: value for key, value in each.items() if key != "title"} for each in (CARD, IBAN)]
    source = js({"p": {"anyOf": [untitled[0], {"type": "null"}, untitled[1]]}}, "p")
    target = js({"p": {"anyOf": [{"type": "null"}, PAYMENT, untitled[1]]}}, "p")
    rules = {"p<0>": {"to": "<1>"}, "p<0>.number": {"from": "pan"}, "p<2>": {"to": "<2>"}}
    plan = derive_plan(source, target, parse_rules(rules, "rest"))
    assert from_json(plan, p={"pan": "4", "year": 30}) == {"p": {"number": "4"}}
    assert from_json(plan, p={"iban": "DE"}) == {"p": {"iban": "DE"}}
    assert from_json(plan, p=None) == {"p": None}


def test_types_of_a_list_are_named_by_their_words() -> None:
    source, target = js({"p": {"type": ["string", "integer"]}}, "p"), js({"p": TEXT}, "p")
    plan = derive_plan(source, target, parse_rules({"p<integer>": {"from": "value", "cast": "string"}}))
    assert from_json(plan, p=7) == {"p": "7"}
    assert from_json(plan, p="x") == {"p": "x"}


def test_events_of_a_json_topic_become_a_union_of_avro() -> None:
    started = obj("Started", "ride", "km", ride=TEXT, km=WHOLE)
    document = {"oneOf": [started, IBAN]}
    source = parse_schema(json.dumps(document), SchemaType.JSON)
    union = [AVRO_IBAN, record("Started", ("id", "string"), ("km", "long"))]
    target = parse_schema(json.dumps(union))
    plan = derive_plan(source, target, parse_rules({"<Started>.id": {"from": "ride"}}))
    body = converted(plan, json.dumps({"ride": "r", "km": 3}).encode())
    assert isinstance(body, bytes)
    assert branched(union, body) == ("Started", {"id": "r", "km": 3})


ONEOF = proto("message Card { string pan = 1; int64 year = 2; } message Iban { string iban = 1; } "
              "oneof payment { Card card = 1; Iban iban = 2; string text = 3; }")  # fmt: skip


def test_fields_of_a_oneof_are_branches_of_a_union_of_its_name() -> None:
    payment = record("Payment", ("number", "string"))
    target = avro(("payment", ["null", payment, AVRO_IBAN]))
    rules = {
        "payment<card>": {"to": "<Payment>"},
        "payment<card>.number": {"from": "pan"},
        "payment<text>": {"to": "error"},
    }
    plan = derive_plan(ONEOF, target, parse_rules(rules, ["card.year"]))
    tree = json.loads(target.text)
    for message, expected in (
        ({"card": {"pan": "4", "year": 30}}, ("Payment", {"number": "4"})),
        ({"iban": {"iban": "DE"}}, ("Iban", {"iban": "DE"})),
        ({}, None),
    ):
        body = converted(plan, message_of(ONEOF, **message))
        assert isinstance(body, bytes), body
        assert branched(tree, body) == {"payment": expected}
    assert converted(plan, message_of(ONEOF, text="x")) == "payment union-branch-missing"


def test_a_field_of_a_oneof_that_does_not_exist_is_named() -> None:
    target = avro(("payment", ["null", AVRO_CARD, AVRO_IBAN, "string"]))
    found = problems(derive_plan(ONEOF, target, parse_rules({"payment<cash>.x": {"const": 1}})))
    assert found == ["payment<cash>: the oneof of the source has no such field; it has <card>, <iban>, <text>"]


def test_branches_of_a_union_are_read_into_the_fields_of_a_oneof() -> None:
    number = "message Card { string number = 1; } message Iban { string iban = 1; }"
    target = proto(f"{number} oneof o {{ Card card = 1; Iban iban = 2; }}")
    source = avro(("payment", ["null", AVRO_CARD, AVRO_IBAN]))
    rules = {
        "card": {"from": "payment<Card>"},
        "card.number": {"from": "payment<Card>.pan"},
        "iban": {"from": "payment<Iban>"},
    }
    plan = derive_plan(source, target, parse_rules(rules, ["payment<Card>.year"]))
    assert as_dict(target, converted(plan, b"\x02\x024\x3c")) == {"card": {"number": "4"}}
    assert as_dict(target, converted(plan, b"\x04\x04DE")) == {"iban": {"iban": "DE"}}
    assert as_dict(target, converted(plan, b"\x00")) == {}


def test_a_recursive_message_is_converted_at_every_level() -> None:
    source = proto("message Node { string name = 1; repeated Node kids = 2; } Node root = 1;")
    target = avro(("root", ["null", record("Node", ("label", "string"), ("kids", {"type": "array", "items": "Node"}))]))
    plan = derive_plan(source, target, parse_rules({"root.label": {"from": "root.name"}}))
    body = converted(plan, message_of(source, root={"name": "a", "kids": [{"name": "b"}]}))
    assert body == b"\x02\x02a\x02\x02b\x00\x00"


def test_what_no_type_describes_is_a_problem_of_the_plan() -> None:
    nested = {"anyOf": [{"anyOf": [CARD, IBAN]}, TEXT]}
    source, target = js({"p": nested}, "p"), js({"p": {"anyOf": [CARD, TEXT]}}, "p")
    assert "a choice between choices" in problems(derive_plan(source, target))[0]
