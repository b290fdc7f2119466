"""Names out of schemas, whatever characters they hold, keep findings apart, and texts show them as they are."""

from __future__ import annotations

import json

import pytest

from counterfoil.contracts.baselines import TreeBaseline
from counterfoil.contracts.check.check import check_files
from counterfoil.contracts.findings import CheckReport, fingerprint
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.schema.answers import confluent_messages
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.paths import parse_path

NAMES = (
    "a/b",
    "a/c",
    "a",
    "a~b",
    "a~1b",
    "a.b",
    "a%b",
    "a%2Fb",
    "a[]",
    "a<0>",
    "{}",
    "{a}",
    "",
    "the writer",
    "the reader",
    "The reader",
    "this one's",
    "Order",
    "properties",
    "\x1f",
)


def check(now: object, before: object, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT) -> CheckReport:
    head, earlier = (
        SchemaTree(
            [SchemaFile("x.schema.json", json.dumps(schema).encode())], label=label, validation=Validation.LENIENT
        )
        for label, schema in (("head", now), ("base", before))
    )
    baseline = TreeBaseline(head, [earlier], label="base", is_wanted=lambda _: True)
    return check_files(head, head.paths, baseline=baseline, policy=policy)


def objects(names: tuple[str, ...], kind: str) -> object:
    return {"type": "object", "properties": {name: {"type": kind} for name in names}}


@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND])
def test_each_property_has_its_own_finding_and_witness(policy: CompatibilityPolicy):
    report = check(objects(NAMES, "integer"), objects(NAMES, "string"), policy)
    assert len(report.findings) == len(NAMES)
    assert len({finding.fingerprint for finding in report.findings}) == len(NAMES)
    shown = [finding.evidence and json.loads(finding.evidence.datum_json) for finding in report.findings]
    assert sorted(map(str, shown)) == sorted(str({name: ""}) for name in NAMES)
    assert all(finding.against == ("base",) for finding in report.findings)


def test_columns_of_a_table_have_their_own_findings():
    names = tuple(name for name in NAMES if name)
    report = check(objects(names, "integer"), objects(names, "string"), CompatibilityPolicy.LOGICAL)
    columns = [finding for finding in report.findings if finding.rule == "logical-type-mismatch"]
    paths = [parse_path(finding.element) for finding in columns]
    assert sorted(step.name for path in paths for step in path) == sorted(names)


def test_a_dotted_name_and_a_nested_property_are_two_findings():
    def schema(kind: str) -> object:
        inner = {"type": "object", "properties": {"b": {"type": kind}}}
        return {"type": "object", "properties": {"a.b": {"type": kind}, "a": inner}}

    first, second = check(schema("integer"), schema("string")).findings
    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_a_required_name_is_printed_as_it_is(name: str):
    now = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    (finding,) = check(now, {"type": "object", "properties": {name: {"type": "string"}}}).findings
    assert finding.text == f"this schema requires property {name}, the earlier one does not"


def test_messages_to_clients_leave_names_alone():
    def schema(*required: str) -> str:
        return json.dumps({"type": "object", "properties": {"the reader": {}}, "required": required})

    now = parse_schema(schema("the reader"), SchemaType.JSON)
    earlier = Earlier(parse_schema(schema(), SchemaType.JSON), 1)
    first, *_ = confluent_messages(check_compatibility(now, [earlier], CompatibilityLevel.BACKWARD))
    assert "The new schema requires property the reader, the old schema does not" in first


@pytest.mark.parametrize(
    ("facts", "others"),
    [
        (("a", "b"), ("a\x1fb",)),
        (("a", ""), ("a",)),
        ((("a", "b"),), ("a", "b")),
        (("a", ("b",)), (("a", "b"),)),
        ((None,), ("",)),
        ((None,), ("null",)),
        (('a","b',), ("a", "b")),
    ],
)
def test_different_facts_have_different_fingerprints(facts, others):
    assert fingerprint("rule", "subject", *facts) != fingerprint("rule", "subject", *others)


def test_facts_that_read_the_same_side_by_side_have_different_fingerprints():
    def found(now: str, before: str) -> str:
        (finding,) = check({"type": "string", "pattern": now}, {"type": "string", "pattern": before}).findings
        return finding.fingerprint

    assert found("c", "a to b") != found("b to c", "a")


def test_paths_that_could_be_written_alike_have_different_fingerprints():
    def schema(kind: str) -> object:
        leaf = {"type": kind}
        inner = {"type": "object", "properties": {"b": leaf}}
        items = {"type": "array", "items": leaf}
        return {"type": "object", "properties": {"a": inner, "a.b": leaf, "c": items, "c[]": leaf, "$key": leaf}}

    findings = check(schema("integer"), schema("string")).findings
    assert len({finding.fingerprint for finding in findings}) == 5
    assert sorted(finding.element for finding in findings) == ['"$key"', '"a.b"', '"c[]"', "a.b", "c[]"]
