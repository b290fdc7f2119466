"""Reading one schema's data as another's: by hand where it matters, and against fastavro over drawn pairs.

The drawn pairs keep clear of where ours differs from fastavro on purpose: a default is a Python value and not JSON, a
logical type is the reader's where the two are of different families, and a branch of the very kind goes before one that
needs a promotion.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal

import fastavro
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.sdk.errors import DecodeError, IncompatibleReader
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from strategies.avro.codec_schemas import record, schema_of
from strategies.avro.data import avro_data
from strategies.avro.schemas import avro_records

pytestmark = pytest.mark.usefixtures("each_tier")

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def enum_of(*symbols, name="E", **more):
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def read_as(writer, reader, value):
    data = compile_encoder(schema_of(writer))(value)
    return compile_decoder(schema_of(writer), schema_of(reader), whole=True)(data)


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        ("int", "long", -5, -5),
        ("int", "float", 5, 5.0),
        ("int", "double", 5, 5.0),
        ("long", "float", 2**40, float(2**40)),
        ("long", "double", -7, -7.0),
        ("float", "double", 0.5, 0.5),
        ("string", "bytes", "\u00e9", b"\xc3\xa9"),
        ("bytes", "string", b"\xc3\xa9", "\u00e9"),
        ("int", ["null", "int"], 5, 5),
        ("int", ["string", "double"], 5, 5.0),
        ("int", ["double", "int"], 5, 5),  # the very kind goes before a promotion
        (["null", "int"], "int", 5, 5),
        (["null", "int"], ["string", "long", "null"], None, None),
        (["null", "int"], ["string", "long", "null"], 5, 5),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, [1, 2], [1.0, 2.0]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": ["null", "long"]}, {"a": 1}, {"a": 1}),
        (enum_of("A", "B", "C"), enum_of("C", "A", default="A"), "C", "C"),
        (enum_of("A", "B", "C"), enum_of("C", "A", default="A"), "B", "A"),
        (enum_of("A", namespace="x"), enum_of("A", namespace="y"), "A", "A"),
        (enum_of("A", name="Old"), enum_of("A", aliases=["Old"]), "A", "A"),
        (
            {"type": "int", "logicalType": "date"},
            {"type": "int", "logicalType": "date"},
            dt.date(2024, 1, 1),
            dt.date(2024, 1, 1),
        ),
        ({"type": "int", "logicalType": "date"}, "int", dt.date(1970, 1, 3), 2),
        ("int", {"type": "int", "logicalType": "date"}, 2, dt.date(1970, 1, 3)),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "timestamp-micros"},
            1000,
            dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC),
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 4},
            Decimal("12.34"),
            Decimal("12.34"),
        ),
    ],
)
def test_a_type_is_read_as_another(writer, reader, value, expected):
    for wrapped_writer, wrapped_reader, inner in (
        (writer, reader, lambda read: read),
        (record({"name": "f", "type": writer}), record({"name": "f", "type": reader}), lambda read: read["f"]),
    ):
        again = inner(read_as(wrapped_writer, wrapped_reader, value if wrapped_writer is writer else {"f": value}))
        assert (again, type(again)) == (expected, type(expected))


def test_fields_are_matched_by_name_and_then_by_alias_in_any_order():
    writer = record(
        {"name": "a", "type": "int"},
        {"name": "was", "type": "string"},
        {"name": "gone", "type": record({"name": "deep", "type": {"type": "array", "items": "string"}}, name="G")},
        {"name": "c", "type": "double"},
    )
    reader = record(
        {"name": "c", "type": "double"},
        {"name": "b", "type": "string", "aliases": ["nope", "was"]},
        {"name": "new", "type": ["null", "int"], "default": None},
        {"name": "a", "type": "long"},
    )
    value = {"a": 1, "was": "x", "gone": {"deep": ["p", "q"]}, "c": 0.5}
    read = read_as(writer, reader, value)
    assert read == {"c": 0.5, "b": "x", "new": None, "a": 1}
    assert list(read) == ["c", "b", "new", "a"]


def test_a_name_goes_before_an_alias():
    writer = record({"name": "a", "type": "int"}, {"name": "b", "type": "int"})
    reader = record({"name": "b", "type": "int", "aliases": ["a"]})
    assert read_as(writer, reader, {"a": 1, "b": 2}) == {"b": 2}


def test_defaults_are_python_values_and_made_anew():
    nested = record({"name": "xs", "type": {"type": "array", "items": "int"}}, name="N")
    reader = record(
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "tags", "type": {"type": "map", "values": "string"}, "default": {"k": "v"}},
        {"name": "n", "type": nested, "default": {"xs": [1]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
        {
            "name": "cost",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            "default": "d",
        },
        {"name": "ratio", "type": "double", "default": 1},
        {"name": "u", "type": ["null", "string"], "default": None},
    )
    decode = compile_decoder(schema_of(record()), schema_of(reader), whole=True)
    expected = {
        "raw": b"\xff",
        "tags": {"k": "v"},
        "n": {"xs": [1]},
        "day": dt.date(1970, 1, 1),
        "cost": Decimal("1.00"),
        "ratio": 1.0,
        "u": None,
    }
    first = decode(b"")
    assert first == expected
    assert type(first["ratio"]) is float
    first["tags"]["mine"] = "x"
    first["n"]["xs"].append(2)
    assert decode(b"") == expected


@pytest.mark.parametrize(
    ("writer", "reader", "path"),
    [
        ("string", "int", ""),
        ("long", "int", ""),
        ("double", "float", ""),
        ("null", "int", ""),
        (["null", "string"], "int", ""),
        ("int", ["null", "string"], ""),
        (record({"name": "a", "type": "int"}), record({"name": "b", "type": "int"}), "b"),
        (record(), record(name="S"), ""),
        (enum_of("A"), enum_of("B"), ""),
        ({"type": "fixed", "name": "F", "size": 4}, {"type": "fixed", "name": "F", "size": 8}, ""),
        (
            record(
                {"name": "xs", "type": {"type": "array", "items": record({"name": "y", "type": "string"}, name="I")}}
            ),
            record({"name": "xs", "type": {"type": "array", "items": record({"name": "y", "type": "int"}, name="I")}}),
            "xs[].y",
        ),
    ],
)
def test_a_pair_that_can_never_be_read_fails_when_it_is_compiled(writer, reader, path):
    with pytest.raises(IncompatibleReader) as caught:
        compile_decoder(schema_of(writer), schema_of(reader))
    assert caught.value.path == path


def test_a_branch_or_symbol_that_the_reader_lacks_fails_where_it_is_met():
    writer = record({"name": "u", "type": ["int", "string"]}, {"name": "e", "type": enum_of("A", "B")})
    reader = record({"name": "u", "type": "long"}, {"name": "e", "type": enum_of("A")})
    assert read_as(writer, reader, {"u": 1, "e": "A"}) == {"u": 1, "e": "A"}
    with pytest.raises(DecodeError, match="string cannot be read as the reader's long") as caught:
        read_as(writer, reader, {"u": "x", "e": "A"})
    assert caught.value.path == "u"
    with pytest.raises(DecodeError, match="neither the symbol 'B' nor a default") as caught:
        read_as(writer, reader, {"u": 1, "e": "B"})
    assert caught.value.path == "e"


def test_a_branch_is_chosen_by_what_is_inside_the_record():
    one = record({"name": "v", "type": "string"}, name="V", namespace="a")
    other = record({"name": "v", "type": "int"}, name="V", namespace="b")
    written = record({"name": "v", "type": "int"}, name="V", namespace="c")
    assert read_as(written, [one, other], {"v": 1}) == {"v": 1}


def test_recursive_schemas_resolve():
    writer = record({"name": "v", "type": "int"}, {"name": "next", "type": ["null", "R"]})
    reader = record({"name": "next", "type": ["null", "R"], "default": None}, {"name": "v", "type": "long"})
    value = {"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}}
    assert read_as(writer, reader, value) == value
    dropping = record({"name": "v", "type": "int"})
    assert read_as(writer, dropping, value) == {"v": 1}


def test_a_recursion_that_fails_inside_one_branch_leaves_the_other_whole():
    def chain(name, last, namespace):
        next_ = {"name": "next", "type": ["null", f"{namespace}.{name}"]}
        return record(next_, {"name": "last", "type": last}, name=name, namespace=namespace)

    writer = chain("C", "int", "w")
    reader = [chain("C", "string", "a"), chain("C", "long", "b")]
    value = {"next": {"next": None, "last": 1}, "last": 2}
    assert read_as(writer, reader, value) == value


def test_values_that_are_passed_over_need_not_be_values_of_python():
    writer = record(
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}, {"name": "b", "type": "int"}
    )
    reader = record({"name": "b", "type": "int"})
    data = compile_encoder(schema_of(writer))({"at": 2**62, "b": 1})
    assert compile_decoder(schema_of(writer), schema_of(reader))(data) == {"b": 1}


# --- against fastavro ------------------------------------------------------------------------------------------------

PROMOTED = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"]}


@st.composite
def evolved(draw, document):
    """A reader of a record: fields dropped, added, renamed, moved, promoted, made optional."""
    fields = []
    for field in document["fields"]:
        change = draw(st.sampled_from(["keep", "keep", "drop", "rename", "promote", "optional"]))
        field = {key: value for key, value in field.items() if key != "aliases"}  # noqa: PLW2901 - a new field
        if change == "drop" and not isinstance(field["type"], (dict, list)):  # what it declares may be named elsewhere
            continue
        if change == "rename":
            field |= {"name": field["name"] + "_new", "aliases": [field["name"]]}
        if change == "promote" and isinstance(field["type"], str) and field["type"] in PROMOTED:
            field["type"] = draw(st.sampled_from(PROMOTED[field["type"]]))
        if change == "optional" and isinstance(field["type"], str) and field["type"] in PROMOTED:
            field = {"name": field["name"], "type": ["null", field["type"]]}  # noqa: PLW2901 - a new field
        fields.append(field)
    if draw(st.booleans()):
        fields.append({"name": "added", "type": ["null", "string"], "default": None})
    return {**document, "fields": draw(st.permutations(fields)) if is_flat(fields) else fields}


def text_and_bytes_in_one_union(node):
    """There fastavro takes the first branch that promotes; Avro Java and we prefer the very type that was written."""
    if isinstance(node, dict):
        return any(
            map(
                text_and_bytes_in_one_union,
                [*node.get("fields", ()), node.get("type"), node.get("items"), node.get("values")],
            )
        )
    if not isinstance(node, list):
        return False
    words = {str(branch["type"] if isinstance(branch, dict) else branch) for branch in node}
    return {"bytes", "string"} <= words or any(map(text_and_bytes_in_one_union, node))


def is_flat(fields):
    return not any(isinstance(field["type"], (dict, list)) for field in fields)


@RELAXED
@given(st.data())
def test_evolved_readers_read_what_fastavro_reads(data):
    writer_document = json.loads(data.draw(avro_records(distinct_unions=True, max_depth=2)))
    reader_document = data.draw(evolved(writer_document))
    assume(not text_and_bytes_in_one_union(writer_document))
    writer, reader = schema_of(writer_document), schema_of(reader_document)
    value = data.draw(avro_data(writer))
    written = compile_encoder(writer)(value)
    theirs = fastavro.schemaless_reader(
        io.BytesIO(written), fastavro.parse_schema(writer_document), fastavro.parse_schema(reader_document)
    )
    assert compile_decoder(writer, reader, whole=True)(written) == theirs


@RELAXED
@given(avro_records(distinct_unions=True), avro_records(), st.data())
def test_any_two_schemas_give_a_value_or_a_typed_error(writer_text, reader_text, data):
    document = json.loads(reader_text)
    document["name"] = json.loads(writer_text)["name"]
    try:
        writer, reader = parse_avro(writer_text), parse_avro(json.dumps(document))
        decode = compile_decoder(writer, reader)
        decode(compile_encoder(writer)(data.draw(avro_data(writer))))
    except CounterfoilError:
        return
