"""The test kit without pytest's plugin: assertions, strategies, records of schemas with references, edited files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import find, given, settings

from counterfoil.contracts.generate.documents import with_reads
from counterfoil.contracts.testkit import (
    BrokenPromise,
    ContractWarning,
    Stream,
    assert_produces,
    from_contract,
    from_schema,
)
from counterfoil.contracts.testkit.session import SESSION
from counterfoil.contracts.testkit.strategies import values_of
from counterfoil.schema.agreements import DataProduct
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.paths import print_path
from counterfoil.sdk import AvroDeserializer, ProtobufDeserializer
from strategies.contracts.kit_project import write_project
from strategies.protobuf.classes import generated_classes

if TYPE_CHECKING:
    from pathlib import Path

PROTO = 'syntax = "proto3"; package shop; import "money.proto"; message Ride { string id = 1; Money fare = 2; }'
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
schema:
  - name: Ride
    physicalName: {name}
    authoritativeDefinitions: [{{type: schema, url: {file}}}]
    properties:
      - {{name: id, logicalType: string, required: true, logicalTypeOptions: {{pattern: "^r-[0-9]+$"}}}}
"""
AVRO_REFUND = {
    "type": "record",
    "name": "Refund",
    "fields": [{"name": "id", "type": "string"}, {"name": "of", "type": "shop.Cents"}],
}
AVRO_CENTS = {"type": "record", "name": "Cents", "namespace": "shop", "fields": [{"name": "n", "type": "long"}]}
OTHERS = {
    "rides.odcs.yaml": CONTRACT.format(name="rides", file="ride.proto"),
    "ride.proto": PROTO,
    "money.proto": MONEY,
    "refunds.odcs.yaml": CONTRACT.format(name="refunds", file="refund.avsc"),
    "refund.avsc": json.dumps(AVRO_REFUND),
    "cents.avsc": json.dumps(AVRO_CENTS),
}
ORDER = {
    "order_id": "a",
    "total_cents": 5,
    "discount_cents": 1,
    "status": "NEW",
    "email": None,
    "items": [{"sku": "x"}],
    "placed_at": datetime(2026, 1, 1, tzinfo=UTC),
}
HEADERS = {"trace_id": "0" * 32}


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    """A folder with three contracts, of which the run of tests is."""
    SESSION.begin(str(write_project(tmp_path, **OTHERS)))
    return tmp_path


@dataclass
class Item:
    sku: str


@dataclass
class OrderPlaced:
    order_id: str
    total_cents: int
    discount_cents: int | None
    status: str
    email: str | None
    items: list[Item]
    placed_at: datetime


def test_what_keeps_the_contract_is_accepted_in_every_form():
    assert_produces("orders.placed", ORDER, key="a", headers=HEADERS)
    assert_produces("orders.placed", ORDER, key=b"a", headers=[("trace_id", b"0" * 32)])
    assert_produces("orders.placed", OrderPlaced(**{**ORDER, "items": [Item("x")]}))
    (ride,) = (
        each
        for name, each in generated_classes({"money.proto": MONEY, "ride.proto": PROTO}).items()
        if name == "shop.Ride"
    )
    assert_produces("rides", ride(id="r-1"))
    assert_produces("rides", {"id": "r-22", "fare": {"cents": 3}})


@pytest.mark.parametrize(
    ("changes", "parts", "message"),
    [
        (
            {"total_cents": 100000000},
            {},
            "total_cents: value-outside-range: 100000000 EUR.cent is the value, and >= 0 and <",
        ),
        ({"total_cents": "5"}, {}, "total_cents: schema: expected an int of 64 bits; got '5'"),
        ({"totl": 5}, {}, "schema: expected only fields of shop.OrderPlaced; got 'totl'"),
        ({"items": [{"sku": "x"}, {}]}, {}, "items[1].sku: schema: expected a str, since the field has no default"),
        (
            {"discount_cents": 6},
            {},
            "discount_fits: message.total_cents >= message.discount_cents is false; total_cents is 5",
        ),
        ({}, {"key": "b"}, "$key: key-differs: 'b' is the key, and the value of order_id is promised, 'a'"),
        ({}, {"headers": {}}, "$header.trace_id: header-missing"),
        (
            {},
            {"headers": {"trace_id": "xyz"}},
            "$header.trace_id: pattern-unmatched: 'xyz' does not match ^[0-9a-f]{32}$",
        ),
    ],
)
def test_an_error_names_field_rule_and_value(changes, parts, message):
    with pytest.raises(BrokenPromise) as caught:
        assert_produces("orders.placed", {**ORDER, **changes}, **parts)
    assert message in str(caught.value)
    assert len(caught.value.violations) == 1


def test_a_message_of_a_generated_class_is_checked():
    with pytest.raises(BrokenPromise, match="id: pattern-unmatched: '' is the value, and a text that matches"):
        assert_produces("rides", {"fare": {"cents": 3}})


@pytest.mark.parametrize("severity", ["warning", "Warning", "info"])
def test_a_rule_of_a_lower_severity_is_a_warning(project: Path, severity: str):
    place = project / "orders.odcs.yaml"
    place.write_text(place.read_text().replace("engine: cel", f"engine: cel\n        severity: {severity}"))
    with pytest.warns(ContractWarning, match="discount_fits"):
        assert_produces("orders.placed", {**ORDER, "discount_cents": 6})


