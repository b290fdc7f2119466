"""A reader and what a writer offers, compared with the schemas that it was built for and with what was so before."""

from __future__ import annotations

import copy
import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import fastavro.read
import pytest

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements.findings import Offer, Reader, ReadFinding
from counterfoil.schema.agreements.model import Expectation, ExpectedRead, OnUnknownEnum
from counterfoil.schema.agreements.readers import judge_pair, since, worse_than
from counterfoil.schema.paths import parse_path
from counterfoil.schema.texts import Position

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
        ExpectedRead(parse_path(each.rstrip("!?")), AT, is_required="!" in each, when_present="?" in each)
        for each in paths
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
    assert not breaks(since(judge_pair([built], now, reader()), [live]))
    assert not breaks(since(judge_pair([built], now, reader("b")), [live]))


def test_null_and_absence_of_a_required_value_are_two_breaks() -> None:
    text, null = {"type": "string"}, {"type": ["null", "string"]}
    built, nullable, optional, both = map(
        offer, (objects("b", b=text), objects("b", b=null), objects(b=text), objects(b=null))
    )
    of_null, of_absence = (judge_pair([built], each, reader("b!")) for each in (nullable, optional))
    of_both = judge_pair([built], both, reader("b!"))
    assert [{each.written for each in found} for found in (of_null, of_absence, of_both)] == [
        {"nullable"},
        {"optional"},
        {"nullable", "optional"},
    ]
    assert breaks(worse_than(of_both, [of_null]))
    assert breaks(worse_than(of_absence, [of_null]))
    assert breaks(worse_than(of_null, [of_absence]))
    assert not breaks(worse_than(of_null, [of_both]))
    assert not breaks(worse_than(of_absence, [of_both]))


def test_who_refuses_null_alone_is_no_reason_for_a_value_that_is_missing() -> None:
    nullable = objects(b={"type": ["null", "string"]})
    live = judge_pair([offer(objects(b={"type": "string"}))], offer(nullable), reader("b"))
    assert breaks(live)
    both = {"type": ["null", "string"]}
    found = judge_pair([offer(objects("b", b=both))], offer(nullable), reader("b"))
    assert breaks(since(found, [live]))


def test_a_field_that_is_gone_is_worse_than_one_that_may_be_missing() -> None:
    built = offer(objects("b", b={"type": "string"}))
    live = judge_pair([built], offer(objects(b={"type": "string"})), reader("b!"))
    assert breaks(since(judge_pair([built], offer(objects(c={"type": "string"})), reader("b")), [live]))


def test_the_items_of_a_container_that_cannot_be_read_at_all_are_no_matter() -> None:
    built = offer(record(d=["null", "float"]), SchemaType.AVRO)
    writing = [
        offer(record(d={"type": kind, part: inner}), SchemaType.AVRO)
        for kind, part in (("array", "items"), ("map", "values"))
        for inner in ("boolean", "int")
    ]
    of_booleans, of_integers, *maps = [judge_pair([built], each, reader("d")) for each in writing]
    assert breaks(of_booleans)
    assert not breaks(since(of_integers, [of_booleans]))
    assert all(breaks(since(each, [of_booleans])) for each in maps)


@pytest.mark.parametrize(
    ("written", "is_refused"), [("uint32", False), ("bool", False), ("int64", False), ("float", True)]
)
def test_packed_numbers_of_variable_length_are_parsed_as_one_another(written: str, *, is_refused: bool) -> None:
    declared = replace(reader("b"), schema=parse_schema(lists("sint32"), SchemaType.PROTOBUF))
    assert breaks(judge_pair([], offer(lists(written), SchemaType.PROTOBUF), declared)) is is_refused


# --- places on the way to what is read


