"""A reader and what a writer offers, compared with the schemas that it was built for and with what was so before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements.model import Expectation, Read
from counterfoil.schema.paths import parse_path
from counterfoil.schema.position import Position
from counterfoil.schema.reads.model import Offer, Reader, ReadFinding
from counterfoil.schema.reads.pairs import judge_pair, since

AT = Position(1, 1)


def offer(schema: Any, language: SchemaType = SchemaType.JSON) -> Offer:
    return Offer(parse_schema(schema if isinstance(schema, str) else json.dumps(schema), language))


def objects(*required: str, **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": list(required)}


def record(**fields: Any) -> Any:
    return {
        "type": "record",
        "name": "Order",
        "fields": [{"name": name, "type": each} for name, each in fields.items()],
    }


def reader(*paths: str) -> Reader:
    """Return a consumer of some paths, of the whole record without any; ``!`` is required, ``?`` when present."""
    reads = [
        Read(parse_path(each.rstrip("!?")), AT, is_required="!" in each, when_present="?" in each) for each in paths
    ]
    return Reader("ui", Expectation("orders", "orders", "1", AT, tuple(reads) or None))


def lists(scalar: str) -> str:
    return f'syntax = "proto3"; message Order {{ repeated {scalar} a = 1; string b = 2; }}'


def breaks(findings: tuple[ReadFinding, ...]) -> bool:
    return any(each.is_breaking for each in findings)


WITH = {
    SchemaType.JSON: objects("f", f=objects(r={"type": "array", "items": objects("s", s={"type": "string"})})),
    SchemaType.AVRO: record(
        f={"type": "record", "name": "F", "fields": [{"name": "r", "type": {"type": "array", "items": "string"}}]}
    ),
    SchemaType.PROTOBUF: 'syntax = "proto3"; message Order { F f = 1; } message F { repeated string r = 2; }',
}
WITHOUT = {
    SchemaType.JSON: objects("f", f={"type": "integer"}),
    SchemaType.AVRO: record(f="int"),
    SchemaType.PROTOBUF: 'syntax = "proto3"; message Order { int32 f = 1; }',
}
PATHS = {SchemaType.JSON: "f.r[].s", SchemaType.AVRO: "f.r[]", SchemaType.PROTOBUF: "f.r[]"}


@pytest.mark.parametrize("language", list(WITH))
def test_of_several_remembered_schemas_those_count_that_have_what_is_read(language: SchemaType) -> None:
    one, other = offer(WITH[language], language), offer(WITHOUT[language], language)
    path = PATHS[language]
    assert not breaks(judge_pair([one, other], one, reader(path)))
    assert not breaks(judge_pair([other, one], one, reader(path)))
    assert breaks(judge_pair([one, other], other, reader(path)))
    assert breaks(judge_pair([one, other], one, reader()))  # the whole record may be read with either
    assert breaks(judge_pair([one, other], one, reader("f")))  # both have it
    assert breaks(judge_pair([one, other], one, reader(f"{path}?", "f")))  # it need not be there
    assert breaks(judge_pair([other], one, reader(path)))  # nothing better is known


def test_who_requires_a_value_fails_already_where_it_is_missing() -> None:
    built, now = offer(objects("b", b={"type": "string"})), offer(objects(b={"type": "string"}))
    live = judge_pair([built], now, reader("b!"))
    assert breaks(live)
    assert breaks(judge_pair([built], now, reader()))
    assert not breaks(since(judge_pair([built], now, reader()), live))
    assert not breaks(since(judge_pair([built], now, reader("b")), live))


def test_who_refuses_null_alone_is_no_reason_for_a_value_that_is_missing() -> None:
    nullable = objects(b={"type": ["null", "string"]})
    live = judge_pair([offer(objects(b={"type": "string"}))], offer(nullable), reader("b"))
    assert breaks(live)
    both = {"type": ["null", "string"]}
    found = judge_pair([offer(objects("b", b=both))], offer(nullable), reader("b"))
    assert breaks(since(found, live))


def test_a_field_that_is_gone_is_worse_than_one_that_may_be_missing() -> None:
    built = offer(objects("b", b={"type": "string"}))
    live = judge_pair([built], offer(objects(b={"type": "string"})), reader("b!"))
    assert breaks(since(judge_pair([built], offer(objects(c={"type": "string"})), reader("b")), live))


def test_the_items_of_a_container_that_cannot_be_read_at_all_are_no_matter() -> None:
    built = offer(record(d=["null", "float"]), SchemaType.AVRO)
    writing = [
        offer(record(d={"type": kind, part: inner}), SchemaType.AVRO)
        for kind, part in (("array", "items"), ("map", "values"))
        for inner in ("boolean", "int")
    ]
    of_booleans, of_integers, *maps = [judge_pair([built], each, reader("d")) for each in writing]
    assert breaks(of_booleans)
    assert not breaks(since(of_integers, of_booleans))
    assert all(breaks(since(each, of_booleans)) for each in maps)


@pytest.mark.parametrize(
    ("written", "is_refused"), [("uint32", False), ("bool", False), ("int64", False), ("float", True)]
)
def test_packed_numbers_of_variable_length_are_parsed_as_one_another(written: str, *, is_refused: bool) -> None:
    declared = replace(reader("b"), schema=parse_schema(lists("sint32"), SchemaType.PROTOBUF))
    assert breaks(judge_pair([], offer(lists(written), SchemaType.PROTOBUF), declared)) is is_refused
