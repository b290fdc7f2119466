"""``counterfoil lint``: every rule finds its mistake at its line, and valid files have no finding."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.errors import PreconditionFailed, UsageMistake
from counterfoil.contracts.findings import FailOn
from counterfoil.contracts.lint import LINT_RULES
from counterfoil.contracts.lint.lint import LintInput, LintReport, fix_files, lint_files
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.project.documents import read_project
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.contracts.reports.lint import exit_code_of, is_failing, parse_rules, selected
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.parsed import Validation
from strategies.contracts.agreement_files import APPLICATION, BRIDGE, CONTRACT, SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

TODAY = date(2026, 11, 23)
PROJECT = "schemas:\n  - {files: schemas/*.avsc, subject: orders.placed-value}\n"
FILES = {
    "counterfoil.yaml": PROJECT,
    "orders.odcs.yaml": CONTRACT,
    "billing.odps.yaml": APPLICATION,
    "schemas/order.avsc": SCHEMA,
    "converters/orders.yaml": BRIDGE,
}
CONTRACT_FILE, APPLICATION_FILE, SCHEMA_FILE = "orders.odcs.yaml", "billing.odps.yaml", "schemas/order.avsc"


def lint(files: dict[str, str]) -> LintReport:
    """Lint files that are in memory."""
    data = {path: text.encode() for path, text in files.items()}
    schemas = [path for path in data if path.endswith(".avsc")]
    tree = SchemaTree([SchemaFile(path, data[path]) for path in schemas], validation=Validation.STRICT)
    project = files.get("counterfoil.yaml", "")
    given = LintInput(
        tree=tree,
        subjects=Subjects(tree, read_project(project)) if "metadata" in project else None,
        read=data.get,
        schemas=schemas,
        agreements=[path for path in data if path.endswith((".odcs.yaml", ".odps.yaml"))],
        project="counterfoil.yaml" if "counterfoil.yaml" in data else None,
        all_paths=schemas,
    )
    return lint_files(given, today=TODAY)


def line_of(path: str, files: dict[str, str], text: str) -> int:
    """Return the line of a file in which ``text`` is."""
    return next(number for number, line in enumerate(files[path].splitlines(), 1) if text in line)


UNKNOWN_TAG = "metadata: {tags: {acme.Order.emial: [PII]}}"
SEEDED = [
    ("document-invalid", CONTRACT_FILE, "status: active", "statsu: active", "statsu: active"),
    ("document-invalid", CONTRACT_FILE, "host: kafka:9092", "hots: kafka:9092", "hots: kafka"),
    ("document-invalid", CONTRACT_FILE, "required: true, pattern", "required: yes, pattern", "required: yes"),
    ("document-invalid", APPLICATION_FILE, "contractId: orders", "contractID: orders", "contractID"),
    ("document-invalid", APPLICATION_FILE, "kind: DataProduct", "<<<<<<< HEAD\nkind: DataProduct\n>>>>>>> b", "<<<<"),
    ("property-invalid", CONTRACT_FILE, "value: FULL_TRANSITIVE", "value: FULLY", "value: FULLY"),
    ("property-invalid", CONTRACT_FILE, "[0-9a-f]{32}", "[0-9a-f{32}", "trace_id"),
    ("property-invalid", CONTRACT_FILE, "value: open", "value: opened", "value: opened"),
    ("property-invalid", CONTRACT_FILE, "name: trace_id, required: true", "nam: trace_id", "nam: trace_id"),
    ("property-invalid", APPLICATION_FILE, "as: integer", "as: int", "as: int"),
    ("property-invalid", APPLICATION_FILE, "whenPresent: true", "whenPresnt: true", "whenPresnt"),
    ("property-invalid", APPLICATION_FILE, "items[].sku", "items[.sku", "items[.sku"),
    ("property-invalid", APPLICATION_FILE, "value: P30D", "value: 30 days", "30 days"),
    ("project-invalid", "counterfoil.yaml", "subject:", "subjct:", "subjct"),
    ("project-line-unused", "counterfoil.yaml", PROJECT, f"{PROJECT}  - {{files: '*.proto'}}\n", "*.proto"),
    ("schema-file-missing", CONTRACT_FILE, "schemas/order.avsc", "schemas/orders.avsc", "schemas/orders.avsc"),
    ("schema-invalid", SCHEMA_FILE, '"type": "long"}', '"type": "lnog"}', "lnog"),
    ("path-missing", CONTRACT_FILE, "name: sku", "name: skus", "name: skus"),
    ("path-missing", CONTRACT_FILE, "field: order_id", "field: orderid", "field: orderid"),
    ("path-missing", CONTRACT_FILE, "OrderPlaced.placed_at", "OrderPlaced.paid_at", "OrderPlaced.paid_at"),
    ("path-missing", CONTRACT_FILE, "message.discount_cents", "message.discont_cents", "discont"),
    ("path-missing", APPLICATION_FILE, "path: status", "path: state", "path: state"),
    ("path-missing", APPLICATION_FILE, "$header.trace_id", "$header.trace", "$header.trace"),
    ("type-differs", CONTRACT_FILE, "name: email, logicalType: string", "name: email, logicalType: integer", "email"),
    ("type-differs", APPLICATION_FILE, "as: integer", "as: timestamp", ""),
    ("type-differs", APPLICATION_FILE, "as: integer, min: 0", "as: array", "as: array"),
    ("promise-unkept", CONTRACT_FILE, "name: email,", "name: email, required: true,", "name: email"),
    ("unit-unknown", CONTRACT_FILE, "value: EUR.cent", "value: EURO", "value: EURO"),
    ("unit-unknown", APPLICATION_FILE, "unit: EUR.cent", "unit: cents", "unit: cents"),
    ("cel-invalid", CONTRACT_FILE, "total_cents >= message", "total_cents >= = message", ">= ="),
    ("converter-missing", CONTRACT_FILE, "converters/orders.yaml", "converters/order.yaml", "converters/order.yaml"),
    ("converter-invalid", "converters/orders.yaml", "target", "tarqet", ""),
    ("migration-version-unknown", CONTRACT_FILE, 'to: "2"', 'to: "3"', "converters/orders.yaml"),
    ("sunset-passed", CONTRACT_FILE, "2027-03-31", "2026-11-22", "2026-11-22"),
    ("contract-unknown", APPLICATION_FILE, "contractId: orders.placed", "contractId: orders.sent", "orders.sent"),
    ("contract-version-differs", APPLICATION_FILE, 'version: "2"', 'version: "1"', 'version: "1"'),
    ("owner-missing", CONTRACT_FILE, "team:\n  name: checkout\n", "", "apiVersion"),
    ("version-not-semantic", CONTRACT_FILE, "version: 2.1.0", "version: two", "version: two"),
    ("pii-unclassified", CONTRACT_FILE, "classification: confidential, ", "", "name: email"),
    ("tag-not-reached", SCHEMA_FILE, '"name": "Item",', '"name": "Item", "confluent:tags": ["PII"],', '"sku"'),
    ("tag-not-encryptable", SCHEMA_FILE, '"total_cents",', '"total_cents", "confluent:tags": ["PII"],', "total_cents"),
    ("tag-path-unknown", "counterfoil.yaml", "placed-value}", f"placed-value, {UNKNOWN_TAG}}}", ""),
    ("id-taken", "copy.odcs.yaml", "", CONTRACT, "id: orders.placed"),
]


def test_valid_files_have_no_finding() -> None:
    assert [f"{one.path}:{one.position} {one.rule} {one.text}" for one in lint(FILES).findings] == []


@pytest.mark.parametrize(("rule", "path", "old", "new", "at"), [each for each in SEEDED if each[4]])
def test_a_mistake_is_found_at_its_line(rule: str, path: str, old: str, new: str, at: str) -> None:
    text = FILES.get(path, "")
    assert old in text
    files = {**FILES, path: text.replace(old, new, 1) if old else new}
    found = lint(files).findings
    places = {(one.rule, one.path, one.position.line if one.position else 0) for one in found}
    expected = (rule, path if rule != "id-taken" else found[0].path, line_of(path, files, at))
    assert expected in places, [f"{one.path}:{one.position} {one.rule} {one.text}" for one in found]
    followed = {"version-not-semantic": {"contract-version-differs"}, "schema-invalid": set()}
    assert {one.rule for one in found} - {rule} <= followed.get(rule, set())


def test_what_is_read_of_the_key_must_be_in_its_schema() -> None:
    key = '{"type": "record", "name": "OrderKey", "fields": [{"name": "id", "type": "string"}]}'
    files = {
        **FILES,
        CONTRACT_FILE: CONTRACT.replace("subject: orders.placed-key", "schema: schemas/key.avsc"),
        "schemas/key.avsc": key,
    }
    wrong = {path: text.replace("- order_id", "- $key.number") for path, text in files.items()}
    right = {path: text.replace("- order_id", "- $key.id") for path, text in files.items()}
    assert lint(right).findings == ()
    (found,) = lint(wrong).findings
    assert (found.rule, found.path, found.element) == ("path-missing", APPLICATION_FILE, "$key.number")
    assert found.position is not None
    assert found.position.line == line_of(APPLICATION_FILE, wrong, "$key.number")


def test_repairs_are_written_to_all_files_or_to_none(tmp_path: Path) -> None:
    files = {
        "a.odcs.yaml": CONTRACT.replace("id: orders.placed", "id: a").replace("value: EUR.cent", "value: eur"),
        "gone/b.odcs.yaml": CONTRACT.replace("id: orders.placed", "id: b").replace("value: EUR.cent", "value: eur"),
    }
    data = {path: text.encode() for path, text in files.items()}
    (tmp_path / "a.odcs.yaml").write_bytes(data["a.odcs.yaml"])
    given = LintInput(tree=SchemaTree([], validation=Validation.STRICT), read=data.get, agreements=[*files])

    def reported(asked: LintInput) -> LintReport:
        return lint_files(asked, today=TODAY)

    with pytest.raises(FileNotFoundError, match="gone"):
        fix_files(str(tmp_path), given, reported)
    assert {place.name: place.read_bytes() for place in tmp_path.iterdir()} == {"a.odcs.yaml": data["a.odcs.yaml"]}
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "b.odcs.yaml").write_bytes(data["gone/b.odcs.yaml"])
    reads: list[str] = []

    def read_while_someone_edits(path: str) -> bytes | None:
        reads.append(path)
        return b"edited meanwhile" if reads.count("gone/b.odcs.yaml") == 3 else data.get(path)  # to compare again

    hasty = replace(given, read=read_while_someone_edits)
    with pytest.raises(PreconditionFailed, match=r"gone/b.odcs.yaml was changed while it was checked"):
        fix_files(str(tmp_path), hasty, reported)
    assert (tmp_path / "a.odcs.yaml").read_bytes() == data["a.odcs.yaml"]
    assert len([*(tmp_path / "gone").iterdir()]) == 1
    made = fix_files(str(tmp_path), given, reported)
    assert [(each.path, str(each)) for each in made] == [(path, "eur → EUR") for path in files]
    assert (tmp_path / "gone" / "b.odcs.yaml").read_bytes() == data["gone/b.odcs.yaml"].replace(b"eur}", b"EUR}")


def test_every_rule_is_seeded() -> None:
    without_engine = {"cel-unchecked"}
    assert {rule.id for rule in LINT_RULES} - without_engine == {each[0] for each in SEEDED}


def test_a_field_in_a_part_that_may_be_missing_can_be_required() -> None:
    address = '["null", {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}]'
    schema = SCHEMA.replace(
        '  {"name": "placed_at"', f'  {{"name": "address", "type": {address}}},\n  {{"name": "placed_at"'
    )
    promise = (
        "      - name: address\n        logicalType: object\n        properties:\n"
        "          - {name: city, logicalType: string, required: true}\n"
    )
    contract = CONTRACT.replace("slaProperties:", f"{promise}slaProperties:")
    assert lint({**FILES, SCHEMA_FILE: schema, CONTRACT_FILE: contract}).findings == ()
    whole = contract.replace("      - name: address\n", "      - name: address\n        required: true\n")
    found = lint({**FILES, SCHEMA_FILE: schema, CONTRACT_FILE: whole}).findings
    assert [(each.rule, each.element) for each in found] == [("promise-unkept", "address")]
    optional = schema.replace('{"name": "city", "type": "string"}', '{"name": "city", "type": ["null", "string"]}')
    found = lint({**FILES, SCHEMA_FILE: optional, CONTRACT_FILE: contract}).findings
    assert [(each.rule, each.element) for each in found] == [("promise-unkept", "address.city")]


def test_the_converter_of_a_migration_must_be_a_bridge_file() -> None:
    (found,) = lint({**FILES, "converters/orders.yaml": BRIDGE.replace("target", "tarqet")}).findings
    assert (found.rule, found.path) == ("converter-invalid", CONTRACT_FILE)
    assert "converters/orders.yaml:3:1: a bridge has no key tarqet; did you mean target?" in found.text


def test_an_expired_acceptance_is_a_warning() -> None:
    accepted = "accepted:\n  - {fingerprint: 3f9a1c07be12, owner: a, reason: b, until: 2026-11-22}\n"
    (found,) = lint({**FILES, "counterfoil.yaml": PROJECT + accepted}).findings
    assert (found.rule, found.severity, str(found.position)) == ("approval-stale", "warning", "4:5")


def test_findings_can_be_chosen_ignored_and_accepted() -> None:
    report = lint(
        {**FILES, CONTRACT_FILE: CONTRACT.replace("version: 2.1.0", "version: v2", 1).replace("EUR.cent", "E")}
    )
    assert {one.rule for one in report.findings} == {"version-not-semantic", "unit-unknown"}
    alone = selected(report, parse_rules("unit-unknown"), None, today=TODAY)
    others = selected(report, parse_rules("-unit-unknown"), None, today=TODAY)
    assert {one.rule for one in alone.findings} == {"unit-unknown"}
    assert {one.rule for one in others.findings} == {"version-not-semantic"}
    (unit,) = alone.findings
    text = (
        "ignore:\n  - {rule: version-not-semantic, reason: dates}\naccepted:\n"
        f"  - {{fingerprint: {unit.fingerprint}, owner: a, reason: b, until: 2027-01-01}}\n"
    )
    rest = selected(report, None, read_project(text), today=TODAY)
    (accepted,) = rest.findings
    assert accepted.approval is not None
    assert not is_failing(accepted, FailOn.WARNING)
    assert exit_code_of(report, FailOn.ERROR, is_empty_fine=False) is ExitCode.BROKEN
    assert exit_code_of(rest, FailOn.ERROR, is_empty_fine=False) is ExitCode.OK
    assert exit_code_of(LintReport((), ()), FailOn.ERROR, is_empty_fine=False) is ExitCode.CANNOT_SAY


def test_an_unknown_rule_is_a_usage_mistake() -> None:
    with pytest.raises(UsageMistake, match="no rule unit-unknwon; did you mean unit-unknown"):
        parse_rules("unit-unknwon")