R = '{"type": "object", "required": ["q", "r"], "properties": {"q": {"type": "integer"}, "r": {"type": "string"}}}'
AVRO_R = '{"type": "record", "name": "R", "fields": [{"name": "q", "type": "int"}, {"name": "r", "type": "string"}]}'
PROTO_R = "message R { int32 q = 2; string r = 3; }"
AROUND = [
    (SchemaType.PROTOBUF, "e{}", "map<string, R> e = 4;", "map<string, R> e = 5;"),
    (SchemaType.PROTOBUF, "e[]", "repeated R e = 4;", "repeated R e = 5;"),
    (SchemaType.PROTOBUF, "e", "R e = 4;", "R e = 5;"),
    (SchemaType.PROTOBUF, "e", "oneof k { R e = 4; string s = 6; }", "oneof k { R e = 5; string s = 6; }"),
    (SchemaType.PROTOBUF, "k<e>", "oneof k { R e = 4; string s = 6; }", "oneof k { R e = 5; string s = 6; }"),
    (SchemaType.AVRO, "e", AVRO_R, f'["null", {AVRO_R}]'),
    (SchemaType.AVRO, "e", f'["null", {AVRO_R}]', f'["null", "int", {AVRO_R}]'),
    (SchemaType.AVRO, "e", AVRO_R, AVRO_R.replace('"R"', '"S"')),
    (
        SchemaType.AVRO,
        "e[]",
        f'{{"type": "array", "items": {AVRO_R}}}',
        f'["null", {{"type": "array", "items": {AVRO_R}}}]',
    ),
    (
        SchemaType.AVRO,
        "e{}",
        f'{{"type": "map", "values": {AVRO_R}}}',
        f'{{"type": "map", "values": ["null", {AVRO_R}]}}',
    ),
    (SchemaType.JSON, "e", R, R.replace('"object"', '["object", "null"]')),
    (SchemaType.JSON, "e[]", f'{{"type": "array", "items": {R}}}', f'{{"type": ["array", "null"], "items": {R}}}'),
    (
        SchemaType.JSON,
        "e{}",
        f'{{"type": "object", "additionalProperties": {R}}}',
        f'{{"type": ["object", "null"], "additionalProperties": {R}}}',
    ),
]


def with_e(language: SchemaType, part: str) -> Offer:
    """Return what is offered with a field ``e``, and another one beside it."""
    text = {
        SchemaType.PROTOBUF: f'syntax = "proto3"; message Order {{ {part} int32 z = 9; }} {PROTO_R}',
        SchemaType.AVRO: f'{{"type": "record", "name": "Order", "fields": [{{"name": "e", "type": {part}}}]}}',
        SchemaType.JSON: f'{{"type": "object", "required": ["e"], "properties": {{"e": {part}}}}}',
    }[language]
    return Offer(parse_schema(text, language))


@pytest.mark.parametrize(("language", "at", "was", "now"), AROUND)
def test_a_place_around_what_is_read_loses_that_alone(language: SchemaType, at: str, was: str, now: str) -> None:
    built, offered = with_e(language, was), with_e(language, now)

    def is_worse(live: list[str], later: list[str]) -> bool:
        before = judge_pair([built], offered, reader(*live))
        assert breaks(before), live
        return breaks(since(judge_pair([built], offered, reader(*later)), [before]))

    one, other = f"{at}.q", f"{at}.r"
    assert not is_worse([one], [one])
    assert not is_worse([at], [one])
    assert not is_worse([], [one])
    assert not is_worse([], [at])
    assert not is_worse([one, other], [other])
    assert not is_worse([other, one], [one, other])
    assert is_worse([one], [other])
    assert is_worse([one], [one, other])
    assert is_worse([one], [at])
    assert is_worse([one], [])


OF_ANOTHER_KIND = [
    (SchemaType.PROTOBUF, "e", "R e = 4;", "fixed32 e = 4;"),
    (SchemaType.PROTOBUF, "e[]", "repeated R e = 4;", "double e = 4;"),
    (SchemaType.PROTOBUF, "e{}", "map<string, R> e = 4;", "string e = 4;"),
    (SchemaType.AVRO, "e", AVRO_R, '"string"'),
    (SchemaType.AVRO, "e", f'["null", {AVRO_R}]', '["null", "string"]'),
    (SchemaType.AVRO, "e[]", f'{{"type": "array", "items": {AVRO_R}}}', '"int"'),
    (SchemaType.AVRO, "e{}", f'{{"type": "map", "values": {AVRO_R}}}', '{"type": "map", "values": "int"}'),
    (SchemaType.JSON, "e", R, '{"type": "string"}'),
    (SchemaType.JSON, "e[]", f'{{"type": "array", "items": {R}}}', '{"type": "string"}'),
    (SchemaType.JSON, "e{}", f'{{"type": "object", "additionalProperties": {R}}}', '{"type": "number"}'),
]


@pytest.mark.parametrize(("language", "at", "was", "now"), OF_ANOTHER_KIND)
def test_who_misses_all_of_a_place_misses_every_path_inside(language: SchemaType, at: str, was: str, now: str) -> None:
    built, offered = with_e(language, was), with_e(language, now)

    def is_worse(live: list[str], later: list[str]) -> bool:
        before = judge_pair([built], offered, reader(*live))
        assert breaks(before), live
        return breaks(since(judge_pair([built], offered, reader(*later)), [before]))

    assert not is_worse([at], [f"{at}.q"])
    assert not is_worse(["e"], [f"{at}.q", f"{at}.r"])
    assert not is_worse([], [f"{at}.q"])
    assert not is_worse([f"{at}.q"], [f"{at}.q"])
    assert is_worse([f"{at}.q"], [f"{at}.r"])
    assert is_worse([f"{at}.q"], [at])
    assert is_worse([f"{at}.q"], [])


