"""Dear inputs that were found, one of each kind: the steps that they take are counted, and no clock is read.

Without the bound that holds one of them, the steps are used up, or are many times as many.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.schema.agreements import UNDECIDED, Expectation
from counterfoil.schema.agreements.findings import Offer, Reader
from counterfoil.schema.agreements.judge import judge_reader
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.compatibility.findings import BEYOND_LIMITS, Earlier
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import Budget, confirm_compatible, judge
from counterfoil.schema.languages.jsonschema.values.literals import failures
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import VALUES, member
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.texts import Position
from strategies.cases.dear_inputs import GENES, TEXTS, Genome

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from counterfoil.schema.parsed import ParsedSchema

STRICT, SOUND = CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND
AT = Position(1, 1)


def genome(**numbers: int) -> Genome:
    """Return the genome with the least of each number but these."""
    return {gene: low for gene, (low, _) in GENES.items()} | numbers


def schemas_of(language: str, made: Genome) -> list[ParsedSchema]:
    """Return the later and the earlier schema of a genome."""
    return [parse_schema(TEXTS[language](made, is_later=is_later), SchemaType(language)) for is_later in (True, False)]


KNOWN = [
    pytest.param("AVRO", STRICT, genome(definitions=49, links=4, union=4, properties=11), 800_000, id="avro-links"),
    pytest.param("AVRO", SOUND, genome(definitions=49, links=4, union=4, properties=11), 900_000, id="avro-sound"),
    pytest.param("AVRO", STRICT, genome(union=300, renamed=1), 300_000, id="avro-union"),
    pytest.param("JSON", STRICT, genome(definitions=60, links=2, change=1), 150_000, id="json-fan-out"),
    pytest.param("JSON", STRICT, genome(ring=40, change=1), 600_000, id="json-circles"),
    pytest.param("JSON", SOUND, genome(patterns=40, change=1), 400_000, id="json-patterns"),
    pytest.param("PROTOBUF", STRICT, genome(definitions=60, links=8, union=20, change=1), 100_000, id="proto-links"),
    pytest.param("PROTOBUF", SOUND, genome(ring=300, change=1), 1_500_000, id="proto-circles"),
    pytest.param("PROTOBUF", SOUND, genome(maps=60, options=60, extensions=60, change=1), 100_000, id="proto-maps"),
]


@pytest.mark.parametrize(("language", "policy", "made", "most"), KNOWN)
def test_a_dear_comparison_takes_few_steps(language: str, policy: CompatibilityPolicy, made: Genome, most: int):
    later, earlier = schemas_of(language, made)
    steps = steps_for(later, earlier)
    before = steps.left
    language_for(SchemaType(language)).find_differences(later, earlier, policy=policy, steps=steps)
    assert before - steps.left < most


def spent(later: ParsedSchema, earlier: ParsedSchema, policy: CompatibilityPolicy) -> int:
    """Return the steps of a comparison, which may use up all that it has."""
    steps = steps_for(later, earlier)
    before = steps.left
    with suppress(JudgementUndecided):
        language_for(later.schema_type).find_differences(later, earlier, policy=policy, steps=steps)
    return before - steps.left


def needed_names(count: int) -> Any:
    return {"dependencies": {f"p{at}": [f"p{at + 1}"] for at in range(count)}}


def conditions(count: int) -> Any:
    each = [{"if": {"required": [f"a{at}"]}, "then": {"required": [f"b{at}"]}} for at in range(count)]
    return {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": each}


def equal_branches(count: int) -> Any:
    return {"oneOf": [{}] * count}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "count", "least"),
    [(needed_names, 250, 600_000), (conditions, 100, 550_000), (equal_branches, 300, 420_000)],
)
def test_the_copies_of_the_solver_are_counted(made: Callable[[int], Any], count: int, least: int):
    """Each open choice is copied for each option of the others: not counted, thousands of them did not end."""
    later, earlier = [parse_schema(json.dumps(made(each)), SchemaType.JSON) for each in (count + 1, count)]
    assert spent(later, earlier, SOUND) > least


def test_many_branches_take_no_memory_for_each_pair():
    """Of ``oneOf`` that does not hold, two branches hold: there was a copy of the later branches for each of them."""
    branches = tuple(ConstrainedSchema() for _ in range(4000))
    tracemalloc.start()
    try:
        causes = failures(KeywordFacts(one_of=branches), "object", None)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(causes) == len(branches)
    assert most_bytes < 10_000_000
    first, later = causes[1]
    assert (first, later[0].facts.any_of) == ((branches[0], True), branches[1:])


def test_types_that_do_not_contain_themselves_are_compared_once_under_sound():
    made = genome(definitions=30, links=6, jump=3, properties=3, change=1, renamed=1, union=1)
    later, earlier = schemas_of("AVRO", made)
    assert spent(later, earlier, SOUND) < 1.2 * spent(later, earlier, STRICT)


@pytest.mark.parametrize(
    ("language", "made", "most"),
    [
        pytest.param("AVRO", genome(ring=300, change=1), 400_000, id="avro-chain"),
        pytest.param("AVRO", genome(definitions=40, links=4, change=1), 1_000_000, id="avro-fan-out"),
        pytest.param("PROTOBUF", genome(definitions=40, links=4, change=1), 400_000, id="proto-fan-out"),
        pytest.param("PROTOBUF", genome(maps=60, definitions=10, links=3, change=1), 400_000, id="proto-maps"),
    ],
)
def test_the_misfits_of_dear_schemas_take_few_steps(language: str, made: Genome, most: int):
    later, earlier = schemas_of(language, made)
    misfits: Any = language_for(SchemaType(language)).find_misfits(later, earlier)
    before = misfits.steps.left
    for path in ((), (member("l0"),) * 30, (member("m0"), VALUES), (member("c"), *[member("n")] * 30)):
        misfits.at(path)
    assert before - misfits.steps.left < most


@pytest.mark.slow
def test_a_consumer_whose_misfits_are_too_many_is_not_said_to_be_able_to_read():
    later, earlier = schemas_of("PROTOBUF", genome(ring=600, change=1))
    expectation = Expectation("orders", "orders", "1", AT)
    found = list(judge_reader(Offer(later), Reader("ui", expectation, schema=earlier)))
    assert [each.rule for each in found] == [UNDECIDED]


def calls(work: Callable[[], Any], *names: str) -> int:
    """Return how many functions are called while ``work`` is done: those of these names, or all."""
    count = 0

    def counted(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call" and (not names or frame.f_code.co_qualname in names)

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def compared_pairs(work: Callable[[], Any]) -> int:
    """Return how many pairs of Avro types are compared while ``work`` is done."""
    return calls(work, "_Walk._judge")


@pytest.mark.parametrize("policy", [STRICT, SOUND])
def test_the_search_for_witnesses_does_not_walk_over_large_schemas_again(policy: CompatibilityPolicy):
    made = genome(definitions=30, links=4, union=10, renamed=1)
    later, earlier = schemas_of("AVRO", made)
    find = language_for(SchemaType.AVRO).find_differences
    of_walks = compared_pairs(lambda: [find(later, earlier, policy=policy), find(earlier, later, policy=policy)])
    later, earlier = schemas_of("AVRO", made)
    judgement = judge(later, [Earlier(earlier, 1)], CompatibilityLevel.FULL, policy=policy, budget=Budget(witnesses=3))
    found: list[Any] = []
    of_search = compared_pairs(lambda: found.append(judgement.search()))
    assert judgement.incompatibilities
    assert of_search < of_walks / 4


def test_a_walk_that_is_remembered_spends_its_steps_again():
    later, earlier = schemas_of("AVRO", genome(definitions=30, links=4, union=10, renamed=1))
    find = language_for(SchemaType.AVRO).find_differences
    spent: list[int] = []
    for policy in (STRICT, STRICT, SOUND, STRICT):
        steps = steps_for(later, earlier)
        before = steps.left
        find(later, earlier, policy=policy, steps=steps)
        spent.append(before - steps.left)
    assert spent[0] == spent[1] == spent[3] > 10_000
    assert spent[2] >= spent[0]
    with pytest.raises(JudgementUndecided):
        find(later, earlier, policy=STRICT, steps=Steps(spent[0] - 1))


def json_pair(make: Callable[[int], Any], count: int) -> list[ParsedSchema]:
    """Return the later and the earlier schema, of which the later one has one part more."""
    return [parse_schema(json.dumps(make(each)), SchemaType.JSON) for each in (count + 1, count)]


def test_a_comparison_under_sound_reads_each_schema_once_for_each_direction():
    later, earlier = json_pair(lambda count: {"allOf": [{}] * count}, 3_000)
    found: list[Any] = []

    def judged() -> None:
        judgement = judge(later, [Earlier(earlier, 1)], CompatibilityLevel.FULL, policy=SOUND)
        found.append(judgement.witnesses())

    spied = ("WrittenSchemas.__init__", "SchemaValidator.__init__", "ValueState.add", "WrittenSchema.below")
    assert calls(judged, *spied) < 25_000
    assert found


@pytest.mark.parametrize("times", [0, 1, 4, 9, 10, 11, 30])
@pytest.mark.parametrize(("own", "judgements"), [(10, 1_000), (1_000, 49), (1_000, 50), (10, 55), (10, 54)])
def test_steps_that_are_spent_together_are_those_that_are_spent_one_by_one(times: int, own: int, judgements: int):
    left = []
    for is_together in (True, False):
        steps = Steps(judgements)
        evaluator = Evaluator(own, steps=steps)
        is_ended = False
        try:
            if is_together:
                evaluator.spend_each(times)
            else:
                for _ in range(times):
                    evaluator.spend()
        except OutOfSteps:
            is_ended = True
        left.append((is_ended, evaluator.left if steps.left >= 0 else None, steps.left))
    assert left[0] == left[1]


def test_the_changes_of_many_empty_branches_take_few_calls():
    later, earlier = json_pair(lambda count: {"anyOf": [{}] * count}, 1_000)
    find = language_for(SchemaType.JSON).find_changes
    assert calls(lambda: find(earlier, later)) < 150 * 1_000


def lines_of(work: Callable[[], Any], folder: str) -> int:
    """Return how many lines of the modules below a folder are executed, each turn of a loop in one line included."""
    count = 0

    def counted(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        if folder not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return counted

    sys.settrace(counted)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def test_the_fields_of_a_source_are_looked_up_without_reading_all_of_them():
    def lines(count: int) -> int:
        later, earlier = json_pair(
            lambda many: {"properties": {f"p{at}": {"type": "integer"} for at in range(many)}}, count
        )
        return lines_of(lambda: derive_plan(later, earlier, parse_rules({})), "schema/plans/")

    assert lines(400) < 4.4 * lines(100)


def test_a_plan_between_types_that_are_nested_too_deep_has_a_problem():
    """Each tree is made in parts that are not deep, and the types are compared from the outermost one on."""
    depth = 1_000
    records = {f"d{at}": {"properties": {"n": {"$ref": f"#/definitions/d{at + 1}"}}} for at in range(depth)}
    parts = {f"p{at}": {"$ref": f"#/definitions/d{at}"} for at in range(depth, -1, -50)}

    def chains(kind: str) -> ParsedSchema:
        definitions = {**records, f"d{depth}": {"properties": {"x": {"type": kind}}}}
        return parse_schema(json.dumps({"properties": parts, "definitions": definitions}), SchemaType.JSON)

    plan = derive_plan(chains("integer"), chains("string"), parse_rules({}))
    assert [problem.text for problem in plan.problems] == ["the types of the schemas are nested too deep; flatten them"]


def test_the_branches_of_one_type_are_described_once():
    later, earlier = json_pair(lambda count: {"anyOf": [{}] * count}, 500)
    assert calls(lambda: derive_plan(later, earlier, parse_rules({})), "_outline", "layers_of") < 100


def test_objects_with_one_property_are_not_sorted():
    later, earlier = schemas_of("JSON", genome(ring=60, change=1))
    find = language_for(SchemaType.JSON).find_differences
    assert calls(lambda: find(later, earlier, policy=STRICT), "java_hash_order.<locals>.<lambda>") < 1_000


def test_objects_without_required_properties_are_not_searched_for_them():
    later, earlier = schemas_of("JSON", genome(ring=60, change=1))
    find = language_for(SchemaType.JSON).find_differences
    assert calls(lambda: find(later, earlier, policy=STRICT), "_compare_required") < 300


def wide_messages(count: int, *, fields: int = 1) -> tuple[ParsedSchema, ParsedSchema]:
    """Return the later and the earlier of two files with messages, whose fields have another type each."""
    later, earlier = (
        'syntax = "proto3";' + "".join(f"message M{at} {{{_fields(kind, fields)}}}" for at in range(count))
        for kind in ("string", "int32")
    )
    return parse_schema(later, SchemaType.PROTOBUF), parse_schema(earlier, SchemaType.PROTOBUF)


def _fields(kind: str, count: int) -> str:
    return "".join(f"{kind} f{number} = {number};" for number in range(1, count + 1))


@pytest.mark.parametrize(("messages", "fields"), [(1, 0), (0, 1)])
def test_the_witnesses_of_a_check_do_not_cost_a_walk_over_the_schema_each(messages: int, fields: int):
    """A check searches for a witness of every finding, in the order of the file: both directions take turns."""

    def searches(size: int) -> int:
        later, earlier = wide_messages(messages * size or 1, fields=fields * size or 1)
        judgement = judge(later, [Earlier(earlier)], CompatibilityLevel.FULL)
        found = judgement.incompatibilities
        by_place = [each for pair in zip(found[:size], found[size:], strict=True) for each in pair]
        return lines_of(lambda: [each.search_for_witness() for each in by_place], "languages/protobuf")

    searches(10)
    assert searches(400) < 2.5 * searches(200)


def test_a_schema_that_the_runtime_refuses_is_given_to_it_once():
    """Google's runtime has a limit for the size of a message in memory."""
    later, earlier = wide_messages(1, fields=5_000)
    judgement = judge(later, [Earlier(earlier)], CompatibilityLevel.BACKWARD)
    found = judgement.incompatibilities[:50]
    results: list[Any] = []
    built = calls(lambda: results.extend(each.search_for_witness() for each in found), "pooled_file")
    assert {result.reason.partition(":")[0] for result in results} == {"protobuf does not take the schema"}
    assert built <= 2


