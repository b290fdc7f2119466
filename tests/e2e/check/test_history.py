"""``counterfoil check --consumers`` remembers with which schemas consumers were built: the history of files says it."""

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
    return json.dumps(
        {**made, "description": {"purpose": more}, "inputPorts": [{**port, "customProperties": properties}]}
    )


def avro(**fields: object) -> str:
    made = [{"name": name, "type": type_} for name, type_ in fields.items()]
    return json.dumps({"type": "record", "name": "Order", "fields": made})


def protobuf(**fields: str) -> str:
    lines = (
        f"  {PROTO.get(type_, type_)} {name} = {number};" for number, (name, type_) in enumerate(fields.items(), 1)
    )
    return "\n".join(['syntax = "proto3";', "message Order {", *lines, "}", ""])


def json_schema(**fields: str) -> str:
    types = {"string": "string", "int": "integer", "long": "number"}
    made = {name: {"type": types[type_]} for name, type_ in fields.items()}
    return json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": made,
            "required": [*fields],
        }
    )


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


def test_a_version_of_a_consumer_that_came_after_the_break_was_built_for_it(past, broken):
    text, number = avro(a="string"), avro(a="int")
    later = product("a", version="2.0.0")
    past({CONTRACT: contract(), SCHEMA: text, PRODUCT: product("a")}, {SCHEMA: number}, {PRODUCT: later})
    [finding] = broken({SCHEMA: text})["error"]
    assert (finding["rule"], finding["element"]) == ("consumer-type-narrowed", "a")
    assert not broken({SCHEMA: avro(a="int", b="int")}, "HEAD").get("error")


def test_a_consumer_that_reads_more_since_the_break_was_built_for_it(past, broken):
    first, second = avro(a="string", b="int"), avro(a="int", b="int")
    past({CONTRACT: contract(), SCHEMA: first, PRODUCT: product("a")}, {SCHEMA: second}, {PRODUCT: product("a", "b")})
    assert broken({SCHEMA: first})["error"]


def test_texts_for_people_and_another_place_make_no_other_consumer(past, broken, workshop):
    text, number = avro(a="string"), avro(a="int")
    past(
        {CONTRACT: contract(), SCHEMA: text, PRODUCT: product("a")},
        {SCHEMA: number},
        {PRODUCT: product("a", more="invoices")},
    )
    workshop.git("mv", PRODUCT, "consumers/money.odps.yaml")
    workshop.commit()
    assert not broken({SCHEMA: text})


def test_one_of_two_breaks_is_repaired_and_the_other_one_is_a_notice(past, broken):
    past(
        {CONTRACT: contract(), SCHEMA: avro(a="string", b="string"), PRODUCT: product("a", "b")},
        {SCHEMA: avro(a="int", b="int")},
    )
    found = broken({SCHEMA: avro(a="string", b="int")})
    assert [(each["element"], "it was so before" in each["text"]) for each in found["notice"]] == [("b", True)]
    assert "error" not in found


def test_what_was_there_together_with_the_consumer_may_come_back_although_it_breaks(past, broken):
    past(
        {CONTRACT: contract(), SCHEMA: avro(a="string"), PRODUCT: product("a")},
        {SCHEMA: avro(a="int")},
        {SCHEMA: avro(a="boolean")},
    )
    found = broken({SCHEMA: avro(a="int")})
    [notice] = found["notice"]
    assert "was there together with it before" in notice["text"]
    assert "error" not in found
    assert broken({SCHEMA: avro(a="double")})["error"]


def test_a_unit_that_the_consumer_was_built_for_may_come_back(past, broken):
    past(
        {CONTRACT: contract(unit="EUR"), SCHEMA: avro(a="int"), PRODUCT: product("a")},
        {CONTRACT: contract(unit="EUR.cent")},
    )
    assert not broken({CONTRACT: contract(unit="EUR")})
    assert [each["rule"] for each in broken({CONTRACT: contract(unit="USD")})["error"]] == ["unit-changed"]