@pytest.mark.parametrize("language", [SchemaType.AVRO, SchemaType.PROTOBUF, SchemaType.JSON])
def test_who_misses_a_field_misses_all_that_is_inside_it(language: SchemaType) -> None:
    part, none = {
        SchemaType.AVRO: (
            f'{{"type": "array", "items": {AVRO_R}}}',
            '{"type": "record", "name": "Order", "fields": []}',
        ),
        SchemaType.PROTOBUF: ("repeated R e = 4;", f'syntax = "proto3"; message Order {{ int32 z = 9; }} {PROTO_R}'),
        SchemaType.JSON: (f'{{"type": "array", "items": {R}}}', '{"type": "object"}'),
    }[language]
    built, offered = with_e(language, part), offer(none, language)
    live = judge_pair([built], offered, reader("e"))
    for path in ("e[]", "e[].q", "e"):
        assert not breaks(since(judge_pair([built], offered, reader(path)), [live]))
        assert breaks(since(judge_pair([built], offered, reader("e", "f")), [live]))
    of_item = judge_pair([built], offered, reader("e[].q"))
    assert breaks(since(judge_pair([built], offered, reader("e[].r")), [of_item]))
    assert breaks(since(judge_pair([built], offered, reader("e")), [of_item]))


def test_on_the_way_to_a_path_that_a_consumer_was_not_built_for_nothing_is_lost() -> None:
    built, offered = with_e(SchemaType.PROTOBUF, "R e = 4;"), with_e(SchemaType.PROTOBUF, "R e = 5;")
    assert breaks(judge_pair([built], offered, reader("e.q")))
    assert not breaks(
        worse_than(
            judge_pair([built], with_e(SchemaType.PROTOBUF, "T e = 5; } message T { R x = 1;"), reader("e.x")),
            [judge_pair([built], built, reader("e.x"))],
        )
    )


def test_a_field_that_has_another_number_is_as_gone_as_one_that_is_not_there() -> None:
    built, gone, moved = (
        with_e(SchemaType.PROTOBUF, each) for each in ("repeated R e = 4;", "int32 y = 8;", "repeated R e = 5;")
    )
    for path in ("e", "e[]", "e[].q"):
        missing, renumbered = (judge_pair([built], each, reader(path)) for each in (gone, moved))
        assert breaks(missing)
        assert breaks(renumbered)
        assert not breaks(worse_than(missing, [renumbered]))
        assert not breaks(worse_than(renumbered, [missing]))
    other = with_e(SchemaType.PROTOBUF, "repeated R e = 5; int32 y = 4;")
    assert breaks(worse_than(judge_pair([built], other, reader("e")), [judge_pair([built], moved, reader("e"))]))


def test_who_was_not_built_for_a_path_has_not_lost_what_is_around_it() -> None:
    built, now = (offer(record(a=kind), SchemaType.AVRO) for kind in ("int", {"type": "map", "values": "int"}))
    live = judge_pair([built], now, reader("a[]"))
    assert breaks(live)
    assert breaks(since(judge_pair([built], now, reader("a")), [live]))


def test_a_declared_schema_by_which_the_record_is_refused_has_one_break_whatever_is_read() -> None:
    built = with_e(SchemaType.AVRO, AVRO_R)
    offered = with_e(SchemaType.AVRO, AVRO_R.replace('"R"', '"S"'))
    one, other, both = (replace(reader(*each), schema=built.schema) for each in (["e.q"], ["e.r"], ["e.q", "e.r"]))
    assert len(judge_pair([], offered, both)) == 1
    assert not breaks(since(judge_pair([], offered, other), [judge_pair([], offered, one)]))
    assert not breaks(since(judge_pair([built], offered, reader("e.r")), [judge_pair([], offered, one)]))
    assert breaks(since(judge_pair([], offered, other), [judge_pair([built], offered, reader("e.q"))]))


# --- aliases of Avro


def named(name: str, kind: Any, *aliases: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "aliases": list(aliases)}


