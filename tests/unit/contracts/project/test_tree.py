"""Names in texts, files that refer to one another, and which file continues which."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.baselines import match_paths
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.languages.table import outline
from counterfoil.schema.parsed import Validation
from strategies.avro.schemas import avro_records


def tree(files, validation=Validation.STRICT):
    return SchemaTree(
        [
            SchemaFile(path, text if isinstance(text, bytes) else json.dumps(text).encode())
            for path, text in files.items()
        ],
        label="here",
        validation=validation,
    )


def record(name, *types):
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def used(found):
    return [use.names for use in found.used]


def names(schema):
    return outline(json.dumps(schema))


def test_names_declared_and_used():
    found = names(
        {**record("Order", "Item", {"type": "map", "values": "other.Tag"}, record("Own"), "Own"), "namespace": "shop"}
    )
    assert found.name == "shop.Order"
    assert found.declared == {"shop.Order", "shop.Own"}
    assert used(found) == [("shop.Item", "Item"), ("other.Tag",)]


def test_a_dotted_name_brings_its_own_namespace():
    found = names(record("shop.Order", "Item"))
    assert found.name == "shop.Order"
    assert used(found) == [("shop.Item", "Item")]


def test_nested_type_objects_and_unions_are_walked():
    assert used(names([{"type": {"type": "array", "items": ["null", "X"]}}])) == [("X",)]
    assert used(names("X")) == [("X",)]
    assert used(names("int")) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"type": []}', '{"type": {}}', "null", '{"fields": [1, {}]}']
)
def test_any_text_has_an_outline_or_none(text):
    found = outline(text)
    assert found is None or found.name is None


@pytest.mark.slow
@given(avro_records())
def test_the_outline_knows_what_the_parser_knows(text):
    parsed, found = parse_avro(text), outline(text)
    assert found
    assert found.name == parsed.name
    assert found.declared == set(parsed.named)
    assert found.used == ()


KEYS = st.sampled_from(["type", "name", "fields", "items", "values", "namespace"])
JSON = st.recursive(
    st.none() | st.text() | st.sampled_from(["record", "enum", "array", "int", "ns.X"]) | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@pytest.mark.slow
@given(JSON)
def test_any_json_has_an_outline(value):
    assert outline(json.dumps(value)) is not None


def test_references_of_references_come_first():
    files = {"c.avsc": record("C"), "a.avsc": record("A", "B"), "b.avsc": record("B", "C")}
    schema = tree(files).read("a.avsc").schema
    assert schema
    assert set(schema.named) == {"A", "B", "C"}


def test_the_nearest_declaration_counts():
    files = {
        "v1/item.avsc": record("Item", "int"),
        "v1/order.avsc": record("Order", "Item"),
        "v2/item.avsc": record("Item", "string"),
        "v2/order.avsc": record("Order", "Item"),
    }
    side = tree(files)
    assert side.content("v1/order.avsc")[1] == json.dumps(record("Item", "int"))
    assert side.content("v2/order.avsc")[1] == json.dumps(record("Item", "string"))


def test_a_declaration_at_top_level_goes_before_one_inside():
    files = {
        "x/z.avsc": record("Item"),
        "x/a.avsc": record("A", record("Item", "int")),
        "y/order.avsc": record("Order", "Item"),
    }
    assert tree(files).content("y/order.avsc")[1] == json.dumps(record("Item"))


def test_a_reference_to_an_unreadable_file_is_a_problem_at_the_name():
    found = tree({"order.avsc": record("Order", "Item"), "item.avsc": b'{"name": "Item"'}).read("order.avsc")
    assert found.schema is None
    assert found.problem
    assert "Item" in found.problem.text
    assert found.problem.position


@pytest.mark.parametrize("path", ["order.avsc", "order.proto", "order.schema.json"])
def test_the_markers_of_a_merge_are_named(path):
    text = "{\n<<<<<<< HEAD\n=======\n>>>>>>> other\n}\n"
    problem = tree({path: text.encode()}).read(path).problem
    assert problem
    assert problem.text == "the file has an unresolved conflict of a merge; keep one side"
    assert str(problem.position) == "2:1"


def test_only_keeps_the_label():
    side = tree({"a.avsc": record("A"), "b.avsc": record("B")}).only(["b.avsc"])
    assert (side.label, side.paths) == ("here", ("b.avsc",))


@pytest.mark.parametrize(
    ("head", "earlier", "expected"),
    [
        ({"a": "A"}, {"a": "A"}, {"a": "a"}),
        ({"b": "A"}, {"a": "A"}, {"b": "a"}),
        ({"a": "B"}, {"a": "A"}, {"a": "a"}),
        ({"a": "B", "b": "A"}, {"a": "A", "b": "B"}, {"a": "b", "b": "a"}),
        ({"a": "New", "b": "A"}, {"a": "A"}, {"b": "a"}),
        ({"v1/a": "A", "v2/a": "A"}, {"v1/a": "A"}, {"v1/a": "v1/a"}),
        ({"x": "A", "y": "A"}, {"z": "A"}, {}),
        ({"a": "A"}, {}, {}),
    ],
)
def test_which_file_continues_which(head, earlier, expected):
    sides = (tree({path: record(name) for path, name in side.items()}) for side in (head, earlier))
    assert match_paths(*sides) == expected


def test_a_type_without_a_name_is_known_by_its_text():
    assert match_paths(tree({"new/a": "int"}), tree({"old/a": "int"})) == {"new/a": "old/a"}