def test_a_promise_that_no_consumer_reads_is_still_one(past, broken):
    past(
        {CONTRACT: contract(unit="EUR"), SCHEMA: avro(a="int", b="int"), PRODUCT: product("b")},
        {CONTRACT: contract(unit="EUR.cent")},
    )
    assert [each["rule"] for each in broken({CONTRACT: contract(unit="EUR")})["error"]] == ["unit-changed"]


def test_the_first_schema_counts_where_the_consumer_was_there_before_it(past, broken):
    past(
        {PRODUCT: product("a")},
        {CONTRACT: contract(), SCHEMA: avro(a="string")},
        {SCHEMA: avro(a="int")},
    )
    assert not broken({SCHEMA: avro(a="string")})


def test_a_merge_counts_as_one_step_of_the_branch(past, broken, workshop):
    text, number = avro(a="string"), avro(a="int")
    past({CONTRACT: contract(), SCHEMA: text, PRODUCT: product("a")})
    workshop.git("switch", "--quiet", "--create", "side")
    past({SCHEMA: avro(a="boolean")}, {SCHEMA: number})
    workshop.git("switch", "--quiet", "main")
    workshop.git("merge", "--quiet", "--no-ff", "--message", "forced", "side")
    assert not broken({SCHEMA: text})
    assert broken({SCHEMA: avro(a="boolean")})["error"], "main never had it"


def test_a_referenced_schema_belongs_to_what_was_there(past, broken):
    def order(of):
        return json.dumps({"type": "record", "name": "Order", "fields": [{"name": "a", "type": of}]})

    def item(type_):
        return json.dumps({"type": "record", "name": "Item", "fields": [{"name": "n", "type": type_}]})

    files = {CONTRACT: contract(), SCHEMA: order("Item"), "schemas/item.avsc": item("string"), PRODUCT: product("a.n")}
    past(files, {"schemas/item.avsc": item("int")})
    assert not broken({"schemas/item.avsc": item("string")})
    assert broken({"schemas/item.avsc": item("boolean")})["error"]


def test_a_shallow_clone_says_that_the_beginning_of_consumers_is_not_known(past, workshop, counterfoil, tmp_path):
    text, number = avro(a="string"), avro(a="int")
    past({CONTRACT: contract(), SCHEMA: text, PRODUCT: product("a")}, {SCHEMA: number})
    shallow = tmp_path / "shallow"
    workshop.git("clone", "--quiet", "--depth", "1", f"file://{workshop.folder}", shallow)
    (shallow / SCHEMA).write_text(text)
    outcome = counterfoil(*WORDS, "--against", "HEAD", folder=shallow)
    assert outcome.code == 1
    assert "a shallow or partial clone" in outcome.report["note"]


def test_a_promised_minimum_of_zero_is_a_part_of_what_was_there(past, broken):
    def promised(**options):
        made = json.loads(contract())
        made["schema"][0]["properties"] = [{"name": "a", "logicalType": "integer", "logicalTypeOptions": options}]
        return json.dumps(made)

    reader = json.loads(product("a"))
    reader["inputPorts"][0]["customProperties"][0]["value"] = [{"path": "a", "min": 0}]
    past({CONTRACT: promised(minimum=0), SCHEMA: avro(a="int"), PRODUCT: json.dumps(reader)})
    assert [each["rule"] for each in broken({CONTRACT: promised()})["warning"]] == ["expectation-unbacked"]


def test_a_partial_clone_that_cannot_be_completed_says_the_same(past, workshop, counterfoil, tmp_path):
    past(
        {CONTRACT: contract(), SCHEMA: avro(a="string"), PRODUCT: product("a")},
        {SCHEMA: avro(a="int"), PRODUCT: product("a", more="invoices")},
    )
    workshop.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    workshop.git("clone", "--quiet", "--filter", "blob:none", f"file://{workshop.folder}", partial)
    workshop.folder.rename(tmp_path / "away")
    (partial / SCHEMA).write_text(avro(a="string"))
    outcome = counterfoil(*WORDS, "--against", "HEAD", folder=partial)
    assert outcome.code == 1
    assert "a shallow or partial clone" in outcome.report["note"]
