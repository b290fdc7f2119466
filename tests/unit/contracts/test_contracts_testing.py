"""``counterfoil test``: what fails is counted and named, on columns as on values, in every language."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from counterfoil.contracts.check.agreements import Agreements, read_file
from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.contracts.testing.batches import RecordBatch, repeated_key
from counterfoil.contracts.testing.plan import Proposed, RecordTestPlan, Writers
from counterfoil.contracts.testing.promises import topic_test
from counterfoil.contracts.testing.sources import SampleUnderTest
from counterfoil.contracts.testing.tally import Failures, Key, RecordPlace, Repeats, Tally
from counterfoil.contracts.testing.tester import TopicTester
from counterfoil.contracts.testing.verdict import findings_of
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Metadata, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk import Registry
from counterfoil.sdk.client.bundle import URL, Bundle, BundledVersion, BundleTransport
from counterfoil.sdk.serde.avro.numbers import encode_long
from counterfoil.sdk.serde.multi import LANGUAGES

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


def batch_of(messages, *, keys=None, headers=None, timestamps=None) -> RecordBatch:
    count = len(messages)
    return RecordBatch(
        [0] * count,
        list(range(count)),
        timestamps or [NOW_MS] * count,
        keys or [None] * count,
        list(messages),
        headers or [None] * count,
    )


def counted(batch, *, contract=CONTRACT, schemas=(ORDER,), consumer=None, **options):
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


def findings(batch, *, sample=None, **options):
    test, tally = counted(batch, **options)
    taken = sample or SampleUnderTest("orders", "newest", offsets={0: ((0, 9),)}, bounds={0: (0, 9)}, taken_ms=NOW_MS)
    return {(each.rule, each.element): each for each in findings_of(test, tally, taken)}


def quality(*rules: str) -> str:
    head = CONTRACT.partition("    properties:\n")[0]
    return head + "    quality:\n" + "".join(f"      - {rule}\n" for rule in rules)


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


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a contract, its writer's schema and a few messages."""
    monkeypatch.chdir(tmp_path)
    for name in ("COUNTERFOIL_BOOTSTRAP_SERVERS", "COUNTERFOIL_REGISTRY_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "orders.odcs.yaml").write_text(CONTRACT)
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids" / "1.avsc").write_text(json.dumps(AVRO))
    good = message(FINE, ORDER)
    bad = message(FINE | {"total": 500}, ORDER)
    (tmp_path / "good.hex").write_text(f"{good.hex()}\n{good.hex()}\n")
    (tmp_path / "bad.hex").write_text(f"{good.hex()}\n{bad.hex()}\n")
    (tmp_path / "one.bin").write_bytes(good)
    (tmp_path / "empty.jsonl").write_text("")
    return tmp_path


@pytest.fixture
def call(capsys):
    """A function that runs ``counterfoil test``, and returns its exit code and what it printed."""

    def run_command(*arguments):
        code = run(root_command(), ["test", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--from-file", "good.hex"), 0, "0 errors, 0 warnings; 2 records of 1 topic tested (exit 0)"),
        (("--from-file", "one.bin"), 0, "1 record of 1 topic tested"),
        (("--from-file", "bad.hex"), 1, "value-outside-range"),
        (("--from-file", "bad.hex", "--fail-on", "never"), 0, "value-outside-range"),
        (("--from-file", "empty.jsonl"), 4, "0 records of 1 topic tested (exit 4)"),
        (("--from-file", "empty.jsonl", "--allow-empty"), 0, "0 records"),
        (("ids",), 4, "0 records of 0 topics"),
        ((), 2, "test needs --bootstrap-servers"),
        (("--sample", "newst"), 2, "did you mean newest?"),
        (("--from-file", "good.hex", "--window", "hourly"), 2, "--window 'hourly' is no duration such as PT1H"),
        (("--from-file", "good.hex", "--window", "PT0S"), 2, "is no duration such as PT1H or P1D"),
        (("--from-file", "good.hex", "--window", "PT1H"), 0, "2 records of 1 topic tested"),
        (("--sample", "since=once"), 2, "names no moment"),
        (("--topic", "order", "--from-file", "good.hex"), 2, "did you mean orders?"),
        (("--server", "production"), 2, "has no such server"),
        (("--from-file", "good.hex", "--engine", "spark"), 2, "--from-file names a file"),
        (("--from-file", "orders.odcs.yaml"), 14, "orders.odcs.yaml:2:1 is no valid record"),
        (("nowhere",), 14, "there is no file or folder 'nowhere'"),
        (("--from-file", "good.hex", "--proposed", "nothing.avsc"), 14, "there is no file 'nothing.avsc'"),
    ],
)
def test_exit_codes(folder, call, arguments, code, said):
    found, out, err = call(*arguments, "--schemas", str(folder / "ids"))
    assert found == code, out + err
    assert said in out + err


def test_a_folder_without_schemas_and_a_contract_that_is_not_valid(folder, call):
    code, _, err = call("--from-file", "good.hex", "--schemas", "absent")
    assert (code, "there is no folder 'absent'" in err) == (14, True)
    (folder / "ids" / "1.avsc").unlink()
    code, _, err = call("--from-file", "good.hex", "--schemas", "ids")
    assert (code, "named by their ids" in err) == (14, True)
    (folder / "orders.odcs.yaml").write_text(CONTRACT.replace("status: active\n", "status: 7\n"))
    code, _, err = call("--from-file", "good.hex")
    assert (code, "orders.odcs.yaml:6:9 is no valid contract or product file" in err) == (14, True)
    (folder / "orders.odcs.yaml").write_text(quality('{id: r, type: custom, engine: cel, implementation: "message.("}'))
    code, _, err = call("--from-file", "good.hex")
    assert (code, "orders.odcs.yaml:12:" in err and "is not valid CEL" in err) == (14, True), err


def test_every_format_of_the_report(folder, call):
    forms = ("json", "junit", "sarif", "github", "gitlab", "markdown", "html")
    wanted = [argument for form in forms for argument in ("--format", f"{form}=report.{form}")]
    assert call("--from-file", "bad.hex", "--schemas", "ids", *wanted)[0] == 1
    for form in forms:
        assert "value-outside-range" in (folder / f"report.{form}").read_text()
    document = json.loads((folder / "report.json").read_text())
    Draft202012Validator(report_json_schema()).validate(document)
    (verification,) = document["verifications"]
    assert verification["contract"] == {"id": "orders", "version": "1.0.0"}
    assert verification["schemaIds"] == [1]
    assert verification["sample"]["records"] == 2
    (failure,) = verification["results"]["failures"]
    assert (failure["rule"], failure["element"], failure["records"]) == ("value-outside-range", "total", 1)
    assert failure["first"] == [{"partition": 0, "offset": 1, "writer": "id 1", "reason": ""}]


def test_findings_are_accepted_and_ignored_by_the_project_file(folder, call):
    (folder / "counterfoil.yaml").write_text("ignore: [{rule: value-outside-range, reason: known}]\n")
    code, out, _ = call("--from-file", "bad.hex", "--schemas", "ids")
    assert (code, "value-outside-range" in out) == (0, False)


def test_an_object_container_file_has_its_own_schema(folder, call):
    import fastavro

    with (folder / "orders.avro").open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(AVRO), [FINE, FINE | {"total": 500}], codec="deflate")
    code, out, _ = call("--from-file", "orders.avro")
    assert (code, "1 of 2 records: total is not >= 0 and < 100" in out) == (1, True)
    damaged = (folder / "orders.avro").read_bytes()
    (folder / "orders.avro").write_bytes(damaged[:-30])
    code, _, err = call("--from-file", "orders.avro")
    assert (code, "is no valid object container file: the block at byte" in err) == (14, True)


