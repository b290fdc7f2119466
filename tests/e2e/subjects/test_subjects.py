"""Which file is which subject: ``check``, ``lint``, ``plan``, ``schema register`` and ``init`` have one answer."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Metadata, Schema, SchemaType
from counterfoil.sdk import Registry, operations
from strategies.contracts.stories import promise, schema

DRAFT = "http://json-schema.org/draft-07/schema#"
JSON_ORDER = {"$schema": DRAFT, "title": "Order", "type": "object", "properties": {"id": {"type": "string"}}}
CLOSED = {**JSON_ORDER, "additionalProperties": False}


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def shop(workshop, unique_name, live_registry):
    """A repository with a project file that a test declares; the subjects have a prefix of their own."""
    workshop.prefix = unique_name("own")

    def declare(*lines, top=""):
        entries = "".join(f"  - {line.format(p=workshop.prefix)}\n" for line in lines)
        workshop.write("counterfoil.yaml", f"registry: {live_registry.url}\n{top}schemas:\n{entries}")

    workshop.declare = declare
    return workshop


def record(name, *fields, **more):
    members = [{"name": each, "type": "string", "default": ""} for each in fields]
    return {"type": "record", "name": name, "fields": members, **more}


def states(outcome):
    return {each["file"]: (each["subject"], each["state"]) for each in outcome.report["files"]}


# --- what is mapped is checked everywhere


@pytest.mark.parametrize(
    ("name", "glob"),
    [("order.json", "*.json"), ("order.json", ""), ("order.json", "order.json"), ("order.schema", "*.schema")],
)
def test_a_mapped_file_is_checked_everywhere(counterfoil, shop, name, glob):
    good, bad = (CLOSED, {**CLOSED, "properties": {"id": {"type": "integer"}}})
    if name.endswith(".schema"):
        good, bad = record("Order", "id"), {**record("Order"), "fields": [{"name": "id", "type": "int"}]}
    path = f"schemas/{name}"
    shop.declare(f"{{{{files: 'schemas/{glob}', subject: '{{p}}-order'}}}}")
    shop.write(path, good)
    shop.commit()
    subject = f"{shop.prefix}-order"
    linted = counterfoil("lint", "--format", "json", folder=shop.folder)
    assert (linted.code, linted.report["files"]) == (0, ["counterfoil.yaml", path]), linted
    planned = counterfoil("plan", "--format", "json", folder=shop.folder)
    assert [(each["path"], each["subject"]) for each in planned.report["changes"]] == [(path, subject)]
    assert states(counterfoil("schema", "register", "--json", folder=shop.folder)) == {path: (subject, "new subject")}
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0
    shop.write(path, bad)
    for against in ((), ("--against", "registry"), ("--staged", "--against", "HEAD")):
        if against[:1] == ("--staged",):
            shop.git("add", "--all")
        result = counterfoil("check", *against, "--format", "json", folder=shop.folder)
        assert (result.code, [each["path"] for each in result.report["files"]]) == (1, [path]), result
    assert counterfoil("schema", "register", folder=shop.folder).code == 1
    assert counterfoil("apply", folder=shop.folder).code == 1


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('syntax = "proto3"; message Order { string id = 1; }', SchemaType.PROTOBUF),
        (json.dumps(JSON_ORDER), SchemaType.JSON),
        (json.dumps({"type": "record", "name": "Order", "fields": []}), SchemaType.AVRO),
    ],
)
def test_a_mapped_file_with_another_suffix_says_its_language(counterfoil, shop, registry, text, language):
    shop.declare("{{files: '*.txt', subject: '{p}-{{stem}}'}}")
    shop.write("order.txt", text)
    assert counterfoil("apply", folder=shop.folder).code == 0
    assert registry.version(f"{shop.prefix}-order.txt").schema.schema_type is language


def test_a_json_schema_that_nothing_maps_is_named(counterfoil, shop):
    shop.declare("{{files: 'schemas/*.avsc', subject: '{p}-{{stem}}'}}")
    shop.write("schemas/order.avsc", record("Order"))
    shop.write("schemas/customer.json", JSON_ORDER)
    shop.write("package.json", {"name": "shop", "type": "module"})
    shop.write("tsconfig.json", {"$schema": "https://json.schemastore.org/tsconfig"})
    shop.commit()
    said = "schemas/customer.json names a $schema and is not checked"
    for command in (["check"], ["check", "--against", "registry"], ["lint"], ["plan"]):
        result = counterfoil(*command, folder=shop.folder)
        assert (result.code, said in result.out, "package" in result.out) == (0, True, False), result
        document = counterfoil(*command, "--format", "json", folder=shop.folder).report
        assert said in document.get("note", "; ".join(document.get("notes", ())))
    assert said in counterfoil("schema", "register", "--dry-run", folder=shop.folder).err
    assert "tsconfig" not in counterfoil("check", folder=shop.folder).out


def test_a_json_schema_that_another_one_refers_to_is_not_named(counterfoil, shop):
    shop.write("order.schema.json", {"type": "object", "properties": {"c": {"$ref": "customer.json"}}})
    shop.write("customer.json", JSON_ORDER)
    shop.commit()
    assert "not checked" not in counterfoil("check", folder=shop.folder).out


@pytest.mark.parametrize("text", ["{", "[1, 2", '{"type": "nothing"}', "no schema at all", b"\xff\xfe"])
def test_a_mapped_file_that_is_no_schema_is_an_error_everywhere(counterfoil, shop, registry, text):
    shop.declare("{{files: 'schemas/*.json', subject: '{p}-{{stem}}'}}")
    shop.write("schemas/order.json", JSON_ORDER)
    shop.commit()
    shop.write("schemas/order.json", text)
    for command, code in ((["check"], 1), (["check", "--against", "registry"], 1), (["lint"], 1)):
        result = counterfoil(*command, "--format", "json", folder=shop.folder)
        assert (result.code, result.rules) == (code, ["schema-invalid"]), result
    for command in (["plan"], ["apply"], ["schema", "register"]):
        result = counterfoil(*command, folder=shop.folder)
        assert (result.code, "schemas/order.json" in result.err) == (14, True), result
    with pytest.raises(SubjectNotFound):
        registry.versions(f"{shop.prefix}-order")


def test_json_with_any_content_in_a_folder_that_is_mapped_is_no_schema(counterfoil, shop):
    shop.declare("{{files: schemas/, subject: '{p}-{{stem}}'}}")
    shop.write("schemas/order.avsc", record("Order"))
    shop.write("schemas/sample.json", {"id": "1", "items": [{"sku": "a"}]})
    shop.write("schemas/README.md", "# Schemas")
    shop.commit()
    planned = counterfoil("plan", "--format", "json", folder=shop.folder).report
    assert [each["path"] for each in planned["changes"]] == ["schemas/order.avsc"]
    assert counterfoil("check", folder=shop.folder).code == 0


def test_an_entry_without_files_is_named(counterfoil, shop):
    shop.declare("{{files: 'schema/*.avsc', subject: '{p}-a'}}", "{{files: '**', subject: '{p}-{{stem}}'}}")
    shop.write("schemas/order.avsc", record("Order"))
    shop.commit()
    for command in ("check", "plan"):
        result = counterfoil(command, folder=shop.folder)
        assert (result.code, "no file matches schema/*.avsc" in result.out) == (0, True), result


def test_an_entry_whose_files_an_earlier_one_maps_is_told_so(counterfoil, shop):
    shop.declare("{{files: '**', subject: '{p}-{{stem}}'}}", "{{files: 'schemas/order.avsc', subject: '{p}-a'}}")
    shop.write("schemas/order.avsc", record("Order"))
    shop.commit()
    said = "the entry schemas/order.avsc of counterfoil.yaml maps no file, since schemas/order.avsc is mapped by an"
    for command in ("check", "plan", "lint"):
        result = counterfoil(command, folder=shop.folder)
        assert (said.replace(" of counterfoil.yaml", "") if command == "lint" else said) in result.out, result
        assert "no file matches" not in result.out, result


def test_check_without_a_project_names_files_with_one_subject(counterfoil, workshop):
    for folder in ("one", "two"):
        workshop.write(f"{folder}/orders-value.avsc", record("Order", folder))
    workshop.commit()
    result = counterfoil("check", "--against", "HEAD", folder=workshop.folder)
    said = "one/orders-value.avsc and two/orders-value.avsc have the subject 'orders-value' by their names"
    assert (result.code, said in result.out) == (0, True), result
    one = counterfoil("check", "--against", "HEAD", "one", folder=workshop.folder)
    assert "by their names" not in one.out, one


def test_init_below_a_project_is_refused(counterfoil, workshop):
    workshop.write("counterfoil.yaml", "schemas: [{files: '**', subject: '{stem}'}]\n")
    workshop.write("schemas/order.avsc", record("Order"))
    workshop.commit()
    below = workshop.folder / "schemas"
    refused = counterfoil("init", folder=below)
    assert (refused.code, "is the project file of this folder, too" in refused.err) == (14, True), refused
    assert not (below / "counterfoil.yaml").exists()
    assert counterfoil("init", "--print", folder=below).code == 0
    assert counterfoil("init", "--force", folder=below).code == 0
    assert (below / "counterfoil.yaml").exists()


def test_two_entries_for_one_file_are_a_mistake(counterfoil, shop):
    shop.write("a.avsc", record("A"))
    shop.declare("{{files: a.avsc, subject: one}}", "{{files: a.avsc, subject: two}}")
    for command in (["check"], ["plan"], ["schema", "register"], ["check", "--against", "registry"]):
        result = counterfoil(*command, folder=shop.folder)
        assert (result.code, "a.avsc is in the entry at 3:5 already" in result.err) == (14, True), result
    assert counterfoil("lint", "--format", "json", folder=shop.folder).rules == ["project-invalid"]


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


# --- several subjects for one file


def test_one_file_for_several_subjects(counterfoil, shop, registry):
    audit = (
        "{{name: '{p}-audit', normalize: true, metadata: {{properties: {{kept: years}}, tags: {{'**.id': [PII]}}}}}}"
    )
    shop.declare(f"{{{{files: order.avsc, subject: ['{{p}}-order', {audit}]}}}}")
    shop.write("order.avsc", record("Order", "id"))
    shop.commit()
    first, second = f"{shop.prefix}-order", f"{shop.prefix}-audit"
    assert counterfoil("apply", folder=shop.folder).code == 0
    assert registry.version(first).schema.metadata is None
    held = registry.version(second).schema.metadata
    assert (held.properties, held.tags) == ({"kept": "years"}, {"**.id": ("PII",)})
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0
    again = counterfoil("schema", "register", "--json", folder=shop.folder).report["files"]
    assert [(each["subject"], each["state"]) for each in again] == [(first, "unchanged"), (second, "unchanged")]
    wide = {**record("Order"), "fields": [{"name": "id", "type": "long"}]}
    registry.set_config(second, "NONE")
    registry.register(second, Schema(json.dumps(wide)))
    checked = counterfoil("check", "--against", "registry", "--format", "json", folder=shop.folder)
    files = [(each["subject"], each["status"]) for each in checked.report["files"]]
    assert (checked.code, files) == (0, [(first, "unchanged"), (second, "compared")])
    registry.set_config(second, "BACKWARD")
    checked = counterfoil("check", "--against", "registry", "--format", "json", folder=shop.folder)
    assert (checked.code, [each["subject"] for each in checked.report["findings"]]) == (1, [second])
    planned = counterfoil("plan", "--fail-on-changes", folder=shop.folder)
    assert (planned.code, f"~ {second}: the latest is version 2" in planned.out) == (3, True), planned


def test_a_subject_in_two_lists_is_taken(counterfoil, shop):
    shop.declare("{{files: a.avsc, subject: [one, two]}}", "{{files: b.avsc, subject: [two, three]}}")
    shop.write("a.avsc", record("A"))
    shop.write("b.avsc", record("B"))
    assert counterfoil("lint", "--format", "json", folder=shop.folder).rules == ["subject-taken"] * 2
    assert counterfoil("plan", folder=shop.folder).code == 2


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("subject: []", "subject must name at least one subject"),
        ("subject: [a, a]", "a is in the list twice"),
        ("subject: [{normalize: true}]", "a subject needs name"),
        ("subject: [a, b], aliases: [c]", "aliases are of one subject"),
        ("subject: a, normalize: maybe", "normalize must be true or false"),
        ("subject: a, metadata: {owner: x}", "metadata has no key owner"),
        ("subject: a, metadata: {tags: {x: PII}}", "tags of x must be a list"),
    ],
)
def test_entries_that_cannot_be_read(counterfoil, workshop, entry, problem):
    workshop.write("counterfoil.yaml", f"schemas:\n  - {{files: a.avsc, {entry}}}\n")
    workshop.write("a.avsc", record("A"))
    result = counterfoil("check", folder=workshop.folder)
    assert (result.code, problem in result.err) == (14, True), result


def test_unmapped_files_alone_are_allowed_to_be_unmapped(counterfoil, shop):
    shop.declare("{{files: order.avsc, subject: '{p}-order'}}")
    shop.write("order.avsc", record("Order"))
    shop.commit()
    arguments = ("check", "--against", "registry", "--format", "json")
    new = counterfoil(*arguments, folder=shop.folder)
    assert (new.code, new.rules, new.report["files"][0]["status"]) == (0, ["schema-new"], "new")
    shop.write("other.avsc", record("Other"))
    unmapped = counterfoil(*arguments, folder=shop.folder)
    assert (unmapped.code, unmapped.report["summary"]["unmapped"]) == (4, 1)
    assert counterfoil(*arguments, "--allow-unmapped", folder=shop.folder).code == 0


# --- init


def test_what_init_writes_is_what_plan_and_check_take(counterfoil, workshop, live_registry):
    for folder in ("a", "b"):
        workshop.write(f"{folder}/order.avsc", record("Order", folder))
    workshop.write("c/customer.json", JSON_ORDER)
    workshop.write("c/sample.json", {"id": 1})
    workshop.write("c/sales.json", JSON_ORDER | {"title": "Sales"})
    workshop.write("c/order.proto", 'syntax = "proto3"; message Order {}')
    workshop.commit()
    assert counterfoil("init", "--registry", live_registry.url, folder=workshop.folder).code == 0
    assert counterfoil("lint", folder=workshop.folder).code == 0
    planned = counterfoil("plan", "--format", "json", folder=workshop.folder)
    subjects = {each["path"]: each["subject"] for each in planned.report["changes"]}
    assert (planned.code, sorted(subjects)) == (
        0,
        ["a/order.avsc", "b/order.avsc", "c/customer.json", "c/order.proto", "c/sales.json"],
    )
    assert len({*subjects.values()}) == len(subjects)


# --- diff


def test_diff_says_what_breaks_under_the_policy_in_force(counterfoil, shop, order, registry):
    shop.declare("{{files: order.avsc, subject: '{p}-order', level: FORWARD}}")
    shop.write("order.avsc", order(id="string", total="long", gone="int"))
    shop.commit()
    shop.write("order.avsc", order(id="string", total="double", new="int"))
    printed = counterfoil("diff", "HEAD:order.avsc", "order.avsc", folder=shop.folder)
    lines = printed.out.splitlines()
    assert lines[0].endswith("breaks FORWARD (reader-field-missing-default)")
    assert lines[1].endswith("breaks FORWARD (type-mismatch)")
    assert lines[2].endswith("breaks BACKWARD, allowed (reader-field-missing-default)")
    assert lines[3].endswith("  (2 are forbidden by FORWARD under STRICT)")
    report = counterfoil(
        "diff", "HEAD:order.avsc", "order.avsc", "--level", "NONE", "--format", "json", folder=shop.folder
    ).report
    assert report["verdict"] == {"compatible": True, "level": "NONE", "policy": "STRICT", "otherBreaks": []}
    subject = f"{shop.prefix}-order"
    registry.set_config(subject, "FULL")
    registry.register(subject, Schema(json.dumps(order(id="string"))))
    registry.register(subject, Schema(json.dumps(order(id="string", x={"type": "int", "default": 1}))))
    of_registry = counterfoil(
        "diff", f"{subject}@1", f"{subject}@2", "--format", "json", "--registry", registry_url(shop)
    )
    assert of_registry.report["verdict"]["level"] == "FULL"
    assert [each["breaks"] for each in of_registry.report["changes"]] == [[]]


def registry_url(shop):
    return (shop.folder / "counterfoil.yaml").read_text().split()[1]


def test_diff_names_what_breaks_through_references(counterfoil, workshop):
    workshop.write("line.avsc", record("Line", "sku"))
    workshop.write("order.avsc", {"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]})
    workshop.commit()
    workshop.write("line.avsc", {**record("Line"), "fields": [{"name": "sku", "type": "int"}]})
    result = counterfoil("diff", "HEAD:order.avsc", "order.avsc", folder=workshop.folder)
    assert "type-mismatch" in result.out, result


# --- what one command refuses, the others name


def test_a_symbolic_link_is_named(counterfoil, shop):
    shop.declare("{{files: 'a/*.json', subject: '{p}-order'}}")
    shop.write("real/order.json", JSON_ORDER)
    (shop.folder / "a").mkdir()
    (shop.folder / "a" / "order.json").symlink_to("../real/order.json")
    shop.commit()
    named = "a/order.json is a symbolic link and is not checked; map the file that it leads to"
    for command, code in (("check", 4), ("plan", 4), ("lint", 0), ("schema register", 4)):
        done = counterfoil(*command.split(), folder=shop.folder)
        assert (done.code, named in " ".join((done.out + done.err).split())) == (code, True), done


def test_a_plan_without_files_is_no_answer(counterfoil, shop):
    shop.declare("{{files: '*.avsc', subject: '{p}-order'}}")
    shop.commit()
    planned = counterfoil("plan", "--fail-on-changes", folder=shop.folder)
    assert planned.code == 4, planned
    assert "There is no schema file here that counterfoil.yaml maps" in planned.err
    shop.write("order.avsc", record("Order", "id"))
    assert counterfoil("plan", folder=shop.folder).code == 0


def test_lint_finds_aliases_that_a_plan_refuses(counterfoil, shop):
    entries = (
        "{{files: a.avsc, subject: '{p}-a', aliases: ['{p}-b']}}",
        "{{files: b.avsc, subject: '{p}-b', aliases: ['{p}-c']}}",
        "{{files: d.avsc, subject: '{p}-d', aliases: ['{p}-c']}}",
    )
    shop.declare(*entries)
    for name in "abd":
        shop.write(f"{name}.avsc", record(name.upper(), "id"))
    shop.commit()
    linted = counterfoil("lint", "--format", "json", folder=shop.folder)
    found = [
        (each["path"], each["rule"], each["element"].removeprefix(shop.prefix)) for each in linted.report["findings"]
    ]
    assert (linted.code, found) == (
        1,
        [("a.avsc", "subject-taken", "-b"), ("b.avsc", "subject-taken", "-c"), ("d.avsc", "subject-taken", "-c")],
    )
    planned = counterfoil("plan", folder=shop.folder)
    assert (planned.code, "keep one of them" in planned.err) == (2, True)
    shop.declare(
        *(each.replace("aliases: ['{p}-", f"aliases: ['{{p}}-{number}") for number, each in enumerate(entries))
    )
    assert counterfoil("lint", folder=shop.folder).code == 0
    assert counterfoil("plan", folder=shop.folder).code == 0


def test_files_whose_names_give_them_one_subject_are_a_warning_without_a_project(counterfoil, workshop):
    workshop.write("a/order-value.avsc", record("Order", "id"))
    workshop.write("b/order-value.avsc", record("Order", "number"))
    workshop.write("c/other-value.avsc", record("Other", "id"))
    workshop.commit()
    done = counterfoil("lint", "--format", "json", folder=workshop.folder)
    found = [(each["path"], each["rule"], each["severity"]) for each in done.report["findings"]]
    taken = [(f"{folder}/order-value.avsc", "subject-taken", "warning") for folder in "ab"]
    assert (done.code, found) == (0, taken), done
    workshop.write("b/order-value.avsc", record("Order", "id"))
    assert counterfoil("lint", "--format", "json", folder=workshop.folder).report["findings"] == []


def test_files_that_no_entry_maps_are_named(counterfoil, shop):
    shop.declare("{{files: 'a.avsc', subject: '{p}-a'}}")
    shop.write("a.avsc", record("A", "id"))
    shop.write("b.avsc", record("B", "id"))
    shop.commit()
    named = "no entry of counterfoil.yaml maps b.avsc, so that plan and schema register refuse it"
    for command in ("check", "lint"):
        done = counterfoil(command, "--format", "json", folder=shop.folder)
        assert (done.code, named in done.report["note"]) == (0, True), done
    assert counterfoil("plan", folder=shop.folder).code == 2


@pytest.mark.parametrize("name", ["ORDER.AVSC", "Order.Avsc"])
def test_the_end_of_a_name_may_have_any_case(counterfoil, shop, name):
    shop.declare("{{files: '*', subject: '{p}-order'}}")
    shop.write(name, record("Order", "id"))
    shop.commit()
    planned = counterfoil("plan", "--format", "json", folder=shop.folder)
    assert [each["path"] for each in planned.report["changes"]] == [name]
    shop.write(name, {**record("Order"), "fields": [{"name": "id", "type": "int"}]})
    assert counterfoil("check", folder=shop.folder).code == 1


def test_json_in_capital_letters_is_json(counterfoil, shop):
    shop.declare("{{files: '*.JSON', subject: '{p}-order'}}")
    shop.write("ORDER.JSON", JSON_ORDER)
    shop.commit()
    assert counterfoil("schema", "register", folder=shop.folder).code == 0
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0
