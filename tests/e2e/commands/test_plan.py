"""``counterfoil plan`` and ``apply``: a registry gets the state that the files declare, and a second plan is empty."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.subjects import Mode
from counterfoil.sdk import Registry

LINE = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def shop(workshop, order, unique_name, live_registry):
    """A repository whose project maps an order, which refers to a line, to two subjects with names of their own."""
    workshop.prefix = unique_name("plan")
    workshop.write("schemas/order.avsc", order(id="string", line="shop.Line"))
    workshop.write("schemas/line.avsc", LINE)

    def declare(extra="", top="level: BACKWARD\n"):
        workshop.write(
            "counterfoil.yaml",
            f"registry: {live_registry.url}\nmanaged-by: {workshop.prefix}\n{top}schemas:\n"
            f"  - {{files: schemas/order.avsc, subject: {workshop.prefix}.order-value{extra}}}\n"
            f"  - {{files: schemas/*.avsc, subject: '{workshop.prefix}.{{stem}}'}}\n",
        )

    workshop.declare = declare
    declare()
    return workshop


def test_a_plan_is_applied_in_the_order_of_references_and_then_empty(counterfoil, shop, registry):
    subject = f"{shop.prefix}.order-value"
    shop.declare(f", level: FULL_TRANSITIVE, policy: SOUND, aliases: ['{shop.prefix}.old']")
    planned = counterfoil("plan", "--fail-on-changes", folder=shop.folder)
    assert planned.code == 3, planned
    lines = planned.out.splitlines()
    assert lines[0].startswith(f"+ {shop.prefix}.line: a new subject from schemas/line.avsc (sha256 ")
    assert f"~ {subject}: level BACKWARD → FULL_TRANSITIVE" in lines
    assert f"~ {subject}: policy STRICT → SOUND" in lines
    assert f"+ {shop.prefix}.old: alias unset → {subject}" in lines
    assert lines[-1].startswith("7 changes for http")
    with pytest.raises(SubjectNotFound):
        registry.versions(subject)
    applied = counterfoil("apply", folder=shop.folder)
    assert (applied.code, applied.out.splitlines()[-1]) == (0, "7 changes made")
    held = registry.version(subject)
    assert [(one.name, one.subject, one.version) for one in held.schema.references] == [
        ("shop.Line", f"{shop.prefix}.line", 1)
    ]
    config = registry.config(subject)
    assert (config.compatibility_level, config.compatibility_policy) == ("FULL_TRANSITIVE", "SOUND")
    assert config.default_metadata.properties == {"managed-by": shop.prefix}
    assert registry.config(f"{shop.prefix}.old").alias == subject
    again = counterfoil("plan", "--fail-on-changes", folder=shop.folder)
    assert (again.code, again.out.splitlines()[0].startswith("0 changes for")) == (0, True), again


def test_a_change_is_judged_by_the_wanted_level_and_loosened_first(counterfoil, shop, registry, order):
    subject = f"{shop.prefix}.order-value"
    shop.declare(", level: FULL_TRANSITIVE")
    assert counterfoil("apply", folder=shop.folder).code == 0
    shop.write("schemas/order.avsc", order(id="string", line="shop.Line", added="string"))
    refused = counterfoil("apply", folder=shop.folder)
    assert (refused.code, "reader-field-missing-default" in refused.out) == (1, True)
    assert refused.out.splitlines()[-1] == "Nothing was changed."
    shop.declare(", level: FORWARD")
    assert counterfoil("apply", folder=shop.folder).code == 0
    assert registry.versions(subject) == (1, 2)
    assert registry.config(subject).compatibility_level == "FORWARD"
    assert counterfoil("plan", "--fail-on-changes", folder=shop.folder).code == 0


def test_a_level_is_tightened_after_the_schema_is_there(counterfoil, shop, registry, order):
    subject = f"{shop.prefix}.order-value"
    shop.declare(", level: NONE")
    assert counterfoil("apply", folder=shop.folder).code == 0
    shop.declare(", level: FULL")
    shop.write("schemas/order.avsc", order(id="string", line="shop.Line", note={"type": "string", "default": ""}))
    assert counterfoil("apply", folder=shop.folder).code == 0
    assert (registry.versions(subject), registry.config(subject).compatibility_level) == ((1, 2), "FULL")


def test_a_plan_can_be_printed_instead_of_the_report(counterfoil, shop):
    assert counterfoil("plan", "--out", "plan.json", folder=shop.folder).code == 0
    plan = (shop.folder / "plan.json").read_text()
    printed = counterfoil("plan", "--out", "-", "--format", "markdown=plan.md", folder=shop.folder)
    assert (printed.code, printed.out, printed.err) == (0, plan, "")
    assert (shop.folder / "plan.md").exists()
    assert counterfoil("plan", "--format", "json=-", folder=shop.folder).out == plan
    two = counterfoil("plan", "--format", "json=-", "--format", "text", folder=shop.folder)
    assert (two.code, "two formats go to standard output" in two.err) == (2, True)
    assert not (shop.folder / "-").exists()


def test_a_stale_plan_is_refused(counterfoil, shop, registry):
    assert counterfoil("plan", "--out", "plan.json", folder=shop.folder).code == 0
    document = json.loads((shop.folder / "plan.json").read_text())
    Draft202012Validator(report_json_schema()).validate(document)
    assert (document["schemaVersion"], document["kind"]) == (1, "plan")
    registry.register(f"{shop.prefix}.line", Schema(json.dumps(LINE)))
    stale = counterfoil("apply", "plan.json", folder=shop.folder)
    assert (stale.code, "plan.json is stale" in stale.err) == (13, True)
    assert counterfoil("plan", "--out", "plan.json", folder=shop.folder).code == 0
    assert counterfoil("apply", "plan.json", folder=shop.folder).code == 0
    for text in ("{", "[]", "{}", "9" * 5000, "[" * 100_000):
        shop.write("no.json", text)
        assert counterfoil("apply", "no.json", folder=shop.folder).code == 14


def test_only_what_the_project_owns_is_pruned(counterfoil, shop, registry):
    assert counterfoil("apply", folder=shop.folder).code == 0
    foreign = f"{shop.prefix}.foreign"
    registry.register(foreign, Schema('"string"'))
    (shop.folder / "schemas" / "order.avsc").unlink()
    kept = counterfoil("plan", folder=shop.folder)
    assert kept.out.splitlines()[-1].startswith("0 changes for")
    planned = counterfoil("plan", "--prune", "--out", "plan.json", folder=shop.folder)
    assert planned.out.splitlines()[0].startswith(f"- {shop.prefix}.order-value: delete the subject")
    assert planned.out.splitlines()[-1].startswith("1 change for")
    assert counterfoil("apply", "plan.json", folder=shop.folder).code == 0
    with pytest.raises(SubjectNotFound):
        registry.versions(f"{shop.prefix}.order-value")
    assert registry.versions(foreign) == (1,)


def test_a_subject_that_cannot_be_finished_is_as_before(counterfoil, shop, registry, order):
    subject = f"{shop.prefix}.order-value"
    shop.declare(", level: FULL")
    assert counterfoil("apply", folder=shop.folder).code == 0
    before = registry.config(subject)
    shop.write("schemas/order.avsc", order(id="int", line="shop.Line"))
    registry.set_mode(f"{shop.prefix}.other", Mode.READONLY)
    shop.declare(f", level: NONE, aliases: ['{shop.prefix}.other']")
    failed = counterfoil("apply", folder=shop.folder)
    assert (failed.code, failed.out.splitlines()[-1]) == (14, "0 changes made")
    assert "READONLY" in failed.err
    assert (registry.versions(subject), registry.config(subject)) == ((1,), before)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("level: FULL\n", (2, "names no subject for schemas/line.avsc")),
        ("schemas: [{files: '**', subject: one}]\n", (2, "have the same subject 'one'")),
        ("schemas: [{files: '**', part: true}]\n", (2, "managed-by: NAME")),
        ("schemas: [{files: '**', subject: '{stem}', aliases: [a]}]\n", (14, "without placeholders")),
        ("schemas: [{files: '**', subject: '{stem}', mode: SOMETIMES}]\n", (14, "mode must be one of")),
    ],
)
def test_mistakes(counterfoil, shop, live_registry, text, expected):
    code, said = expected
    shop.write("counterfoil.yaml", text)
    result = counterfoil("plan", "--prune", "--registry", live_registry.url, folder=shop.folder)
    assert (result.code, said in result.err) == (code, True), result


def test_without_a_registry_or_a_project_nothing_is_planned(counterfoil, shop):
    assert counterfoil("plan", "--registry", "http://127.0.0.1:1", "--retries", "0", folder=shop.folder).code == 11
    (shop.folder / "counterfoil.yaml").unlink()
    result = counterfoil("plan", folder=shop.folder)
    assert (result.code, "there is no counterfoil.yaml" in result.err) == (14, True)


def _server(environment, url):
    own = [{"property": "registry", "value": url}]
    server = {"server": environment, "type": "kafka", "host": "kafka:9092", "customProperties": own}
    return {**server, "environment": environment}


def test_the_registry_of_an_environment_is_the_one_that_contracts_name(counterfoil, shop, live_registry):
    from strategies.contracts.agreement_files import CONTRACT

    shop.declare()
    project = (shop.folder / "counterfoil.yaml").read_text()
    shop.write("counterfoil.yaml", project.replace(live_registry.url, "http://127.0.0.1:1"))
    nothing = counterfoil("plan", "--env", "staging", folder=shop.folder)
    assert (nothing.code, "no registry is known for it" in nothing.err) == (2, True), nothing
    head, _, rest = CONTRACT.partition("servers:\n")
    servers = json.dumps([_server("staging", live_registry.url), _server("production", "http://127.0.0.1:1")])
    shop.write("orders.odcs.yaml", f"{head}servers: {servers}\nschema:{rest.partition('schema:')[2]}")
    planned = counterfoil("plan", "--env", "staging", "--out", "plan.json", folder=shop.folder)
    assert (planned.code, f" for {live_registry.url}" in planned.out) == (0, True), planned
    given = {"COUNTERFOIL_REGISTRY_URL": "http://127.0.0.1:1"}
    other = counterfoil("plan", "--env", "staging", folder=shop.folder, settings=given)
    assert (other.code, "give one of them" in other.err) == (2, True), other
    applied = counterfoil("apply", "plan.json", "--env", "staging", folder=shop.folder)
    assert applied.code == 0, applied
    assert counterfoil("plan", "--env", "staging", "--fail-on-changes", folder=shop.folder).code == 0
    more = json.dumps([_server("staging", live_registry.url), _server("staging", "http://127.0.0.1:2")])
    shop.write("orders.odcs.yaml", f"{head}servers: {more}\nschema:{rest.partition('schema:')[2]}")
    several = counterfoil("plan", "--env", "staging", folder=shop.folder)
    assert (several.code, "name several registries" in several.err) == (2, True), several