@pytest.mark.parametrize("text", [b"", b"{", b'"nothing"', b'{"type": "record"}'])
def test_an_object_container_file_whose_schema_is_not_valid(folder, call, text):
    metadata = b"".join(encode_long(len(each)) + each for each in (b"avro.schema", text))
    (folder / "orders.avro").write_bytes(b"Obj\x01" + encode_long(1) + metadata + encode_long(0) + bytes(16))
    code, _, err = call("--from-file", "orders.avro")
    assert (code, "is no valid object container file: its schema cannot be read" in err) == (14, True)


FRAMED = {
    SchemaType.AVRO: (Schema('{"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}'), b"\4ab"),
    SchemaType.PROTOBUF: (
        Schema('syntax = "proto3"; message R { string id = 1; } message Other { int32 n = 1; }', SchemaType.PROTOBUF),
        b"\x0a\2ab",
    ),
    SchemaType.JSON: (
        Schema('{"type": "object", "properties": {"id": {"type": "string"}}}', SchemaType.JSON),
        b'{"id": "ab"}',
    ),
}
SIMPLE = CONTRACT.partition("    properties:\n")[0] + "    properties: [{name: id, logicalType: string}]\n"
BAD_FRAMES = {
    "no bytes": b"",
    "wrong magic byte": b"\7\0\0\0\1",
    "frame cut off": b"\0\0\0",
    "unknown id": b"\0\0\0\x09\x09",
    "id of no registry": b"\0\xff\xff\xff\xff",
    "unknown guid": b"\1" + bytes(range(16)),
    "guid cut off": b"\1\1\2",
}
BAD_INDEXES = {
    "unknown message": b"\2\x0a",
    "unknown message inside": b"\4\0\x0a",
    "negative message": b"\2\1",
    "index that does not end": b"\2\x80",
    "more indexes than bytes": b"\xfe\xff\xff\xff\x0f",
    "index of eleven bytes": b"\x80" * 11,
    "no index": b"",
}