def line(name: str, *fields: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


MINE = line("R", named("a", "int", "old"))
THEIRS, OTHERS = line("R", named("old", "int")), line("R", named("z", "int"))
NEW, UNNAMED, OLD = (
    line("New", named("a", "int"), aliases=["Old"]),
    line("New", named("a", "int")),
    line("Old", named("a", "int")),
)
ALIASES = [
    (named("a", "int", "old"), named("old", "int"), 7, "a", True),
    (named("a", "long", "old"), named("old", "int"), 7, "a", True),
    (named("a", "string", "old"), named("old", "int"), 7, "a", False),
    (named("a", "int", "old"), named("a", "int"), 7, "a", True),
    (named("a", "int", "old"), named("z", "int"), 7, "a", False),
    (named("a", "int"), named("z", "int", "a"), 7, "a", False),  # the aliases of a writer do not count
    (named("e", MINE), named("e", THEIRS), {"old": 7}, "e.a", True),
    (named("e", MINE, "f"), named("f", THEIRS), {"old": 7}, "e.a", True),
    (named("e", MINE, "f"), named("f", OTHERS), {"z": 7}, "e.a", False),
    (
        named("e", {"type": "array", "items": MINE}),
        named("e", {"type": "array", "items": THEIRS}),
        [{"old": 7}],
        "e[].a",
        True,
    ),
    (
        named("e", {"type": "map", "values": MINE}, "f"),
        named("f", {"type": "map", "values": THEIRS}),
        {"k": {"old": 7}},
        "e{}.a",
        True,
    ),
    (named("e", ["null", "int", NEW]), named("e", ["null", "int", OLD]), {"a": 7}, "e<New>.a", True),
    (named("e", ["null", "int", UNNAMED]), named("e", ["null", "int", OLD]), {"a": 7}, "e<New>.a", False),
    (named("e", ["null", NEW]), named("e", OLD), {"a": 7}, "e.a", True),
    (named("e", NEW, "f"), named("f", OLD), {"a": 7}, "e.a", True),
    (named("e", ["null", MINE], "f"), named("f", ["null", THEIRS]), {"old": 7}, "e.a", True),
]


@pytest.mark.parametrize(("mine", "theirs", "value", "path", "is_read"), ALIASES)
def test_an_alias_of_what_is_read_is_followed_as_decoders_follow_it(
    mine: Any, theirs: Any, value: Any, path: str, *, is_read: bool
) -> None:
    own, written = line("Order", mine), line("Order", theirs)
    assert _has_seven(written, own, {theirs["name"]: value}) is is_read
    declared = replace(reader(path), schema=parse_schema(json.dumps(own), SchemaType.AVRO))
    assert breaks(judge_pair([], offer(written, SchemaType.AVRO), declared)) is not is_read
    built = [offer(own, SchemaType.AVRO)]
    assert breaks(judge_pair(built, offer(written, SchemaType.AVRO), reader(path))) is not is_read


def _has_seven(writer: Any, known: Any, record: Any) -> bool:
    """Return whether fastavro reads a record, and finds its seven."""
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(copy.deepcopy(writer)), record)
    data.seek(0)
    try:
        found = fastavro.schemaless_reader(
            data, fastavro.parse_schema(copy.deepcopy(writer)), fastavro.parse_schema(copy.deepcopy(known))
        )
    except (fastavro.read.SchemaResolutionError, KeyError):
        return False
    return "7" in json.dumps(found)


def test_a_field_that_is_read_by_an_alias_is_judged_by_what_is_written() -> None:
    built = [offer(line("Order", named("a", ["null", "int"], "old")), SchemaType.AVRO)]
    nullable = offer(line("Order", named("old", ["null", "int"])), SchemaType.AVRO)
    certain = offer(line("Order", named("old", "int")), SchemaType.AVRO)
    assert not breaks(judge_pair(built, nullable, reader("a")))
    assert breaks(judge_pair(built, nullable, reader("a!")))
    assert not breaks(judge_pair(built, certain, reader("a!")))


INT = {"type": "integer"}
KNOWN_VALUES = {"type": "string", "enum": ["SENT", "PAID"]}
TEXT = objects(b={"type": "string"})


def one_of(*types: Any) -> Any:
    return objects(b={"anyOf": [{"type": each} for each in types]})


MAP = {"type": ["null", "object"], "additionalProperties": {"type": ["integer", "boolean"]}}


