"""``counterfoil lint --fix``: what is certain is repaired in the files, and nothing else in them changes."""

from __future__ import annotations

import json
import stat
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.lint import LINT_RULES
from counterfoil.contracts.reports.json_schema import report_json_schema
from strategies.contracts.agreement_files import APPLICATION, BRIDGE, CONTRACT, SCHEMA

CONTRACT_FILE, PRODUCT_FILE = "orders.odcs.yaml", "billing.odps.yaml"
REPAIRS = [
    (
        "document-invalid",
        CONTRACT_FILE,
        "version: 2.1.0\nstatus",
        "version: 2.1 # next year: 3\nstatus",
        "version: '2.1.0' # next year: 3\nstatus",
    ),
    ("document-invalid", CONTRACT_FILE, "    physicalName:", "    physical_name:", "    physicalName:"),
    ("document-invalid", CONTRACT_FILE, "    physicalName:", '    "PhysicalName":', '    "physicalName":'),
    ("document-invalid", CONTRACT_FILE, "logicalType: array", "logicalType: 'Array'", "logicalType: 'array'"),
    ("document-invalid", CONTRACT_FILE, "apiVersion: v3.2.0", "apiVersion: 3.2.0", "apiVersion: v3.2.0"),
    ("document-invalid", CONTRACT_FILE, "kind: DataContract", "kind: dataContract", "kind: DataContract"),
    ("document-invalid", PRODUCT_FILE, 'version: "2"', "version: 2", "version: '2'"),
    ("document-invalid", PRODUCT_FILE, "contractId:", "contract-id:", "contractId:"),
    ("property-invalid", CONTRACT_FILE, "value: FULL_TRANSITIVE", "value: full-transitive", "value: FULL_TRANSITIVE"),
    ("property-invalid", CONTRACT_FILE, "value: open}", "value: Open}", "value: open}"),
    ("property-invalid", PRODUCT_FILE, "whenPresent:", "when_present:", "whenPresent:"),
    ("unit-unknown", CONTRACT_FILE, "value: EUR.cent", "value: eur.Cent", "value: EUR.cent"),
    ("unit-unknown", PRODUCT_FILE, "unit: EUR.cent", 'unit: "Eur.cent "', 'unit: "EUR.cent"'),
    ("version-not-semantic", CONTRACT_FILE, "version: 2.1.0", 'version: "2"', 'version: "2.0.0"'),
    ("version-not-semantic", PRODUCT_FILE, "version: 4.7.1", "version: v4.7", "version: v4.7.0"),
    ("project-invalid", "counterfoil.yaml", "managed-by:", "managed_by:", "managed-by:"),
    (
        "project-invalid",
        "counterfoil.yaml",
        "level: BACKWARD",
        "level: Backward-Transitive",
        "level: BACKWARD_TRANSITIVE",
    ),
    ("byte-order-mark", "schemas/order.avsc", '{"type": "record"', '\ufeff{"type": "record"', '{"type": "record"'),
]
UNREPAIRED = [
    ("unit-unknown", "value: EUR.cent", "value: MHZ"),
    ("document-invalid", "status: active", "statsu: active"),
    ("document-invalid", "    physicalName: orders.placed", "    physicalName: orders.placed\n    physical_name: x"),
    ("document-invalid", "status: active", "status: active\ndata_product: a\ndataproduct: b"),
    ("version-not-semantic", "version: 2.1.0", "version: two"),
    ("path-missing", "name: sku", "name: SKU"),
    ("type-differs", "name: email, logicalType: string", "name: email, logicalType: integer"),
]


@pytest.fixture
def shop(workshop):
    """A repository whose files have no finding, with comments and blank lines."""
    workshop.write(
        "counterfoil.yaml", "managed-by: shop\nlevel: BACKWARD\nschemas:\n  - {files: schemas/*.avsc, subject: a}\n"
    )
    workshop.write(CONTRACT_FILE, f"# the shop's promise\n\n{CONTRACT}\n# the end\n")
    workshop.write(PRODUCT_FILE, APPLICATION)
    workshop.write("schemas/order.avsc", SCHEMA)
    workshop.write("converters/orders.yaml", BRIDGE)
    workshop.commit()
    return workshop


def seed(shop: Any, path: str, old: str, new: str) -> str:
    """Replace a part of a file, and return the whole text as it was."""
    text = (shop.folder / path).read_text()
    assert old in text
    shop.write(path, text.replace(old, new, 1))
    return text


@pytest.mark.parametrize("repair", REPAIRS, ids=lambda repair: repair[0])
def test_a_repair_changes_the_word_and_nothing_else(counterfoil, shop, repair):
    rule, path, old, new, after = repair
    text = seed(shop, path, old, new)
    assert rule in counterfoil("lint", "--fail-on", "warning", folder=shop.folder).out
    fixed = counterfoil("lint", "--fix", "--fail-on", "warning", folder=shop.folder)
    assert (shop.folder / path).read_text() == text.replace(old, after, 1)
    assert f"fixed  {path}:" in fixed.out
    assert (fixed.code, " left; 4 files checked (exit 0)" in fixed.out) == (0, True), fixed
    again = counterfoil("lint", "--fix", folder=shop.folder)
    assert again.out == "0 fixed, 0 errors, 0 warnings left; 4 files checked (exit 0)\n"
    assert (shop.folder / path).read_text() == text.replace(old, after, 1)


