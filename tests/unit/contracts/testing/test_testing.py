"""``counterfoil test``: what fails is counted and named, on columns as on values, in every language."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.testing.plan import Failures, Key, Proposed, RecordPlace, Repeats, Tally
from counterfoil.contracts.testing.sources import SampleUnderTest
from counterfoil.contracts.testing.verdict import findings_of
from counterfoil.schema.model import Metadata, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import id_prefix
from strategies.contracts.tested_records import (
    AVRO,
    CONTRACT,
    FINE,
    NOW_MS,
    ORDER,
    batch_of,
    counted,
    findings,
    message,
    quality,
)


def proposed_schema(text: dict[str, Any]) -> Proposed:
    tree = SchemaTree([SchemaFile("new.avsc", json.dumps(text).encode())], validation=Validation.STRICT)
    return Proposed(tree.read("new.avsc"), SchemaType.AVRO)


@pytest.mark.usefixtures("each_tier")
def test_each_constraint_names_the_records_that_fail_it():
    values = [
        FINE,
        FINE | {"id": "x"},
        FINE | {"total": 100},
        FINE | {"total": -1},
        FINE | {"discount": None},
        FINE | {"status": "LOST"},
        FINE | {"mail": "nobody"},
        FINE | {"lines": [{"sku": "7"}, {"sku": "x"}]},
        FINE | {"mail": None, "lines": []},
    ]
    found = findings(batch_of([message(each, ORDER) for each in values]))
    assert {key: each.text.partition(":")[0] for key, each in found.items()} == {
        ("pattern-unmatched", "id"): "1 of 9 records",
        ("value-outside-range", "total"): "2 of 9 records",
        ("value-missing", "discount"): "1 of 9 records",
        ("value-unlisted", "status"): "1 of 9 records",
        ("pattern-unmatched", "mail"): "1 of 9 records",
        ("pattern-unmatched", "lines[].sku"): "1 of 9 records",
    }
    outside = found["value-outside-range", "total"]
    assert outside.text.endswith("first at partition 0 offset 2 (id 1), partition 0 offset 3 (id 1)")
    assert (str(outside.position), outside.severity.value) == ("13:9", "error")
    assert found["value-unlisted", "status"].severity.value == "warning"


@pytest.mark.usefixtures("each_tier")
def test_a_required_field_is_missing_only_where_what_is_around_it_is_there():
    city = {"name": "city", "type": ["null", "string"], "default": None}
    address = {"type": "record", "name": "Address", "fields": [city]}
    schema = {"type": "record", "name": "Order", "fields": [{"name": "address", "type": ["null", address]}]}
    contract = CONTRACT.partition("      - {name: id")[0] + (
        "      - name: address\n        logicalType: object\n        properties:\n"
        "          - {name: city, logicalType: string, required: true}\n"
    )
    whole = contract.replace("logicalType: object\n        properties", "required: true\n        properties")
    messages = [
        message({"address": each}, Schema(json.dumps(schema))) for each in (None, {"city": None}, {"city": "Ulm"})
    ]
    found = findings(batch_of(messages), contract=contract, schemas=(Schema(json.dumps(schema)),))
    assert {key: each.text.partition(":")[0] for key, each in found.items()} == {
        ("value-missing", "address.city"): "1 of 3 records"
    }
    found = findings(batch_of(messages), contract=whole, schemas=(Schema(json.dumps(schema)),))
    assert {key: each.text.rpartition("offset ")[2] for key, each in found.items()} == {
        ("value-missing", "address"): "0 (id 1)",
        ("value-missing", "address.city"): "1 (id 1)",
    }


def test_what_cannot_be_decoded_fails_and_tombstones_are_counted():
    good = message(FINE, ORDER)
    batch = batch_of([good, good[:9], b"no frame", b"\0\0\0\0\x63x", None, b"", good + b"more"])
    test, tally = counted(batch)
    assert (tally.records, tally.tombstones, tally.failing) == (7, 1, 5)
    assert {label: (each.records, each.undecodable) for label, each in tally.writers.items()} == {
        "id 1": (3, 2),
        "id 99": (1, 1),
        "unknown": (2, 2),
    }
    (finding,) = findings_of(test, tally, SampleUnderTest("orders", "newest"))
    assert finding.rule == "record-undecodable"
    assert finding.text.startswith("5 of 6 records")


def test_values_are_shown_only_on_request_and_personal_ones_never():
    batch = batch_of([message(FINE | {"mail": "secret", "total": 777}, ORDER)])
    assert "777" not in str(findings(batch))
    shown = str(findings(batch, shows_values=True))
    assert "it is 777" in shown
    assert "secret (" not in shown
    assert 'it is "secret"' not in shown


def test_tags_of_the_writers_schema_hide_values_as_well():
    tagged = json.loads(json.dumps(AVRO))
    tagged["fields"][1]["confluent:tags"] = ["PII"]
    by_path = Schema(json.dumps(AVRO), metadata=Metadata(tags={"**.total": ("PII.amount",)}))
    for schema in (Schema(json.dumps(tagged)), by_path):
        batch = batch_of([message(FINE | {"total": 777}, schema)])
        assert "777" not in str(findings(batch, schemas=(schema,), shows_values=True))


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "id": st.sampled_from(["o1", "o2", "x", ""]),
                "total": st.sampled_from([0, 99, 100, -1, 2**62]),
                "discount": st.none() | st.integers(-5, 5),
                "status": st.sampled_from(["NEW", "PAID", "LOST"]),
                "mail": st.none() | st.sampled_from(["a@b", "c", "e\u0301"]),
                "at": st.just(0),
                "lines": st.lists(st.fixed_dictionaries({"sku": st.sampled_from(["1", "22", "x", "3\n"])}), max_size=3),
            }
        )
        | st.sampled_from([None, b"", b"\0\0\0\0\1", b"\0\0\0\0\1\2o\2", b"{}"]),
        max_size=30,
    )
)
def test_columns_and_values_count_the_same(rows):
    batch = batch_of([message(each, ORDER) if isinstance(each, dict) else each for each in rows])
    rules = (
        '{id: fits, type: custom, engine: cel, implementation: "message.total >= message.discount"}',
        "{type: library, metric: duplicateValues, arguments: {properties: [id, total]}, mustBe: 0}",
        "{type: library, metric: nullValues, arguments: {properties: [mail]}, mustBe: 0}",
    )
    contract = quality(*rules) + "    properties:\n" + CONTRACT.partition("    properties:\n")[2]
    _, fast = counted(batch, contract=contract)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTERFOIL_ACCELERATOR", "off")
        _, slow = counted(batch, contract=contract)
    assert fast.document() == slow.document()


def test_a_proposed_schema_reads_the_records_and_writes_their_values():
    proposed = {
        **AVRO,
        "fields": [
            *AVRO["fields"][:3],
            {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["NEW"]}},
            {"name": "added", "type": "string", "default": ""},
        ],
    }
    batch = batch_of([message(FINE, ORDER), message(FINE | {"status": "PAID"}, ORDER)])
    found = findings(batch, proposed=proposed_schema(proposed))
    assert "2 of 2 records" in found["record-unreadable", ""].text
    assert "string cannot be read as the reader's enum" in found["record-unreadable", ""].text
    assert "1 of 2 records" in found["record-unwritable", ""].text
    assert "status is not one of the symbols of S: NEW" in found["record-unwritable", ""].text
    widened = {**AVRO, "fields": [*AVRO["fields"], {"name": "more", "type": "string", "default": ""}]}
    _, tally = counted(batch, proposed=proposed_schema(widened))
    assert not {0, 1, 2} & tally.failures.keys()


def test_headers_and_keys_are_checked():
    contract = CONTRACT.replace(
        "    logicalType: object\n    properties",
        "    logicalType: object\n    customProperties:\n"
        "      - {property: messageKey, value: {field: id}}\n"
        '      - {property: headers, value: [{name: trace, required: true, pattern: "^[0-9]$"}]}\n'
        "    properties",
    )
    good = message(FINE, ORDER)
    headers = [[("trace", b"1")], [("trace", b"12")], None]
    found = findings(batch_of([good] * 3, keys=[b"o1", b"o2", b"o1"], headers=headers), contract=contract)
    assert found["header-missing", "$header.trace"].text.startswith("1 of 3 records")
    assert found["pattern-unmatched", "$header.trace"].text.startswith("1 of 3 records")
    assert "offset 1" in found["key-differs", "$key"].text


def test_what_consumers_expect_is_checked_at_its_place_in_their_file():
    consumer = """
