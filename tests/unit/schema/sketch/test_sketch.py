"""Sketches: what a topic's records say about findings, and that a sketch never calls a broken record harmless."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import fastavro
import jsonschema_rs
import pytest
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema import parse_schema
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.model import Reference, ResolvedReference, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.sketch import (
    InvalidSketch,
    PartSketch,
    PlaceSketch,
    SchemaSketch,
    TopicSketch,
    WriterSchema,
    make_sketcher,
    read_sketch,
    weigh,
    write_sketch,
)
from counterfoil.schema.sketch.model import MAX_PLACES, MAX_SYMBOLS, MAX_TEXT
from counterfoil.sdk.serde.avro.coders import compile_base_decoder
from strategies.avro.data import avro_data
from strategies.avro.edits import avro_pairs
from strategies.json_schema.evolutions import evolutions
from strategies.json_schema.pairs import plain, random_value, schema_pairs
from strategies.protobuf.messages import messages
from strategies.protobuf.pairs import seeded_pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.sketch import Weight

Json = Any
AVRO, JSON, PROTOBUF = SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF
SOUND = CompatibilityPolicy.SOUND
COLOURS = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]}
P2, P3 = 'syntax = "proto2";', 'syntax = "proto3";'


def record(*fields: tuple[str, Json], name: str = "R") -> Json:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields]}


def parsed(language: SchemaType, text: str, references: Sequence[ResolvedReference] = ()) -> Any:
    return parse_schema(text, language, references=references, validation=Validation.LENIENT)


def avro_values(schema: Any, document: Json, data: list[Any]) -> Iterator[tuple[Any, int]]:
    """The data as the decoder for sketches returns them."""
    decode = compile_base_decoder(schema)
    for datum in data:
        body = io.BytesIO()
        fastavro.schemaless_writer(body, document, datum)
        yield decode(body.getvalue(), 0), len(body.getvalue())


def protobuf_values(schema: Any, text: str, data: list[Any]) -> Iterator[tuple[Any, int]]:
    """Messages, from bytes or from the members of the first message type."""
    file = pooled_file(schema, text)
    class_ = GetMessageClass(next(iter(file.message_types_by_name.values())))
    for datum in data:
        body = datum if isinstance(datum, bytes) else class_(**datum).SerializeToString()
        yield class_.FromString(body), len(body)


def sketch_of(
    language: SchemaType, text: str, data: list[Any], references: Sequence[ResolvedReference] = (), **options: Any
) -> SchemaSketch:
    schema = parsed(language, text, references)
    sketcher = make_sketcher(schema, WriterSchema(language, text, tuple(references)), **options)
    match language:
        case SchemaType.AVRO:
            values = avro_values(schema, json.loads(text), data) if not references else ((each, 0) for each in data)
        case SchemaType.PROTOBUF:
            values = protobuf_values(schema, text, data)
        case _:
            values = ((each, 0) for each in data)
    for value, size in values:
        sketcher.add(value, size)
    return sketcher.finish()


def weights(
    language: SchemaType, reader: Json, writer: Json, data: list[Any], policy: CompatibilityPolicy = SOUND
) -> tuple[Weight, ...]:
    old, new = (each if isinstance(each, str) else json.dumps(each) for each in (writer, reader))
    sketch = sketch_of(language, old, data)
    found = weigh(parsed(language, new), parsed(language, old), sketch, policy=policy)
    assert found
    return found


def shown(found: Weight) -> tuple[str, int | None, bool]:
    return found.difference.rule, found.count and found.count.most, bool(found.count and found.count.is_exact)


ITEMS = {"type": "array", "items": record(("b", "int"), name="Item")}
WEIGHED: dict[str, tuple[SchemaType, Json, Json, list[Any], list[tuple[str, int | None, bool]]]] = {
    # what happened: language, reader, writer, data, each finding with how many records trigger it, and whether exactly
    "a symbol that nobody used": (
        AVRO,
        record(("c", COLOURS | {"symbols": ["RED", "GREEN"]})),
        record(("c", COLOURS)),
        [{"c": "RED"}, {"c": "GREEN"}, {"c": "RED"}],
        [("missing-enum-symbols", 0, True)],
    ),
    "symbols that two records use": (
        AVRO,
        record(("c", COLOURS | {"symbols": ["GREEN"]})),
        record(("c", COLOURS)),
        [{"c": "RED"}, {"c": "GREEN"}, {"c": "BLUE"}],
        [("missing-enum-symbols", 2, True)],
    ),
    "a symbol of an enum that may be null": (
        AVRO,
        record(("c", ["null", COLOURS | {"symbols": ["RED", "GREEN"]}])),
        record(("c", ["null", COLOURS])),
        [{"c": "RED"}, {"c": None}],
        [("missing-union-branch", 0, True)],
    ),
    "a branch that was never taken": (
        AVRO,
        record(("a", ["null", "string"])),
        record(("a", ["null", "int", "string"])),
        [{"a": None}, {"a": "x"}],
        [("missing-union-branch", 0, True)],
    ),
    "items of another type, and no items, which some decoders refuse all the same": (
        AVRO,
        record(("a", {"type": "array", "items": "int"})),
        record(("a", {"type": "array", "items": "string"})),
        [{"a": []}],
        [("type-mismatch", 1, False)],
    ),
    "records of another shape in an array, and no such records": (
        AVRO,
        record(("a", ITEMS)),
        record(("a", {"type": "array", "items": record(("b", "string"), name="Item")})),
        [{"a": []}],
        [("type-mismatch", 0, True)],
    ),
    "a type that changed": (
        AVRO,
        record(("a", "int")),
        record(("a", "string")),
        [{"a": "x"}],
        [("type-mismatch", 1, True)],
    ),
    "no record": (AVRO, record(("a", "int")), record(("a", "string")), [], [("type-mismatch", 0, True)]),
    "one enum in two places": (
        AVRO,
        record(("c", COLOURS | {"symbols": ["RED"]}), ("d", "Colour")),
        record(("c", COLOURS), ("d", "Colour")),
        [{"c": "RED", "d": "BLUE"}],
        [("missing-enum-symbols", 1, False)] * 2,
    ),
    "numbers that a double holds": (
        AVRO,
        record(("a", "double")),
        record(("a", "long")),
        [{"a": 2**53}, {"a": -7}],
        [("integer-read-as-float", 0, True)],
    ),
    "a number that a double rounds": (
        AVRO,
        record(("a", "double")),
        record(("a", "long")),
        [{"a": 2**53 + 1}],
        [("integer-read-as-float", 1, False)],
    ),
    "a field of another kind that is never set": (
        PROTOBUF,
        f"{P3} message M {{ string a = 1; int32 b = 2; }}",
        f"{P3} message M {{ int32 a = 1; int32 b = 2; }}",
        [{"b": 1}, {}],
        [("field-scalar-kind-changed", 0, True)],
    ),
    "a field of another kind that one record sets": (
        PROTOBUF,
        f"{P3} message M {{ string a = 1; }}",
        f"{P3} message M {{ int32 a = 1; }}",
        [{"a": 1}, {}],
        [("field-scalar-kind-changed", 1, True)],
    ),
    "a required field that all records have": (
        PROTOBUF,
        f"{P2} message M {{ required int32 a = 1; }}",
        f"{P2} message M {{ optional int32 a = 1; }}",
        [{"a": 1}, {"a": 0}],
        [("field-numeric-label-changed", 0, True)],
    ),
    "a required field that one record lacks": (
        PROTOBUF,
        f"{P2} message M {{ required int32 a = 1; optional int32 b = 2; }}",
        f"{P2} message M {{ optional int32 a = 1; optional int32 b = 2; }}",
        [{"a": 1}, {"b": 0}],
        [("field-numeric-label-changed", 1, True)],
    ),
    "numbers in the range of the smaller type": (
        PROTOBUF,
        f"{P3} message M {{ int32 a = 1; }}",
        f"{P3} message M {{ int64 a = 1; }}",
        [{"a": 2**31 - 1}],
        [("integer-narrowed", 0, True)],
    ),
    "a number beyond the smaller type": (
        PROTOBUF,
        f"{P3} message M {{ int32 a = 1; }}",
        f"{P3} message M {{ int64 a = 1; }}",
        [{"a": 2**31}],
        [("integer-narrowed", 1, True)],
    ),
    "one value in each list": (
        PROTOBUF,
        f"{P3} message M {{ string a = 1; }}",
        f"{P3} message M {{ repeated string a = 1; }}",
        [{"a": ["x"]}, {}],
        [("repeated-to-singular", 0, True)],
    ),
    "a value that was written although it is the default, so that absence is not certain": (
        PROTOBUF,
        f"{P3} message M {{ string a = 1; }}",
        f"{P3} message M {{ int32 a = 1; }}",
        [b"\x08\x00"],
        [("field-scalar-kind-changed", None, False)],
    ),
    "a limit that all numbers keep": (
        JSON,
        {"properties": {"n": {"type": "integer", "maximum": 5}}},
        {"properties": {"n": {"type": "integer", "maximum": 9}}},
        [{"n": 5}, {}],
        [("maximum-decreased", 0, True)],
    ),
    "a limit that a number breaks": (
        JSON,
        {"properties": {"n": {"type": "integer", "maximum": 5}}},
        {"properties": {"n": {"type": "integer", "maximum": 9}}},
        [{"n": 6}, {}],
        [("maximum-decreased", 1, False)],
    ),
    "a required property that all records have": (
        JSON,
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {}}},
        [{"a": 1}, {"a": None}],
        [("required-attribute-added", 0, True)],
    ),
    "a required property that one record lacks": (
        JSON,
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {}}},
        [{"a": 1}, {}],
        [("required-attribute-added", 1, True)],
    ),
    "values of an enum that nobody used": (
        JSON,
        {"enum": ["a"]},
        {"enum": ["a", "b"]},
        ["a", "a"],
        [("enum-array-narrowed", 0, True)],
    ),
    "values of an enum that one record uses": (
        JSON,
        {"enum": ["a"]},
        {"enum": ["a", "b"]},
        ["a", "b"],
        [("enum-array-narrowed", 1, True)],
    ),
    "texts that match a new pattern": (
        JSON,
        {"type": "string", "pattern": "^a"},
        {"type": "string"},
        ["ab", "a"],
        [("pattern-added", 0, True)],
    ),
}


@pytest.mark.parametrize("case", WEIGHED)
def test_a_finding_is_weighed_by_what_the_records_hold(case: str):
    language, reader, writer, data, expected = WEIGHED[case]
    assert [shown(each) for each in weights(language, reader, writer, data)] == expected


def test_a_type_of_a_reference_is_weighed_too():
    text = json.dumps(record(("c", "Colour")))
    narrow, wide = (
        [ResolvedReference(Reference("Colour", "colour", 1), json.dumps(COLOURS | {"symbols": each}))]
        for each in (["RED"], ["RED", "BLUE"])
    )
    reader, writer = parsed(AVRO, text, narrow), parsed(AVRO, text, wide)
    for colour, count in (("RED", 0), ("BLUE", 1)):
        (found,) = weigh(reader, writer, sketch_of(AVRO, text, [{"c": colour}], wide))
        assert shown(found) == ("missing-enum-symbols", count, True)


def test_too_many_or_too_long_texts_are_not_counted():
    many = [str(number) for number in range(MAX_SYMBOLS + 1)]
    for data in (many, ["x" * (MAX_TEXT + 1)]):
        assert sketch_of(AVRO, '"string"', data).places["",].symbols is None
    assert sketch_of(AVRO, '"string"', many).places["",].longest == 3


def test_numbers_and_lengths_have_their_range():
    text = json.dumps(record(("n", "double"), ("b", "bytes")))
    data = [{"n": 2.5, "b": b"x"}, {"n": -1.0, "b": b""}, {"n": float("nan"), "b": b"xy"}]
    sketch = sketch_of(AVRO, text, data)
    number, blob = sketch.places["R", "n"], sketch.places["R", "b"]
    assert (number.least, number.most, number.values) == (-1.0, 2.5, 3)
    assert (blob.shortest, blob.longest) == (0, 2)


TAGGED: dict[str, tuple[SchemaType, str, list[Any], str]] = {
    # what is tagged: language, schema, data, a value that must not be kept
    "a field": (
        AVRO,
        json.dumps(
            {
                "type": "record",
                "name": "R",
                "fields": [{"name": "mail", "type": ["null", "string"], "confluent:tags": ["PII"]}],
            }
        ),
        [{"mail": "secret"}],
        "secret",
    ),
    "a field that holds a record which others hold as well": (
        AVRO,
        json.dumps(
            {
                "type": "record",
                "name": "R",
                "fields": [
                    {"name": "home", "type": record(("street", "string"), name="Address"), "confluent:tags": ["pii"]},
                    {"name": "shop", "type": "Address"},
                ],
            }
        ),
        [{"home": {"street": "secret"}, "shop": {"street": "open"}}],
        "secret",
    ),
    "a field of a message": (
        PROTOBUF,
        f'{P3} import "confluent/meta.proto"; message M {{ string a = 1 [(confluent.field_meta).tags = "PII"]; }}',
        [{"a": "secret"}],
        "secret",
    ),
    "a property": (
        JSON,
        json.dumps({"properties": {"p": {"properties": {"mail": {"type": "string", "confluent:tags": ["PII"]}}}}}),
        [{"p": {"mail": "secret"}}],
        "secret",
    ),
    "a definition": (
        JSON,
        json.dumps({"$defs": {"m": {"confluent:tags": ["PII"]}}, "properties": {"mail": {"$ref": "#/$defs/m"}}}),
        [{"mail": "secret"}],
        "secret",
    ),
}


@pytest.mark.parametrize("case", TAGGED)
def test_values_of_tagged_fields_are_counted_and_not_kept(case: str):
    language, text, data, secret = TAGGED[case]
    kept = write_sketch(TopicSketch(value=PartSketch({"1": sketch_of(language, text, data, hide=frozenset())})))
    hidden = write_sketch(TopicSketch(value=PartSketch({"1": sketch_of(language, text, data)})))
    assert secret in kept
    assert secret not in hidden
    assert '"hidden": true' in hidden


def test_a_tag_of_the_metadata_hides_a_field_as_well():
    text = json.dumps(record(("mail", "string")))
    sketch = sketch_of(AVRO, text, [{"mail": "secret"}], tags_by_path={"**.mail": ["PII"]})
    assert sketch.places["R", "mail"] == PlaceSketch(
        kind="string", records=1, values=1, symbols=None, names=None, is_hidden=True
    )


def test_texts_can_be_left_out_while_symbols_of_enums_are_kept():
    text = json.dumps(record(("c", COLOURS), ("s", "string"), ("m", {"type": "map", "values": "int"})))
    sketch = sketch_of(AVRO, text, [{"c": "RED", "s": "secret", "m": {"key": 1}}], texts=False)
    assert sketch.places["R", "s"].symbols is None
    assert sketch.places["R", "m"].names is None
    assert sketch.places["Colour",].symbols == {"RED": 1}


@pytest.mark.slow
def test_the_deepest_places_are_left_out_when_there_are_too_many():
    names = [f"n{number}" for number in range(100)]
    text = json.dumps({"properties": {name: {} for name in names}})
    sketch = sketch_of(JSON, text, [{outer: dict.fromkeys(names, 1)} for outer in names])
    assert len(sketch.places) <= MAX_PLACES
    assert sketch.depth == 1
    assert sketch.find((".n1", ".n2")) is None


WRITER = WriterSchema(AVRO, '"int"')
COUNTS = st.integers(0, 5)
COUNTED = st.one_of(st.none(), st.dictionaries(st.integers(0, 400).map(str), COUNTS, max_size=MAX_SYMBOLS))
PLACES = st.builds(
    PlaceSketch,
    kind=st.just("int"),
    records=COUNTS,
    values=COUNTS,
    nulls=COUNTS,
    branches=st.dictionaries(st.sampled_from("01"), COUNTS),
    symbols=COUNTED,
    names=COUNTED,
    least=st.one_of(st.none(), st.integers()),
    most=st.one_of(st.none(), st.integers(), st.just(float("inf"))),
    shortest=st.one_of(st.none(), COUNTS),
    longest=st.one_of(st.none(), COUNTS),
    is_hidden=st.booleans(),
)
SCHEMA_SKETCHES = st.builds(
    SchemaSketch, st.just(WRITER), COUNTS, st.dictionaries(st.sampled_from([(), ("a",), ("a", "b")]), PLACES), COUNTS
)
PARTS = st.builds(
    PartSketch,
    st.dictionaries(st.sampled_from(["1", "2"]), SCHEMA_SKETCHES),
    COUNTS,
    st.dictionaries(st.sampled_from(["not-framed", "unreadable"]), COUNTS),
)


@pytest.mark.slow
@given(PARTS, PARTS, PARTS)
def test_merging_does_not_depend_on_order_or_grouping(one: PartSketch, two: PartSketch, three: PartSketch):
    assert one.merge(two).merge(three) == one.merge(two.merge(three))
    assert one.merge(two) == two.merge(one)
    assert one.merge(PartSketch()) == one


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_merging_cuts_at_the_same_depth_in_any_order(seed: int):
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(90)]
    text = json.dumps({"properties": {name: {} for name in names}})
    parts = []
    for _ in range(3):
        some = rng.sample(names, rng.choice((3, 60)))
        parts.append(sketch_of(JSON, text, [{outer: {name: {"n1": 1} for name in some}} for outer in some]))
    one, two, three = parts
    assert one.merge(two).merge(three) == one.merge(two.merge(three)) == three.merge(one).merge(two)


@given(PARTS, PARTS)
def test_a_document_is_read_as_it_was_written(key: PartSketch, value: PartSketch):
    sketch = TopicSketch("t", key, value, {0: (3, 9)}, 0.5, "t-key", "t-value")
    assert read_sketch(write_sketch(sketch)) == sketch


BAD_DOCUMENTS = {
    "{": "no JSON",
    "[]": "the document is []; expected an object",
    "{}": "sketchVersion is missing",
    '{"sketchVersion": 2}': "sketchVersion is 2, and this program reads version 1",
    '{"sketchVersion": true}': "sketchVersion is True; expected an integer",
    '{"sketchVersion": 1, "topic": "t", "key": {"schemas": [], "nulls": 0}, "value": {"schemas": [], "nulls": 0}, '
    '"offsets": {"x": [0, 1]}}': "offsets has x: [0, 1]; expected a partition with two offsets",
    '{"sketchVersion": 1, "topic": "t", "key": {"schemas": [], "nulls": -1}, "offsets": {}}': (
        "key.nulls is -1; expected an integer from 0"
    ),
    '{"sketchVersion": 1, "topic": "t", "key": {"schemas": [], "nulls": 0, "problems": {"x": -2}}, "offsets": {}}': (
        "key.problems has -2 for 'x'; expected an integer from 0"
    ),
}


@pytest.mark.parametrize("text", BAD_DOCUMENTS)
def test_what_is_wrong_with_a_document_is_named(text: str):
    with pytest.raises(InvalidSketch) as refusal:
        read_sketch(text)
    assert BAD_DOCUMENTS[text] in str(refusal.value)


@given(st.data())
def test_a_wrong_member_is_named_with_its_path(drawing: st.DataObject):
    place = PlaceSketch(kind="int", records=1, values=1)
    document = json.loads(
        write_sketch(TopicSketch("t", value=PartSketch({"1": SchemaSketch(WRITER, 1, {("a",): place})})))
    )
    inner = drawing.draw(st.sampled_from([document, document["value"], document["value"]["schemas"][0]]))
    name = drawing.draw(st.sampled_from(sorted(set(inner) - {"depth", "records"})))
    inner[name] = drawing.draw(st.sampled_from([None, 1.5j.imag, [7], object]).filter(lambda one: one is not object))
    if (name == "share" and isinstance(inner[name], float)) or (name == "problems" and inner[name] is None):
        return
    with pytest.raises(InvalidSketch, match=name):
        read_sketch(json.dumps(document))


@given(st.data())
def test_avro_records_that_no_finding_counts_are_read(drawing: st.DataObject):
    documents = [_without_logical_types(json.loads(text)) for text in drawing.draw(avro_pairs(max_edits=2))]
    reader, writer = (parsed(AVRO, json.dumps(document)) for document in documents)
    data = drawing.draw(st.lists(avro_data(writer), min_size=1, max_size=4))
    # In canonical form: fastavro does not know {"type": "float"} as a branch beside "double".
    canonical = json.loads(writer.canonical())
    found = weigh(reader, writer, sketch_of(AVRO, json.dumps(canonical), data), policy=SOUND)
    if all(each.is_harmless for each in found):
        for datum in data:
            body = io.BytesIO()
            fastavro.schemaless_writer(body, canonical, datum)
            body.seek(0)
            fastavro.schemaless_reader(body, canonical, json.loads(reader.canonical()))


@given(st.data())
def test_the_sketch_of_parts_merged_is_the_sketch_of_the_whole(drawing: st.DataObject):
    text = json.dumps(_without_logical_types(json.loads(drawing.draw(avro_pairs(max_edits=1))[0])))
    canonical = parsed(AVRO, text).canonical()
    data = drawing.draw(st.lists(avro_data(parsed(AVRO, canonical)), max_size=4))
    cut = drawing.draw(st.integers(0, len(data)))
    one, two = sketch_of(AVRO, canonical, data[:cut]), sketch_of(AVRO, canonical, data[cut:])
    assert one.merge(two) == sketch_of(AVRO, canonical, data)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([schema_pairs, evolutions]), st.sampled_from(list(CompatibilityPolicy)))
def test_json_records_that_no_finding_counts_are_accepted(seed: int, pairs: Any, policy: CompatibilityPolicy):
    rng = random.Random(seed)
    for writer, reader in pairs(rng, 5):
        texts = [json.dumps(each, default=float) for each in (writer, reader)]
        accepted, read = (jsonschema_rs.validator_for(json.loads(text), validate_formats=False) for text in texts)
        values = [plain(random_value(rng, writer)) for _ in range(6)]
        data = [each for each in values if accepted.is_valid(each)]
        found = weigh(parsed(JSON, texts[1]), parsed(JSON, texts[0]), sketch_of(JSON, texts[0], data), policy=policy)
        if found and all(each.is_harmless for each in found):
            assert all(map(read.is_valid, data)), (writer, reader, data)


@given(st.integers(0, 2**32), st.data())
def test_protobuf_messages_that_no_finding_counts_are_read(seed: int, drawing: st.DataObject):
    old, new = seeded_pair(seed)
    writer, reader = parsed(PROTOBUF, old), parsed(PROTOBUF, new)
    descriptor, own = (
        next(iter(pooled_file(each, text).message_types_by_name.values()))
        for each, text in ((writer, old), (reader, new))
    )
    drawn = [drawing.draw(messages(descriptor)) for _ in range(drawing.draw(st.integers(1, 3)))]
    data = [each.SerializeToString() for each in drawn if each.IsInitialized()]
    found = weigh(reader, writer, sketch_of(PROTOBUF, old, data), policy=SOUND)
    if all(each.is_harmless for each in found):
        for body in data:
            assert _is_read(GetMessageClass(own), body), (old, new, body)


def _is_read(class_: Any, body: bytes) -> bool:
    try:
        return bool(class_.FromString(body).IsInitialized())
    except DecodeError:
        return False


def _without_logical_types(node: Json) -> Json:
    if isinstance(node, dict):
        return {key: _without_logical_types(value) for key, value in node.items() if key != "logicalType"}
    return [_without_logical_types(item) for item in node] if isinstance(node, list) else node
