"""What changed between two schemas: one case for each kind of change, and what must hold for any pair."""

from __future__ import annotations

import inspect
import json
import re

import pytest
from hypothesis import given

from counterfoil.schema.change import ChangeKind
from counterfoil.schema.languages.avro import diff as avro
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import find_changes
from strategies.avro.edits import avro_pairs
from strategies.avro.schemas import avro_schemas


def changes(earlier, later):
    return find_changes(*(parse_avro(json.dumps(one), validation=Validation.LENIENT) for one in (earlier, later)))


def record(*fields, **properties):
    return {"type": "record", "name": "R", "fields": list(fields), **properties}


def field(name, kind="int", **properties):
    return {"name": name, "type": kind, **properties}


def enum(*symbols, **properties):
    return {"type": "enum", "name": "E", "symbols": list(symbols), **properties}


CASES = [
    (record(), record(field("a")), "field-added", "a", None, "int"),
    (record(), record(field("a", default=1)), "field-added", "a", None, "int = 1"),
    (record(field("a")), record(), "field-removed", "a", "int", None),
    (record(field("a")), record(field("b", aliases=["a"])), "field-renamed", "b", "a", "b"),
    (record(field("a"), field("b")), record(field("b"), field("a")), "fields-reordered", "", "a, b", "b, a"),
    (record(field("a")), record(field("a", "long")), "type-changed", "a", "int", "long"),
    ("int", ["null", "int"], "type-changed", "", "int", "null | int"),
    (record(), record(name="S"), "type-renamed", "", "R", "S"),
    (record(namespace="x"), record(namespace="y"), "namespace-changed", "", "x", "y"),
    (record(), record(namespace="y"), "namespace-changed", "", "none", "y"),
    (
        "int",
        {"type": "int", "logicalType": "date"},
        "logical-type-changed",
        "",
        "int",
        "date as int",
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 9},
        "logical-type-changed",
        "",
        "decimal(9, 2) as bytes",
        "decimal(9, 0) as bytes",
    ),
    (
        {"type": "fixed", "name": "F", "size": 4},
        {"type": "fixed", "name": "F", "size": 8},
        "size-changed",
        "",
        "4",
        "8",
    ),
    (["null"], ["null", "int"], "branch-added", "", None, "int"),
    (["null", "int"], ["null"], "branch-removed", "", "int", None),
    (["null", "int"], ["int", "null"], "branches-reordered", "", "null, int", "int, null"),
    (enum("A"), enum("A", "B"), "symbol-added", "", None, "B"),
    (enum("A", "B"), enum("A"), "symbol-removed", "", "B", None),
    (enum("A", "B"), enum("B", "A"), "symbols-reordered", "", "A, B", "B, A"),
    (record(field("a")), record(field("a", default=0)), "default-added", "a", None, "0"),
    (record(field("a", default=0)), record(field("a")), "default-removed", "a", "0", None),
    (record(field("a", default=0)), record(field("a", default=1)), "default-changed", "a", "0", "1"),
    (enum("A"), enum("A", default="A"), "default-added", "", None, "A"),
    (record(), record(aliases=["Q"]), "aliases-changed", "", None, "Q"),
    (record(field("a", aliases=["b"])), record(field("a")), "aliases-changed", "a", "b", None),
    (record(doc="x"), record(doc="y"), "doc-changed", "", '"x"', '"y"'),
    (record(field("a")), record(field("a", doc="y")), "doc-changed", "a", None, '"y"'),
    (record(field("a")), record(field("a", order="ignore")), "sort-order-changed", "a", "ascending", "ignore"),
    (record(field("a")), record(field("a", unit="EUR")), "property-changed", "a", None, 'unit="EUR"'),
    ({"type": "int", "x": 1}, {"type": "int", "x": 2}, "property-changed", "", "x=1", "x=2"),
    (
        record(field("a", {"type": "array", "items": "int"})),
        record(field("a", {"type": "array", "items": "long"})),
        "type-changed",
        "a[]",
        "int",
        "long",
    ),
    (
        record(field("a", {"type": "map", "values": record(field("b"), name="S")})),
        record(field("a", {"type": "map", "values": record(field("b", "long"), name="S")})),
        "type-changed",
        "a{}.b",
        "int",
        "long",
    ),
    (
        ["null", record(field("b"))],
        ["null", record(field("b", "long"))],
        "type-changed",
        "<R>.b",
        "int",
        "long",
    ),
]


@pytest.mark.parametrize(("earlier", "later", "kind", "element", "was", "now"), CASES)
def test_each_kind_of_change(earlier, later, kind, element, was, now):  # noqa: PLR0917 (the columns of the table)
    found = [one for one in changes(earlier, later) if one.kind == kind]
    assert [(one.element, one.earlier, one.later) for one in found] == [(element, was, now)]


def test_every_kind_that_the_diff_knows_has_a_case():
    known = {ChangeKind[name] for name in re.findall(r"ChangeKind\.([A-Z_]+)", inspect.getsource(avro))}
    assert {kind for _, _, kind, *_ in CASES} == known


def test_a_change_inside_a_type_that_became_optional_is_found():
    earlier = record(field("a", record(field("b"), name="S")))
    later = record(field("a", ["null", record(field("b", "long"), name="S")]))
    assert [(one.kind, one.element) for one in changes(earlier, later)] == [
        ("type-changed", "a"),
        ("type-changed", "a.b"),
    ]


def test_a_type_used_twice_is_compared_once():
    def twice(kind):
        return record(field("a", record(field("x", kind), name="S")), field("b", "S"))

    assert [one.element for one in changes(twice("int"), twice("long"))] == ["a.x"]


def test_two_fields_of_one_primitive_type_are_two_changes():
    earlier, later = (record(field("a", kind), field("b", kind)) for kind in ("int", "long"))
    assert [one.element for one in changes(earlier, later)] == ["a", "b"]


def test_recursive_types_end():
    def chain(kind):
        return record(field("value", kind), field("next", ["null", "R"]))

    assert [one.element for one in changes(chain("int"), chain("long"))] == ["value"]


def test_an_alias_of_a_field_that_is_still_there_renames_nothing():
    earlier = record(field("a"), field("b"))
    later = record(field("a"), field("c", aliases=["a", "b"]))
    assert next(one.text for one in changes(earlier, later)) == "field renamed: b → c"


def test_positions_lead_to_both_texts():
    earlier = parse_avro('{"type": "record", "name": "R",\n"fields": [{"name": "a", "type": "int"}]}')
    later = parse_avro('{"type": "record", "name": "R",\n"fields": [\n{"name": "a", "type": "long"}]}')
    (change,) = find_changes(earlier, later)
    assert str(earlier.locate(change.earlier_pointer)) == "2:34"
    assert str(later.locate(change.later_pointer)) == "3:23"


@given(avro_schemas())
def test_a_schema_does_not_differ_from_itself(text):
    assert find_changes(parse_avro(text), parse_avro(text)) == []


@given(avro_pairs())
def test_no_change_is_reported_exactly_when_both_say_the_same(pair):
    earlier, later = map(parse_avro, pair)
    assert (find_changes(earlier, later) == []) == earlier.is_equivalent(later)
