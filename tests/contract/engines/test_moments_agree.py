"""Random conversions of times: the engine ``java``, the reference and a meaning in plain Python agree."""

from __future__ import annotations

import io
import json
import random
import re
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.messages.table import make_writer, pack
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from strategies.engines.java import check
from strategies.engines.moments import ROUNDINGS, Failed, Trial, meaning, trials, values

if TYPE_CHECKING:
    from strategies.engines.java import Convert

FIELDS = 16


def avro(words: list[str], *, is_nullable: bool = True) -> Any:
    fields = []
    for number, word in enumerate(words):
        base = "int" if word == "date" else "long" if "timestamp" in word else word
        kind = {"type": base, "logicalType": word} if base != word else word
        fields.append({"name": f"f{number}", "type": ["null", kind] if is_nullable else kind, "default": None})
        if not is_nullable:
            del fields[-1]["default"]
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": fields}))


def planned(rng: random.Random, made: list[Trial]) -> tuple[Any, list[Trial]]:
    """Return the plan of all conversions; each gets a rounding, where the plan says that it needs one."""
    source, target = avro([each.source for each in made]), avro([each.target for each in made])
    for _ in range(2):
        rules = parse_rules({f"f{n}": {"from": f"f{n}", **each.rule} for n, each in enumerate(made)})
        plan = derive_plan(source, target, rules)
        for problem in plan.problems:
            assert "say how it is rounded" in problem.text, problem
            number = int(problem.field[1:])
            words = made[number].words | {"rounding": rng.choice(ROUNDINGS)}
            made[number] = Trial(made[number].source, made[number].target, words)
    assert plan.is_complete, plan.problems
    return plan, made


def outcome(trial: Trial, value: Any) -> tuple[Any, str | None]:
    """Return the result of a conversion, or the code of its failure."""
    try:
        return meaning(trial, value), None
    except Failed as failed:
        return None, str(failed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_conversion_of_times_has_one_meaning(seed: int, convert: Convert) -> None:
    rng = random.Random(seed)
    plan, made = planned(rng, [trials(rng) for _ in range(FIELDS)])
    write = make_writer(pack(plan.source), 7)
    given = [(number, values(rng, made[number].source)) for number in range(FIELDS) for _ in range(40)]
    empty = dict.fromkeys(f"f{number}" for number in range(FIELDS))
    messages = [write(empty | {f"f{number}": value}) for number, value in given]
    answers = check(Conversion(plan, {7: plan.source}, 9), messages, convert)
    schema = json.loads(re.sub(r', "logicalType": "[a-z-]+"', "", json.dumps(json.loads(plan.target.text))))
    for (number, value), (message, failure) in zip(given, answers, strict=True):
        expected, code = outcome(made[number], value)
        assert failure == (None if code is None else (code, f"f{number}")), (made[number], value, expected)
        if message is None:
            continue
        found = fastavro.schemaless_reader(io.BytesIO(message[5:]), schema, None)
        assert found == empty | {f"f{number}": expected}, (made[number], value)