def test_a_confirmation_of_a_large_union_does_not_compare_all_pairs_of_its_records():
    def union(count: int, extra: str) -> ParsedSchema:
        fields = [{"name": "x", "type": "int"}, {"name": "y", "type": "int", "default": 0}]
        more = [{"name": extra, "type": "int", "default": 0}]
        return parse_schema(
            json.dumps([{"type": "record", "name": f"r{at}", "fields": [*fields, *more]} for at in range(count)])
        )

    def confirmation(count: int) -> int:
        reader, writer = union(count, "a"), union(count, "b")
        done: list[Any] = []
        called = calls(lambda: done.append(confirm_compatible(reader, writer, 20)), "RecordComparison._inside")
        assert done[0].round_tripped == 20
        return called

    confirmation(3)
    assert confirmation(200) < 2.5 * confirmation(100)


@pytest.mark.slow
def test_a_confirmation_whose_steps_do_not_suffice_says_so():
    """The records of the reader have other names of fields each, so that any may have read a record of the writer."""

    def union(count: int, extra: str) -> ParsedSchema:
        def record(at: int) -> dict[str, Any]:
            names = [f"f{at}_{extra}", *(f"g{number}" for number in range(20))]
            fields = [{"name": name, "type": "int", "default": 0} for name in names]
            return {"type": "record", "name": f"r{at}", "fields": fields}

        return parse_schema(json.dumps([record(at) for at in range(count)]))

    confirmation = confirm_compatible(union(600, "a"), union(600, "b"), 20)
    assert confirmation.round_tripped < 20
    assert confirmation.reason == BEYOND_LIMITS
