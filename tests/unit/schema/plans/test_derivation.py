"""How plans come about: what is filled from what, what is left open, and what the plan's hash depends on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derivations import derive_resolution
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.model import ConversionPlan, ProblemKind
from counterfoil.schema.plans.rules import parse_rules

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}
FEWER = {"type": "enum", "name": "Colour", "symbols": ["RED"]}


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    members = [
        member if isinstance(member, dict) else dict(zip(("name", "type", "default"), member, strict=False))
        for member in fields
    ]
    return {"type": "record", "name": name, "fields": members}


def plan(source: Any, target: Any, rules: Any = None, drop: Any = None) -> ConversionPlan:
    parsed = parse_rules(rules or {}, drop)
    return derive_plan(parse_avro(json.dumps(source)), parse_avro(json.dumps(target)), parsed)


def problems(made: ConversionPlan) -> list[tuple[ProblemKind, str]]:
    return [(problem.kind, problem.field) for problem in made.problems]


def one(source: Any, target: Any, rule: Any = None) -> ConversionPlan:
    """A plan of one field ``a``."""
    return plan(record(("a", source)), record(("a", target)), {"a": rule} if rule else None)


@pytest.mark.parametrize(
    ("source", "target", "note"),
    [
        ("int", "int", ""),
        ("int", "long", "widened int → long"),
        ("int", "double", "widened int → double"),
        ("float", "double", "widened float → double"),
        ("string", "bytes", "widened string → bytes"),
        (COLOUR, "string", "widened enum Colour → string"),
        (FEWER, COLOUR, ""),
        (MILLIS, "long", "widened timestamp-millis → long"),
        (MILLIS, MICROS, "widened timestamp-millis → timestamp-micros"),
        ("int", ["null", "int"], "may now be null"),
        ("int", ["null", "long"], "widened int → long, may now be null"),
        (["null", "int"], ["int", "null"], ""),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, "widened array of int → array of long"),
        ({"type": "map", "values": FEWER}, {"type": "map", "values": COLOUR}, ""),
        (["int", "string"], ["int", "string"], ""),
        ("null", "null", ""),
    ],
)
def test_nothing_is_lost_so_nothing_is_asked(source: Any, target: Any, note: str) -> None:
    made = one(source, target)
    assert made.is_complete, made.problems
    assert [(row.target, row.how, row.source, row.note) for row in made.rows()] == [("a", "same name", "a", note)]


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("long", "int", ProblemKind.LOSSY),
        ("int", "float", ProblemKind.LOSSY),
        ("long", "double", ProblemKind.LOSSY),
        ("double", "float", ProblemKind.LOSSY),
        ("string", "int", ProblemKind.LOSSY),
        ("int", "string", ProblemKind.LOSSY),
        ("long", MILLIS, ProblemKind.LOSSY),
        (MICROS, MILLIS, ProblemKind.LOSSY),
        (COLOUR, FEWER, ProblemKind.LOSSY),
        ("string", COLOUR, ProblemKind.LOSSY),
        ("bytes", "string", ProblemKind.LOSSY),
        (["null", "int"], "int", ProblemKind.LOSSY),
        ("string", {"type": "array", "items": "string"}, ProblemKind.WRONG_TYPE),
        (MILLIS, {"type": "long", "logicalType": "local-timestamp-millis"}, ProblemKind.WRONG_TYPE),
        ("boolean", "double", ProblemKind.WRONG_TYPE),
        ("int", "null", ProblemKind.WRONG_TYPE),
        (["int", "long"], ["null", "long"], ProblemKind.UNSUPPORTED),
    ],
)
def test_what_would_lose_or_refuse_values_is_a_problem(source: Any, target: Any, kind: ProblemKind) -> None:
    made = one(source, target)
    assert problems(made) == [(kind, "a")]
    assert not made.is_complete


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ("long", "int", {"from": "a", "cast": "int"}),
        ("string", COLOUR, {"from": "a", "cast": "Colour"}),
        ("string", COLOUR, {"from": "a", "cast": "enum"}),
        (MICROS, MILLIS, {"from": "a", "cast": "timestamp-millis"}),
        ("double", "string", {"from": "a", "cast": "string", "decimals": 2}),
        (["null", "int"], "int", {"from": "a", "null": 0}),
        (["null", "int"], "int", {"from": "a", "null": "error"}),
        ("double", "float", {"expr": "a / 2"}),
        (COLOUR, "int", {"from": "a", "lookup": {"RED": 1, "GREEN": 2}}),
        (COLOUR, "int", {"from": "a", "lookup": {"RED": 1}, "else": "error"}),
        ("string", MILLIS, {"parse": "a", "as": "yyyy-MM-dd"}),
        (MILLIS, "string", {"format": "a", "as": "yyyy"}),
        ("string", "int", {"split": {"from": "a", "on": "/", "take": 0}, "cast": "int"}),
    ],
)
def test_a_rule_settles_it(source: Any, target: Any, rule: Any) -> None:
    assert one(source, target, rule).is_complete


@pytest.mark.parametrize(
    ("source", "target", "rule", "kind", "text"),
    [
        ("int", "int", {"from": "b"}, ProblemKind.UNKNOWN, "the source has no field b"),
        ("int", "int", {"from": "a.b"}, ProblemKind.UNKNOWN, "the source has no field a.b; the fields there are a"),
        ("string", "int", {"from": "a", "cast": "long"}, ProblemKind.WRONG_TYPE, "cast: long, but the field is int"),
        ("double", "string", {"from": "a", "cast": "string"}, ProblemKind.LOSSY, "needs decimals"),
        (COLOUR, "int", {"from": "a", "lookup": {"RED": 1}}, ProblemKind.LOSSY, "the table has nothing for GREEN"),
        (COLOUR, "int", {"from": "a", "lookup": {"BLUE": 1}, "else": 0}, ProblemKind.WRONG_TYPE, "no symbol"),
        (
            "string",
            "int",
            {"from": "a", "lookup": {"x": "y"}},
            ProblemKind.WRONG_TYPE,
            "'y' is no value here; expected int",
        ),
        ("string", "int", {"from": "a", "lookup": {1: 1}}, ProblemKind.WRONG_TYPE, "put it into quotes"),
        ("int", "int", {"from": "a", "lookup": {"x": 1}}, ProblemKind.WRONG_TYPE, "the key is no int"),
        ("int", "int", {"from": "a", "lookup": {"1": 1, 1: 2}}, ProblemKind.WRONG_TYPE, "is in the table twice"),
        ("double", "int", {"from": "a", "lookup": {"1": 1}}, ProblemKind.WRONG_TYPE, "cannot be the key of a table"),
        (
            {"type": "array", "items": "int"},
            "int",
            {"from": "a", "lookup": {"1": 1}},
            ProblemKind.WRONG_TYPE,
            "cannot be looked up",
        ),
        ("string", "int", {"from": "a", "lookup": {"x": 1}, "else": "keep"}, ProblemKind.LOSSY, "may lose or refuse"),
        (
            "string",
            "int",
            {"from": "a", "lookup": {"x": 1}, "else": "z"},
            ProblemKind.WRONG_TYPE,
            "else: 'z' is no value",
        ),
        (
            ["null", "int"],
            "int",
            {"from": "a", "null": "x"},
            ProblemKind.WRONG_TYPE,
            "null: 'x' is no value here; expected int",
        ),
        ("string", "int", {"expr": "a + 1"}, ProblemKind.WRONG_TYPE, "a is string; expected a number"),
        ("int", "int", {"const": 2**40}, ProblemKind.WRONG_TYPE, "const: 1099511627776 is no value here; expected int"),
        ("double", "string", {"join": ["a"]}, ProblemKind.WRONG_TYPE, "a is double; expected text"),
        ("string", "string", {"format": "a", "as": "yyyy"}, ProblemKind.WRONG_TYPE, "string has no date"),
        (
            {"type": "int", "logicalType": "date"},
            "string",
            {"format": "a", "as": "HH"},
            ProblemKind.WRONG_TYPE,
            "a date has no HH",
        ),
        ("string", MILLIS, {"parse": "a", "as": "yyyy-MM"}, ProblemKind.WRONG_TYPE, "lacks dd"),
        (
            "string",
            {"type": "array", "items": "int"},
            {"parse": "a", "as": "yyyy-MM-dd"},
            ProblemKind.WRONG_TYPE,
            "array of int",
        ),
        ("string", "long", {"parse": "a", "as": "yyyy-MM-dd"}, ProblemKind.WRONG_TYPE, "long has no date"),
    ],
)
def test_a_rule_that_does_not_fit(source: Any, target: Any, rule: Any, kind: ProblemKind, text: str) -> None:
    found = [problem for problem in one(source, target, rule).problems if problem.kind is not ProblemKind.UNUSED]
    assert [(problem.kind, problem.field) for problem in found] == [(kind, "a")]
    assert text in found[0].text


def test_partners_by_alias_of_either_side() -> None:
    target = record({"name": "id", "type": "int", "aliases": ["ride_id"]}, ("miles", "float"))
    source = record(("ride_id", "int"), {"name": "distance", "type": "float", "aliases": ["miles"]})
    made = plan(source, target)
    assert [(row.target, row.how, row.source) for row in made.rows()] == [
        ("id", "alias", "ride_id"),
        ("miles", "alias", "distance"),
    ]


def test_defaults_fill_what_the_source_lacks() -> None:
    made = plan(
        record(("n", ["null", "int"])),
        record(("n", "int", 7), ("x", "string", "?"), ("y", ["null", "int"])),
    )
    assert made.is_complete
    assert [(row.target, row.how, row.note) for row in made.rows()] == [
        ("n", "same name", "null becomes the default 7"),
        ("x", "default", "'?'"),
        ("y", "null", "nullable, and the source has no such field"),
    ]


def test_uncovered_unused_and_unknown_with_suggestions() -> None:
    made = plan(
        record(("amount", "double"), ("note", "string")),
        record(("amounts", "double")),
        {"amuonts": {"from": "amount"}},
        ["nots"],
    )
    assert problems(made) == [
        (ProblemKind.UNKNOWN, "amuonts"),
        (ProblemKind.UNCOVERED, "amounts"),
        (ProblemKind.UNKNOWN, "drop"),
        (ProblemKind.UNUSED, "amount"),
        (ProblemKind.UNUSED, "note"),
    ]
    texts = [problem.text for problem in made.problems]
    assert "did you mean amounts?" in texts[0]
    assert "{from: amount}" in texts[1]
    assert "did you mean note?" in texts[2]


def test_drop_lists_or_drops_the_rest() -> None:
    source, target = record(("a", "int"), ("b", "int"), ("c", "int")), record(("a", "int"))
    assert problems(plan(source, target, drop=["b"])) == [(ProblemKind.UNUSED, "c")]
    made = plan(source, target, drop="rest")
    assert made.is_complete
    assert made.dropped == ("b", "c")
    assert [(row.how, row.source) for row in made.rows()] == [("same name", "a"), ("dropped", "b"), ("dropped", "c")]


STOP = record(("lat", "double"), ("tag", "string"), ("extra", "int"), name="Stop")


def test_nested_records_arrays_and_maps() -> None:
    source = record(
        ("p", ["null", record(("a", "int"), ("b", "string"), name="P")]),
        ("stops", {"type": "array", "items": STOP}),
        ("byname", {"type": "map", "values": "Stop"}),
    )
    narrow = record(("latitude", "float"), ("tag", "string"), name="Stop")
    target = record(
        ("p", ["null", record(("a", "long"), ("c", "string"), name="P")]),
        ("stops", {"type": "array", "items": narrow}),
        ("byname", {"type": "map", "values": record(("lat", "double"), name="Place")}),
    )
    rules = {"p.c": {"from": "p.b"}, "stops[].latitude": {"from": "lat", "cast": "float"}}
    made = plan(source, target, rules, ["stops[].extra", "byname{}.tag", "byname{}.extra"])
    assert made.is_complete, made.problems
    assert [(row.target, row.source) for row in made.rows()] == [
        ("p.a", "p.a"), ("p.c", "p.b"), ("stops[].latitude", "lat"), ("stops[].tag", "stops[].tag"),
        ("byname{}.lat", "byname{}.lat"), ("", "stops[].extra"), ("", "byname{}.tag"), ("", "byname{}.extra"),
    ]  # fmt: skip
    open_ = plan(source, target, {"stops[].latitude": {"from": "lat", "cast": "float"}, "stops.x": {"const": 1}})
    assert (ProblemKind.UNCOVERED, "p.c") in problems(open_)
    assert (ProblemKind.UNUSED, "p.b") in problems(open_)
    assert (ProblemKind.UNUSED, "stops[].extra") in problems(open_)
    assert (ProblemKind.UNKNOWN, "stops.x") in problems(open_)


def test_a_record_is_built_from_rules_for_its_fields() -> None:
    target = record(("p", record(("lat", "double"), ("lon", "double", 0.0), name="P")))
    made = plan(record(("lat", "double")), target, {"p.lat": {"from": "lat"}})
    assert made.is_complete
    assert problems(plan(record(("lat", "double")), target)) == [
        (ProblemKind.UNCOVERED, "p"),
        (ProblemKind.UNUSED, "lat"),
    ]


def test_null_on_the_way_counts() -> None:
    source = record(("p", ["null", record(("a", "int"), name="P")]))
    made = plan(source, record(("a", "int")), {"a": {"from": "p.a"}})
    assert problems(made) == [(ProblemKind.LOSSY, "a")]
    assert plan(source, record(("a", ["null", "int"])), {"a": {"from": "p.a"}}).is_complete


def test_recursive_types_are_copied_or_converted_at_every_level() -> None:
    node = record(("v", "int"), ("next", ["null", "Node"]), name="Node")
    wider = record(("v", "long"), ("next", ["null", "Node"]), name="Node")
    assert plan(record(("list", node)), record(("list", node))).is_complete
    made = plan(record(("list", node)), record(("list", wider)))
    assert made.is_complete, made.problems
    assert [(row.target, row.how, row.note) for row in made.rows()] == [
        ("list.v", "same name", "widened int → long"),
        ("list.next", "again", "as list, at every level"),
    ]


def test_only_records_are_planned() -> None:
    made = plan("int", record(("a", "int")))
    assert problems(made) == [(ProblemKind.UNSUPPORTED, "")]
    assert not made.is_complete


def test_lossy_fields_are_listed() -> None:
    made = plan(
        record(("a", "string"), ("b", "int"), ("c", "long")),
        record(("a", "float"), ("b", "long"), ("c", "int")),
        {"a": {"from": "a", "cast": "float"}, "c": {"from": "c", "cast": "int"}},
    )
    assert made.lossy == ("a", "c")


def test_hash_is_of_the_meaning() -> None:
    source, target = record(("a", "int"), ("b", "string")), record(("a", "int"), ("c", "string"))
    rules = {"c": {"from": "b"}}
    first = plan(source, target, rules)
    documented = {**source, "doc": "Rides.", "fields": [{**member, "doc": "x"} for member in source["fields"]]}
    assert plan(documented, target, rules).hash == first.hash
    assert plan(documented, target, rules) == first
    assert len(first.hash) == 64
    others = [
        plan(source, target, {"c": {"const": "b"}}, ["b"]),
        plan(source, target, {"c": {"from": "b", "lookup": {"x": "y"}, "else": "keep"}}),
        plan(source, target, {"c": {"from": "b", "lookup": {"x": "z"}, "else": "keep"}}),
        plan(source, record(("a", ["null", "int"]), ("c", "string")), rules),
        plan(record(("a", "int"), ("b", "string", "?")), target, rules),
        plan(record(("a", MILLIS), ("b", "string")), record(("a", MILLIS), ("c", "string")), rules),
    ]
    assert len({first.hash, *(other.hash for other in others)}) == len(others) + 1


def test_hash_does_not_move() -> None:
    made = plan(record(("a", "int")), record(("a", "long"), ("b", "double", 1.5)))
    assert made.hash == HASH, "checkpoints of running bridges carry this hash: change it only with a reason"


HASH = "77798f23ef774261f6ec781d50d3798082da4fc36437b8584964e96cf3850452"


def test_resolution_is_avros() -> None:
    writer = record(
        {"name": "b", "type": "int", "aliases": ["a"]}, ("n", ["null", "int"]), ("e", COLOUR), ("l", "long")
    )
    reader = record(("a", "int", 3), ("n", "int", 5), ("e", {**FEWER, "default": "RED"}), ("l", "float"))
    made = derive_resolution(parse_avro(json.dumps(writer)), parse_avro(json.dumps(reader)))
    assert made.is_complete, made.problems
    ops = {name: type(op).__name__ for name, op in made.root.fields}
    assert ops == {"a": "Constant", "n": "RequireValue", "e": "Lookup", "l": "Cast"}
    missing = derive_resolution(
        parse_avro(json.dumps(record(("a", "int")))), parse_avro(json.dumps(record(("b", ["null", "int"]))))
    )
    assert problems(missing) == [(ProblemKind.UNCOVERED, "b")]


_SIMPLE = st.sampled_from(["int", "long", "float", "double", "string", "bytes", "boolean", MILLIS, MICROS])
_TYPES = st.recursive(
    _SIMPLE,
    lambda inner: (
        inner.map(lambda node: {"type": "array", "items": node})
        | inner.filter(lambda node: not isinstance(node, list)).map(lambda node: ["null", node])
    ),
    max_leaves=3,
)


@given(st.lists(_TYPES, min_size=1, max_size=4), st.lists(_TYPES, min_size=1, max_size=4))
def test_every_pair_has_a_plan_and_every_field_a_word(source: list[Any], target: list[Any]) -> None:
    made = plan(
        record(*((f"f{number}", node) for number, node in enumerate(source))),
        record(*((f"f{number}", node) for number, node in enumerate(target))),
    )
    settled = {row.target for row in made.rows()} | {problem.field.rstrip("[]") for problem in made.problems}
    assert {f"f{number}" for number in range(len(target))} <= settled
    assert plan(json.loads(made.target.text), json.loads(made.target.text)).is_complete