apiVersion: v1.0.0
kind: DataProduct
id: billing
name: billing
version: 4.7.1
status: active
inputPorts:
  - name: orders
    version: "1"
    contractId: orders
    customProperties:
      - property: reads
        value:
          - {path: total, min: 10}
          - {path: "lines[].sku", enum: ["7"]}
"""
    batch = batch_of([message(FINE, ORDER)])
    (finding,) = findings(batch, consumer=consumer).values()
    assert (finding.rule, finding.path) == ("value-outside-range", "billing.odps.yaml")
    assert "total is not >= 10, as billing 4.7.1 expects" in finding.text


def test_json_and_protobuf_are_tested_as_values():
    contract = (
        CONTRACT.partition("    properties:\n")[0]
        + "    properties:\n      - {name: n, logicalType: integer, required: true, logicalTypeOptions: {maximum: 5}}\n"
    )
    json_schema = Schema('{"type": "object", "properties": {"n": {"type": "integer"}}}', SchemaType.JSON)
    messages = [id_prefix(1) + each for each in (b'{"n": 9}', b"{}", b'{"n": "x"}', b'{"n": 1}')]
    _, tally = counted(batch_of(messages), contract=contract, schemas=(json_schema,))
    assert (tally.writers["id 1"].undecodable, tally.failing) == (1, 3)
    proto = Schema('syntax = "proto3"; message A { int32 n = 1; }', SchemaType.PROTOBUF)
    messages = [message({"n": 9}, proto), message({"n": 2}, proto), id_prefix(1) + b"\x00\xff"]
    found = findings(batch_of(messages), contract=contract, schemas=(proto,))
    assert found["value-outside-range", "n"].text.startswith("1 of 3 records")
    assert found["record-undecodable", ""].text.startswith("1 of 3 records")


HOUR = 3_600_000


def test_windows_of_time_that_are_complete_are_counted():
    start = NOW_MS // HOUR * HOUR - 5 * HOUR
    stamps = [start - 10, start, start + 1, start + HOUR, start + 3 * HOUR]
    batch = batch_of([message(FINE, ORDER)] * 5, timestamps=stamps)
    rule = "{type: library, metric: rowCount, arguments: {window: PT1H}, mustBeGreaterOrEqualTo: 2, severity: warning}"
    sample = SampleUnderTest("orders", "newest", offsets={0: ((3, 8),)}, bounds={0: (0, 8)}, taken_ms=start + 4 * HOUR)
    (finding,) = findings(batch, contract=quality(rule), sample=sample).values()
    assert (finding.rule, finding.severity.value) == ("quality-failed", "warning")
    assert "rowCount is 1, and must be at least 2, in the windows of 1 hour" in finding.text
    assert finding.text.count("Z") == 3  # the first window is complete and has two; the three after it do not
    scattered = SampleUnderTest("orders", "spread", offsets={0: ((0, 1), (4, 8))}, bounds={0: (0, 8)}, taken_ms=start)
    (notice,) = findings(batch, contract=quality(rule), sample=scattered).values()
    assert notice.rule == "quality-unchecked"


def test_a_window_is_given_to_the_rules_that_name_none():
    start = NOW_MS // HOUR * HOUR - 5 * HOUR
    batch = batch_of([message(FINE, ORDER)] * 4, timestamps=[start, start + 1, start + HOUR, start + 3 * HOUR])
    sample = SampleUnderTest("orders", "newest", offsets={0: ((0, 4),)}, bounds={0: (0, 4)}, taken_ms=start + 4 * HOUR)
    without = quality(
        "{id: one, type: library, metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0}",
        "{id: two, type: library, metric: rowCount, mustBeBetween: [2, 4]}",
        "{id: own, type: library, metric: rowCount, arguments: {window: P1D}, mustBeLessThan: 9}",
    )
    whole = findings(batch, contract=without, sample=sample)
    assert "duplicateValues is 3, and must be exactly 0" in whole["quality-failed", "one"].text
    assert ("quality-failed", "two") not in whole
    hourly = findings(batch, contract=without, sample=sample, window_ms=HOUR)
    assert (
        "duplicateValues is 1, and must be exactly 0, in the windows of 1 hour" in hourly["quality-failed", "one"].text
    )
    assert (
        "rowCount is 1, and must be between 2 and 4, in the windows of 1 hour" in hourly["quality-failed", "two"].text
    )
    assert {key[1] for key in hourly} == {"one", "two", "own"}  # no whole day was read, which a notice says
    assert hourly["quality-unchecked", "own"].rule == "quality-unchecked"


def test_duplicates_shares_and_rules_that_cannot_be_checked():
    values = [FINE, FINE, FINE | {"id": "o2"}, FINE | {"mail": None}]
    batch = batch_of([message(each, ORDER) for each in values])
    found = findings(
        batch,
        contract=quality(
            "{id: twice, type: library, metric: duplicateValues, arguments: {properties: [id]}, mustBeLessThan: 2}",
            "{id: mails, type: library, metric: nullValues, arguments: {properties: [mail]}, unit: percent, "
            "mustBeLessThan: 20}",
            "{id: known, type: library, metric: invalidValues, arguments: {properties: [status], validValues: [NEW]}, "
            "mustBe: 0}",
            "{id: sql, type: sql, query: 'SELECT 1', mustBe: 1}",
            "{id: endless, type: library, metric: rowCount, arguments: {window: often}, mustBe: 1}",
        ),
    )
    assert {key[1] or each.text.split()[0] for key, each in found.items()} == {"twice", "mails", "sql", "endless"}
    assert "duplicateValues is 2, and must be less than 2" in found["quality-failed", "twice"].text
    assert "nullValues is 25%, and must be less than 20" in found["quality-failed", "mails"].text


def test_an_old_newest_record_misses_the_promised_freshness():
    contract = CONTRACT + "slaProperties: [{property: freshness, value: 5, unit: minutes, element: Order.at}]\n"
    fresh = message(FINE | {"at": NOW_MS - 60_000}, ORDER)
    old = message(FINE | {"at": NOW_MS - 7_200_000}, ORDER)
    assert not findings(batch_of([old, fresh]), contract=contract)
    (finding,) = findings(batch_of([old]), contract=contract).values()
    assert finding.rule == "sla-missed"
    assert "2 hours before the test" in finding.text


def test_counts_of_parts_are_added_and_survive_json():
    batch = batch_of([message(FINE | {"total": 100 + number}, ORDER) for number in range(9)])
    _, whole = counted(batch)
    merged = Tally.read(json.loads(json.dumps(whole.document())))
    merged.merge(Tally.read(json.loads(json.dumps(whole.document()))))
    assert merged.records == 18
    assert merged.writers["id 1"].failing == 18
    (failures,) = merged.failures.values()
    assert (failures.count, len(failures.places)) == (18, 5)
    kept = Failures()
    for offset in (9, 3, 7, 1, 5, 2, 8):
        kept.add(RecordPlace(0, offset, "id 1"))
    assert [each.offset for each in kept.places] == [1, 2, 3, 5, 7]


def test_repeated_keys_are_forgotten_before_they_fill_the_memory():
    repeats = Repeats(1000, most_keys=3)
    place = RecordPlace(0, 0, "id 1")
    assert repeats.add([Key(1, 0, place), Key(1, 500, place), Key(1, 1_000, place)]) == [(1, 0)]
    assert not repeats.is_crowded
    repeats.add([Key(number, 5_000, place) for number in range(5)])
    assert repeats.is_crowded