def test_records_of_schemas_with_references_are_read_by_deserializers():
    stream = Stream(SESSION)
    for record in stream.examples("rides", n=3):
        assert ProtobufDeserializer(stream.registry, values="dict")(record.value) == record.decoded
    for record in stream.examples("refunds", n=3):
        assert AvroDeserializer(stream.registry)(record.value) == record.decoded
        assert record.decoded["id"].startswith("r-")
    sparse, *_ = stream.examples("orders.placed", n=2, missing_optional=True, unknown_enum=True)
    assert (sparse.decoded["email"], sparse.decoded["status"]) == (None, "UNKNOWN_TO_READERS")
    first, second = (Stream(SESSION).examples("orders.placed", n=3, seed=5) for _ in range(2))
    assert [each.value for each in first] == [each.value for each in second]


@pytest.mark.slow
def test_strategies_shrink_to_the_shortest_value_that_keeps_the_contract():
    assert find(from_contract("rides"), lambda _: True, settings=settings(database=None)) == {"id": "r-0"}
    text = json.dumps(AVRO_CENTS)
    assert find(from_schema(text), lambda value: value["n"] > 999, settings=settings(database=None)) == {"n": 1000}
    assert find(from_schema(MONEY, "PROTOBUF"), lambda _: True, settings=settings(database=None)) == {"cents": 0}


@given(from_contract("orders.placed"))
def test_values_of_a_strategy_keep_the_rules_of_the_contract(order):
    assert order["total_cents"] >= (order["discount_cents"] or 0)
    assert_produces("orders.placed", order)


PORT = "apiVersion: v1.0.0\nkind: DataProduct\nid: a\nname: a\nversion: 1.0.0\nstatus: active\n"


@pytest.mark.parametrize(
    "text",
    [
        PORT,
        PORT + "inputPorts: []\n",
        PORT + "inputPorts:\n- {name: o, version: '2', contractId: orders}  # short\n",
        PORT + "inputPorts:\n  - name: o   # the port\n    contractId: orders\n    version: '2'\n\n# the end\n",
        PORT + "inputPorts:\n  - contractId: orders\n    name: o\n    version: '2'\n    customProperties:\n"
        "      - property: consumerGroups\n        value: [x]",
        PORT + "inputPorts:\n- contractId: orders\n  name: o\n  version: '2'\n  customProperties:\n"
        "  - property: reads\n    value:\n    - id # first\n    - {path: total, min: 0}\n  - {property: pinned, value: true}\n",  # noqa: E501
        PORT + "inputPorts:\n- contractId: other\n  name: p\n  version: '1'\n",
        json.dumps({**dict(line.split(": ") for line in PORT.splitlines()), "inputPorts": []}, indent=1),
    ],
)
def test_reads_are_added_to_a_product_file_of_any_layout(text: str):
    edited = with_reads(text, "orders", "2", ["id", "items[].sku", "attrs{}"])
    application = read_agreement(edited).agreement
    assert isinstance(application, DataProduct), edited
    (port,) = (each for each in application.expectations if each.contract_id == "orders")
    assert {print_path(each.path) for each in port.reads or ()} >= {"id", "items[].sku", "attrs{}"}
    lines = iter(edited.splitlines())
    kept = [line for line in text.splitlines() if "[]" not in line and "{name" not in line]
    assert all(any(line in each for each in lines) for line in kept if line.strip(" ]}{"))


@pytest.mark.parametrize(
    "text",
    [
        PORT + "inputPorts: [  # none\n]\n",
        PORT + "inputPorts:\n- contractId: orders\n  name: o\n  version: '2'\n  customProperties:\n"
        "  - property: reads\n    value: [\n      id,  # first\n      total  # last\n    ]\n",
        PORT + "inputPorts:\n- contractId: orders\n  name: o\n  version: '2'\n  customProperties:\n"
        "  - {property: reads, value: [id,  # first\n    ]}\n",
    ],
)
def test_reads_are_added_before_comments_in_brackets(text: str):
    edited = with_reads(text, "orders", "2", ["id", "items[].sku"])
    application = read_agreement(edited).agreement
    assert isinstance(application, DataProduct), edited
    (port,) = application.expectations
    assert {print_path(each.path) for each in port.reads or ()} >= {"id", "items[].sku"}
    assert [line.partition("#")[2] for line in edited.splitlines()] == [
        line.partition("#")[2] for line in text.splitlines()
    ]


class Recorder:
    """Counts what is asked of examples: a stand-in that compiles nothing."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def make(self, _choices: object) -> int:
        self.calls.append("make")
        return 1

    def value(self, given: int) -> int:
        self.calls.append("value")
        return given

    def encode(self, given: int) -> int:
        self.calls.append("encode")
        return given

    def decode(self, given: int) -> int:
        self.calls.append("decode")
        return given


def test_what_the_first_value_needs_is_compiled_before_it_is_drawn() -> None:
    """Hypothesis limits the time of drawing: on a busy machine the first value of a contract would take too long."""
    examples, kept = Recorder(), []
    values_of(examples, lambda value: not kept.append(value))  # type: ignore[arg-type, func-returns-value]  # a stand-in
    assert {*examples.calls} == {"make", "value", "encode", "decode"}
    assert kept
