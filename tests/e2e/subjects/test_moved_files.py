"""Several files on one subject, files that change their subject, and the subjects that ``schema register`` derives."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk import Registry, operations
from strategies.contracts.stories import promise, schema
from strategies.contracts.subject_projects import CLOSED, record, states

# --- several files on one subject, and files that change their subject


def test_several_files_on_one_subject(counterfoil, shop, registry):
    shop.declare("{{files: 'schemas/*.avsc', subject: '{p}-order'}}")
    names = [f"schemas/{name}.avsc" for name in "abc"]
    subject = f"{shop.prefix}-order"
    registry.register(subject, Schema(json.dumps({**record("Order"), "fields": [{"name": "id", "type": "int"}]})))
    for path in names:
        shop.write(path, record("Order") | {"fields": [{"name": "id", "type": "string"}]})
    shop.commit()
    linted = counterfoil("lint", "--format", "json", folder=shop.folder)
    assert (linted.code, linted.rules) == (1, ["subject-taken"] * 3), linted
    checked = counterfoil("check", "--format", "json", folder=shop.folder)
    assert (checked.code, checked.rules) == (1, ["subject-taken"] * 3), checked
    against = counterfoil("check", "--against", "registry", "--format", "json", folder=shop.folder)
    assert (against.code, sorted(against.rules)) == (1, ["subject-taken"] * 3 + ["type-mismatch"] * 3), against
    for outcome in (linted, checked, against):
        findings = outcome.report["findings"]
        assert len({each["fingerprint"] for each in findings}) == len(findings)
    one = counterfoil("check", "schemas/b.avsc", "--format", "json", folder=shop.folder)
    assert (one.code, one.rules) == (1, ["subject-taken"])
    for command in (["plan"], ["apply"], ["schema", "register"]):
        result = counterfoil(*command, folder=shop.folder)
        assert (result.code, f"have the same subject {subject!r}" in result.err) == (2, True), result
    assert registry.versions(subject) == (1,)


def test_files_of_one_name_without_a_project(counterfoil, live_registry, unique_name, tmp_path):
    name = unique_name("orders")
    for folder, field in (("a", "id"), ("b", "name")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}-value.avsc").write_text(json.dumps(record("Order", field)))
    access = ("--registry", live_registry.url)
    assert counterfoil("schema", "register", *access).code == 2
    assert counterfoil("check", "--against", "registry", *access).code == 1
    (tmp_path / "b" / f"{name}-value.avsc").write_text(json.dumps(record("Order", "id")))  # a copy
    assert counterfoil("schema", "register", *access).code == 0
    assert counterfoil("check", "--against", "registry", *access).code == 0


@pytest.mark.parametrize("template", ["{{stem}}-value", "{{folder}}-value", None])
def test_a_file_that_moves_to_another_subject(counterfoil, workshop, order, template):
    if template:
        line = f"{{files: 'schemas/**', subject: '{template.format()}'}}"
        workshop.write("counterfoil.yaml", f"schemas:\n  - {line}\n")
    workshop.write("schemas/sales/orders-value.avsc", order(id="string"))
    workshop.commit()
    workshop.git("checkout", "-q", "-b", "change")
    (workshop.folder / "schemas/shop").mkdir()
    workshop.git("mv", "schemas/sales/orders-value.avsc", "schemas/shop/purchases-value.avsc")
    was, now = {
        "{{stem}}-value": ("orders-value-value", "purchases-value-value"),
        "{{folder}}-value": ("sales-value", "shop-value"),
        None: ("orders-value", "purchases-value"),
    }[template]
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    (finding,) = result.report["findings"]
    assert (result.code, finding["rule"], finding["severity"]) == (0, "subject-changed", "warning")
    assert repr(was) in finding["text"]
    assert repr(now) in finding["text"]


def test_a_file_that_moves_to_a_new_subject_of_the_registry(counterfoil, shop, order):
    shop.declare("{{files: '*.avsc', subject: '{p}-{{stem}}'}}")
    shop.write("order.avsc", order(id="string"))
    shop.commit()
    assert counterfoil("apply", folder=shop.folder).code == 0
    shop.git("mv", "order.avsc", "purchase.avsc")
    shop.write("added.avsc", {**order(id="string"), "name": "Added"})
    result = counterfoil("check", "--against", "registry", "--format", "json", folder=shop.folder)
    found = [(each["path"], each["rule"]) for each in result.report["findings"]]
    assert found == [
        ("added.avsc", "schema-new"),
        ("purchase.avsc", "schema-new"),
        ("purchase.avsc", "subject-changed"),
    ]
    assert repr(f"{shop.prefix}-order") in result.report["findings"][-1]["text"]


def test_plan_and_apply_name_the_earlier_subject_of_a_moved_file(counterfoil, shop, order):
    shop.declare("{{files: '*.avsc', subject: '{p}-{{stem}}'}}")
    shop.write("order.avsc", order(id="string"))
    shop.write("kept.avsc", {**order(id="string"), "name": "Kept"})
    shop.commit()
    assert "note:" not in counterfoil("plan", folder=shop.folder).out
    shop.git("mv", "order.avsc", "purchase.avsc")
    shop.write("added.avsc", {**order(id="string"), "name": "Added"})
    planned = counterfoil("plan", folder=shop.folder)
    notes = [line for line in planned.out.splitlines() if line.startswith("note:")]
    text = f"the subject of this file is '{shop.prefix}-purchase' now, and was '{shop.prefix}-order'"
    assert (planned.code, notes) == (0, [f"note: purchase.avsc: {text}; the file was order.avsc"])
    applied = counterfoil("apply", folder=shop.folder)
    notes = [line for line in applied.out.splitlines() if line.startswith("note:")]
    assert (applied.code, notes) == (0, [f"note: purchase.avsc: {text}; the file was order.avsc"]), applied


def test_a_referred_file_that_nothing_maps_is_refused_by_every_command(counterfoil, shop):
    shop.declare("{{files: order.avsc, subject: '{p}-order'}}")
    shop.write("money.avsc", record("Money", "currency"))
    shop.write("order.avsc", {**record("Order"), "fields": [{"name": "total", "type": "Money"}]})
    shop.commit()
    text = "counterfoil.yaml names no subject for money.avsc"
    linted = counterfoil("lint", "--format", "json", folder=shop.folder)
    assert (linted.code, linted.rules) == (1, ["reference-unmapped"])
    assert text in linted.report["findings"][0]["text"]
    for against in ((), ("--against", "registry"), ("--against", "registry", "--allow-unmapped")):
        checked = counterfoil("check", *against, "--format", "json", folder=shop.folder)
        assert (checked.code, "reference-unmapped" in checked.rules) == (1, True), checked
    for command in (("plan",), ("apply",), ("schema", "register")):
        refused = counterfoil(*command, folder=shop.folder)
        assert (refused.code, text in refused.err) == (2, True), refused
    shop.declare("{{files: order.avsc, subject: '{p}-order'}}", "{{files: money.avsc, part: true}}")
    assert counterfoil("lint", "--format", "json", folder=shop.folder).rules == []
    assert counterfoil("check", "--against", "registry", folder=shop.folder).code == 0
    assert counterfoil("plan", folder=shop.folder).code == 0


@pytest.mark.parametrize("is_dry", [False, True])
def test_a_contract_is_not_published_with_a_file_that_refers_to_an_unmapped_file(
    counterfoil, shop, registry, unique_name, is_dry
):
    name = unique_name("orders")
    shop.declare("{{files: contracts/order.avsc, subject: '{p}-order'}}")
    shop.write("contracts/orders.odcs.yaml", promise(contract=name))
    shop.write("money.avsc", record("Money", "currency", namespace="shop"))
    shop.write("contracts/order.avsc", schema(price="shop.Money"))
    shop.commit()
    command = ("publish", "--application", name, "--version", "1", *["--dry-run"] * is_dry)
    refused = counterfoil(*command, folder=shop.folder)
    assert (refused.code, refused.out.splitlines()[-1]) == (1, "Nothing was published."), refused
    assert "reference-unmapped" in refused.out
    assert "counterfoil.yaml names no subject for money.avsc" in refused.out
    assert name not in {each.name for each in registry.call(operations.applications())}
    shop.declare("{{files: contracts/order.avsc, subject: '{p}-order'}}", "{{files: money.avsc, part: true}}")
    allowed = counterfoil(*command, folder=shop.folder)
    assert "reference-unmapped" not in allowed.out, allowed


def test_the_difference_of_folders_has_the_files_that_the_project_maps(counterfoil, workshop, tmp_path_factory):
    project = "schemas:\n  - {files: 'schemas/*.json', subject: '{stem}'}\n"
    workshop.write("counterfoil.yaml", project)
    workshop.write("schemas/order.json", CLOSED)
    workshop.commit()
    changed = {**CLOSED, "properties": {"id": {"type": "integer"}}}
    workshop.write("schemas/order.json", changed)
    for base in ("HEAD:schemas", "HEAD:"):
        result = counterfoil("diff", base, "schemas" if base.endswith("schemas") else ".", folder=workshop.folder)
        assert (result.code, "order.json" in result.out, "id" in result.out) == (0, True, True), result
    top = tmp_path_factory.mktemp("folders")
    for name, held in (("one", CLOSED), ("two", changed)):
        (top / name / "schemas").mkdir(parents=True)
        (top / name / "schemas" / "order.json").write_text(json.dumps(held))
    (top / "two" / "counterfoil.yaml").write_text(project)
    result = counterfoil("diff", "one", "two", "--config", "two/counterfoil.yaml", folder=top)
    assert (result.code, "order.json" in result.out) == (0, True), result


def test_a_file_whose_entry_changes_its_subject(counterfoil, workshop, order):
    workshop.write("counterfoil.yaml", "schemas:\n  - {files: order.avsc, subject: orders}\n")
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("counterfoil.yaml", "schemas:\n  - {files: order.avsc, subject: purchases}\n")
    assert counterfoil("check", "--format", "json", folder=workshop.folder).rules == ["subject-changed"]
    workshop.write("counterfoil.yaml", "schemas:\n  - {files: order.avsc, subject: [orders, purchases]}\n")
    assert counterfoil("check", "--format", "json", folder=workshop.folder).rules == []


def test_a_moved_file_whose_entry_keeps_the_subject(counterfoil, workshop, order):
    workshop.write("counterfoil.yaml", "schemas:\n  - {files: '*.avsc', subject: '{stem}-value'}\n")
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.git("mv", "order.avsc", "purchase.avsc")
    workshop.write("counterfoil.yaml", "schemas:\n  - {files: '*.avsc', subject: order-value}\n")
    assert counterfoil("check", "--format", "json", folder=workshop.folder).rules == []


# --- register and check have the same subjects


def test_register_reads_the_project(counterfoil, shop, registry):
    shop.declare("{{files: 'schemas/*.avsc', subject: '{p}.{{stem}}', level: FULL}}")
    shop.write("schemas/order.avsc", record("Order", "id"))
    new = counterfoil("schema", "register", "--json", folder=shop.folder)  # the address is the project's, too
    assert states(new) == {"schemas/order.avsc": (f"{shop.prefix}.order", "new subject")}
    given = ("--subject", f"schemas/order.avsc={shop.prefix}.given")
    assert states(counterfoil("schema", "register", "--json", *given, folder=shop.folder)) == {
        "schemas/order.avsc": (f"{shop.prefix}.given", "new subject")
    }
    fields = [{"name": "id", "type": "string", "default": ""}, {"name": "added", "type": "int"}]
    shop.write("schemas/order.avsc", {**record("Order"), "fields": fields})
    registry.set_config(f"{shop.prefix}.order", "FORWARD")  # would allow it; FULL of the project does not
    assert counterfoil("schema", "register", folder=shop.folder).code == 1
    shop.write("other.avsc", record("Other"))
    refused = counterfoil("schema", "register", folder=shop.folder)
    assert (refused.code, "counterfoil.yaml names no subject for other.avsc" in refused.err) == (2, True)


def test_check_knows_the_subjects_that_register_derives(counterfoil, live_registry, unique_name, tmp_path):
    name = unique_name("n").replace("-", "_")
    (tmp_path / "money.avsc").write_text(json.dumps(record("Money", "currency", namespace=name)))
    order = {"type": "record", "name": "Order", "fields": [{"name": "total", "type": f"{name}.Money"}]}
    (tmp_path / f"{name}-value.avsc").write_text(json.dumps(order))
    access = ("--registry", live_registry.url)
    new = states(counterfoil("schema", "register", "--json", *access))
    assert new["money.avsc"] == (f"{name}.Money", "new subject")
    checked = counterfoil("check", "--against", "registry", "--format", "json", *access)
    assert (checked.code, {each["path"]: each["subject"] for each in checked.report["files"]}) == (
        0,
        {"money.avsc": f"{name}.Money", f"{name}-value.avsc": f"{name}-value"},
    )
    (tmp_path / "money.avsc").write_text(json.dumps({**record("Money", namespace=name), "fields": [
        {"name": "currency", "type": "int"}]}))  # fmt: skip
    assert counterfoil("check", "--against", "registry", *access).code == 1


def _refer(folder, name, reference):
    folder.mkdir(parents=True, exist_ok=True)
    document = {"type": "object", "properties": {"c": {"$ref": reference}}, "additionalProperties": False}
    (folder / f"{name}-value.schema.json").write_text(json.dumps(document))


def test_a_relative_reference_gives_the_path_from_the_root(counterfoil, live_registry, unique_name, tmp_path):
    name = unique_name("rel")
    _refer(tmp_path / "deep", name, f"../{name}.schema.json")
    (tmp_path / f"{name}.schema.json").write_text(json.dumps({"type": "string"}))
    access = ("--registry", live_registry.url)
    new = states(counterfoil("schema", "register", "--json", *access))
    assert new == {
        f"{name}.schema.json": (f"{name}.schema.json", "new subject"),
        f"deep/{name}-value.schema.json": (f"{name}-value", "new subject"),
    }
    with Registry(live_registry.url) as client:
        (reference,) = client.version(f"{name}-value").schema.references
    assert (reference.name, reference.subject) == (f"../{name}.schema.json", f"{name}.schema.json")
    assert counterfoil("check", "--against", "registry", *access).code == 0


def test_a_subject_that_was_registered_under_a_relative_reference_is_found(
    counterfoil, live_registry, unique_name, tmp_path
):
    name = unique_name("old")
    older = f"../{name}.schema.json"
    _refer(tmp_path / "deep", name, older)
    (tmp_path / f"{name}.schema.json").write_text(json.dumps({"type": "string"}))
    access = ("--registry", live_registry.url)
    with Registry(live_registry.url) as client:
        client.register(older, Schema('{"type": "string"}', SchemaType.JSON))
    known = states(counterfoil("schema", "register", "--json", *access))
    assert known[f"{name}.schema.json"] == (older, "unchanged")
    checked = counterfoil("check", "--against", "registry", "--format", "json", *access)
    assert {each["path"]: each["subject"] for each in checked.report["files"]}[f"{name}.schema.json"] == older
    assert states(counterfoil("schema", "register", "--json", *access))[f"{name}.schema.json"] == (older, "unchanged")


def test_a_part_of_a_project_is_judged_as_plan_registers_it(counterfoil, shop):
    name = shop.prefix.replace("-", "_")
    shop.declare("{{files: line.avsc, part: true}}", "{{files: '*.avsc', subject: '{p}-{{stem}}'}}")
    shop.write("line.avsc", record(name, "sku"))
    shop.write("alone.avsc", record("Alone"))
    shop.write("order.avsc", {"type": "record", "name": "Order", "fields": [{"name": "line", "type": name}]})
    shop.commit()
    planned = counterfoil("plan", "--format", "json", folder=shop.folder).report
    subjects = {each["path"]: each["subject"] for each in planned["changes"]}
    checked = counterfoil("check", "--against", "registry", "--format", "json", folder=shop.folder).report
    assert {each["path"]: each["subject"] for each in checked["files"]} == subjects
    assert subjects["line.avsc"] == name
