"""Tags at places that no field rule reaches: what ``lint`` and a registration say of them, and what masks hide."""

from __future__ import annotations

import json
import logging
from datetime import date

import pytest

from counterfoil.contracts.lint.lint import LintInput, lint_files
from counterfoil.contracts.project import ReadSchema, SchemaFile, SchemaTree
from counterfoil.contracts.project.documents import read_project
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.contracts.testing import hidden_names
from counterfoil.converter.report.dead_letters import tagged_names
from counterfoil.schema import parse_schema
from counterfoil.schema.model import Metadata, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.sketch import PartSketch, TopicSketch, WriterSchema, make_sketcher, write_sketch
from counterfoil.schema.tags import unnamed_paths_of, unreached_tags
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.encryption.tagged_places import CASES, MARK, NUMBER, Case, some

SUFFIX = {SchemaType.AVRO: "avsc", SchemaType.JSON: "schema.json", SchemaType.PROTOBUF: "proto"}
WARNED = [case for case in CASES if case.theirs == "plain"]
QUIET = [case for case in CASES if case.theirs in ("known", "error")]
M = json.dumps({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}})


def linted(case: Case) -> list[str]:
    path = f"place.{SUFFIX[case.schema_type]}"
    tree = SchemaTree([SchemaFile(path, case.text.encode())], validation=Validation.STRICT)
    given = LintInput(tree, lambda _: None, schemas=[path])
    return [each.rule for each in lint_files(given, today=date(2026, 1, 1)).findings]


@some(WARNED)
def test_lint_warns_of_a_tag_that_no_rule_reaches(case: Case) -> None:
    assert "tag-not-reached" in linted(case)


@some(QUIET)
def test_lint_says_nothing_of_a_tag_that_rules_reach(case: Case) -> None:
    assert "tag-not-reached" not in linted(case)


def test_tags_of_the_metadata_count() -> None:
    [found] = unreached_tags(parse_schema(M, SchemaType.JSON), {"$.m.**": ("PII",)})
    assert found.place == "what is in additionalProperties of the field $.m.*"


@pytest.mark.parametrize(("text", "warnings"), [(WARNED[0].text, 1), (QUIET[0].text, 0)])
def test_a_registration_warns_in_the_log(text: str, warnings: int, caplog: pytest.LogCaptureFixture) -> None:
    rule = Rule("hide", "ENCRYPT", tags=("PII",), params={"encrypt.kek.name": "pii"})
    with caplog.at_level(logging.WARNING):
        client = InMemoryRegistry().client(retries=0)
        client.register("people-value", Schema(text, SchemaType.JSON, rule_set=RuleSet(domain_rules=(rule,))))
    assert [each.message for each in caplog.records] == ["a tag marks what no rule changes"] * warnings


EMAIL = json.dumps({"type": "object", "properties": {"email": {"type": "string"}}})


@pytest.mark.parametrize(("path", "warnings"), [("$.emial", 1), ("**.emial", 1), ("$.email", 0), ("$.e*", 0)])
def test_a_registration_warns_of_a_path_that_names_nothing(
    path: str, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        client = InMemoryRegistry().client(retries=0)
        client.register("people-value", Schema(EMAIL, SchemaType.JSON, metadata=Metadata(tags={path: ("PII",)})))
    assert [each.message for each in caplog.records] == ["a path of tags names nothing"] * warnings


@pytest.mark.parametrize(("path", "rules"), [("$.emial", ["tag-path-unknown"]), ("$.email", [])])
def test_lint_warns_of_a_declared_path_that_names_nothing(path: str, rules: list[str]) -> None:
    project = f"""
schemas:
  - files: person.schema.json
    subject: people-value
    metadata: {{tags: {{"{path}": [PII]}}}}
"""
    tree = SchemaTree([SchemaFile("person.schema.json", EMAIL.encode())], validation=Validation.STRICT)
    given = LintInput(
        tree, lambda _: None, schemas=["person.schema.json"], subjects=Subjects(tree, read_project(project))
    )
    assert [each.rule for each in lint_files(given, today=date(2026, 1, 1)).findings] == rules


def test_many_uses_of_one_definition_are_all_names() -> None:
    uses = {f"p{number}": {"$ref": "#/definitions/a"} for number in range(40)}
    address = {"a": {"type": "object", "properties": {"street": {"type": "string"}}}}
    schema = parse_schema(json.dumps({"properties": uses, "definitions": address}), SchemaType.JSON)
    assert unnamed_paths_of(schema, {f"$.p{number}.street": ("PII",) for number in range(40)}) == []


# --- masks


def hides(case: Case, names: frozenset[str] | None, everything: str = "*") -> bool:
    return names is None or everything in names or any(f'"{name}"' in case.text or name in case.text for name in names)


@some(CASES)
def test_what_a_tag_marks_is_hidden_in_tests_and_pages(case: Case) -> None:
    schema, parsed = Schema(case.text, case.schema_type), parse_schema(case.text, case.schema_type)
    in_tests = hidden_names(schema, ReadSchema("here", "place", schema=parsed))
    in_pages = tagged_names(parsed, schema)
    for names in (in_tests, in_pages):
        assert names is None or names
        assert hides(case, names)


def test_tags_of_the_metadata_hide_what_is_inside() -> None:
    metadata = Metadata(tags={"$.m.**": ("PII",)})
    schema, parsed = Schema(M, SchemaType.JSON, metadata=metadata), parse_schema(M, SchemaType.JSON)
    assert hidden_names(schema, ReadSchema("here", "place", schema=parsed)) == {"m"}
    assert tagged_names(parsed, schema) == {"m"}


@some([each for each in CASES if each.schema_type is not SchemaType.AVRO])
def test_a_sketch_keeps_nothing_that_a_tag_marks(case: Case) -> None:
    parsed = parse_schema(case.text, case.schema_type)
    writer = WriterSchema(case.schema_type, case.text)
    sketcher = make_sketcher(parsed, writer)
    value = case.message()
    sketcher.add(value, value.ByteSize() if case.schema_type is SchemaType.PROTOBUF else 1)
    sketch = sketcher.finish()
    kept = write_sketch(TopicSketch(value=PartSketch({"1": sketch})))
    kept = kept.replace(json.dumps(case.text)[1:-1], "")
    assert MARK not in kept
    assert str(NUMBER) not in kept
