"""The engine ``java`` returns the reference's bytes, or the reference's code and field; its sentences are its own.

The compiled class is called in batches, without a query of Spark, so that many plans can be tried.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given

from counterfoil.converter.cli import bridge
from counterfoil.converter.engines.choice import AUTO, choose_engine
from counterfoil.converter.engines.java.engine import JavaEngine
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.avro import base_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder
from counterfoil.sdk.serde.avro.numbers import encode_long
from strategies.engines.cases import CASES, Case, conversion_of, record, values_of
from strategies.engines.java import check
from strategies.engines.plans import plans


@pytest.mark.parametrize("case", [case for case in CASES if case.name != "promotions"], ids=lambda case: case.name)
def test_java_is_the_reference(case: Case, convert: Any) -> None:
    conversion = conversion_of(case)
    expected = check(conversion, [value for value in values_of(case, conversion) if value is not None], convert)
    assert any(value for value, _ in expected), "a case in which nothing converts shows nothing"


@given(case=plans())
def test_java_is_the_reference_for_random_plans(case: Case, convert: Any) -> None:
    conversion = conversion_of(case)
    check(conversion, [value for value in values_of(case, conversion) if value is not None], convert)


def schema(*fields: Any) -> Any:
    return parse_avro(json.dumps(record(*fields)))


def same(source: Any, rules: dict[str, Any] | None = None, target: Any = None) -> Conversion:
    return Conversion(derive_plan(source, target or source, parse_rules(rules or {})), {7: source}, 9)


def test_a_longer_spelling_of_the_same_values_is_not_copied(convert: Any) -> None:
    conversion = same(schema(("i", "int"), ("s", "string"), ("xs", {"type": "array", "items": "int"}), ("f", "float")))
    body = b"\x02" + b"\x02a" + b"\x02\x04\x02\x06\x00" + b"\x00\x00\x80\x3f"
    spelt = [
        b"\x82\x00" + b"\x02a" + b"\x02\x04\x02\x06\x00" + b"\x00\x00\x80\x3f",
        b"\x02" + b"\x82\x80\x00a" + b"\x04\x04\x06\x00" + b"\x00\x00\x80\x3f",
        b"\x02" + b"\x02a" + b"\x01\x02\x04\x02\x06\x00" + b"\x00\x00\x80\x3f",
        b"\x02" + b"\x02a" + b"\x02\x04\x02\x06\x00" + bytes.fromhex("0100807f"),
    ]
    answers = check(conversion, [frame(7, each) for each in (body, *spelt)], convert)
    assert all(value is not None for value, _ in answers)


def test_of_equal_keys_the_last_value_counts(convert: Any) -> None:
    conversion = same(schema(("m", {"type": "map", "values": "int"}), ("n", "int")))
    entries = [(b"a", 1), (b"b", 2), (b"a", 3), *((b"%d" % number, number) for number in range(20)), (b"7", 70)]
    body = encode_long(len(entries)) + b"".join(
        encode_long(len(key)) + key + encode_long(value) for key, value in entries
    )
    check(conversion, [frame(7, body + b"\x00\x02")], convert)


@pytest.mark.parametrize("length", [1 << 28, (1 << 31) - 1, 1 << 40, -1, -(1 << 63)])
def test_a_length_of_gigabytes_costs_nothing(length: int, convert: Any) -> None:
    conversion = same(schema(("s", "string"), ("y", "bytes"), ("xs", {"type": "array", "items": "int"})))
    varint = encode_long(length)
    values = [frame(7, body) for body in (varint, b"\x00" + varint, b"\x00\x00" + varint)]
    assert {failure and failure[0] for _, failure in check(conversion, values, convert)} == {"undecodable"}


def test_items_that_take_no_bytes_are_limited(convert: Any) -> None:
    conversion = same(schema(("xs", {"type": "array", "items": "null"}), ("i", "int")))
    values = [frame(7, encode_long(count) + b"\x00\x02") for count in (10_000, 10_001, 1 << 40)]
    assert [value is None for value, _ in check(conversion, values, convert)] == [False, True, True]


def test_a_wide_record_is_converted_in_several_methods(convert: Any) -> None:
    fields = [(f"f{number}", ["int", "string", "double"][number % 3]) for number in range(700)]
    source, target = schema(*fields), schema(*reversed(fields))
    conversion = same(source, target=target)
    value = {name: {"int": 5, "string": "é" * 9, "double": 0.1}[node] for name, node in fields}
    whole = frame(7, compile_encoder(base_schema(source))(value))
    check(conversion, [whole, whole[:-1], whole + b"x", whole[:300]], convert)


ITEMS = record(("n", "int"), ("s", "string"), ("m", {"type": "map", "values": "string"}), name="Item")
DEFAULTS = (
    {"name": "xs", "type": {"type": "array", "items": "string"}, "default": ["a", "é"]},
    {"name": "m", "type": {"type": "map", "values": ["null", "long"]}, "default": {"k": None}},
    {"name": "rs", "type": {"type": "array", "items": ITEMS}, "default": [{"n": 7, "s": "x", "m": {"y": "z"}}] * 2},
)


def test_a_default_may_have_items(convert: Any) -> None:
    source, older = schema(("i", "int"), *DEFAULTS), schema(("i", "int"))
    rules = {"first": {"from": "i"}}
    target = schema(("first", "int"), *reversed(DEFAULTS))
    plan = derive_plan(source, target, parse_rules(rules))
    value = {"i": 3, "xs": ["b"] * 3, "m": {"q": None}, "rs": [{"n": 1, "s": "w", "m": {}}]}
    values = [frame(7, compile_encoder(source)(value)), frame(6, b"\x04"), frame(6, b"\x06"), frame(6, b"\x06\x00")]
    answers = check(Conversion(plan, {7: source, 6: older}, 9), values, convert)
    assert [value is not None for value, _ in answers] == [True, True, True, False]


def test_whole_numbers_of_earlier_versions_are_rounded_to_floats(convert: Any) -> None:
    older = schema(("f", "int"), ("gone", "string"), ("n", ["null", "long"]), ("xs", {"type": "array", "items": "int"}))
    source = schema(("f", "float"), ("n", ["null", "float"]), ("xs", {"type": "array", "items": "double"}))
    target = schema(("xs", {"type": "array", "items": "double"}), ("f", "double"), ("n", ["null", "float"]))
    conversion = Conversion(derive_plan(source, target), {7: source, 6: older}, 9)
    encode = compile_encoder(older)
    numbers = (0, (1 << 24) + 1, (1 << 24) + 3, 2**31 - 1, -(2**31), 33_554_435)
    bodies = [encode({"f": each, "gone": "x", "n": each * 2_147_483_649, "xs": [each, 1]}) for each in numbers]
    bodies += [bodies[0][:4], bodies[0] + b"x", bodies[0].replace(b"x", b"\xff")]
    answers = check(conversion, [frame(6, body) for body in bodies], convert)
    assert [failure and failure[0] for _, failure in answers[-3:]] == ["undecodable", "trailing-bytes", "undecodable"]


def test_a_class_that_java_would_not_load_is_refused() -> None:
    names = [f"f{number}" for number in range(4_100)]
    rules = {name: {"const": f"of {name}"} for name in names}
    with pytest.raises(EngineCannot, match="do not fit into one Java class"):
        JavaEngine(same(schema(("a", "int")), rules, target=schema(("a", "int"), *((n, "string") for n in names))))


@pytest.mark.parametrize(
    ("node", "table", "bodies"),
    [
        ("string", {f"key-{n}": f"value-{n}" for n in range(9_000)}, [b"\x10key-8999", b"\x0akey-x"]),
        ("long", {n - 3: 2 * n for n in range(9_000)}, [b"\x05", b"\x0a", b"\x07"]),
    ],
)
def test_a_table_may_be_larger_than_the_code_of_one_java_method(
    node: str, table: dict[Any, Any], bodies: list[bytes], convert: Any
) -> None:
    conversion = same(schema(("a", node)), {"a": {"from": "a", "lookup": table, "else": "error"}})
    answers = check(conversion, [frame(7, body) for body in bodies], convert)
    assert [failure and failure[0] for _, failure in answers] == [*[None] * (len(bodies) - 1), "lookup-missing"]


def test_a_constant_may_be_longer_than_a_java_literal(convert: Any) -> None:
    rules = {"a": {"const": "é" * 70_000}, "b": {"from": "a"}}
    conversion = same(schema(("a", "string")), rules, target=schema(("a", "string"), ("b", "string")))
    ((value, _),) = check(conversion, [frame(7, b"\x02x")], convert)
    assert value is not None
    assert len(value) > 140_000


CHOICE = {"oneOf": [{"type": "object", "properties": {"x": {"const": value}}} for value in "ab"]}


def test_java_names_the_field_that_it_cannot_do_and_auto_takes_another_engine() -> None:
    document = parse_schema(json.dumps({"type": "object", "properties": {"u": CHOICE}}), SchemaType.JSON)
    conversion = same(document)
    with pytest.raises(EngineCannot) as refusal:
        JavaEngine(conversion)
    assert (refusal.value.engine, refusal.value.field) == ("java", "u")
    assert "a choice whose branches only the schema distinguishes" in refusal.value.why
    choice = choose_engine(AUTO, conversion)
    assert choice.engine.name == "reference"
    assert "java cannot (u: " in choice.why


def test_auto_is_java_where_it_can_be() -> None:
    choice = choose_engine(AUTO, same(schema(("a", "int"))))
    assert (choice.engine.name, choice.why) == ("java", "engine java, the fastest that covers the plan")


def test_an_engine_of_earlier_versions_is_refused_with_the_one_instead() -> None:
    refused = CliRunner().invoke(bridge, ["check", "bridge.yaml", "--engine", "sql"])
    assert refused.exit_code == 2
    assert "Give --engine java" in refused.output
