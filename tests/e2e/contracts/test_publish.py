"""``counterfoil publish``: contract files are stored with their schemas, and a published version never changes."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.model import Schema
from counterfoil.sdk import Registry, operations
from local_services.process import free_port
from strategies.contracts.stories import expectation, promise, schema


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


@pytest.fixture
def shop(workshop, unique_name, live_registry):
    """A repository with a contract, a consumer of it, and the schema, under names of their own."""
    workshop.name = unique_name("orders")
    workshop.write("counterfoil.yaml", f"registry: {live_registry.url}\n")
    workshop.write("contracts/orders.odcs.yaml", promise(contract=workshop.name))
    workshop.write("contracts/order.avsc", schema())
    workshop.write("contracts/billing.odps.yaml", expectation("total", contract=workshop.name, name=workshop.name))
    return workshop


def _publish(shop, version, *more):
    return ("publish", "--application", shop.name, "--version", version, *more)


def test_files_are_stored_with_their_schemas_and_never_change(counterfoil, shop, registry):
    dry = counterfoil(*_publish(shop, "1", "--dry-run"), folder=shop.folder)
    assert (dry.code, dry.out.splitlines()[-1]) == (
        0,
        f"{shop.name} 1 would have 2 contracts. Nothing was stored: this is a dry run.",
    )
    assert shop.name not in {each.name for each in registry.call(operations.applications())}
    more = ("--branch", "main", "--commit", "c0ffee", "--build-url", "https://ci.example/1")
    for _ in range(2):
        done = counterfoil(*_publish(shop, "1", *more), folder=shop.folder)
        assert (done.code, done.out.splitlines()[-1]) == (0, f"{shop.name} 1 has 2 contracts."), done
    [version] = registry.call(operations.application_versions(shop.name))
    assert (version.branch, version.commit, version.build_url) == ("main", "c0ffee", "https://ci.example/1")
    held = registry.call(operations.published_contract(shop.name, "2.1.0"))
    assert list(held.schemas) == ["./order.avsc"]

    shop.write("contracts/orders.odcs.yaml", promise(contract=shop.name, about="prose"))
    said = counterfoil(*_publish(shop, "2", "--json"), folder=shop.folder).report
    assert (said["stored"], len(said["notices"])) == (True, 1)
    shop.write("contracts/orders.odcs.yaml", promise(contract=shop.name, unit="USD.cent"))
    shop.write("contracts/order.avsc", schema(added="string"))
    refused = counterfoil(*_publish(shop, "3"), folder=shop.folder)
    assert (refused.code, refused.out.splitlines()[0]) == (13, "schema ./order.avsc"), refused
    assert [line[0] for line in refused.out.splitlines()[-2:]] == ["-", "+"]
    assert f"{shop.name} 2.1.0 is published with other content" in refused.err


def test_the_schema_of_keys_is_sent_by_its_link(counterfoil, shop, registry):
    contract = json.loads(promise(contract=shop.name))
    key = {"schema": "./key.avsc", "field": "order_id"}
    contract["schema"][0]["customProperties"] = [{"property": "messageKey", "value": key}]
    shop.write("contracts/orders.odcs.yaml", json.dumps(contract))
    shop.write("contracts/key.avsc", '"string"')
    done = counterfoil(*_publish(shop, "1"), folder=shop.folder)
    assert done.code == 0, done
    held = registry.call(operations.published_contract(shop.name, "2.1.0"))
    assert {name: each.text for name, each in held.schemas.items()} == {
        "./order.avsc": held.schemas["./order.avsc"].text,
        "./key.avsc": '"string"',
    }


def test_what_changed_in_a_schema_file_is_printed(counterfoil, shop):
    assert counterfoil(*_publish(shop, "1"), folder=shop.folder).code == 0
    shop.write("contracts/order.avsc", schema(note="string"))
    refused = counterfoil(*_publish(shop, "2"), folder=shop.folder)
    changes = ["schema ./order.avsc", f"  {shop.name}-value: note: field added: string"]
    assert (refused.code, refused.out.splitlines()) == (13, changes), refused


def test_invalid_files_are_reported_with_their_places(counterfoil, shop):
    shop.write("contracts/billing.odps.yaml", expectation("nothing", contract=shop.name))
    refused = counterfoil(*_publish(shop, "1"), folder=shop.folder / "contracts")
    assert (refused.code, refused.out.splitlines()[-1]) == (1, "Nothing was published."), refused
    assert "billing.odps.yaml:1:" in refused.out
    assert "path-missing" in refused.out
    shop.write("contracts/order.avsc", "{")
    broken = counterfoil(*_publish(shop, "1", "orders.odcs.yaml"), folder=shop.folder / "contracts")
    assert (broken.code, "order.avsc:1:2" in broken.out) == (1, True), broken


def test_the_schema_of_a_subject_is_needed_and_references_are_registered(counterfoil, shop, registry):
    (shop.folder / "contracts" / "billing.odps.yaml").unlink()
    shop.write("contracts/orders.odcs.yaml", promise(contract=shop.name).replace("./order.avsc", "https://x/order"))
    (shop.folder / "contracts" / "order.avsc").unlink()
    missing = counterfoil(*_publish(shop, "1"), folder=shop.folder)
    assert (missing.code, f"subject '{shop.name}-value' has no version" in missing.err) == (1, True), missing
    shop.write(f"{shop.name}-value.avsc", schema(line="shop.Line"))
    line = '{"type": "record", "name": "Line", "namespace": "shop", "fields": []}'
    shop.write("line.avsc", line)
    shop.write(
        "counterfoil.yaml",
        f"registry: {registry.settings.urls[0]}\nschemas: [{{files: line.avsc, subject: {shop.name}-line}}]\n",
    )
    unregistered = counterfoil(*_publish(shop, "1"), folder=shop.folder)
    assert (unregistered.code, "refers to line.avsc" in unregistered.err) == (14, True), unregistered
    registry.register(f"{shop.name}-line", Schema(line))
    assert counterfoil(*_publish(shop, "1"), folder=shop.folder).code == 0
    held = registry.call(operations.published_contract(shop.name, "2.1.0"))
    [reference] = held.schemas[f"{shop.name}-value"].references
    assert (reference.subject, reference.version) == (f"{shop.name}-line", 1)


def test_exit_codes(counterfoil, shop):
    (shop.folder / "empty").mkdir()
    assert counterfoil(*_publish(shop, "1", "empty"), folder=shop.folder).code == 4
    assert counterfoil(*_publish(shop, "1", "nowhere"), folder=shop.folder).code == 14
    assert counterfoil("publish", "--version", "1", folder=shop.folder).code == 2
    away = ("--registry", f"http://127.0.0.1:{free_port()}", "--retries", "0")
    assert counterfoil(*_publish(shop, "1", *away), folder=shop.folder).code == 11
