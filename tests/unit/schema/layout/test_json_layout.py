"""The layout of texts that are JSON: the judge of meanings and of places is Python's parser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.elements import find_elements
from counterfoil.schema.languages.json_layout import LONGEST_KEPT_LINE, WIDTH
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.layout import SchemaLayout, lay_out, number_lines, read_pointer
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.texts import Pointer, print_pointer
from strategies.avro.schemas import avro_schemas
from strategies.cases.each_case import check_each
from strategies.cases.json_places import json_places
from strategies.json_schema.schemas import json_schema_texts, json_values
from strategies.languages.rule_files import rule_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

SPELLINGS = ["0.10", "1e3", "-0", "1E+2", "12345678901234567890123", "0.1e-7"]


def exact(text: str) -> Any:
    """Return a JSON value with its numbers as they are spelled, and its objects as lists of pairs."""
    return json.loads(text, parse_float=str, parse_int=str, object_pairs_hook=list)


def keys_in(text: str) -> list[str]:
    """Return all keys of a text, in its order."""
    keys: list[str] = []

    def seen(pairs: list[tuple[str, Any]]) -> None:
        keys.extend(key for key, _ in pairs)

    json.loads(text, object_pairs_hook=seen)
    return keys


def check_layout(text: str, layout: SchemaLayout) -> None:
    assert exact(layout.text) == exact(text)
    lines = layout.text.split("\n")
    assert ["".join(token.text for token in line.tokens) for line in layout.lines] == lines
    assert [line.number for line in layout.lines] == [*range(1, len(lines) + 1)] == [*range(1, layout.total + 1)]
    names = [token.text for line in layout.lines for token in line.tokens if token.kind == "name"]
    assert sorted(map(json.loads, names)) == sorted(keys_in(text))
    check_lines(layout)


def check_lines(layout: SchemaLayout) -> None:
    """Compare the line of each value with that of the standard library's decoder, and look for the key in it."""
    offsets = json_places(layout.text)
    lines = layout.text.split("\n")
    first_by_line: dict[int, str] = {}
    for pointer, offset in offsets.items():
        line = layout.text.count("\n", 0, offset) + 1
        assert layout.line_of(pointer) == line, pointer
        first_by_line.setdefault(line, print_pointer(pointer))
        if pointer and isinstance(pointer[-1], str):
            keys = re.findall(r'("(?:[^"\\]|\\.)*")\s*:', lines[line - 1])
            assert pointer[-1] in map(json.loads, keys)
    assert {line.number: line.pointer for line in layout.lines if line.pointer} == {
        number: pointer for number, pointer in first_by_line.items() if pointer
    }
    assert layout.line_of(("no", "such", "place")) == 1


def layout_of(text: str, schema_type: SchemaType = SchemaType.AVRO) -> SchemaLayout:
    return lay_out(parse_schema(text, schema_type, validation=Validation.LENIENT))


@given(avro_schemas(), st.sampled_from([None, 0, 2]))
def test_texts_of_avro_keep_their_meaning_and_their_places(text: str, indent: int | None):
    written = json.dumps(json.loads(text), indent=indent)
    check_layout(written, layout_of(written))


@given(json_schema_texts())
def test_texts_of_json_schema_keep_their_meaning_and_their_places(text: str):
    check_layout(text, layout_of(text, SchemaType.JSON))


@given(json_values, st.sampled_from(SPELLINGS), st.sampled_from([None, 1, 4]))
def test_values_of_every_kind_keep_their_spelling(value: Any, number: str, indent: int | None):
    held = json.dumps({"x": [value, {"y": [value, 424242]}, [[value]], "\u2028\x7f"]}, indent=indent)
    text = f'{{"type": "string", "note": {held.replace("424242", number)}}}'
    check_layout(text, layout_of(text))


@pytest.mark.parametrize("schema_type", [SchemaType.AVRO, SchemaType.JSON])
def test_the_examples_of_rules_are_laid_out_whether_they_are_one_line_or_many(schema_type: SchemaType):
    def check(schema: Any) -> None:
        check_layout(schema.text, lay_out(schema))
        stored = schema.canonical()
        check_layout(stored, layout_of(stored, schema_type))

    check_each(rule_schemas(schema_type), check)


@given(avro_schemas())
def test_printed_lines_are_short_where_they_can_be(text: str):
    """A line is long only if it is one value, or the beginning of one."""
    stored = parse_schema(text).canonical()
    for line in layout_of(stored).lines:
        written = "".join(token.text for token in line.tokens)
        count = sum(token.kind in ("text", "number", "word") for token in line.tokens)
        assert len(written) <= WIDTH or count <= 1, written


def test_a_text_that_is_laid_out_stays_as_it_is():
    text = '{\n    "type" : "record",\n  "name": "A",\n\t"fields": [ {"name":"a",\n"type":"int"} ]}'
    assert layout_of(f"{text}\n").text == text
    assert layout_of(text.replace("\n", "\r\n")).text == text
    long = text.replace('"A"', f'"{"A" * LONGEST_KEPT_LINE}"')
    assert layout_of(long).text.count("\n") > long.count("\n")


