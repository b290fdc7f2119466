"""Which file is which subject: ``check``, ``lint``, ``plan``, ``schema register`` and ``init`` have one answer."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Schema, SchemaType
from strategies.contracts.subject_projects import CLOSED, JSON_ORDER, record, states

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
