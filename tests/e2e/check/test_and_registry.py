"""``check --consumers`` and ``can-i-deploy`` say the same of a change: headers, optional reads, units, keys, fields."""

from __future__ import annotations

import asyncio
import json
from random import Random

import pytest

from strategies.contracts.stories import BASE, deploy
from strategies.registry.driver import InProcessRegistry

PRODUCTION = f"{BASE}/environments/production"
TYPES = ("string", "int", "long", ["null", "string"])
UNITS = ("", "EUR", "EUR.cent")
CHANGES, MANY = range(12), range(1000, 1300)
LINK, KEY_LINK, PRODUCT = "../schemas/order.avsc", "../schemas/key.avsc", "consumers/billing.odps.yaml"
FIELDS, HEADERS = ("a", "b", "c"), ("trace", "tenant")


def drawn_version(random):
    """Return what a version of the producer is: fields with types and units, headers, the field of the key."""
    fields = {name: (random.choice(TYPES), random.choice(UNITS)) for name in FIELDS if random.random() < 0.85}
    headers = {name: random.random() < 0.5 for name in HEADERS if random.random() < 0.7}
    return fields or {"a": ("string", "")}, headers, random.choice(FIELDS)


def changed_version(random, version):
    """Return a version of which a part is drawn anew."""
    fields, headers, key = version
    others = drawn_version(random)
    part = random.choice(("fields", "fields", "headers", "key"))
    if part == "fields":
        name = random.choice(FIELDS)
        fields = {**{each: made for each, made in fields.items() if each != name}}
        if random.random() < 0.7:
            fields[name] = (random.choice(TYPES), random.choice(UNITS))
        fields = {name: fields[name] for name in FIELDS if name in fields} or {"a": ("string", "")}
    elif part == "headers":
        headers = others[1]
    else:
        key = others[2]
    return fields, headers, key


def contract(version, number):
    """Return the file of the producer's contract."""
    fields, headers, key = version
    own = [{"property": "messageKey", "value": {"field": key}}]
    own += [
        {
            "property": "headers",
            "value": [{"name": each, "required": is_required} for each, is_required in headers.items()],
        }
    ]
    properties = [
        {"name": name, "customProperties": [{"property": "unit", "value": unit}]}
        for name, (_, unit) in fields.items()
        if unit
    ]
    topic = {"name": "Order", "physicalName": "orders", "authoritativeDefinitions": [{"type": "schema", "url": LINK}]}
    made = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "orders",
        "version": f"1.{number}.0",
        "status": "active",
    }
    more = {"properties": properties} if properties else {}
    return json.dumps({**made, "schema": [{**topic, **more, "customProperties": own if headers else own[:1]}]})


def schema(version):
    """Return the schema of the values."""
    fields = [
        {"name": name, "type": kind, **({"default": None} if isinstance(kind, list) else {})}
        for name, (kind, _) in version[0].items()
    ]
    return json.dumps({"type": "record", "name": "Order", "fields": fields})


def product(random):
    """Return the file of a consumer, and its reads by path with their flags."""
    names = [*FIELDS, *(f"$header.{each}" for each in HEADERS)]
    reads = {
        path: {flag for flag in ("required", "whenPresent") if random.random() < 0.3}
        for path in random.sample(names, random.randint(1, 3))
    }
    listed = [{"path": path, **dict.fromkeys(sorted(flags), True)} for path, flags in reads.items()]
    port = {"name": "orders", "version": "1", "contractId": "orders"}
    made = {"apiVersion": "v1.0.0", "kind": "DataProduct", "id": "billing", "version": "1.0.0", "status": "active"}
    own = [{"property": "reads", "value": listed}]
    return json.dumps({**made, "inputPorts": [{**port, "customProperties": own}]}), reads


def by_registry(versions, consumer):
    """Return the rules and places of the breaks that a registry names, where the first version is live."""

    async def story():
        registry = InProcessRegistry()
        await registry.put(PRODUCTION, {"production": True})
        for number, version in enumerate(versions, 1):
            contracts = [{"content": contract(version, number), "schemas": {LINK: {"schema": schema(version)}}}]
            body = {"application": "shop", "version": f"{number}", "contracts": contracts}
            assert (await registry.post(f"{BASE}/publish", body)).status == 200
            if number < len(versions):
                await deploy(registry, "shop", f"{number}")
            if number == 1:
                body = {"application": "billing", "version": "1", "contracts": [{"content": consumer}]}
                assert (await registry.post(f"{BASE}/publish", body)).status == 200
                await deploy(registry, "billing", "1")
        path = f"{BASE}/can-i-deploy?application=shop&version={len(versions)}&environment=production"
        return (await registry.get(path)).json

    answer = asyncio.run(story())
    refused = [each for each in answer["reasons"] if each["reason"] in {"INCOMPATIBLE", "EXPECTATION_BROKEN"}]
    assert answer["deployable"] is not bool(refused), answer
    return {(each["rule"], each["path"]) for each in refused}


@pytest.fixture
def by_files(workshop, counterfoil):
    """A function that returns the rules and places of the breaks that a check names for the consumer."""

    def check(versions, consumer):
        workshop.write(PRODUCT, consumer)
        for number, version in enumerate(versions, 1):
            workshop.write("contracts/orders.odcs.yaml", contract(version, number))
            workshop.write("schemas/order.avsc", schema(version))
            if number < len(versions):
                workshop.commit()
        words = ("check", "--consumers", "consumers", "--level", "NONE", "--against", "HEAD", "--format", "json")
        findings = counterfoil(*words, folder=workshop.folder).report["findings"]
        errors = [each for each in findings if each["severity"] == "error"]
        return {(each["rule"], each["element"]) for each in errors if each["consumers"]["readBy"]}

    return check


def faults(by_files, seeds):
    for seed in seeds:
        random = Random(seed)
        versions = [drawn_version(random)]
        versions += [changed_version(random, versions[0])]
        if random.random() < 0.4:  # the second one was forced, and is followed by the first one or another one
            versions += [versions[0] if random.random() < 0.5 else changed_version(random, versions[1])]
        consumer, reads = product(random)
        files, registry = by_files(versions, consumer), by_registry(versions, consumer)
        optional = {path for path, flags in reads.items() if "whenPresent" in flags}
        gone = {path for rule, path in files | registry if rule in {"consumer-field-missing", "header-missing"}}
        promised = {f"$header.{name}" for name, is_required in versions[0][1].items() if is_required}
        if files != registry or (gone & optional) - promised:
            yield f"seed {seed}: {versions}\nreads {reads}\nfiles {files}\nregistry {registry}"


def test_a_check_and_a_registry_name_the_same_breaks_of_a_few_changes(by_files):
    assert not (found := [*faults(by_files, CHANGES)]), "\n\n".join(found)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_check_and_a_registry_name_the_same_breaks_of_many_changes(by_files):
    assert not (found := [*faults(by_files, MANY)]), "\n\n".join(found)