def test_long_lists_fill_lines():
    symbols = [f"SYMBOL_{at}" for at in range(100)]
    layout = layout_of(json.dumps({"type": "enum", "name": "E", "symbols": symbols}))
    assert 10 < layout.total < 30
    line = layout.line_of(("symbols", 57))
    assert line is not None
    assert '"SYMBOL_57"' in "".join(token.text for token in layout.lines[line - 1].tokens)


def test_of_two_equal_keys_the_last_one_counts():
    layout = layout_of('{"type": "string", "a": {"b": 1},\n "a": {\n "b": 2}}')
    assert (layout.line_of(("a",)), layout.line_of(("a", "b"))) == (2, 3)


@pytest.mark.parametrize("ends", ["\n", ""])
def test_comments_are_kept(ends: str):
    text = f'{{ // one\n "type": "string", /* two {ends} three */ "doc": "/* no */" /* four */ }}'
    layout = layout_of(text)
    comments = [token.text for line in layout.lines for token in line.tokens if token.kind == "comment"]
    assert "".join(comments).replace(" ", "") == "//one/*twothree*//*four*/"
    assert ["".join(token.text for token in line.tokens) for line in layout.lines] == layout.text.split("\n")


def test_names_of_types_refer_to_their_declarations():
    address = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
    fields = [
        {"name": "a", "type": address},
        {"name": "b", "type": "Address", "doc": "Address"},
        {"name": "c", "type": ["null", "shop.Address", {"type": "array", "items": "Address"}], "default": None},
        {"name": "d", "type": {"type": "map", "values": "Address"}},
    ]
    text = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})
    found = [(token.text, token.type) for line in layout_of(text).lines for token in line.tokens if token.type]
    expected = ['"Address"', '"shop.Address"', '"Address"', '"Address"']
    assert found == [(text, "shop.Address") for text in expected]


def test_references_refer_to_definitions():
    text = (
        '{"title": "T", "properties": {"a": {"$ref": "#/$defs/A"}, "$ref": {"$ref": "#"},'
        ' "c": {"const": {"$ref": "#"}}},'
        ' "$defs": {"A": {"type": "string"}}}'
    )
    lines = layout_of(text, SchemaType.JSON).lines
    found = [(token.text, token.type) for line in lines for token in line.tokens if token.type]
    assert found == [('"#/$defs/A"', "A"), ('"#"', "T")]


def test_a_window_has_the_lines_that_there_are():
    layout = layout_of(json.dumps({"type": "string", "x": [{"y": [{}]}] * 30}))
    window = layout.window(5, 3)
    assert ([line.number for line in window.lines], window.total) == ([5, 6, 7], layout.total)
    assert window.lines == layout.lines[4:7]
    assert layout.window(layout.total, 500).lines == layout.lines[-1:]
    assert layout.window(layout.total + 1, 500).lines == ()
    assert layout.window(-5, 7).lines == layout.lines[:1]


def test_rows_of_elements_have_their_lines():
    text = '{"type": "record", "name": "A", "fields": [{"name": "b", "type": "int"}, {"name": "c", "type": "int"}]}'
    schema = parse_schema(text)
    layout = lay_out(schema)
    rows: Mapping[str, int | None] = {row.path: row.line for row in number_lines(find_elements(schema), layout)}
    lines = layout.text.split("\n")
    assert [f'"name": "{path}"' in lines[(line or 0) - 1] for path, line in rows.items()] == [True, True]


@given(st.lists(st.one_of(st.text(max_size=4), st.sampled_from(["~", "/", "~1", ""])), max_size=4).map(tuple))
def test_the_text_of_a_pointer_is_read_back(pointer: Pointer):
    assert read_pointer(print_pointer(pointer)) == pointer


@pytest.mark.parametrize(("length", "lines"), [(WIDTH, 1), (WIDTH + 1, 4)])
def test_an_object_is_one_line_if_it_fits_with_its_comma(length: int, lines: int):
    """Inside the record and its fields, a field is indented by four characters, and a comma is behind it."""
    rest = len('    {"name": "", "type": "int"},')
    field = {"name": "n" * (length - rest), "type": "int"}
    text = json.dumps({"type": "record", "name": "A", "fields": [field, {"name": "b", "type": "int"}]})
    layout = layout_of(text)
    first, after = layout.line_of(("fields", 0)), layout.line_of(("fields", 1))
    assert (after or 0) - (first or 0) == lines


def test_keys_with_escapes_are_found_by_what_they_say():
    layout = layout_of('{"type": "string", "a\\"\\u00e9": [{"x": {"\\/": [[{}], 7]}}]}')
    line = layout.line_of(('a"\u00e9', 0, "x", "/", 1))
    assert line == 1 + next(at for at, each in enumerate(layout.text.split("\n")) if "7" in each)
