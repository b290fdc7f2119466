"""The engine ``java`` for changed unions, items that are no records, and recursion: always what the reference gives."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING, Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from strategies.avro.unions import branched
from strategies.engines.branch_changes import Change, DeadLetter, changed_record, changed_union
from strategies.engines.conversions import SOURCE_ID, TARGET_ID, avro, broken, schema
from strategies.engines.java import check

if TYPE_CHECKING:
    from strategies.engines.java import Answer, Convert


def conversion_of(source: Any, target: Any, rules: dict[str, Any] | None = None, drop: Any = None) -> Conversion:
    """The complete plan of rules as a bridge file has them."""
    left, right = (schema(each) if isinstance(each, str | dict) else avro(each) for each in (source, target))
    plan = derive_plan(left, right, parse_rules(rules or {}, drop))
    assert plan.is_complete, plan.problems
    return Conversion(plan, {SOURCE_ID: plan.source}, TARGET_ID)


def written(node: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(node), value)
    return frame(SOURCE_ID, out.getvalue())


def assert_meaning(change: Change, value: Any, answer: Answer) -> None:
    """Fail unless the result is that of the meaning which the change itself has."""
    made, failure = answer
    expected = change.outcome(value)
    if isinstance(expected, DeadLetter):
        assert failure == (expected.code, expected.field)
    else:
        assert made is not None, failure
        assert branched(change.target, made[5:]) == expected


@given(seed=st.integers(0, 2**32))
def test_java_and_the_reference_have_the_meaning_of_random_changes(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    change = (changed_union if seed % 4 == 0 else changed_record)(rng)
    conversion = conversion_of(change.source, change.target, change.rules("", ""))
    values = [change.draw(rng, 5) for _ in range(4)]
    bodies = [written(change.source, value) for value in values]
    answers = check(conversion, [*bodies, *(broken(rng, body) for body in bodies)], convert)
    for value, answer in zip(values, answers, strict=False):
        assert_meaning(change, value, answer)
