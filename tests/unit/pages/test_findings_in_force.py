"""Which findings of a comparison count under the policy and the level in force."""

from __future__ import annotations

import pytest

from counterfoil.pages.words import counted, is_frame, split_findings
from counterfoil.schema.comparing import ComparedSide, ComparisonQuestion, compare_schemas
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.judgement import check_compatibility
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.rest.comparisons import DecodedBytes, DecodedNode, FrameKind, Operand, SchemaComparison

EARLIER = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'
LATER = '{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}'


def compared(level: CompatibilityLevel, policy: CompatibilityPolicy) -> SchemaComparison:
    sides = [
        ComparedSide(Operand("s", "AVRO", text, version=number), parse_schema(text))
        for number, text in enumerate((EARLIER, LATER), 1)
    ]
    return compare_schemas(ComparisonQuestion(sides[0], sides[1], level, policy))


@pytest.mark.parametrize("level", CompatibilityLevel)
@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.LOGICAL])
def test_those_that_count_are_those_for_which_a_registration_is_refused(
    level: CompatibilityLevel, policy: CompatibilityPolicy
) -> None:
    found = compared(level, policy)
    counting, others = split_findings(found, by_level=True)
    report = check_compatibility(parse_schema(LATER), [Earlier(parse_schema(EARLIER))], level, policy=policy)
    refused = {
        (failure.direction.name.lower(), each.rule) for failure in report.failures for each in failure.differences
    }
    assert {(each.direction, each.rule) for each in counting} == refused
    assert sorted([*counting, *others], key=found.findings.index) == list(found.findings)


def test_a_comparison_without_a_level_has_those_of_the_policy_in_both_directions() -> None:
    found = compared(CompatibilityLevel.NONE, CompatibilityPolicy.STRICT)
    counting, others = split_findings(found, by_level=False)
    assert {each.direction for each in counting} == {"forward"}
    assert {each.policies for each in others} == {("LOGICAL",)}
    assert split_findings(found, by_level=True)[0] == ()


def test_a_count_has_its_noun() -> None:
    assert counted(1, "version") == "1 version"
    assert counted(1_234_567, "entry", "entries") == "1\u202f234\u202f567 entries"


@pytest.mark.parametrize(
    ("schema_type", "frame", "parts"),
    [
        ("AVRO", FrameKind.ID, 2),
        ("PROTOBUF", FrameKind.ID, 3),
        ("AVRO", FrameKind.NONE, 0),
        ("JSON", FrameKind.GUID, 2),
    ],
)
def test_the_parts_of_a_frame_are_no_elements(schema_type: str, frame: FrameKind, parts: int) -> None:
    nodes = [DecodedNode(each, each + 1, "", "part", "0") for each in range(parts)]
    root = DecodedNode(9, 12, "", "record R")
    decoded = DecodedBytes("00", frame, schema_type, nodes=(*nodes, root, DecodedNode(9, 12, "a", "int", "1", 1)))
    assert [is_frame(decoded, number) for number in range(parts + 2)] == [*[True] * parts, False, False]
