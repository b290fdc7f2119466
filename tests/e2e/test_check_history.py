"""``counterfoil check --consumers`` remembers with which schemas a consumer was built: the history of the files says it."""

from __future__ import annotations

import json

import pytest

CONTRACT, SCHEMA, PRODUCT = "contracts/orders.odcs.yaml", "schemas/order.avsc", "consumers/billing.odps.yaml"
WORDS = ("check", "--consumers", "consumers", "--level", "NONE", "--format", "json")
PROTO = {"int": "int32", "long": "int64"}


def contract(*, path: str = SCHEMA, unit: str = "") -> str:
    property_ = {"name": "a", "customProperties": [{"property": "unit", "value": unit}]}
    topic = {
        "name": "orders",
        "physicalName": "orders",
        "authoritativeDefinitions": [{"type": "schema", "url": f"../{path}"}],
        **({"properties": [property_]} if unit else {}),
    }
    made = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "orders", "version": "1.0.0", "status": "active"}
    return json.dumps({**made, "schema": [topic]})


def product(*reads: str, version: str = "1.0.0", more: str = "") -> str:
    port = {"name": "orders", "version": "1", "contractId": "orders"}
    properties = [{"property": "reads", "value": list(reads)}]
    made = {"apiVersion": "v1.0.0", "kind": "DataProduct", "id": "billing", "version": version, "status": "active"}
    return json.dumps({**made, "description": {"purpose": more}, "inputPorts": [{**port, "customProperties": properties}]})


def avro(**fields: object) -> str:
    made = [{"name": name, "type": type_} for name, type_ in fields.items()]
    return json.dumps({"type": "record", "name": "Order", "fields": made})


def protobuf(**fields: str) -> str:
    lines = (f"  {PROTO.get(type_, type_)} {name} = {number};" for number, (name, type_) in enumerate(fields.items(), 1))
    return "\n".join(['syntax = "proto3";', "message Order {", *lines, "}", ""])


def json_schema(**fields: str) -> str:
    types = {"string": "string", "int": "integer", "long": "number"}
    made = {name: {"type": types[type_]} for name, type_ in fields.items()}
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": made, "required": [*fields]})


LANGUAGES = {
    "avro": ("schemas/order.avsc", avro),
    "protobuf": ("schemas/order.proto", protobuf),
    "json": ("schemas/order.schema.json", json_schema),
}


@pytest.fixture
def past(workshop):
    """A function that commits files, one after the other: each is a mapping from paths to texts."""

    def commit(*states):
        for each in states:
            for path, text in each.items():
                workshop.write(path, text)
            workshop.commit()

    return commit


@pytest.fixture
def broken(workshop, counterfoil):
    """A function that returns the findings of a check of changed files against the last commit, by severity."""

    def check(changes, against="HEAD"):
        for path, text in changes.items():
            workshop.write(path, text)
        outcome = counterfoil(*WORDS, "--against", against, folder=workshop.folder)
        found = {}
        for each in outcome.report["findings"]:
            found.setdefault(each["severity"], []).append(each)
        assert outcome.code == (1 if found.get("error") else 0), outcome
        return found

    return check


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_version_that_worked_may_come_back_after_a_forced_break(past, broken, language):
    path, made = LANGUAGES[language]
    text, number = made(a="string"), made(a="int")
    past({CONTRACT: contract(path=path), path: text, PRODUCT: product("a")}, {path: number})
    assert not broken({path: text})


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_break_of_what_a_consumer_was_built_for_is_refused_whatever_is_there_now(past, broken, language):
    path, made = LANGUAGES[language]
    past({CONTRACT: contract(path=path), path: made(a="string"), PRODUCT: product("a")}, {path: made(a="int")})
    assert broken({path: made(a="long")})["error"]