def test_many_repairs_are_made_at_once_and_a_second_run_makes_none(counterfoil, shop):
    whole = {path: (shop.folder / path).read_text() for path in (CONTRACT_FILE, PRODUCT_FILE, "counterfoil.yaml")}
    expected = dict(whole)
    for _, path, old, new, after in REPAIRS:
        if path in whole and old in (shop.folder / path).read_text():  # two repairs may be of one word
            seed(shop, path, old, new)
            expected[path] = expected[path].replace(old, after, 1)
    first = counterfoil("lint", "--fix", "--fail-on", "warning", folder=shop.folder)
    assert first.code == 0, first
    assert {path: (shop.folder / path).read_text() for path in whole} == expected
    second = counterfoil("lint", "--fix", "--fail-on", "warning", folder=shop.folder)
    assert second.out == "0 fixed, 0 errors, 0 warnings left; 4 files checked (exit 0)\n"


def test_every_rule_that_says_it_is_repaired_is():
    assert {each.id for each in LINT_RULES if each.repaired} == {each[0] for each in REPAIRS} - {"byte-order-mark"}


@pytest.mark.parametrize(("rule", "old", "new"), UNREPAIRED)
def test_what_is_not_certain_stays(counterfoil, shop, rule, old, new):
    seed(shop, CONTRACT_FILE, old, new)
    before = (shop.folder / CONTRACT_FILE).read_bytes()
    found = counterfoil("lint", "--fix", "--fail-on", "warning", "--format", "json", folder=shop.folder)
    assert (found.code, rule in found.rules) == (1, True), found
    assert found.report["summary"]["fixed"] == len(found.report["fixes"])
    if not found.report["fixes"]:
        assert (shop.folder / CONTRACT_FILE).read_bytes() == before


def test_of_two_keys_that_are_meant_to_be_one_the_first_is_repaired(counterfoil, shop):
    seed(shop, CONTRACT_FILE, "status: active", "status: active\ndata_product: a\ndataproduct: b")
    found = counterfoil("lint", "--fix", folder=shop.folder)
    assert "data_product → dataProduct" in found.out
    assert "dataProduct: a\ndataproduct: b\n" in (shop.folder / CONTRACT_FILE).read_text()


def test_line_ends_permissions_and_letters_stay(counterfoil, shop):
    place = shop.folder / CONTRACT_FILE
    text = place.read_text().replace("name: checkout", "name: Größe 🛒").replace("value: EUR.cent", "value: eur.cent")
    place.write_bytes(text.replace("\n", "\r\n").encode())
    place.chmod(0o640)
    assert counterfoil("lint", "--fix", folder=shop.folder).code == 0
    assert place.read_bytes() == text.replace("eur.cent", "EUR.cent").replace("\n", "\r\n").encode()
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [*shop.folder.glob("**/*.new"), *shop.folder.glob("**/.*.new")] == []


def test_a_conflict_of_a_merge_stops_all_repairs(counterfoil, shop):
    seed(shop, PRODUCT_FILE, 'version: "2"', "version: 2")
    seed(
        shop,
        "schemas/order.avsc",
        '  {"name": "total_cents"',
        '<<<<<<< HEAD\n=======\n>>>>>>> b\n  {"name": "total_cents"',
    )
    before = (shop.folder / PRODUCT_FILE).read_text()
    found = counterfoil("lint", "--fix", folder=shop.folder)
    assert (found.code, found.out) == (14, ""), found
    assert "schemas/order.avsc:3:1 has an unresolved conflict of a merge, so nothing was fixed" in found.err
    assert (shop.folder / PRODUCT_FILE).read_text() == before


def test_rules_approvals_and_ignored_rules_limit_the_repairs(counterfoil, shop):
    seed(shop, PRODUCT_FILE, 'version: "2"', "version: 2")
    seed(shop, CONTRACT_FILE, "value: EUR.cent", "value: eur.cent")
    only = counterfoil("lint", "--fix", "--rules", "unit-unknown", folder=shop.folder)
    assert only.out.count("fixed  ") == 1
    assert "version: 2\n" in (shop.folder / PRODUCT_FILE).read_text()
    seed(shop, "counterfoil.yaml", "schemas:", "ignore: [{rule: document-invalid, reason: later}]\nschemas:")
    assert "0 fixed" in counterfoil("lint", "--fix", folder=shop.folder).out


def test_other_formats_say_what_was_fixed(counterfoil, shop):
    seed(shop, CONTRACT_FILE, "value: EUR.cent", "value: eur.cent")
    forms = ["--format", "json=a.json", "--format", "markdown=a.md"]
    assert counterfoil("lint", "--fix", *forms, folder=shop.folder).code == 0
    report = Draft202012Validator(report_json_schema())
    document = json.loads((shop.folder / "a.json").read_text())
    report.validate(document)
    assert document["fixes"] == [
        {
            "rule": "unit-unknown",
            "path": CONTRACT_FILE,
            "line": 47,
            "column": 37,
            "before": "eur.cent",
            "after": "EUR.cent",
        }
    ]
    assert "fixed unit-unknown" in (shop.folder / "a.md").read_text()