@pytest.mark.parametrize("language", SchemaType)
@pytest.mark.parametrize("bad_first", [False, True])
def test_a_frame_that_cannot_be_read_is_one_undecodable_record(language, bad_first):
    schema, value = FRAMED[language]
    good = id_prefix(1) + (b"\0" if language is SchemaType.PROTOBUF else b"") + value
    bad = {name: data + (value if len(data) in {5, 17} else b"") for name, data in BAD_FRAMES.items()}
    if language is SchemaType.PROTOBUF:
        bad |= {name: id_prefix(1) + data for name, data in BAD_INDEXES.items()}
    messages = [each for data in bad.values() for each in ((data, good) if bad_first else (good, data))]
    places = {at for at, data in enumerate(messages) if data != good}
    _, tally = counted(batch_of(messages), contract=SIMPLE, schemas=(schema,))
    assert sum(each.undecodable for each in tally.writers.values()) == len(bad)
    assert sum(each.fine for each in tally.writers.values()) == len(messages) - len(bad)
    assert (tally.records, tally.failing, tally.failures[0].count) == (len(messages), len(bad), len(bad))
    assert {place.offset for place in tally.failures[0].places} <= places
    for data in bad.values():  # each by itself, with its offset
        _, one = counted(batch_of([good, data, good]), contract=SIMPLE, schemas=(schema,))
        assert [place.offset for place in one.failures[0].places] == [1], data


@pytest.mark.parametrize("language", SchemaType)
def test_a_header_or_a_key_that_cannot_be_read_does_not_end_the_test(language):
    schema, value = FRAMED[language]
    guid = content_guid(schema.text, (), None, None).bytes
    suffix = b"\0" if language is SchemaType.PROTOBUF else b""
    named = [b"\1" + guid + suffix, b"\1" + guid[:5], b"\1" + bytes(16) + suffix, b"\7", b""]
    if language is SchemaType.PROTOBUF:
        named += [b"\1" + guid + each for each in BAD_INDEXES.values()]
    headers = [[("__value_schema_id", each)] for each in named]
    keys = [b"\0\0\0\x09\x09k", b"\0\0", b"\7", id_prefix(1) + b"\2\x80", id_prefix(1)]
    keys += [b"\xff"] * (len(named) - len(keys))
    contract = SIMPLE.replace(
        "    properties:", "    customProperties: [{property: messageKey, value: {field: id}}]\n    properties:"
    )
    _, tally = counted(batch_of([value] * len(named), headers=headers, keys=keys), contract=contract, schemas=(schema,))
    assert sum(each.undecodable for each in tally.writers.values()) == len(named) - 1
    assert 0 not in {place.offset for place in tally.failures[0].places}


REPEATED = {
    '{"id": "a", "id": "b"}': True,
    '{"id": "a", "\\u0069d": "b"}': True,
    '{"x": {"y": [{"z": 1, "z": 1}]}}': True,
    '{":": 1, "a": 2, ":": 3}': True,
    '{"": 1, "": 2}': True,
    '{"a": [{"b": 1}, {"b": 2}], "c": {"a": 1}}': False,
    '{"a": "\\"a\\": 1, \\"a\\": 2", "b": ": \\"a\\""}': False,
    '{"a": "a", "b": "a", "\\u0063": "c"}': False,
    "[]": False,
    "7": False,
}


@pytest.mark.parametrize("text", REPEATED)
def test_keys_that_a_json_object_has_twice_are_counted(text):
    schema = Schema("true", SchemaType.JSON)
    data = id_prefix(1) + text.encode()
    fine = id_prefix(1) + b'{"a": 1}'
    found = findings(batch_of([fine, data, None, fine]), contract=SIMPLE, schemas=(schema,))
    _, tally = counted(batch_of([fine, data, None, fine]), contract=SIMPLE, schemas=(schema,))
    assert tally.repeated_keys.count == REPEATED[text]
    assert [each.offset for each in tally.repeated_keys.places] == ([1] if REPEATED[text] else [])
    assert (("record-key-repeated", "") in found) == REPEATED[text]
    assert Tally.read(json.loads(json.dumps(tally.document()))) == tally
    assert tally.failing == 0


@given(st.recursive(st.none() | st.text(max_size=3), lambda inner: st.lists(st.tuples(st.text(max_size=2), inner))))
def test_a_key_is_twice_where_an_object_is_written_with_it_twice(value):
    """Objects are lists of pairs here; the judge looks at these, not at the text."""

    def written(each):
        if isinstance(each, list):
            return "{" + ", ".join(f"{json.dumps(key)}: {written(one)}" for key, one in each) + "}"
        return json.dumps(each, ensure_ascii=False)

    def is_twice(each):
        names = [key for key, _ in each] if isinstance(each, list) else []
        return len(names) != len(set(names)) or any(is_twice(one) for _, one in (each if names else []))

    assert (repeated_key(written(value).encode("utf-8", "surrogatepass")) is not None) == is_twice(value)
