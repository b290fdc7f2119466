"""Texts made to break a parser: each is read or refused with our own error, in bounded time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import Reference, ResolvedReference
from strategies.avro.schemas import avro_schemas

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema

pytestmark = pytest.mark.timeout(300)
"""Every case below takes a few seconds; on a machine with many times the load it still ends in time."""


def _nested(head: str, tail: str, depth: int, inner: str = '"int"') -> str:
    return head * depth + inner + tail * depth


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_nested('{"type":"array","items":', "}", 10_000), id="arrays"),
        pytest.param(_nested('{"type":', "}", 10_000), id="types"),
        pytest.param("[" * 1_000_000, id="brackets"),
        pytest.param('{"type":"int","x":' + _nested("[", "]", 10_000, "1") + "}", id="property"),
        pytest.param('{"type":"int","x":' + _nested('{"y":', "}", 900, "1") + "}", id="property-within-pythons-depth"),
    ],
)
def test_depth_is_refused(text: str) -> None:
    with pytest.raises(SchemaParseError, match="nests too deep"):
        parse_avro(text)


def test_depth_within_the_limits_is_read_and_printed() -> None:
    text = _nested('{"type":"array","items":', "}", 100)
    schema = parse_avro(text)
    assert schema.canonical() == text
    assert schema.normalized() == text
    assert schema.is_equivalent(parse_avro(schema.resolved()))


def test_a_long_chain_of_records_is_refused_where_a_walk_would_go_too_deep() -> None:
    references = [_record("R0", "int"), *(_record(f"R{index}", f"R{index - 1}") for index in range(1, 2000))]
    with pytest.raises(SchemaParseError, match="too deep in each other"):
        parse_avro('"R1999"', references)
    assert parse_avro('"R100"', references).resolved().count('"name":"R') == 101


def test_layers_without_names_inside_references_count_too() -> None:
    layers = [
        ResolvedReference(
            Reference(f"L{index}", f"L{index}", 1),
            json.dumps({"type": "record", "name": f"L{index}", "fields": [{"name": "a", "type": inner}]}),
        )
        for index in range(30)
        for inner in [json.loads(_nested('{"type":"array","items":', "}", 40, f'"L{index - 1}"' if index else '"int"'))]
    ]
    with pytest.raises(SchemaParseError, match="too deep in each other"):
        parse_avro('"L29"', layers)


def _record(name: str, inner: str) -> ResolvedReference:
    text = json.dumps({"type": "record", "name": name, "fields": [{"name": "a", "type": inner}]})
    return ResolvedReference(Reference(name, name, 1), text)


def _wide(count: int) -> str:
    member = {"type": ["null", {"type": "map", "values": "string"}], "default": None, "doc": "x" * 20}
    fields = [{"name": f"field_number_{index}", **member} for index in range(count)]
    return json.dumps({"type": "record", "name": "Wide", "fields": fields})


@pytest.mark.slow
def test_five_megabytes_are_read() -> None:
    text = _wide(40_000)
    assert len(text) > 5_000_000
    schema = parse_avro(text)
    canonical = schema.canonical()
    assert isinstance(canonical, str)
    assert canonical.count('"name":') == 40_001


@pytest.mark.slow
def test_a_fault_at_the_end_of_a_megabyte_is_located() -> None:
    text = _wide(8_000)[:-2] + ',\n{"name": "last", "type": "Nope"}]}'
    with pytest.raises(SchemaParseError) as caught:
        parse_avro(text)
    assert str(caught.value.position) == "2:26"
    assert caught.value.path == "/fields/8000/type"


@pytest.mark.slow
def test_a_huge_union_is_read() -> None:
    branches = [{"type": "fixed", "name": f"F{index}", "size": 1} for index in range(30_000)]
    schema = parse_avro(json.dumps(branches))
    assert len(schema.named) == 30_000


def test_a_message_never_repeats_a_huge_text() -> None:
    for text in ('"' + "a" * 1_000_000 + '"', '{"type":"record","name":"' + "-" * 1_000_000 + '","fields":[]}'):
        with pytest.raises(SchemaParseError) as caught:
            parse_avro(text)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text",
    [
        '"\ud800"',
        r'"\ud800"',
        r'{"type":"record","name":"A","doc":"\udc00\ud800","fields":[]}',
        r'{"type":"int","\ud83d":1}',
        '"\x00"',
        "\x00",
        "\ufeff" + '"int"',
        r'"\u12"',
        r'"\x"',
        '"int',
        "/* never closed",
        "/*/",
        "/**/" * 100_000,
        " " * 5_000_000,
        '{"type":"int","x":' + "9" * 100_000 + "}",
        '{"type":"int","x":01}',
        '{"type":"int","x":1.}',
        '{"type":"int","x":-}',
        '{"type":"int","x":NaN}',
        '{"type":"int","x":Infinity}',
        '{"type":"int",}',
        '["int",]',
        "{'type':'int'}",
        '{"type":"int"',
    ],
    ids=lambda text: repr(text[:24]),
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(SchemaParseError) as caught:
        parse_avro(text)
    assert caught.value.position is not None


def test_surrogate_pairs_are_one_character() -> None:
    schema = parse_avro(r'{"type":"record","name":"A","doc":"\ud83d\ude00","fields":[]}')
    assert '"doc":"😀"' in schema.canonical()


def test_a_nul_character_travels_as_an_escape() -> None:
    text = r'{"type":"record","name":"A","doc":"\u0000","fields":[]}'
    assert parse_avro(text).canonical() == text


def test_a_record_of_itself_is_read() -> None:
    text = '{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}'
    schema = parse_avro(text)
    assert schema.canonical() == schema.normalized() == schema.resolved() == text


@given(avro_schemas(), st.data())
def test_a_text_with_one_character_changed_is_read_or_refused(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from('{}[]",:\\ /*0-e\x00łn')) + text[at + 1 :]
    schema = _read_or_refused(changed)
    if schema is not None:
        assert parse_avro(schema.canonical()).canonical() == schema.canonical()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["int", "record", "R", "enum", ""]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "name", "fields", "items", "values", "symbols", "size", "default", "aliases", "doc"]
                )
                | st.sampled_from(["namespace", "order", "logicalType", "precision", "scale"]),
                inner,
                max_size=6,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(document: object) -> None:
    schema = _read_or_refused(json.dumps(document))
    if schema is not None:
        assert parse_avro(schema.canonical()).is_equivalent(schema)


def _read_or_refused(text: str) -> AvroSchema | None:
    """The schema, or None where our own error names a place; any other exception fails the test."""
    try:
        schema = parse_avro(text)
        schema.normalized()
    except SchemaParseError as error:
        return pytest.fail(f"no position: {error}") if error.position is None else None
    return schema
