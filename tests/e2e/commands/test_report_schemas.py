"""Every report of every command is valid under the published schema of its format."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.schema.rest.observations import SchemaCount, TopicStats
from counterfoil.sdk import Registry, operations
from strategies.contracts import published_reports
from strategies.contracts.agreement_files import APPLICATION, BRIDGE, CONTRACT, SCHEMA
from strategies.contracts.stories import LINK, expectation, promise, schema

MESSAGES = "0000000007066f2d31880e00\n0000000007066f2d32c0bb0100\n"
RECORD = {
    "type": "record",
    "name": "OrderPlaced",
    "fields": [{"name": name, "type": kind} for name, kind in (("order_id", "string"), ("total_cents", "long"))],
}
FINDINGS = ("junit", "sarif", "gitlab")
COMMANDS = {
    "lint": (("lint",), FINDINGS),
    "lint --fix": (("lint", "--fix"), FINDINGS),
    "lint of valid files": (("lint", "schemas"), FINDINGS),
    "check": (("check",), FINDINGS),
    "check of everything": (
        ("check", "--consumers", ".", "--level", "FULL", "--generated-code", "file", "--fail-on", "warning"),
        FINDINGS,
    ),
    "check of nothing": (("check", "nothing", "--allow-empty"), FINDINGS),
    "test": (("test", "records", "--from-file", "records/r.hex", "--schemas", "records/ids"), FINDINGS),
    "test with a proposal": (
        ("test", "records", "--from-file", "records/r.hex", "--schemas", "records/ids", "--proposed", "records/p.avsc"),
        FINDINGS,
    ),
    "diff of schemas": (("diff", "main:schemas/order.avsc", "schemas/order.avsc"), ()),
    "diff of contracts": (("diff", "main:orders.odcs.yaml", "orders.odcs.yaml"), ()),
    "diff of folders": (("diff", "main:", "."), ()),
}
OF_A_REGISTRY = {
    "check in an environment": (("check", "--env", "{0}-live"), FINDINGS),
    "check against the registry": (
        ("check", "--against", "registry", "--subject", "schemas/order.avsc={0}-value", "--allow-unmapped"),
        FINDINGS,
    ),
    "can-i-deploy: no": (("can-i-deploy", "{0}-shop@2", "--environment", "{0}-live"), ("junit",)),
    "can-i-deploy: unknown": (("can-i-deploy", "{0}-shop@9", "--environment", "{0}-live"), ("junit",)),
    "can-i-retire": (("can-i-deploy", "--retire", "{0}@2", "--environment", "{0}-live"), ("junit",)),
    "usage": (("usage", "{0}-value"), ()),
    "usage of a field": (("usage", "{0}.total", "--env", "{0}-live"), ()),
    "usage of a topic": (("usage", "--topic", "{0}"), ()),
    "plan": (("plan",), ()),
}


@pytest.fixture
def shop(workshop):
    """A repository with mistakes of every kind, and messages."""
    workshop.write("orders.odcs.yaml", CONTRACT)
    workshop.write("billing.odps.yaml", APPLICATION)
    workshop.write("schemas/order.avsc", SCHEMA)
    workshop.write("schemas/gone.avsc", '"int"')
    workshop.write("converters/orders.yaml", BRIDGE)
    workshop.write("records/ids/7.avsc", RECORD)
    workshop.write("records/p.avsc", {**RECORD, "fields": [{"name": "new", "type": "int"}]})
    workshop.write("records/r.hex", MESSAGES)
    workshop.write("records/records.odcs.yaml", CONTRACT.replace("id: orders.placed", "id: records"))
    workshop.write("nothing/README", "")
    workshop.commit()
    workshop.write("orders.odcs.yaml", CONTRACT.replace("EUR.cent", "eur").replace("name: sku", "name: skus"))
    workshop.write(
        "schemas/order.avsc", SCHEMA.replace('"total_cents", "type": "long"', '"total_cents", "type": "int"')
    )
    workshop.write("schemas/bad.avsc", '{"type": "lnog"}')
    workshop.write("schemas/bom.avsc", b'\xef\xbb\xbf"int"')
    (workshop.folder / "schemas" / "gone.avsc").unlink()
    return workshop


def _check_all(run, words, forms, folder):
    """Run a command with all of its formats, and validate each."""
    wanted = [word for form in ("json", *forms) for word in ("--format", f"{form}=report.{form}")]
    ended = run(*words, *wanted)
    assert ended.code in {0, 1, 4}, ended
    published = {"sarif": published_reports.sarif, "gitlab": published_reports.gitlab}
    text = {form: (folder / f"report.{form}").read_text() for form in ("json", *forms)}
    Draft202012Validator(report_json_schema()).validate(json.loads(text["json"]))
    for form in forms:
        if form == "junit":
            published_reports.junit().validate(text[form])
        else:
            published[form]().validate(json.loads(text[form]))
    return json.loads(text["json"])


@pytest.mark.parametrize("name", COMMANDS)
def test_reports_of_commands_are_valid(counterfoil, shop, name):
    words, forms = COMMANDS[name]
    _check_all(lambda *more: counterfoil(*more, folder=shop.folder), words, forms, shop.folder)


@pytest.fixture
def story(shop, live_registry, unique_name):
    """A producer and a consumer that are live in a registry, and a later version that breaks the consumer."""
    name = unique_name("reported")
    with Registry(live_registry.url) as registry:
        registry.register(f"{name}-value", Schema(schema()))
        registry.call(operations.put_environment(Environment(f"{name}-live")))
        for version, text in (("1", schema()), ("2", schema(total=None))):
            contract = NewContract(promise(f"2.{version}.0", contract=name), {LINK: Schema(text)})
            registry.call(operations.publish(NewPublication(f"{name}-shop", version, (contract,))))
        reads = NewContract(expectation("total", contract=name, name=f"{name}-billing"))
        registry.call(operations.publish(NewPublication(f"{name}-billing", "1", (reads,))))
        for application in ("shop", "billing"):
            registry.call(operations.record_deployment(f"{name}-live", f"{name}-{application}", "1"))
        registry.call(operations.post_topic_stats(TopicStats(name, records=2, schemas=(SchemaCount(2**30, 2),))))
    shop.write(
        "counterfoil.yaml", f"managed-by: {name}\nschemas:\n  - {{files: '**/*.avsc', subject: '{name}-{{stem}}'}}\n"
    )
    (shop.folder / "schemas" / "bad.avsc").unlink()
    return shop, name


@pytest.mark.parametrize("name", OF_A_REGISTRY)
def test_reports_about_a_registry_are_valid(counterfoil, story, live_registry, name):
    shop, prefix = story
    words, forms = OF_A_REGISTRY[name]
    settings = {"COUNTERFOIL_REGISTRY_URL": live_registry.url}

    def run(*more):
        return counterfoil(*(each.format(prefix) for each in more), folder=shop.folder, settings=settings)

    assert _check_all(run, words, forms, shop.folder)["kind"] in name.replace("can-i-retire", "can-i-deploy") + " topic"
