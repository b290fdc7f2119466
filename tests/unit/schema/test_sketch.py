"""Sketches: what a topic's records say about a verdict, and that a sketch never calls a broken record harmless."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from avro_data import avro_data
from avro_edits import avro_pairs
from counterfoil.schema import CompatibilityLevel, Earlier, InvalidSchema, check_compatibility
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.sketch import PlaceSketch, SchemaSketch, TopicSketch, sketch_avro, weigh
from counterfoil.schema.sketch.model import MAX_SYMBOLS

if TYPE_CHECKING:
    from counterfoil.schema.sketch import Weight

Json = Any
COLOURS = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]}


def record(*fields: tuple[str, Json], name: str = "R") -> Json:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields]}


def weights(reader: Json, writer: Json, data: list[Any], *, level: str = "BACKWARD") -> tuple[Weight, ...]:
    new, old = parse_avro(json.dumps(reader)), parse_avro(json.dumps(writer))
    report = check_compatibility(new, [Earlier(old, 1)], CompatibilityLevel(level))
    assert not report.is_compatible
    topic = TopicSketch({7: sketch_avro(old, data)} if data else {})
    return weigh(report, topic, schema_ids=lambda _: frozenset({7}))


WEIGHED: dict[str, tuple[Json, Json, list[Any], int | None, str]] = {
    # what happened: reader, writer, data, how many trigger the finding at most, what is said
    "a symbol that nobody used": (
        record(("c", COLOURS | {"symbols": ["RED", "GREEN"]})),
        record(("c", COLOURS)),
        [{"c": "RED"}, {"c": "GREEN"}, {"c": "RED"}],
        0,
        "0 values in 3 retained records use BLUE",
    ),
    "a symbol that is used twice": (
        record(("c", COLOURS | {"symbols": ["GREEN"]})),
        record(("c", COLOURS)),
        [{"c": "RED"}, {"c": "GREEN"}, {"c": "BLUE"}],
        2,
        "2 values in 3 retained records use BLUE or RED",
    ),
    "a branch that was never taken": (
        record(("a", ["null", "string"])),
        record(("a", ["null", "int", "string"])),
        [{"a": None}, {"a": "x"}],
        0,
        "0 values in 2 retained records are at this place",
    ),
    "items of another type, and no items, which some decoders refuse all the same": (
        record(("a", {"type": "array", "items": "int"})),
        record(("a", {"type": "array", "items": "string"})),
        [{"a": []}],
        1,
        "1 value in 1 retained record is at this place",
    ),
    "records of another shape in an array, and no such records": (
        record(("a", {"type": "array", "items": record(("b", "int"), name="Item")})),
        record(("a", {"type": "array", "items": record(("b", "string"), name="Item")})),
        [{"a": []}],
        0,
        "0 values in 1 retained record are at this place",
    ),
    "a type that changed": (record(("a", "int")), record(("a", "string")), [{"a": "x"}], 1, "1 value in 1 retained"),
    "no record of that schema": (record(("a", "int")), record(("a", "string")), [], 0, "no retained record"),
    "one enum in two places": (
        record(("c", COLOURS | {"symbols": ["RED"]}), ("d", "Colour")),
        record(("c", COLOURS), ("d", "Colour")),
        [{"c": "RED", "d": "BLUE"}],
        1,
        "1 value in 1 retained record uses BLUE or GREEN",
    ),
}


@pytest.mark.parametrize("case", WEIGHED)
def test_a_finding_is_weighed_by_what_the_records_hold(case: str):
    reader, writer, data, values, said = WEIGHED[case]
    for weight in weights(reader, writer, data):
        assert (weight.values, weight.is_harmless) == (values, values == 0)
        assert said in weight.text


def test_records_that_are_there_say_nothing_about_records_to_come():
    reader, writer = record(("a", "int")), record(("a", "string"))
    forward, backward = weights(reader, writer, [{"a": "x"}], level="FULL")
    assert (forward.values, backward.values) == (None, 1)
    assert "records to come" in forward.text


def test_what_a_reference_supplies_has_no_place_and_is_never_called_harmless():
    text = json.dumps(record(("c", "Colour")))
    old, new = (
        parse_avro(text, [ResolvedReference(Reference("Colour", "colour", 1), json.dumps(COLOURS | {"symbols": each}))])
        for each in (["RED", "BLUE"], ["RED"])
    )
    report = check_compatibility(new, [Earlier(old, 1)], CompatibilityLevel.BACKWARD)
    topic = TopicSketch({7: sketch_avro(old, [{"c": "RED"}])})
    (weight,) = weigh(report, topic, schema_ids=lambda _: frozenset({7}))
    assert weight.values is None


def test_too_many_different_texts_are_not_counted():
    schema = parse_avro('"string"')
    place = sketch_avro(schema, [str(number) for number in range(MAX_SYMBOLS + 1)]).places[()]
    assert (place.symbols, place.values, place.shortest, place.longest) == (None, MAX_SYMBOLS + 1, 1, 3)


def test_numbers_and_lengths_have_their_range():
    schema = parse_avro(json.dumps(record(("n", "double"), ("b", "bytes"))))
    sketch = sketch_avro(schema, [{"n": 2.5, "b": b"x"}, {"n": -1.0, "b": b""}, {"n": float("nan"), "b": b"xy"}])
    number, blob = sketch.places["fields", 0, "type"], sketch.places["fields", 1, "type"]
    assert (number.least, number.most, number.values) == (-1.0, 2.5, 3)
    assert (blob.shortest, blob.longest) == (0, 2)


@pytest.mark.parametrize(
    ("schema", "datum"),
    [('"int"', "x"), (json.dumps(COLOURS), "PINK"), ('["null", "int"]', "x"), (json.dumps(record(("a", "int"))), {})],
)
def test_a_datum_of_another_schema_is_refused(schema: str, datum: Any):
    with pytest.raises(InvalidSchema, match="The datum"):
        sketch_avro(parse_avro(schema), [datum])


COUNTS = st.integers(0, 5)
PLACES = st.builds(
    PlaceSketch,
    values=COUNTS,
    nulls=COUNTS,
    absent=COUNTS,
    branches=st.dictionaries(st.sampled_from("01"), COUNTS),
    symbols=st.one_of(st.none(), st.dictionaries(st.integers(0, 400).map(str), COUNTS, max_size=MAX_SYMBOLS)),
    least=st.one_of(st.none(), st.integers()),
    most=st.one_of(st.none(), st.integers()),
    shortest=st.one_of(st.none(), COUNTS),
    longest=st.one_of(st.none(), COUNTS),
)
SKETCHES = st.builds(
    TopicSketch,
    st.dictionaries(
        st.integers(1, 3), st.builds(SchemaSketch, COUNTS, st.dictionaries(st.sampled_from(["", "/a"]), PLACES))
    ),
)


@given(SKETCHES, SKETCHES, SKETCHES)
def test_merging_does_not_depend_on_order_or_grouping(one: TopicSketch, two: TopicSketch, three: TopicSketch):
    assert one.merge(two).merge(three) == one.merge(two.merge(three))
    assert one.merge(two) == two.merge(one)
    assert one.merge(TopicSketch()) == one


@given(st.data())
def test_the_sketch_of_parts_merged_is_the_sketch_of_the_whole(drawing: st.DataObject):
    _, _, writer, data = _drawn(drawing)
    cut = drawing.draw(st.integers(0, len(data)))
    parts = sketch_avro(writer, data[:cut]).merge(sketch_avro(writer, data[cut:]))
    assert parts == sketch_avro(writer, data)


@given(st.data())
def test_records_that_no_finding_counts_are_read(drawing: st.DataObject):
    documents, reader, writer, data = _drawn(drawing)
    backward, sound = CompatibilityLevel.BACKWARD, CompatibilityPolicy.SOUND
    report = check_compatibility(reader, [Earlier(writer, 1)], backward, policy=sound)
    topic = TopicSketch({7: sketch_avro(writer, data)})
    found = weigh(report, topic, schema_ids=lambda _: frozenset({7}))
    if all(weight.is_harmless for weight in found):
        for datum in data:
            assert _is_read(datum, *documents)


def _is_read(datum: Any, reader: Json, writer: Json) -> bool:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, writer, datum)
    body.seek(0)
    fastavro.schemaless_reader(body, writer, reader)
    return True


def _drawn(drawing: st.DataObject) -> tuple[tuple[Json, Json], Any, Any, list[Any]]:
    documents = [_without_logical_types(json.loads(text)) for text in drawing.draw(avro_pairs(max_edits=2))]
    reader, writer = (parse_avro(json.dumps(document)) for document in documents)
    data = drawing.draw(st.lists(avro_data(writer), min_size=1, max_size=4))
    # In canonical form: fastavro does not know {"type": "float"} as a branch beside "double".
    return (json.loads(reader.canonical()), json.loads(writer.canonical())), reader, writer, data


def _without_logical_types(node: Json) -> Json:
    if isinstance(node, dict):
        return {key: _without_logical_types(value) for key, value in node.items() if key != "logicalType"}
    return [_without_logical_types(item) for item in node] if isinstance(node, list) else node
