"""Suggestions from counted values, on made data with known answers; wrong suggestions are counted."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.suggest import CountedSamples, Suggestion, suggest_rules
from counterfoil.schema.plans.value_counts import counts_of_values, factor_between, field_counts, likeness, ticks_of
from counterfoil.schema.sketch import PartSketch, PlaceSketch, WriterSchema, make_sketcher
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of

COUNT = 1000
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
FIRST, LAST = ("Ada", "Alan", "Grace", "Edsger", "Barbara"), ("Lovelace", "Turing", "Hopper", "Liskov")
CITIES = ("Oslo", "Rome", "Lima", "Cairo")
STATES = {"ACTIVE": "A", "SUSPENDED": "S", "CLOSED": "C"}


def record(**fields: Any) -> Any:
    members = [{"name": name, "type": kind} for name, kind in fields.items()]
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": members}))


def rows(seed: int) -> list[dict[str, Any]]:
    """Facts, from which the records of both sides are made."""
    chooser = random.Random(seed)
    return [
        {
            "first": chooser.choice(FIRST),
            "last": chooser.choice(LAST),
            "city": chooser.choices(CITIES, weights=(8, 4, 2, 1))[0],
            "state": chooser.choices(tuple(STATES), weights=(65, 25, 10))[0],
            "at_s": 1_700_000_000 + chooser.randrange(10_000_000),
            "km": chooser.uniform(1, 40) if number > 1 else (1.0, 40.0)[number],
            "note": f"{chooser.random()}",
            "code": chooser.choice(("x1", "x2", "x3")),
            "paid": chooser.choice(("Cash", "CARD")),
            "size": chooser.randrange(1, 9),
        }
        for number in range(COUNT)
    ]


def source_value(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "who": f"{row['first']} {row['last']}", "town": row["city"], "state": row["state"], "at": row["at_s"],
        "distance": row["km"], "note": row["note"], "kind": row["code"], "paid": row["paid"], "size": row["size"],
        "a": row["first"], "b": row["last"],
    }  # fmt: skip


def target_value(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "given": row["first"], "place": row["city"], "state": STATES[row["state"]], "at": row["at_s"] * 1000,
        "distance": row["km"] / 1.609344, "remark": f"{row['note']}!", "paid": row["paid"].lower(),
        "full": f"{row['first']}, {row['last']}", "size": row["size"], "colour": "red",
    }  # fmt: skip


SOURCE = record(
    who="string", town="string", state={"type": "enum", "name": "S", "symbols": list(STATES)}, at="long",
    distance="double", note="string", kind="string", paid="string", size="int", a="string", b="string",
)  # fmt: skip
TARGET = record(
    given="string", place="string", state={"type": "enum", "name": "T", "symbols": list(STATES.values())}, at=MILLIS,
    distance="double", remark="string", paid="string", full="string", size="int", colour="string",
)  # fmt: skip
ANSWERS = {
    "place": {"from": "town"},
    "state": {"from": "state", "lookup": STATES, "else": "error"},
    "at": {"expr": "at * 1000"},
    "distance": {"expr": "distance / 1.609344"},
    "paid": {"from": "paid", "lookup": {"Cash": "cash", "CARD": "card"}, "else": "error"},
    "full": {"join": ["a", "b"], "with": ", "},
}
"""The rules between the two, except ``given``: it is ``a``, and also the first piece of ``who``."""


def counted(make: Any, seed: int) -> Any:
    return counts_of_values(make(row) for row in rows(seed))


def suggested(samples: CountedSamples, source: Any = SOURCE, target: Any = TARGET) -> dict[str, Suggestion]:
    return {each.field: each for each in suggest_rules(derive_plan(source, target), samples=samples)}


@pytest.mark.parametrize("seed", range(8))
def test_known_answers_are_found_and_nothing_else(seed: int):
    found = suggested(CountedSamples(counted(source_value, seed), counted(target_value, seed + 100)))
    right = {field: rule for field, rule in ANSWERS.items() if field in found and dict(found[field].rule) == rule}
    wrong = {field: dict(each.rule) for field, each in found.items() if field not in right}
    assert wrong.pop("given") in ({"from": "a"}, {"split": {"from": "who", "on": " ", "take": 0}})
    assert wrong.pop("remark", None) in (None, {"from": "note"})  # values are all different; nothing says more
    assert (right, wrong) == (ANSWERS, {})


@pytest.mark.parametrize("seed", range(8))
def test_values_that_have_nothing_to_do_with_each_other_give_no_suggestions(seed: int):
    chooser = random.Random(seed)
    texts = ["".join(chooser.choices("abcdefgh", k=5)) for _ in range(40)]
    left = [{"p": chooser.choice(texts[:20]), "q": chooser.gauss(50, 9), "r": "x"} for _ in range(COUNT)]
    right = [{"u": chooser.choice(texts[20:]), "v": chooser.expovariate(1), "w": "y"} for _ in range(COUNT)]
    samples = CountedSamples(counts_of_values(left), counts_of_values(right))
    source, target = record(p="string", q="double", r="string"), record(u="string", v="double", w="string")
    assert suggested(samples, source, target) == {}


def test_two_fields_with_the_same_values_are_ambiguous():
    values = [{"a": city, "b": city} for city in CITIES * 20]
    samples = CountedSamples(counts_of_values(values), counts_of_values([{"home": city} for city in CITIES * 20]))
    assert suggested(samples, record(a="string", b="string"), record(home="string")) == {}


def test_few_values_say_nothing():
    few = CountedSamples(
        counts_of_values([{"town": city} for city in CITIES]), counts_of_values([{"home": city} for city in CITIES])
    )
    assert suggested(few, record(town="string"), record(home="string")) == {}


def test_evidence_and_confidence_are_in_the_comment():
    found = suggested(CountedSamples(counted(source_value, 1), counted(target_value, 2)))
    assert "of 1,000 and 1,000 values are the same" in str(found["place"])
    assert "the ranges 1 to 40 and 0.621371 to 24.8548 differ as kilometres and miles" in found["distance"].evidence
    assert "the shares of values are equal: ACTIVE 6" in found["state"].evidence
    assert found["distance"].confidence <= 0.5 < found["place"].confidence < 1


def sketched(schema: Any, values: list[Any]) -> PartSketch:
    sketcher = make_sketcher(schema, WriterSchema(schema.schema_type, schema.text))
    for value in values:
        sketcher.add(value, 0)
    return PartSketch({"1": sketcher.finish()})


def test_sketches_of_all_languages_are_counts_by_field():
    inner = {"type": "record", "name": "P", "fields": [{"name": "lat", "type": "int"}]}
    colour = {"type": "enum", "name": "C", "symbols": ["RED", "BLUE"]}
    avro = record(city=["null", "string"], p=["null", inner], c=["null", colour])
    counts = field_counts(
        sketched(avro, [{"city": "Oslo", "p": {"lat": 3}, "c": "RED"}, {"city": None, "p": None, "c": None}])
    )
    assert (counts["city",].symbols, counts["city",].values, counts["city",].nulls) == ({"Oslo": 1}, 2, 1)
    assert (counts["p", "lat"].most, counts["c",].symbols) == (3, {"RED": 1})

    document = {"type": "object", "properties": {"p": {"type": "object", "properties": {"lat": {"type": "integer"}}}}}
    schema = parse_schema(json.dumps(document), SchemaType.JSON)
    assert field_counts(sketched(schema, [{"p": {"lat": 4}}]))["p", "lat"].most == 4

    text = (
        'syntax = "proto3"; package t; message H { int32 x = 1; } message R { message P { int32 lat = 7; } P p = 2; }'
    )
    proto = parse_schema(text, SchemaType.PROTOBUF)
    made = class_of(MessageTypes(pooled_file(proto, text)).find("t.R"))(p={"lat": 5})
    assert field_counts(sketched(proto, [made]), "t.R")["p", "lat"].most == 5


@pytest.mark.parametrize("most", [float("inf"), 10**400])
def test_ranges_beyond_a_double_say_nothing(most: float) -> None:
    open_end = PlaceSketch("double", records=100, values=100, least=1_700_000_000, most=most)
    closed = PlaceSketch("double", records=100, values=100, least=1.0, most=2.0)
    assert ticks_of(open_end) is None
    assert factor_between(open_end, closed) is None
    assert likeness(open_end, closed) is None
