"""Trials of converters: generated records of every language are converted, and judged by the other version."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from counterfoil.contracts.check.migrated_values import misfit_function, recorded_function, shown, unkept
from counterfoil.contracts.check.migrations import Trial, TrialOutcome, TrialSide, try_converter
from counterfoil.schema.agreements.files import read_agreement
from counterfoil.schema.agreements.generation import generated
from counterfoil.schema.agreements.model import Contract, DataProduct, ExpectedRead, FieldPromise, Promise, ValueRange
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.paths import member
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.plans.jsonschema import NoValues
from counterfoil.schema.plans.languages import tree_of
from counterfoil.schema.texts import Position
from strategies.contracts.intended_break import BACK, CENTS, EUROS, NEW_SCHEMA, OLD_READS, OLD_SCHEMA, contract, product

PROTOBUF = 'syntax = "proto3"; message Order { string order_id = 1; %s %s = 2; optional string shop = 3; }'
TO_NEW = """\
bridge: up
source: {topic: orders.placed}
target: {topic: orders.placed.v2}
fields:
  total: {expr: "total_cents / 100"}
"""


def avro(text: str) -> ParsedSchema:
    return language_for(SchemaType.AVRO).parse(text, (), validation=Validation.STRICT)


def protobuf(kind: str, name: str) -> ParsedSchema:
    return language_for(SchemaType.PROTOBUF).parse(PROTOBUF % (kind, name), (), validation=Validation.STRICT)


def json_schema(name: str, **of_total: Any) -> ParsedSchema:
    properties = {"order_id": {"type": "string", "pattern": "^o[0-9]+$"}, name: of_total, "shop": {"type": "string"}}
    document = {"type": "object", "properties": properties, "required": ["order_id", name]}
    return language_for(SchemaType.JSON).parse(json.dumps(document), (), validation=Validation.STRICT)


def promise(version: str, topic: str, total: str) -> Promise:
    found = read_agreement(contract(version, topic, total)).agreement
    assert isinstance(found, Contract)
    return found.promises[0]


def reads(*listed: str) -> tuple[ExpectedRead, ...]:
    found = read_agreement(product("billing", "1", *listed)).agreement
    assert isinstance(found, DataProduct)
    assert found.expectations[0].reads is not None
    return found.expectations[0].reads


LANGUAGES = {
    "avro": (avro(OLD_SCHEMA), avro(NEW_SCHEMA)),
    "protobuf": (protobuf("int64", "total_cents"), protobuf("double", "total")),
    "json": (
        json_schema("total_cents", type="integer", minimum=0, maximum=10**8),
        json_schema("total", type="number", minimum=0, maximum=10**6, multipleOf=0.5),
    ),
}


def tried(old: ParsedSchema, new: ParsedSchema, file: str, **more: Any) -> TrialOutcome:
    sides = (
        TrialSide("1.4.0", old, promise("1.4.0", "orders.placed", CENTS)),
        TrialSide("2.0.0", new, promise("2.0.0", "orders.placed.v2", EUROS)),
    )
    bridge = read_bridge(file)
    given = {"billing 4.7.1": reads(*OLD_READS)}
    return try_converter(Trial(bridge, *sides, bridge.target_topic == "orders.placed", given, **more))


@pytest.mark.parametrize("language", LANGUAGES)
def test_generated_records_are_converted_back_to_the_old_version(language: str) -> None:
    old, new = LANGUAGES[language]
    file = BACK if language == "avro" else BACK.replace("drop: [shop]\n", "")
    outcome = tried(old, new, file)
    assert outcome.failure is None
    assert outcome.converted >= 20


@pytest.mark.parametrize("language", LANGUAGES)
def test_generated_values_are_values_of_their_schema(language: str) -> None:
    for schema in LANGUAGES[language]:
        misfit, found = misfit_function(schema), list(generated(schema, 60))
        assert [misfit(each) for each in found] == [""] * len(found)
        assert len({shown(schema, each) for each in found}) > 5


def test_generated_values_keep_what_is_promised() -> None:
    total = promise("2.0.0", "orders.placed.v2", EUROS)
    schema = avro(NEW_SCHEMA)
    found = list(generated(schema, 50, total.field))
    assert [*unkept(tree_of(schema), found[0], total.fields)] == []
    assert {each["total"] for each in found} >= {0.0, 1.5, 1_000_000.0}


def test_a_converter_to_the_new_version_needs_a_way_back_for_old_consumers() -> None:
    old, new = LANGUAGES["avro"]
    outcome = tried(old, new, TO_NEW)
    assert outcome.failure is not None
    assert "consumers of version 1.4.0 need the way back, and it has gaps: total_cents" in outcome.failure.text
    defaults = OLD_SCHEMA.replace('"long"}', '"long", "default": 0}')
    outcome = tried(avro(defaults), new, TO_NEW)
    assert (outcome.failure, outcome.converted) == (None, 100)
    assert "on the way back, total_cents is always 0" in outcome.lossy


def test_a_consumer_that_expects_more_than_the_old_version_promised_does_not_count() -> None:
    old, new = LANGUAGES["avro"]
    bridge = read_bridge(BACK)
    sides = (
        TrialSide("1", old, promise("1.4.0", "orders.placed", CENTS)),
        TrialSide("2", new, promise("2.0.0", "orders.placed.v2", EUROS)),
    )
    for limit, is_fine in (("min: 1000", True), ("max: 100000000, min: 0", True)):
        given = {"billing": reads(f"{{path: total_cents, {limit}}}")}
        assert (try_converter(Trial(bridge, *sides, is_back=True, reads=given)).failure is None) is is_fine


def test_recorded_records_come_first_and_show_what_fails() -> None:
    old, new = LANGUAGES["avro"]
    recorded = recorded_function(new)({"order_id": "a", "total": 2000000.5, "shop": ""})
    outcome = tried(old, new, BACK, recorded=[recorded])
    assert outcome.failure is not None
    assert json.loads(outcome.failure.record) == {"order_id": "a", "total": 2000000.5, "shop": ""}
    with pytest.raises(NoValues, match="total"):
        recorded_function(new)({"order_id": "a", "total": "x", "shop": ""})
    of_json = recorded_function(LANGUAGES["json"][0])({"order_id": "o1", "total_cents": 5})
    assert of_json == {"order_id": "o1", "total_cents": 5, "shop": None}


EXACT = BACK.replace("round(total * 100)", "total * 100")
ANY_PRICE = json_schema("total", type="number", minimum=0, maximum=10**6)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_formula_that_only_suits_round_amounts_fails(language: str) -> None:
    old, new = LANGUAGES[language]
    file = EXACT if language == "avro" else EXACT.replace("drop: [shop]\n", "")
    outcome = tried(old, ANY_PRICE if language == "json" else new, file)
    assert outcome.failure is not None
    assert "is no whole number" in outcome.failure.text


def test_the_outcome_says_how_many_distinct_numbers_were_tried() -> None:
    outcome = tried(*LANGUAGES["avro"], BACK)
    assert outcome.numbers["total"] > 40
    assert outcome.variety == f"with {outcome.numbers['total']} distinct values of total"


def numbers_of(node: Any, **limits: Any) -> list[Any]:
    document = {"type": "record", "name": "R", "fields": [{"name": "n", "type": node}]}
    promise = FieldPromise((member("n"),), Position(1, 1), range=ValueRange(**limits))
    return [each["n"] for each in generated(avro(json.dumps(document)), 100, lambda _: promise)]


@pytest.mark.parametrize(
    ("node", "limits", "expected"),
    [
        ("double", {"minimum": 0, "maximum": 100}, {0.0, 100.0, 0.07, 0.29, 19.99, 0.01, 99.99, 5e-324}),
        ("double", {"minimum": 1000, "maximum": 2000}, {1000.0, 2000.0, 1000.01, 1999.99}),
        ("double", {"minimum": 0, "maximum": 1, "is_open_below": True, "is_open_above": True}, {5e-324, 0.29}),
        ("int", {"minimum": 5, "maximum": 500}, {5, 6, 499, 500}),
        ("int", {"minimum": 5, "maximum": 9, "is_open_below": True, "is_open_above": True}, {6, 7, 8}),
        ("long", {}, {1, 0, -1, 2**63 - 1, -(2**63)}),
    ],
)
def test_generated_numbers_have_ends_neighbours_and_others(
    node: str, limits: dict[str, Any], expected: set[Any]
) -> None:
    found = numbers_of(node, **limits)
    assert expected <= set(found)
    assert len(set(found)) > min(20, len(expected) - 1)
    low, high = limits.get("minimum", -(2**63)), limits.get("maximum", 2**63 - 1)
    assert all(low <= each <= high for each in found)
    assert found == numbers_of(node, **limits)
    if node == "double" and low >= 1000:
        assert any(each * 100 != round(each * 100) for each in found)


def test_generated_decimals_and_floats_are_values_of_their_types() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
    unscaled = {int.from_bytes(each, "big", signed=True) for each in numbers_of(decimal, minimum=0, maximum="50.5")}
    assert {7, 29, 1999, 0, 1, 5050, 5049} <= unscaled <= set(range(5051))
    assert len(unscaled) > 20
    floats = numbers_of("float", minimum=0, maximum=20)
    assert len(set(floats)) > 20
    assert all(each == struct.unpack("<f", struct.pack("<f", each))[0] for each in floats)


def test_schemas_without_a_value_cannot_be_tried() -> None:
    endless = avro('{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}')
    with pytest.raises(NoValues, match="limited size"):
        next(generated(endless, 1))


RULE = """\
    quality:
      - {id: %s, type: custom, engine: cel, implementation: "%s"}
"""


@pytest.mark.parametrize(
    ("of_old", "of_new", "broken"),
    [
        ("message.total_cents < 5000", "message.total < 50.0", ""),
        ("message.total_cents < 5000", "message.total < 60.0", "the rule of_old is not kept"),
        ("message.total_cents < 5000 && headers.size() > 0", "message.total < 60.0", ""),
    ],
    ids=["kept", "broken", "not about the value alone"],
)
def test_conditions_of_a_contract_narrow_what_is_generated_and_must_be_kept(
    of_old: str, of_new: str, broken: str
) -> None:
    old, new = LANGUAGES["avro"]
    sides = [
        TrialSide(version, schema, promise(version, topic, total + RULE % (name, rule)))
        for version, schema, topic, total, name, rule in (
            ("1.4.0", old, "orders.placed", CENTS, "of_old", of_old),
            ("2.0.0", new, "orders.placed.v2", EUROS, "of_new", of_new),
        )
    ]
    recorded = [{"order_id": "a", "total": 55.0, "shop": ""}] if broken else []
    outcome = try_converter(Trial(read_bridge(BACK), *sides, is_back=True, recorded=recorded))
    assert broken in (outcome.failure.text if outcome.failure else "")
    assert bool(outcome.failure) is bool(broken)
