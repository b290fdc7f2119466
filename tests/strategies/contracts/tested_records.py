"""A contract of orders, and batches of records that are tested against it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from counterfoil.contracts.check.agreements import Agreements, read_file
from counterfoil.contracts.testing.plan import RecordTestPlan, Writers
from counterfoil.contracts.testing.promises import topic_test
from counterfoil.contracts.testing.sources import RecordBatch, SampleUnderTest
from counterfoil.contracts.testing.tester import TopicTester
from counterfoil.contracts.testing.verdict import findings_of
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk import Registry
from counterfoil.sdk.client.bundle import URL, Bundle, BundledVersion, BundleTransport
from counterfoil.sdk.serde.multi import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "total", "type": "long"},
        {"name": "discount", "type": ["null", "long"], "default": None},
        {"name": "status", "type": "string"},
        {"name": "mail", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]},
            },
        },
    ],
}
CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: Order
    physicalName: orders
    logicalType: object
    properties:
      - {name: id, logicalType: string, required: true, logicalTypeOptions: {pattern: "^o"}}
      - {name: total, logicalType: integer, required: true, logicalTypeOptions: {minimum: 0, exclusiveMaximum: 100}}
      - {name: discount, logicalType: integer, required: true}
      - name: status
        logicalType: string
        enum: [{value: NEW}, {value: PAID}]
        customProperties: [{property: enumPolicy, value: open}]
      - {name: mail, logicalType: string, tags: [pii], classification: secret, logicalTypeOptions: {pattern: "@"}}
      - name: lines
        logicalType: array
        items:
          logicalType: object
          properties:
            - {name: sku, logicalType: string, logicalTypeOptions: {pattern: "^[0-9]+$"}}
"""
FINE = {"id": "o1", "total": 1, "discount": 0, "status": "NEW", "mail": "a@b", "at": 0, "lines": [{"sku": "7"}]}
ORDER = Schema(json.dumps(AVRO))
NOW_MS = 1_800_000_000_000


def registry_of(*schemas: Schema) -> Registry:
    """Return a registry that has schemas under the ids 1, 2 and so on."""
    versions = tuple(
        BundledVersion("s", number, number, content_guid(each.text, (), each.metadata, None), each)
        for number, each in enumerate(schemas, 1)
    )
    return Registry(URL, transport=BundleTransport(Bundle("test", "2026-01-01T00:00:00Z", versions)))


def message(value: Any, schema: Schema, schema_id: int = 1) -> bytes:
    codec = LANGUAGES[schema.schema_type].make_codec()
    parsed = codec.parse(schema, (), validation=Validation.LENIENT)
    return codec.encoder(parsed)(value, id_prefix(schema_id) + codec.frame_suffix(parsed))


def batch_of(messages: Sequence[Any], *, keys: Any = None, headers: Any = None, timestamps: Any = None) -> RecordBatch:
    count = len(messages)
    return RecordBatch(
        [0] * count,
        list(range(count)),
        timestamps or [NOW_MS] * count,
        keys or [None] * count,
        list(messages),
        headers or [None] * count,
    )


def counted(
    batch: RecordBatch,
    *,
    contract: str = CONTRACT,
    schemas: Sequence[Schema] = (ORDER,),
    consumer: str | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Return the test of the only topic of a contract, and what was counted."""
    files = [read_file("orders.odcs.yaml", contract.encode())]
    files += [read_file("billing.odps.yaml", consumer.encode())] if consumer else []
    assert not [fault for file in files for fault in file.reading.faults]
    sides = Agreements.of(files, consumer_files=frozenset({"billing.odps.yaml"}))
    (path, agreement) = sides.contracts["orders"]
    window_ms = options.pop("window_ms", 0)
    readers = sides.of_contract("orders")
    test = topic_test(agreement, agreement.promises[0], file=path, consumers=readers, window_ms=window_ms)
    registry = registry_of(*schemas)
    proposed = options.pop("proposed", None)
    plan = RecordTestPlan(test, keys=Writers(lambda: registry), has_proposed=proposed is not None, **options)
    tester = TopicTester(plan, Writers(lambda: registry, proposed))
    tester.feed(batch)
    return test, tester.tally


def findings(
    batch: RecordBatch, *, sample: SampleUnderTest | None = None, **options: Any
) -> dict[tuple[str, str], Any]:
    test, tally = counted(batch, **options)
    taken = sample or SampleUnderTest("orders", "newest", offsets={0: ((0, 9),)}, bounds={0: (0, 9)}, taken_ms=NOW_MS)
    return {(each.rule, each.element): each for each in findings_of(test, tally, taken)}


def quality(*rules: str) -> str:
    head = CONTRACT.partition("    properties:\n")[0]
    return head + "    quality:\n" + "".join(f"      - {rule}\n" for rule in rules)
