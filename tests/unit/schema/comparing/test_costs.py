"""What a comparison costs, in steps: those that are given, and no more."""

from __future__ import annotations

import json

import pytest

from counterfoil.schema.comparing import ComparedSide, ComparisonLimits, ComparisonQuestion, compare_schemas
from counterfoil.schema.comparing.changes import versions_of_changes
from counterfoil.schema.comparing.levels import answer_levels
from counterfoil.schema.comparing.parts import finished
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Steps
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.languages.table import find_changes, parse_schema
from counterfoil.schema.rest.comparisons import CellAnswer, Operand


def side(number: int, version: int, kind: str = "int") -> ComparedSide:
    first = {"name": "f0", "type": kind, "default": 0 if kind == "int" else ""}
    fields = [first, *({"name": f"f{at}", "type": "int", "default": 0} for at in range(1, number))]
    text = json.dumps({"type": "record", "name": "A", "fields": fields})
    return ComparedSide(Operand("s", "AVRO", text, version=version), parse_schema(text))


def question(versions: int, fields: int) -> ComparisonQuestion:
    """The first and the last of some versions, each of which has one field more."""
    sides = [side(fields + number, number) for number in range(1, versions + 1)]
    history = [Earlier(each.schema, each.operand.version) for each in sides[:-1]][::-1]
    return ComparisonQuestion(
        sides[0], sides[-1], CompatibilityLevel.FULL_TRANSITIVE, CompatibilityPolicy.STRICT, history
    )


def test_a_history_takes_steps_in_proportion_to_its_versions():
    spent = []
    for versions in (5, 10):
        asked, steps = question(versions, 50), Steps(10**7)
        finished(answer_levels(asked, ComparisonLimits(), steps))
        changes = find_changes(asked.earlier.schema, asked.later.schema)
        finished(versions_of_changes(asked, changes, steps))
        spent.append(10**7 - steps.left)
    assert spent[0] < spent[1] < 3 * spent[0]
    assert spent[1] < 100_000


def test_without_steps_nothing_about_the_history_is_said():
    asked = question(6, 10)
    found = compare_schemas(asked, ComparisonLimits(witnesses=0, confirmed=0, history_steps=0))
    assert [each.accepted for each in found.levels] == [True, *[None] * 6]
    assert {each.came_in for each in found.changes} == {None}
    assert {each.answer for each in found.cells if each.policy == "STRICT"} == {CellAnswer.READS}


def test_a_search_without_steps_finds_no_record_and_says_so():
    asked = ComparisonQuestion(
        side(3, 1, "string"), side(3, 2), CompatibilityLevel.BACKWARD, CompatibilityPolicy.STRICT
    )
    finding = compare_schemas(asked, ComparisonLimits(search_steps=0)).findings[0]
    assert (finding.witness, finding.no_witness) == (None, "none was found within the limits of a search")


@pytest.mark.slow
def test_large_schemas_are_confirmed_by_fewer_values():
    asked = ComparisonQuestion(side(2_000, 1), side(2_001, 2), CompatibilityLevel.FULL, CompatibilityPolicy.SOUND)
    proofs = [each.proof for each in compare_schemas(asked).cells if each.policy == "SOUND"]
    assert all("fewer than usual, since the schemas are large" in each for each in proofs)
