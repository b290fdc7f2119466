"""The engine ``java`` for changed unions, items that are no records, and recursion: always what the reference gives."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.model import MAX_LEVELS
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from strategies.avro.unions import branched
from strategies.engines.branch_changes import Change, DeadLetter, changed_record, changed_union
from strategies.engines.branch_rows import branch_rows
from strategies.engines.cases import record
from strategies.engines.conversions import SOURCE_ID, TARGET_ID, avro, broken, class_in, schema
from strategies.engines.java import check

if TYPE_CHECKING:
    from strategies.engines.java import Answer, Convert


def conversion_of(source: Any, target: Any, rules: dict[str, Any] | None = None, drop: Any = None) -> Conversion:
    """The complete plan of rules as a bridge file has them."""
    left, right = (schema(each) if isinstance(each, str | dict) else avro(each) for each in (source, target))
    plan = derive_plan(left, right, parse_rules(rules or {}, drop))
    assert plan.is_complete, plan.problems
    return Conversion(plan, {SOURCE_ID: plan.source}, TARGET_ID)


def written(node: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(node), value)
    return frame(SOURCE_ID, out.getvalue())


def assert_meaning(change: Change, value: Any, answer: Answer) -> None:
    """Fail unless the result is that of the meaning which the change itself has."""
    made, failure = answer
    expected = change.outcome(value)
    if isinstance(expected, DeadLetter):
        assert failure == (expected.code, expected.field)
    else:
        assert made is not None, failure
        assert branched(change.target, made[5:]) == expected


@given(seed=st.integers(0, 2**32))
def test_java_and_the_reference_have_the_meaning_of_random_changes(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    change = (changed_union if seed % 4 == 0 else changed_record)(rng)
    conversion = conversion_of(change.source, change.target, change.rules("", ""))
    values = [change.draw(rng, 5) for _ in range(4)]
    bodies = [written(change.source, value) for value in values]
    answers = check(conversion, [*bodies, *(broken(rng, body) for body in bodies)], convert)
    for value, answer in zip(values, answers, strict=False):
        assert_meaning(change, value, answer)


def test_java_has_the_documented_results(convert: Convert) -> None:
    for row in branch_rows():
        conversion = Conversion(row.plan(), {SOURCE_ID: row.plan().source}, TARGET_ID)
        ((made, failure),) = check(conversion, [written(row.source, {"p": row.value})], convert)
        if isinstance(row.result, str) and row.result == "union-branch-missing":
            assert failure == (row.result, "p")
        else:
            assert made is not None, (row, failure)
            assert unnamed(branched(row.target, made[5:])["p"]) == unnamed(row.result)


def unnamed(value: Any) -> Any:
    """The value without the names of branches, which the page has only where they are told apart."""
    if isinstance(value, tuple):
        return unnamed(value[1])
    if isinstance(value, list):
        return [unnamed(each) for each in value]
    return {key: unnamed(each) for key, each in value.items()} if isinstance(value, dict) else value


NODE = record(
    ("n", "int"), ("kids", {"type": "array", "items": "Node"}), ("more", {"type": "map", "values": "Node"}), name="Node"
)
NEW_NODE = record(
    ("more", {"type": "map", "values": "Node"}),
    ("text", "string"),
    ("kids", {"type": "array", "items": "Node"}),
    name="Node",
)


def test_java_converts_as_many_levels_as_the_reference(convert: Convert) -> None:
    rules = {"text": {"from": "n", "cast": "string"}}
    conversion = conversion_of(NODE, NEW_NODE, rules)

    def nested(levels: int) -> Any:
        value: Any = {"n": levels, "kids": [], "more": {}}
        for level in range(levels - 1):
            value = {"n": level, "kids": [value], "more": {"k": {"n": 0, "kids": [], "more": {}}}}
        return value

    values = [written(NODE, nested(levels)) for levels in (1, 2, 50, MAX_LEVELS, MAX_LEVELS + 1, 2)]
    answers = check(conversion, values, convert)
    assert [failure and failure[0] for _, failure in answers] == [None, None, None, None, "unencodable", None]


def test_java_names_the_whole_path_of_a_failure_inside_of_a_tree(convert: Convert) -> None:
    rules = {"text": {"from": "n", "lookup": {1: "one"}, "else": "error"}}
    conversion = conversion_of(NODE, NEW_NODE, rules)
    leaf = {"n": 2, "kids": [], "more": {}}
    value = {"n": 1, "kids": [{"n": 1, "kids": [], "more": {"k": leaf}}], "more": {}}
    ((_, failure),) = check(conversion, [written(NODE, value)], convert)
    assert failure == ("lookup-missing", "kids[].more{}.text")


def obj(title: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "title": title, "properties": properties, "required": [*properties]}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
CHOICE = {"anyOf": [obj("Card", pan=TEXT), {"type": "null"}, TEXT, WHOLE]}
ONEOF = """syntax = "proto3";
message R { oneof p { Card card = 1; Iban iban = 2; int64 number = 3; } repeated Node nodes = 4; }
message Card { string pan = 1; } message Iban { string iban = 1; }
message Node { string name = 1; repeated Node kids = 2; }"""
UNION = record(
    ("p", ["null", record(("number", "string"), name="Payment"), record(("iban", "string"), name="Iban"), "long"]),
    (
        "nodes",
        {
            "type": "array",
            "items": record(("label", "string"), ("kids", {"type": "array", "items": "Node"}), name="Node"),
        },
    ),
)


def test_java_converts_branches_of_json_and_fields_of_oneofs(convert: Convert) -> None:
    document = {"type": "object", "properties": {"p": CHOICE}, "required": ["p"]}
    other = {"anyOf": [TEXT, obj("Payment", number=TEXT), {"type": "null"}]}
    rules = {"p<Card>": {"to": "<Payment>"}, "p<Card>.number": {"from": "pan"}, "p<3>": {"to": None}}
    bodies = [{"pan": "4"}, "DE", None, 7, True, {"pan": 4}]
    values = [frame(SOURCE_ID, json.dumps({"p": body}).encode()) for body in bodies]
    conversion = conversion_of(document, {**document, "properties": {"p": other}}, rules)
    answers = check(conversion, values, convert)
    made = [None if value is None else json.loads(value[5:])["p"] for value, _ in answers]
    assert made == [{"number": "4"}, "DE", None, None, None, None]
    assert [failure is None for _, failure in answers] == [True, True, True, True, False, False]

    rules = {"p<card>": {"to": "<Payment>"}, "p<card>.number": {"from": "pan"}, "nodes[].label": {"from": "name"}}
    kind = class_in(ONEOF)
    messages = [
        kind(card={"pan": "4"}),
        kind(iban={"iban": "DE"}),
        kind(number=5),
        kind(),
        kind(nodes=[{"name": "a", "kids": [{"name": "b"}, {"name": "c", "kids": [{}]}]}]),
    ]
    values = [frame(SOURCE_ID, b"\x00" + each.SerializeToString()) for each in messages]
    answers = check(conversion_of(ONEOF, UNION, rules), values, convert)
    assert [value and branched(UNION, value[5:])["p"] for value, _ in answers] == [
        ("Payment", {"number": "4"}),
        ("Iban", {"iban": "DE"}),
        ("long", 5),
        None,
        None,
    ]