@pytest.mark.parametrize(
    ("read", "live", "now", "is_worse"),
    [
        (objects("c", c=INT), objects(c=INT, e=INT), objects(e=INT), True),
        (objects("c", c=INT), objects(e=INT), objects(c=INT, e=INT), False),
        (objects("c", c=INT), objects(e=INT), {**objects(e=INT), "additionalProperties": False}, False),
        (objects("c", c=INT), {"type": "object", "additionalProperties": INT}, objects(e=INT), True),
        (
            objects("b", b=KNOWN_VALUES),
            objects("b", b=MAP),
            objects("b", b={**MAP, "additionalProperties": INT}),
            False,
        ),
        (objects("b", b=KNOWN_VALUES), objects("b", b=MAP), objects("b", b=INT), True),
        (objects("b", b=KNOWN_VALUES), objects("b", b={"type": ["null", "string"]}), objects(b={"type": "null"}), True),
        (objects(b=KNOWN_VALUES), objects(b={"type": ["null", "string"]}), objects(b={"type": "string"}), False),
        (objects(b=KNOWN_VALUES), objects(b={"type": "string", "pattern": "^A"}), objects(b={"type": "string"}), True),
        (objects(b={"enum": [1, 2]}), objects(b={"type": ["number", "string"]}), objects(b={"type": "number"}), False),
        (objects(b={"enum": [True]}), objects(b={"type": "boolean"}), objects(b={"type": "null"}), True),
        (TEXT, one_of("null", "integer"), one_of("null"), False),
        (TEXT, one_of("null", "integer"), one_of("null", "integer", "boolean"), True),
        (TEXT, one_of(["null", "integer"], ["null", "string"]), one_of(["null", "boolean"], "string"), True),
        (TEXT, one_of(["null", "integer"], ["null", "string"]), one_of("integer", "string"), False),
        (objects(b={"const": "K"}), objects(b={"anyOf": [{"const": "K"}, {"type": "null"}]}), one_of("integer"), True),
        (
            objects(b={"enum": ["A"]}),
            objects(b={"anyOf": [{"enum": ["A", "B"]}, {"type": "null"}]}),
            objects(b={"anyOf": [{"enum": ["A", "B"]}, {"type": "integer"}]}),
            True,
        ),
        (
            objects(b={"enum": ["A"]}),
            objects(b={"anyOf": [{"enum": ["A", "B"]}, {"type": "null"}]}),
            objects(b={"enum": ["A", "B"]}),
            False,
        ),
    ],
)
def test_what_a_json_schema_requires_or_lists_is_missed_in_one_way_for_each_kind_of_value(
    read: Any, live: Any, now: Any, *, is_worse: bool
) -> None:
    declared = replace(reader("x"), schema=parse_schema(json.dumps(read), SchemaType.JSON))
    before, after = (judge_pair([], offer(each), declared) for each in (live, now))
    assert breaks(before)
    assert breaks(worse_than(after, [before])) is is_worse
    assert not breaks(worse_than(before, [before]))


@pytest.mark.parametrize(("written", "is_worse"), [("SENT = 3", False), ("SENT = 4", True), ("LATE = 3", True)])
def test_a_symbol_that_a_reader_takes_for_another_one_is_missed_like_one_that_it_does_not_know(
    written: str, *, is_worse: bool
) -> None:
    def order(*values: str) -> str:
        listed = " ".join(f"{each};" for each in ("GONE = 0", *values))
        return f'syntax = "proto3"; message Order {{ E f = 1; }} enum E {{ {listed} }}'

    live = replace(reader(), schema=parse_schema(order("PAID = 3"), SchemaType.PROTOBUF))
    later = replace(reader("f"), schema=parse_schema(order("NEW = 2"), SchemaType.PROTOBUF))
    later = replace(later, expectation=replace(later.expectation, on_unknown_enum=OnUnknownEnum.FAIL))
    before = judge_pair([], offer(order("SENT = 3"), SchemaType.PROTOBUF), live)
    after = judge_pair([], offer(order(written), SchemaType.PROTOBUF), later)
    assert breaks(before)
    assert breaks(after)
    assert breaks(since(after, [before])) is is_worse


@pytest.mark.parametrize("listed", [{"const": "K"}, {"enum": ["K", "L"]}, {"type": "string", "enum": ["K"]}])
@pytest.mark.parametrize("more", [{"type": "null"}, {"type": "integer"}, {"const": "M"}])
@pytest.mark.parametrize("paths", [["b"], []])
def test_a_choice_of_what_a_json_schema_lists_and_more_breaks_who_expects_what_is_listed(
    listed: Any, more: Any, paths: list[str]
) -> None:
    built, now = offer(objects("b", b=listed)), offer(objects("b", b={"anyOf": [listed, more]}))
    assert breaks(judge_pair([built], now, reader(*paths)))
    assert breaks(judge_pair([], now, replace(reader("x"), schema=built.schema)))
    assert not judge_pair([now], built, reader(*paths))
