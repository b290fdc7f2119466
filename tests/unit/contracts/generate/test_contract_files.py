"""Generated contract and product files: valid under their standards, and they say what the schema says."""

from __future__ import annotations

import pytest

from counterfoil.contracts.generate.documents import (
    ConsumerFacts,
    ContractFacts,
    all_reads,
    consumer_text,
    contract_text,
)
from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements.files import read_agreement
from counterfoil.schema.agreements.model import Contract, DataProduct
from counterfoil.schema.paths import print_path
from strategies.contracts.agreement_files import SCHEMA

AVRO = parse_schema(SCHEMA)
PROTOBUF = parse_schema(
    'syntax = "proto3"; package shop; message Order { string id = 1; optional int64 total = 2; '
    "repeated Line lines = 3; map<string, double> rates = 4; Order parent = 5; "
    "oneof payment { string card = 6; int32 cash = 7; } "
    "enum Kind { NEW = 0; PAID = 1; } Kind kind = 8; message Line { string sku = 1; } }",
    SchemaType.PROTOBUF,
)
JSON = parse_schema(
    '{"title": "Order", "type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "at": {"type": '
    '"string", "format": "date-time"}, "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": '
    '{"type": ["string", "null"]}}}}, "any": true, "status": {"enum": ["NEW", "PAID"]}}}',
    SchemaType.JSON,
)
FACTS = ContractFacts(id="orders", topic="orders", subject="orders-value", owner="checkout")


@pytest.mark.parametrize("schema", [AVRO, PROTOBUF, JSON], ids=["avro", "protobuf", "json"])
def test_a_generated_contract_is_valid_and_its_fields_are_in_the_schema(schema) -> None:
    reading = read_agreement(contract_text(schema, FACTS, has_fields=True))
    assert reading.faults == ()
    assert isinstance(reading.agreement, Contract)
    (promise,) = reading.agreement.promises
    assert (promise.subject, promise.topic, reading.agreement.owner) == ("orders-value", "orders", "checkout")
    for field in promise.fields:
        schema.target_of(field.path)  # raises for a path that is not there


def test_types_and_required_fields_are_those_of_the_schema() -> None:
    reading = read_agreement(contract_text(PROTOBUF, FACTS, has_fields=True))
    assert isinstance(reading.agreement, Contract)
    found = {print_path(each.path): each for each in reading.agreement.promises[0].fields}
    assert {name: each.logical_type for name, each in found.items()} == {
        "id": "string",
        "total": "integer",
        "lines": "array",
        "lines[]": "object",
        "lines[].sku": "string",
        "rates": "map",
        "rates{}": "number",
        "parent": "object",
        "card": "string",
        "cash": "integer",
        "kind": "string",
    }
    assert {name for name, each in found.items() if each.is_required} == {"id", "lines", "lines[].sku", "rates", "kind"}
    assert [each.value for each in found["kind"].enum or ()] == ["NEW", "PAID"]


def test_bytes_have_no_logical_type() -> None:
    text = (
        '{"type": "record", "name": "R", "fields": [{"name": "raw", "type": "bytes"}, {"name": "hash", "type": '
        '{"type": "fixed", "name": "Hash", "size": 4}}, {"name": "id", "type": "string"}]}'
    )
    reading = read_agreement(contract_text(parse_schema(text), FACTS, has_fields=True))
    assert reading.faults == ()
    assert isinstance(reading.agreement, Contract)
    (promise,) = reading.agreement.promises
    assert [each.logical_type for each in promise.fields] == [None, None, "string"]


def test_a_contract_of_a_file_refers_to_it_and_repeats_nothing() -> None:
    facts = ContractFacts(id="orders", topic="orders", subject="shop-orders", schema_path="./order.avsc")
    reading = read_agreement(contract_text(AVRO, facts, has_fields=False))
    assert isinstance(reading.agreement, Contract)
    (promise,) = reading.agreement.promises
    assert promise.schema is not None
    assert promise.schema.url == "./order.avsc"
    assert promise.fields == ()
    assert promise.subject == "shop-orders"


def test_a_generated_consumer_is_valid_and_reads_all_fields() -> None:
    reads = all_reads(AVRO)
    assert reads == ["order_id", "total_cents", "discount_cents", "status", "email", "items[].sku", "placed_at"]
    reading = read_agreement(consumer_text(ConsumerFacts("billing", "orders", "2"), reads))
    assert reading.faults == ()
    assert isinstance(reading.agreement, DataProduct)
    (port,) = reading.agreement.expectations
    assert [print_path(each.path) for each in port.reads or ()] == reads
    assert (port.contract_id, port.version) == ("orders", "2")
    assert all_reads(parse_schema('"string"')) == ["*"]
