"""Random changes of unions, items and recursive types: the reference evaluator has the meaning of the pages."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import RecordConverter, recipe_of
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from strategies.avro.unions import branched
from strategies.engines.branch_changes import DeadLetter, changed_record, changed_union

if TYPE_CHECKING:
    from counterfoil.schema.plans.model import ConversionPlan
    from strategies.engines.branch_changes import Change

SOURCE_ID, TARGET_ID = 7, 9


def plan_of(change: Change) -> ConversionPlan:
    source, target = (parse_avro(json.dumps(each)) for each in (change.source, change.target))
    return derive_plan(source, target, parse_rules(change.rules("", "")))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_a_changed_record_or_union_is_complete_and_has_the_documented_results(seed: int) -> None:
    rng = random.Random(seed)
    change = (changed_union if seed % 4 == 0 else changed_record)(rng)
    plan = plan_of(change)
    assert plan.is_complete, plan.problems
    converter = RecordConverter(recipe_of(Conversion(plan, {SOURCE_ID: plan.source}, TARGET_ID)))
    for _ in range(4):
        value = change.draw(rng, 5)
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(change.source), value)
        made = converter.convert_value(frame(SOURCE_ID, out.getvalue()))
        expected = change.outcome(value)
        if isinstance(expected, DeadLetter):
            assert made.failure is not None
            assert (str(made.failure.code), made.failure.field) == (expected.code, expected.field)
        else:
            assert made.value is not None, made.failure
            assert branched(change.target, made.value[5:]) == expected


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_every_branch_and_every_field_of_the_target_has_a_row(seed: int) -> None:
    """What ``bridge plan`` prints is complete: the parts that the schemas have, for every branch."""
    change = changed_union(random.Random(seed))
    plan = plan_of(change)
    rows = {row.target: row.note for row in plan.rows()}
    for branch in change.source:
        if branch != "null":
            name = (
                branch["name"]
                if isinstance(branch, dict) and "name" in branch
                else branch["type"]
                if isinstance(branch, dict)
                else branch
            )
            assert rows[f"<{name}>"], (name, rows)
