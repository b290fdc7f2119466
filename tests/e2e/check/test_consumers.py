"""``counterfoil check --consumers``: every rule about readers in a real repository, and the three gates."""

from __future__ import annotations

import json

import pytest

CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: orders.placed
version: 2.1.0
status: active
team:
  name: checkout
schema:
  - name: OrderPlaced
    physicalName: orders.placed
    authoritativeDefinitions:
      - {type: schema, url: ../schemas/order.avsc}
    customProperties:
      - property: messageKey
        value: {schema: ../schemas/key.avsc, field: order_id}
      - property: headers
        value:
          - {name: trace_id, required: true}
    properties:
      - name: total_cents
        logicalType: integer
        logicalTypeOptions: {minimum: 0}
        customProperties:
          - {property: unit, value: EUR.cent}
      - name: note
        logicalType: string
        enum:
          - {value: GIFT, description: to be wrapped}
        customProperties:
          - {property: enumPolicy, value: closed}
      - name: email
        logicalType: string
        classification: confidential
        tags: [pii]
"""
SCHEMA = """\
{"type": "record", "name": "OrderPlaced", "namespace": "shop", "fields": [
  {"name": "order_id", "type": "string"},
  {"name": "total_cents", "type": "long"},
  {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]}},
  {"name": "email", "type": ["null", "string"], "default": null},
  {"name": "note", "type": "string"},
  {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [
    {"name": "count", "type": "int"},
    {"name": "sku", "type": "string"}]}}}]}
"""
KEY = """\
{"type": "record", "name": "OrderKey", "namespace": "shop", "fields": [
  {"name": "id", "type": "string"},
  {"name": "shard", "type": "int"}]}
"""
BILLING = """\
apiVersion: v1.0.0
kind: DataProduct
id: billing
name: billing
version: 4.7.1
status: active
team:
  name: finance
inputPorts:
  - name: orders
    version: "2"
    contractId: orders.placed
    customProperties:
      - property: reads
        value:
          - {path: order_id, required: true}
          - {path: total_cents, as: integer, min: 0, unit: EUR.cent}
          - {path: status, enum: [NEW, PAID]}
          - {path: note, enum: [GIFT]}
          - items[].sku
          - $key.id
          - $header.trace_id
