"""JSON messages through plans: defaults, limits, choices, and what a record may leave out."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil.converter.engines.choice import choose_engine
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.converter.engines.reference import converter_of, recipe_of
from counterfoil.converter.messages.table import reading_problem
from counterfoil.schema.plans import FailureCode
from counterfoil.schema.wire import frame
from strategies.engines.message_plans import SOURCE_ID, avro, converted, from_json, js, plan_of, problems

# -- JSON


def test_json_property_that_is_left_out_has_its_default_or_stays_out():
    schema = js({"a": {"type": "string"}, "b": {"type": "string", "default": "x"}, "c": {"type": ["string", "null"]}})
    plan = plan_of(schema, js({"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": ["string", "null"]}}))
    assert from_json(plan) == {"b": "x", "c": None}
    assert from_json(plan, a="1", c="2") == {"a": "1", "b": "x", "c": "2"}


def test_json_property_that_is_required_and_left_out_is_undecodable():
    plan = plan_of(js({"a": {"type": "string"}}, "a"), js({"a": {"type": "string"}}))
    assert from_json(plan) == "a undecodable"
    assert from_json(plan, a=1) == "a undecodable"


def test_json_undeclared_properties_are_dropped_and_the_plan_notes_it():
    source = js({"a": {"type": "integer"}})
    plan = plan_of(source, source)
    assert from_json(plan, a=1, other=2) == {"a": 1}
    assert plan.notes == ("properties that the source's schema does not declare are dropped",)
    assert not plan_of(js({"a": {"type": "integer"}}, additionalProperties=False), source).notes


def test_json_numbers_keep_their_digits_and_whole_numbers_have_64_bits():
    source = js({"n": {"type": "number"}, "i": {"type": "integer"}})
    plan = plan_of(source, source)
    assert converted(plan, b'{"n": 12345678901234567890, "i": 2.0}') == b'{"n":12345678901234567890,"i":2}'
    assert from_json(plan, i=2**63) == "i out-of-range"


def test_json_limits_make_types_narrower_and_the_rest_is_validated():
    source = js({"a": {"type": "integer"}})
    narrow = js({"a": {"type": "integer", "minimum": 0, "maximum": 10}})
    assert "long as int may lose" in problems(plan_of(source, narrow))[0]
    plan = plan_of(source, narrow, a={"from": "a", "cast": "int"})
    assert (from_json(plan, a=10), from_json(plan, a=11)) == ({"a": 10}, "a unencodable")


def test_json_branches_of_one_of_are_told_apart_by_their_schemas():
    def card(kind: str, inner: Any) -> Any:
        return {"type": "object", "properties": {"kind": {"const": kind}, "x": inner}, "required": ["kind", "x"]}

    source = js({"pay": {"oneOf": [card("card", {"type": "integer"}), card("cash", {"type": "string"})]}})
    target = js({"pay": {"oneOf": [card("card", {"type": "number"}), card("cash", {"type": "string"})]}})
    for plan in (plan_of(source, source), plan_of(source, target)):
        assert from_json(plan, pay={"kind": "cash", "x": "1"}) == {"pay": {"kind": "cash", "x": "1"}}
        assert from_json(plan, pay={"kind": "card", "x": 1}) == {"pay": {"kind": "card", "x": 1}}
        assert from_json(plan, pay={"kind": "card", "x": "1"}) == "pay undecodable"


def test_json_without_frames_is_read_and_written_as_it_is():
    plan = plan_of(js({"fare": {"type": "number"}}, "fare"), js({"fare": {"type": "number", "maximum": 9}}, "fare"))
    converter = converter_of(recipe_of(Conversion(plan, {SOURCE_ID: plan.source}, None, SOURCE_ID)).packed)
    assert converter.convert_value(b'{"fare": 1.5}').value == b'{"fare":1.5}'
    refused = converter.convert_value(frame(SOURCE_ID, b'{"fare": 1.5}')).failure
    assert refused is not None
    assert refused.code is FailureCode.UNDECODABLE
    with pytest.raises(EngineCannot):
        choose_engine("java", Conversion(plan, {SOURCE_ID: plan.source}, None, SOURCE_ID))


def test_json_types_that_a_plan_cannot_tell_are_copied_to_equal_ones_alone():
    items = {"type": "array", "prefixItems": [{"type": "integer"}]}
    anything = js({"a": {}, "t": items})
    assert from_json(plan_of(anything, anything), a={"b": [1]}, t=[1, "x"]) == {"a": {"b": [1]}, "t": [1, "x"]}
    assert problems(plan_of(anything, js({"a": {"type": "string"}, "t": items})))


BRANCHES = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]},
    ]
}


def test_json_default_and_constant_are_values_of_a_branch():
    source = js({"u": {**BRANCHES, "default": {"kind": "b", "y": "q"}}})
    target = js({"u": BRANCHES, "v": BRANCHES, "w": {**BRANCHES, "default": {"kind": "b"}}})
    plan = plan_of(source, target, v={"const": {"kind": "a", "x": 4}})
    assert from_json(plan) == {"u": {"kind": "b", "y": "q"}, "v": {"kind": "a", "x": 4}, "w": {"kind": "b"}}


def test_json_default_of_an_object_may_leave_properties_out():
    ride = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}, "required": ["x"]}
    source = js({"o": {**ride, "default": {"x": 1}}})
    assert from_json(plan_of(source, js({"o": ride}))) == {"o": {"x": 1}}


def test_json_reference_with_more_properties_beside_it_is_a_record_of_its_own():
    extra = {"properties": {"extra": {"type": "integer"}}}
    source = js({"a": {"type": "string"}, "inner": {"allOf": [{"$ref": "#"}, extra]}})
    value = {"a": "1", "inner": {"a": "2", "extra": 3, "inner": {"extra": 4}}}
    assert from_json(plan_of(source, source), **value) == value


def test_json_choice_between_conditions_does_not_hide_the_type():
    source = js({"ip": {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}}, "ip")
    assert converted(plan_of(source, avro(("ip", "string"))), b'{"ip": "::1"}') == b"\x06::1"


def test_json_whole_number_of_any_size_as_text_and_in_a_formula():
    source, digits = js({"n": {"type": "number"}}, "n"), b"9" * 400
    plan = plan_of(source, avro(("n", "string")), n={"from": "n", "cast": "string", "decimals": 2})
    made = converted(plan, b'{"n": %s}' % digits)
    assert isinstance(made, bytes)
    assert made.endswith(digits + b".00")
    assert converted(plan_of(source, avro(("n", "double")), n={"expr": "n * 2"}), b'{"n": %s}' % digits) == "n overflow"


def test_json_schema_that_contains_itself():
    node = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/n"}}}
    schema = js({"n": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": node}})
    assert from_json(plan_of(schema, schema), n={"v": 1, "next": {"v": 2}}) == {"n": {"v": 1, "next": {"v": 2}}}
    assert from_json(plan_of(schema, schema), n={"next": {"v": "2"}}) == "n.next.v undecodable"


def test_json_versions_of_one_subject_are_read_with_the_newest():
    newest = js({"a": {"type": "integer"}, "b": {"type": "string"}}, "a")
    assert reading_problem(newest, js({"a": {"type": "integer"}}, "a")) is None
    assert "a: nothing fills it" in str(reading_problem(newest, js({"b": {"type": "string"}})))
    assert reading_problem(newest, avro(("a", "int"))) == "it is AVRO, and not JSON"
