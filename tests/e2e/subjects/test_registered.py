"""What a registry has is compared with its latest version: every difference from the files is a change of the plan."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.model import Metadata, Schema, SchemaType
from strategies.contracts.subject_projects import record

# --- what the registry has is compared with its latest version


def _by_hand(registry, subject, **fields):
    registry.register(subject, Schema(json.dumps(record("Order", "id", *fields))))


@pytest.fixture
def registered(counterfoil, shop):
    """A repository whose only file is the first version of its subject."""
    shop.declare("{{files: order.avsc, subject: '{p}-order'}}")
    shop.write("order.avsc", record("Order", "id"))
    shop.commit()
    assert counterfoil("apply", folder=shop.folder).code == 0
    shop.subject = f"{shop.prefix}-order"
    return shop


def test_a_version_that_somebody_registered_by_hand_is_a_change(counterfoil, registered, registry):
    registry.register(registered.subject, Schema(json.dumps(record("Order", "id", "note"))))
    planned = counterfoil("plan", "--fail-on-changes", folder=registered.folder)
    assert planned.code == 3, planned
    lines = planned.out.splitlines()
    assert lines[0] == f"~ {registered.subject}: the latest is version 2, and order.avsc is version 1"
    assert "a registry gives an old text its old version" in lines[1]
    assert lines[-1].startswith("1 change for")
    document = counterfoil("plan", "--format", "json", folder=registered.folder).report
    assert document["changes"] == [
        {
            "kind": "latest",
            "subject": registered.subject,
            "before": "version 2",
            "after": "version 1",
            "path": "order.avsc",
        }
    ]
    applied = counterfoil("apply", folder=registered.folder)
    assert (applied.code, applied.out.splitlines()[-2:]) == (
        3,
        ["0 changes made", "1 change not made, since registering does not make an old version the latest"],
    )
    for options in ([], ["--dry-run"]):
        done = counterfoil("schema", "register", "--json", *options, folder=registered.folder)
        (entry,) = done.report["files"]
        assert (done.code, entry["state"], entry["version"], entry["latest"]) == (3, "earlier version", 1, 2)
        assert "old text" in entry["repair"]
    assert registry.versions(registered.subject) == (1, 2)
    registry.delete_version(registered.subject, 2)  # the repair that is named
    assert counterfoil("plan", "--fail-on-changes", folder=registered.folder).code == 0
    assert counterfoil("schema", "register", folder=registered.folder).out.startswith("unchanged")


def test_a_file_that_goes_back_is_a_change(counterfoil, registered, registry):
    registered.write("order.avsc", record("Order", "id", "note"))
    assert counterfoil("apply", folder=registered.folder).code == 0
    registered.write("order.avsc", record("Order", "id"))
    assert counterfoil("plan", "--fail-on-changes", folder=registered.folder).code == 3
    assert "earlier version" in counterfoil("schema", "register", folder=registered.folder).out
    registry.delete_version(registered.subject, 1)  # a text whose version is deleted is a new one
    planned = counterfoil("plan", "--format", "json", folder=registered.folder).report
    assert [each["kind"] for each in planned["changes"]] == ["schema"]
    assert counterfoil("apply", folder=registered.folder).code == 0
    assert registry.versions(registered.subject) == (2, 3)
    assert counterfoil("plan", "--fail-on-changes", folder=registered.folder).code == 0


def test_a_referenced_subject_that_moved_on_is_a_change(counterfoil, shop):
    shop.declare("{{files: '*.avsc', subject: '{p}.{{stem}}'}}")
    shop.write("line.avsc", record("Line", "sku"))
    order = {"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]}
    shop.write("order.avsc", order)
    shop.commit()
    assert counterfoil("apply", folder=shop.folder).code == 0
    shop.write("line.avsc", record("Line", "sku", "note"))
    assert counterfoil("apply", folder=shop.folder).code == 0
    shop.write("line.avsc", record("Line", "sku"))
    planned = counterfoil("plan", "--format", "json", folder=shop.folder).report
    assert [(each["kind"], each["path"]) for each in planned["changes"]] == [
        ("latest", "line.avsc"),
        ("latest", "order.avsc"),
    ]


@pytest.mark.parametrize("is_declared", [False, True])
def test_metadata_that_somebody_adds_matter_if_the_project_declares_any(counterfoil, shop, registry, is_declared):
    terms = ", metadata: {{properties: {{team: shop}}}}" if is_declared else ""
    shop.declare(f"{{{{files: order.avsc, subject: '{{p}}-order'{terms}}}}}")
    shop.write("order.avsc", record("Order", "id"))
    assert counterfoil("apply", folder=shop.folder).code == 0
    subject = f"{shop.prefix}-order"
    held = registry.version(subject).schema
    assert (held.metadata.properties if held.metadata else None) == ({"team": "shop"} if is_declared else None)
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0
    other = Metadata(properties={"team": "other", "more": "x"})
    registry.register(subject, Schema(held.text, metadata=other))
    planned = counterfoil("plan", "--fail-on-changes", folder=shop.folder)
    assert planned.code == (3 if is_declared else 0), planned
    assert counterfoil("apply", folder=shop.folder).code == 0
    if is_declared:
        assert registry.version(subject).schema.metadata.properties == {"team": "shop", "more": "x"}
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0


def test_a_reference_stays_where_metadata_alone_were_added(counterfoil, shop, registry):
    shop.declare("{{files: '*.avsc', subject: '{p}.{{stem}}'}}")
    shop.write("line.avsc", record("Line", "sku"))
    shop.write("order.avsc", {"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]})
    assert counterfoil("apply", folder=shop.folder).code == 0
    line = registry.version(f"{shop.prefix}.line").schema
    registry.register(f"{shop.prefix}.line", Schema(line.text, metadata=Metadata(properties={"a": "b"})))
    planned = counterfoil("plan", "--fail-on-changes", folder=shop.folder)
    assert planned.code == 0, planned


def test_normalize_is_declared(counterfoil, shop, registry):
    shop.declare("{{files: '*.proto', subject: '{p}-order', normalize: true}}")
    text = 'syntax = "proto3";\npackage shop;\n\n// an order\nmessage Order {\n  string b = 2;\n  string a = 1;\n}\n'
    shop.write("order.proto", text)
    assert counterfoil("apply", folder=shop.folder).code == 0
    subject = f"{shop.prefix}-order"
    wanted = registry.lookup(subject, Schema(text, SchemaType.PROTOBUF), normalize=True)
    assert registry.version(subject).schema.text == wanted.schema.text != text
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0
    assert counterfoil("schema", "register", folder=shop.folder).out.startswith("unchanged")


def test_the_level_of_a_part_is_a_change(counterfoil, shop, registry):
    part = "{{files: line.avsc, part: true, level: FULL}}"
    shop.declare(part, "{{files: order.avsc, subject: '{p}-order'}}")
    name = shop.prefix.replace("-", "_")
    shop.write("line.avsc", record(name, "sku"))
    shop.write("order.avsc", {"type": "record", "name": "Order", "fields": [{"name": "line", "type": name}]})
    assert counterfoil("apply", folder=shop.folder).code == 0
    assert registry.config(name).compatibility_level == "FULL"
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0
