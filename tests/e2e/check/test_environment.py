"""``counterfoil check --environment``: what a change breaks for the versions that are live in an environment."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.sdk import Registry, operations
from local_services import free_port
from strategies.contracts.stories import LINK, expectation, promise, schema


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


class Shop:
    """A repository with a contract and its schema, both live in an environment, where billing reads the total."""

    def __init__(self, workshop, registry, name, url):
        self.workshop, self.registry, self.contract = workshop, registry, name
        self.environment, self.billing = f"{name}-production", f"{name}-billing"
        workshop.write("orders.odcs.yaml", promise(contract=name))
        workshop.write("order.avsc", schema())
        workshop.write("counterfoil.yaml", f"registry: {url}\n")
        workshop.commit()
        registry.register(f"{name}-value", Schema(schema()))
        registry.call(operations.put_environment(Environment(self.environment)))
        self.live(f"{name}-shop", "1", NewContract(promise(contract=name), {LINK: Schema(schema())}))
        self.live(self.billing, "4", NewContract(expectation("total", contract=name, name=self.billing)))

    def live(self, application, version, contract):
        """Publish and deploy a version."""
        self.registry.call(operations.publish(NewPublication(application, version, (contract,))))
        self.registry.call(operations.record_deployment(self.environment, application, version))


@pytest.fixture
def shop(workshop, registry, unique_name, live_registry):
    """A shop of its own."""
    return Shop(workshop, registry, unique_name("orders"), live_registry.url)


@pytest.fixture
def run(counterfoil, shop):
    """A function that checks the shop's repository in its environment."""
    return lambda *words: counterfoil("check", "--env", shop.environment, *words, folder=shop.workshop.folder)


def test_a_break_of_a_live_consumer_is_found_at_its_place(run, shop, counterfoil):
    assert run().code == 0
    shop.workshop.write("order.avsc", json.dumps(json.loads(schema(total=None)), indent=1))
    without = counterfoil("check", folder=shop.workshop.folder)
    assert without.code == 0, without  # nobody is known here, and a reader ignores a field that is not written
    found = run()
    assert found.code == 1, found
    assert f"  error  consumer-field-missing\n         total: in {shop.environment}: " in found.out
    assert f"read by {shop.billing} 4 (breaks)" in found.out
    assert found.out.startswith(f"{shop.contract}-value  order.avsc:4:12\n")
    assert f" and what is live in {shop.environment} in http" in found.out.splitlines()[-1]
    report = run("--format", "json").report
    Draft202012Validator(report_json_schema()).validate(report)
    [finding] = [each for each in report["findings"] if each["severity"] == "error"]
    assert finding["consumers"]["breaks"] == [f"{shop.billing} 4"]
    assert report["environment"].startswith(shop.environment)


def test_what_is_known_of_a_consumer_here_too_is_one_finding(run, shop):
    consumer = expectation("total", contract=shop.contract, name=shop.billing)
    shop.workshop.write("consumers/billing.odps.yaml", consumer)
    shop.workshop.commit()
    shop.workshop.write("order.avsc", schema(total=None))
    report = run("--consumers", "consumers", "--format", "json").report
    [finding] = [each for each in report["findings"] if each["severity"] == "error"]
    assert set(finding["consumers"]["breaks"]) == {shop.billing, f"{shop.billing} 4"}


def test_a_consumer_is_judged_against_what_is_live(run, shop):
    shop.workshop.write("billing.odps.yaml", expectation("total", "note", contract=shop.contract, name=shop.billing))
    report = run("--format", "json").report
    [finding] = [each for each in report["findings"] if each["severity"] == "error"]
    assert (finding["rule"], finding["path"]) == ("consumer-field-missing", "billing.odps.yaml")
    assert finding["element"] == "note"


def test_a_schema_of_no_contract_is_judged_by_its_subject(run, shop):
    (shop.workshop.folder / "orders.odcs.yaml").unlink()
    shop.workshop.commit()
    shop.workshop.write("order.avsc", schema(total=None))
    assert run().code == 0  # nothing says which subject the file holds
    found = run("--subject", f"order.avsc={shop.contract}-value")
    assert (found.code, "consumer-field-missing" in found.out) == (1, True), found


def test_gates_and_approvals_count(run, shop):
    shop.workshop.write("order.avsc", schema(total=None))
    assert run("--gate", "observe").code == 0
    report = run("--format", "json").report
    [fingerprint] = [each["fingerprint"] for each in report["findings"] if each["severity"] == "error"]
    shop.workshop.write(
        ".contract-approvals.yaml",
        f"approvals:\n  - {{fingerprint: {fingerprint}, owner: ana, reason: agreed, until: '2099-01-01'}}\n",
    )
    assert run().code == 0


def test_what_cannot_be_asked_is_no_answer(run, shop, counterfoil):
    folder = shop.workshop.folder
    unknown = counterfoil("check", "--env", "nowhere", folder=folder)
    assert (unknown.code, "has no environment nowhere" in unknown.err) == (4, True), unknown
    assert run("--offline").code == 2
    away = run("--registry", f"http://127.0.0.1:{free_port()}", "--timeout", "1", "--retries", "0")
    assert away.code == 11, away
    line = {"type": "record", "name": "Line", "fields": []}
    shop.workshop.write("line.avsc", line)
    shop.workshop.write("order.avsc", schema(line="Line"))
    unjudged = run()
    assert (unjudged.code, "environment-unjudged" in unjudged.out) == (1, True), unjudged  # the level refuses it, too
    assert run("--level", "NONE").code == 4


def test_the_servers_of_contracts_name_the_registry(counterfoil, shop, live_registry):
    shop.workshop.write("counterfoil.yaml", "level: BACKWARD\n")
    missing = counterfoil("check", "--env", shop.environment, folder=shop.workshop.folder)
    assert (missing.code, "no registry is known for it" in missing.err) == (2, True), missing
    server = {
        "server": "live",
        "type": "kafka",
        "host": "kafka:9092",
        "environment": shop.environment,
        "customProperties": [{"property": "registry", "value": live_registry.url}],
    }
    contract = {**json.loads(promise(contract=shop.contract)), "servers": [server]}
    shop.workshop.write("orders.odcs.yaml", contract)
    shop.workshop.write("order.avsc", schema(total=None))
    found = counterfoil("check", "--env", shop.environment, folder=shop.workshop.folder)
    assert (found.code, "consumer-field-missing" in found.out) == (1, True), found