"""
AUDIT = (
    f"{BILLING.replace('billing', 'audit').partition('        value:')[0]}        value:\n          - items[].count\n"
)
FILES = {
    "contracts/orders.odcs.yaml": CONTRACT,
    "schemas/order.avsc": SCHEMA,
    "schemas/key.avsc": KEY,
    "consumers/billing.odps.yaml": BILLING,
    "consumers/audit.odps.yaml": AUDIT,
}
ORDERS, ORDER, PRODUCT, OTHER = (
    "contracts/orders.odcs.yaml", "schemas/order.avsc", "consumers/billing.odps.yaml", "consumers/audit.odps.yaml"
)  # fmt: skip
BY_LEVEL_NONE = ("--level", "NONE")

BREAKS = {
    "of the schema and the contract": [
        ("consumer-field-missing", "error", ORDER, '},\n    {"name": "sku", "type": "string"}', "}", 7),
        ("consumer-field-missing", "error", "schemas/key.avsc", '  {"name": "id", "type": "string"},\n', "", 1),
        ("key-schema-changed", "warning", "schemas/key.avsc", '"shard", "type": "int"', '"shard", "type": "long"', 1),
        ("consumer-type-narrowed", "error", ORDER, '_cents", "type": "long"', '_cents", "type": "double"', 3),
        ("consumer-nullable", "error", ORDER, '_id", "type": "string"', '_id", "type": ["null", "string"]', 2),
        ("consumer-enum-unknown", "error", ORDER, '"PAID"]', '"PAID", "LOST"]', 4),
        ("expectation-broken", "error", ORDERS, "{minimum: 0}", "{minimum: -5}", 22),
        ("unit-changed", "error", ORDERS, "EUR.cent", "EUR", 24),
        ("enum-meaning-changed", "warning", ORDERS, "to be wrapped", "to be thrown away", 28),
        ("pii-tag-removed", "error", ORDERS, "tags: [pii]", "tags: [contact]", 34),
        ("key-changed", "error", ORDERS, "field: order_id", "field: note", 15),
        ("header-missing", "error", ORDERS, "trace_id, required: true", "span_id, required: true", 18),
    ],
    "of the schema, and a new reader": [
        ("consumer-field-missing", "error", ORDER, '  {"name": "total_cents", "type": "long"},\n', "", 1),
        ("pii-newly-read", "warning", OTHER, "- items[].count", "- email", 16),
    ],
    "of the contract, and of a consumer": [
        ("expectation-unbacked", "warning", ORDERS, "        logicalTypeOptions: {minimum: 0}\n", "", 20),
        ("consumer-field-missing", "error", OTHER, "- items[].count", "- order_number", 16),
    ],
    "of the consumers": [
        ("consumer-type-narrowed", "error", PRODUCT, "as: integer", "as: string", 17),
        ("expectation-unbacked", "warning", PRODUCT, "min: 0,", "min: 0, max: 9,", 17),
        ("unit-changed", "error", PRODUCT, "unit: EUR.cent", "unit: EUR", 17),
        ("contract-unknown", "warning", OTHER, "contractId: orders.placed", "contractId: orders.lost", 12),
    ],
    "of references": [
        ("schema-file-missing", "error", ORDERS, "order.avsc}", "lost.avsc}", 12),
        ("contract-version-differs", "warning", OTHER, 'version: "2"', 'version: "7"', 11),
    ],
    "of a document": [("document-invalid", "error", OTHER, "inputPorts:", "inputPort:", 9)],
}


@pytest.fixture
def shop(workshop):
    """A repository with a contract, its schemas and two consumers, committed."""
    for path, text in FILES.items():
        workshop.write(path, text)
    workshop.commit()
    return workshop


@pytest.fixture
def run(counterfoil, shop):
    """A function from options to the outcome of a check with consumers."""
    return lambda *options, consumers="consumers": counterfoil(
        "check", "--consumers", consumers, *options, folder=shop.folder
    )


def _edit(shop, path, before, after):
    text = (shop.folder / path).read_text()
    assert before in text
    shop.write(path, text.replace(before, after, 1))


def _places(outcome):
    return [(one["rule"], one["severity"], one["path"], one["line"]) for one in outcome.report["findings"]]


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
def test_each_break_is_found_at_its_line_and_nothing_else(run, shop, breaks):
    for _, _, path, before, after, _ in breaks:
        _edit(shop, path, before, after)
    outcome = run(*BY_LEVEL_NONE, "--format", "json")
    assert sorted(_places(outcome)) == sorted((rule, word, path, line) for rule, word, path, _, _, line in breaks)
    assert outcome.code == 1


def test_a_break_of_a_type_is_at_the_line_of_the_type(run, shop):
    shop.write(ORDER, json.loads(SCHEMA))
    shop.commit()
    for before, after in (
        (
            '"name": "order_id",\n   "type": "string"',
            '"name": "order_id",\n   "type": [\n    "null",\n    "string"\n   ]',
        ),
        ('"name": "total_cents",\n   "type": "long"', '"name": "total_cents",\n   "type": "double"'),
        ('"PAID"', '"PAID",\n     "LOST"'),
    ):
        _edit(shop, ORDER, before, after)
    lines = (shop.folder / ORDER).read_text().splitlines()
    outcome = run(*BY_LEVEL_NONE, "--against", "HEAD", "--format", "json")
    assert [(place[0], lines[place[3] - 1].strip()) for place in _places(outcome)] == [
        ("consumer-nullable", '"type": ['),
        ("consumer-type-narrowed", '"type": "double"'),
        ("consumer-enum-unknown", '"symbols": ['),
    ]


def test_an_unchanged_repository_has_no_findings(run):
    outcome = run("--format", "json")
    assert (outcome.code, outcome.report["findings"], outcome.report["summary"]["consumers"]) == (0, [], 2)


def test_a_value_added_to_a_closed_enum(run, shop):
    _edit(shop, ORDERS, "to be wrapped}\n", "to be wrapped}\n          - {value: BULK, description: by the box}\n")
    outcome = run(*BY_LEVEL_NONE, "--format", "json")
    assert [place[0] for place in _places(outcome)] == ["expectation-broken", "enum-symbol-added-closed"]
    assert [place[3] for place in _places(outcome)] == [28, 29]


def test_a_finding_names_who_reads_and_who_does_not(run, shop):
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    found = run("--format", "json").report["findings"]
    assert [one["consumers"] for one in found] == [
        {"breaks": ["billing 4.7.1"], "readBy": ["billing 4.7.1"], "notReadBy": ["audit 4.7.1"]}
    ]
    assert "read by billing 4.7.1 (breaks); not read by audit 4.7.1" in run().out


def test_all_formats_name_the_readers(run, shop):
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    forms = ("text", "json", "junit", "sarif", "github", "gitlab", "markdown", "html")
    run(*(word for form in forms for word in ("--format", f"{form}={form}.out")))
    for form in forms:
        text = (shop.folder / f"{form}.out").read_text()
        assert "consumer-field-missing" in text, form
        assert "audit 4.7.1" in text, form


def test_fingerprints_stay_when_lines_move(run, shop):
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    first = [one["fingerprint"] for one in run(*BY_LEVEL_NONE, "--format", "json").report["findings"]]
    _edit(shop, ORDER, ' "fields": [\n', ' "fields": [\n\n\n')
    _edit(shop, ORDER, '  {"name": "note", "type": "string"},\n', '  {"name": "note", "type": "string"},\n\n')
    assert [one["fingerprint"] for one in run(*BY_LEVEL_NONE, "--format", "json").report["findings"]] == first


def test_what_was_so_before_is_listed_and_does_not_fail(run, shop):
    _edit(shop, OTHER, "- items[].count", "- order_number")
    shop.commit()
    _edit(shop, ORDER, '"type": "int"', '"type": "long"')
    outcome = run("--format", "json", "--against", "HEAD")
    assert (outcome.code, _places(outcome)) == (0, [("consumer-field-missing", "notice", ORDER, 1)])
    assert outcome.report["findings"][0]["text"].endswith("(it was so before this change)")


def test_a_contract_that_was_not_valid_before(run, shop):
    _edit(shop, ORDERS, "status: active", "statsu: active")
    shop.commit()
    _edit(shop, ORDERS, "statsu: active", "status: active")
    _edit(shop, ORDERS, "EUR.cent", "EUR")
    outcome = run("--format", "json", "--against", "HEAD")
    assert (outcome.code, _places(outcome)) == (0, [("baseline-invalid", "warning", ORDERS, None)])


def test_a_consumer_that_stops_reading_allows_the_removal(run, shop):
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    _edit(shop, PRODUCT, "          - {path: total_cents, as: integer, min: 0, unit: EUR.cent}\n", "")
    assert run("--format", "json").report["findings"] == []


def test_a_consumer_of_the_whole_record_is_judged_by_its_own_schema(run, shop):
    shop.write(
        "consumers/ui.odps.yaml",
        BILLING.replace("billing", "ui").partition("    customProperties")[0]
        + "    customProperties:\n      - {property: readerSchema, value: ../schemas/reader.avsc}\n",
    )
    shop.write("schemas/reader.avsc", SCHEMA)
    shop.git("rm", "-q", OTHER)
    shop.commit()
    _edit(shop, ORDER, '"total_cents", "type": "long"', '"total_cents", "type": "int"')
    _edit(shop, ORDER, '    {"name": "count", "type": "int"},\n', "")
    outcome = run(*BY_LEVEL_NONE, "--against", "HEAD", "--format", "json")
    assert [place[:3] for place in _places(outcome)] == [("consumer-incompatible", "error", ORDER)]
    assert outcome.report["findings"][0]["element"] == "items[].count"


def test_a_contract_that_is_removed(run, shop):
    (shop.folder / ORDERS).unlink()
    outcome = run("--format", "json")
    assert (outcome.code, _places(outcome)) == (1, [("contract-removed", "error", ORDERS, None)])
    shop.git("rm", "-q", "-r", "consumers")
    assert [place[:2] for place in _places(run("--format", "json"))] == [("contract-removed", "warning")]


def test_another_topic_in_the_same_major_version_is_a_removed_one(run, shop):
    _edit(shop, ORDERS, "physicalName: orders.placed", "physicalName: orders.other")
    outcome = run("--format", "json")
    assert (outcome.code, _places(outcome)) == (1, [("contract-removed", "error", ORDERS, 9)])
    assert "the topic orders.placed is orders.other now" in outcome.report["findings"][0]["text"]


def test_a_contract_without_a_consumer(counterfoil, shop):
    shop.write("contracts/bills.odcs.yaml", CONTRACT.replace("orders.placed", "bills.sent"))
    outcome = counterfoil("check", "--consumers", "consumers", "--format", "json", folder=shop.folder)
    assert _places(outcome) == [("contract-unread", "notice", "contracts/bills.odcs.yaml", 9)]


def test_a_contract_whose_schema_is_deleted(run, shop):
    (shop.folder / ORDER).unlink()
    outcome = run("--format", "json")
    assert [place[0] for place in _places(outcome)] == ["schema-file-missing", "schema-removed"]
    assert outcome.code == 1


def test_reads_of_two_topics_in_one_contract(run, shop):
    second = CONTRACT[CONTRACT.index("  - name: OrderPlaced") :].replace("orders.placed", "orders.sent")
    shop.write(ORDERS, CONTRACT + second.replace("OrderPlaced", "OrderSent").replace("order.avsc", "sent.avsc"))
    shop.write("schemas/sent.avsc", SCHEMA.replace("OrderPlaced", "OrderSent").replace("note", "parcel"))
    _edit(shop, OTHER, "- items[].count", "- parcel")
    shop.commit()
    _edit(shop, "schemas/sent.avsc", '  {"name": "parcel", "type": "string"},\n', "")
    outcome = run(*BY_LEVEL_NONE, "--against", "HEAD", "--format", "json")
    assert [place for place in _places(outcome) if place[1] == "error"] == [
        ("consumer-field-missing", "error", "schemas/sent.avsc", 1)
    ]


def test_the_gate_consumers_lets_them_decide(run, shop):
    _edit(shop, ORDER, '"note", "type": "string"', '"colour", "type": "string"')
    _edit(shop, PRODUCT, "          - {path: note, enum: [GIFT]}\n", "")
    strict, decided = run("--format", "json"), run("--format", "json", "--gate", "consumers")
    assert (strict.code, decided.code) == (1, 0)
    assert {one["severity"] for one in decided.report["findings"]} == {"notice"}
    assert "the gate consumers makes 1 finding a notice" in decided.report["note"]
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    assert run("--gate", "consumers").code == 1


def test_the_gate_consumers_leaves_schemas_without_consumers_strict(run, shop, order):
    shop.write("schemas/bill.avsc", order(id="string"))
    shop.commit()
    shop.write("schemas/bill.avsc", order(id="int"))
    outcome = run("--gate", "consumers", "--against", "HEAD", "--format", "json")
    assert outcome.code == 1
    assert "the gate consumers does not apply to schemas/bill.avsc" in outcome.report["note"]


def test_the_gate_observe_reports_and_never_fails(run, counterfoil, shop):
    _edit(shop, ORDER, '"total_cents", "type": "long"', '"total_cents", "type": "string"')
    outcome = run("--gate", "observe", "--fail-on", "warning", "--format", "json")
    assert outcome.code == 0
    assert {one["severity"] for one in outcome.report["findings"]} == {"error"}
    assert counterfoil("check", "--gate", "observe", folder=shop.folder).code == 0


def test_the_project_names_consumers_and_gates(counterfoil, shop):
    shop.write("counterfoil.yaml", "consumers: 'consumers/*.odps.yaml'\nschemas:\n  - {files: '**', gate: observe}\n")
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    outcome = counterfoil("check", "--format", "json", folder=shop.folder)
    assert (outcome.code, [place[:2] for place in _places(outcome)]) == (0, [("consumer-field-missing", "error")])
    assert counterfoil("check", "--gate", "strict", folder=shop.folder).code == 1


def test_an_approved_break_does_not_fail(run, counterfoil, shop):
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    (found,) = run("--format", "json").report["findings"]
    words = ("--reason", "moved", "--owner", "ana", "--until", "2999-01-01", "--local")
    approved = counterfoil("approve", found["fingerprint"], "--consumers", "consumers", *words, folder=shop.folder)
    assert approved.code == 0
    assert run().code == 0


def test_consumers_outside_of_the_repository(run, shop, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "ui.odps.yaml").write_text(BILLING.replace("billing", "ui"))
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    outcome = run("--format", "json", consumers=tmp_path / "elsewhere")
    assert outcome.report["findings"][0]["consumers"]["breaks"] == ["ui 4.7.1"]
    assert outcome.report["summary"]["consumers"] == 1


def test_what_is_staged_counts(run, shop):
    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    assert run("--staged", "--against", "HEAD").code == 0
    shop.git("add", "--all")
    assert run("--staged", "--against", "HEAD").code == 1


def test_usage(run, counterfoil, shop):
    assert "there is no file or folder 'nowhere', which --consumers names" in run(consumers="nowhere").err
    outcome = counterfoil("check", "--gate", "consumers", folder=shop.folder)
    assert (outcome.code, "the gate consumers needs them" in outcome.err) == (2, True)


def test_against_a_folder_and_a_file(run, shop, tmp_path):
    for path, text in FILES.items():
        place = tmp_path / "earlier" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    _edit(shop, ORDER, '"total_cents", "type": "long"', '"total_cents", "type": "double"')
    _edit(shop, ORDERS, "EUR.cent", "EUR")
    options = (*BY_LEVEL_NONE, "--format", "json")
    folder = run(".", "--against", tmp_path / "earlier", *options)
    narrowed = ("consumer-type-narrowed", "error", ORDER, 3)
    assert _places(folder) == [("unit-changed", "error", ORDERS, 24), narrowed]
    file = run(ORDER, "--against", tmp_path / "earlier" / ORDER, *options)
    assert _places(file) == [("unit-changed", "notice", ORDERS, 24), narrowed]


def test_a_protobuf_message_and_its_readers(run, shop):
    shop.write(ORDERS, CONTRACT.replace("order.avsc", "order.proto"))
    shop.write(
        "schemas/order.proto",
        'syntax = "proto3";\npackage shop;\nmessage OrderPlaced {\n  string order_id = 1;\n  int64 total_cents = 2;\n'
        "  Status status = 3;\n  string note = 4;\n  string email = 5;\n  repeated Item items = 6;\n}\n"
        "message Item {\n  string sku = 1;\n  int32 count = 2;\n}\nenum Status {\n  NEW = 0;\n  PAID = 1;\n}\n",
    )
    shop.git("rm", "-q", ORDER)
    _edit(shop, PRODUCT, "{path: order_id, required: true}", "order_id")
    _edit(shop, OTHER, "version: 4.7.1", "version: 5.0.0")  # built for the new language
    shop.commit()
    _edit(shop, "schemas/order.proto", "  string sku = 1;\n", "")
    _edit(shop, "schemas/order.proto", "int64 total_cents", "string total_cents")
    outcome = run(*BY_LEVEL_NONE, "--against", "HEAD", "--format", "json")
    assert _places(outcome) == [
        ("consumer-type-narrowed", "error", "schemas/order.proto", 5),
        ("consumer-field-missing", "error", "schemas/order.proto", 11),
    ]


def test_a_json_schema_and_its_readers(run, shop):
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "total_cents": {"type": "integer"}, "items": {"type": "array"}},
        "required": ["order_id", "total_cents"],
        "additionalProperties": False,
    }
    shop.write(ORDERS, CONTRACT.partition("    properties:")[0].replace("order.avsc", "order.schema.json"))
    shop.write("schemas/order.schema.json", schema)
    shop.git("rm", "-q", ORDER, OTHER)
    reads = "          - {path: order_id, required: true}\n          - {path: total_cents, as: integer}\n"
    shop.write(PRODUCT, BILLING.partition("          - {path: order_id")[0] + reads)
    shop.commit()
    shop.write("schemas/order.schema.json", {**schema, "required": ["total_cents"]})
    _edit(shop, "schemas/order.schema.json", '"type": "integer"', '"type": "number"')
    outcome = run(*BY_LEVEL_NONE, "--against", "HEAD", "--format", "json")
    assert [(place[0], place[3]) for place in _places(outcome)] == [
        ("consumer-nullable", 5),
        ("consumer-type-narrowed", 9),
    ]


def test_the_json_report_fits_its_schema(run, shop):
    from jsonschema import Draft202012Validator

    from counterfoil.contracts.reports.json_schema import report_json_schema

    _edit(shop, ORDER, '  {"name": "total_cents", "type": "long"},\n', "")
    Draft202012Validator(report_json_schema()).validate(json.loads(run("--format", "json", "--gate", "observe").out))
