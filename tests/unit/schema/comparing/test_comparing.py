"""The comparison of two schemas: each cell and level says what the check says, and each record proves its finding."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.judges.portable import UnpackedSchemas, pack, unpack, unpack_call
from counterfoil.schema.comparing import ComparedSide, ComparisonLimits, ComparisonQuestion, compare_schemas
from counterfoil.schema.comparing.grid import policies_of
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.compatibility.findings import Earlier, Witness
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import check_compatibility, find_breaking, reader_and_writer, search_for_witness
from counterfoil.schema.languages.avro import sample_values as fastavro
from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.layout import lay_out
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.comparisons import SCHEMA_COMPARISON, CellAnswer, Operand
from counterfoil.schema.rest.object_forms import ReplyJson
from strategies.avro.seeded import seeded_pairs
from strategies.cases.each_case import check_each
from strategies.json_schema.pairs import schema_pairs
from strategies.protobuf.pairs import seeded_pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.comparisons import SchemaComparison

RULES = Path(__file__).parents[3] / "rules"
SUFFIX_BY_TYPE = {SchemaType.AVRO: "avsc", SchemaType.PROTOBUF: "proto", SchemaType.JSON: "json"}
NO_PROOFS = ComparisonLimits(witnesses=0, confirmed=0)
DIRECTIONS = {"backward": Direction.BACKWARD, "forward": Direction.FORWARD}
LEVEL_BY_DIRECTION = {"backward": CompatibilityLevel.BACKWARD, "forward": CompatibilityLevel.FORWARD}


def parsed(text: str, schema_type: SchemaType) -> ParsedSchema:
    return language_for(schema_type).parse(text, (), validation=Validation.LENIENT)


def side(schema: ParsedSchema, version: int | None = None) -> ComparedSide:
    return ComparedSide(Operand("orders-value", schema.schema_type.value, schema.text, version=version), schema)


def question(
    earlier: ParsedSchema,
    later: ParsedSchema,
    *,
    level: CompatibilityLevel = CompatibilityLevel.BACKWARD,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    history: Sequence[Earlier] = (),
    versions: tuple[int | None, int | None] = (None, None),
) -> ComparisonQuestion:
    return ComparisonQuestion(side(earlier, versions[0]), side(later, versions[1]), level, policy, history)


def rule_pairs() -> Iterator[tuple[str, tuple[ParsedSchema, ParsedSchema]]]:
    """The earlier and the later schema of each rule's folder."""
    for schema_type, suffix in SUFFIX_BY_TYPE.items():
        for folder in sorted((RULES / schema_type.value.lower()).iterdir()):
            texts = [(folder / f"{name}.{suffix}").read_text("utf-8") for name in ("previous", "current")]
            earlier, later = (parsed(text, schema_type) for text in texts)
            yield f"{schema_type} {folder.name}", (earlier, later)


def generated_pairs() -> Iterator[tuple[str, tuple[ParsedSchema, ParsedSchema]]]:
    """Pairs of each language."""
    for number, texts in enumerate(seeded_pairs(31, 60)):
        yield f"avro {number}", tuple(parsed(text, SchemaType.AVRO) for text in texts)  # type: ignore[misc] # a pair
    for number in range(60):
        earlier, later = (parsed(text, SchemaType.PROTOBUF) for text in seeded_pair(number))
        yield f"protobuf {number}", (earlier, later)
    for number, documents in enumerate(schema_pairs(Random(5), 30)):
        earlier, later = (parsed(json.dumps(each), SchemaType.JSON) for each in documents)
        yield f"json {number}", (earlier, later)


def check_cells(pair: tuple[ParsedSchema, ParsedSchema]) -> None:
    earlier, later = pair
    found = compare_schemas(question(earlier, later), NO_PROOFS)
    assert [(each.policy, each.direction) for each in found.cells] == [
        (policy.value, direction) for policy in policies_of(earlier.schema_type) for direction in DIRECTIONS
    ]
    for cell in found.cells:
        policy = CompatibilityPolicy(cell.policy)
        try:
            report = check_compatibility(later, [Earlier(earlier)], LEVEL_BY_DIRECTION[cell.direction], policy=policy)
        except InvalidSchema:
            assert cell.answer is CellAnswer.IMPOSSIBLE
            continue
        assert cell.answer is (CellAnswer.READS if report.is_compatible else CellAnswer.BREAKS)
        listed = [each for each in found.findings if each.direction == cell.direction and cell.policy in each.policies]
        assert cell.findings == len(listed)
        assert {each.rule for each in listed} == {
            each.rule for failure in report.failures for each in failure.differences
        }


@pytest.mark.slow
def test_the_cells_of_each_rule_say_what_the_check_says():
    check_each(rule_pairs(), check_cells)


@pytest.mark.slow
def test_the_cells_of_generated_pairs_say_what_the_check_says():
    check_each(generated_pairs(), check_cells)


@pytest.mark.slow
def test_a_comparison_with_few_steps_is_the_whole_one_or_none():
    few = ComparisonLimits(confirmed=10, comparison_steps=15_000, search_steps=2_000, is_whole=True)
    decided = 0

    def check(pair: tuple[ParsedSchema, ParsedSchema]) -> None:
        nonlocal decided
        asked = question(*pair)
        with suppress(JudgementUndecided):
            found = compare_schemas(asked, few)
            decided += 1
            assert found == compare_schemas(asked, ComparisonLimits(confirmed=10))

    pairs = [each for each in (*rule_pairs(), *generated_pairs()) if each[1][0].schema_type is not SchemaType.JSON]
    check_each(iter(pairs), check)
    assert decided > len(pairs) // 2


def check_findings(pair: tuple[ParsedSchema, ParsedSchema]) -> None:
    """Check that each difference is in one finding, with its text, its lines, and its record."""
    earlier, later = pair
    found = compare_schemas(question(earlier, later), ComparisonLimits(witnesses=100, confirmed=0))
    folded = {(each.direction, each.rule, path) for each in found.findings for path in (each.path, *each.also_at)}
    for name, direction in DIRECTIONS.items():
        reader, writer = reader_and_writer(later, Earlier(earlier), direction)
        for policy in policies_of(earlier.schema_type):
            with suppress(InvalidSchema):  # a reference without a target has no table type
                for each in find_breaking(later, earlier, direction, policy=policy):
                    assert any(key[:2] == (name, each.rule) for key in folded)
        for finding in (each for each in found.findings if each.direction == name):
            assert finding.reader_line in range(1, len(lay_out(reader).lines) + 1)
            assert finding.writer_line in range(1, len(lay_out(writer).lines) + 1)
            assert (finding.witness is None) == bool(finding.no_witness)
            if finding.witness is not None and earlier.schema_type is SchemaType.AVRO:
                assert is_refused_by_fastavro(reader, writer, bytes.fromhex(finding.witness.body), finding.rule)


def is_refused_by_fastavro(reader: Any, writer: Any, body: bytes, rule: str) -> bool:
    """Return whether fastavro refuses a record; the rules about misread values have records that it reads."""
    spelled = fastavro.prepared(fastavro.spell_writer(writer.root))
    read = fastavro.prepared(fastavro.spell_reader(reader.root, writer.named.values()))
    return rule.endswith("misread") or "read-as" in rule or fastavro.failure_to_read(body, spelled, read) is not None


@pytest.mark.slow
def test_each_rule_has_its_finding_with_lines_and_a_record_that_a_decoder_refuses():
    check_each(rule_pairs(), check_findings)


@pytest.mark.slow
def test_generated_pairs_have_their_findings_with_lines_and_records():
    check_each(generated_pairs(), check_findings)


def test_differences_of_one_cause_are_one_finding():
    def text(kind: str) -> str:
        uses = {f"f{number}": {"$ref": "#/$defs/money"} for number in range(30)}
        money = {"type": "object", "properties": {"amount": {"type": kind}}}
        return json.dumps({"type": "object", "properties": uses, "$defs": {"money": money}})

    earlier, later = (parsed(text(kind), SchemaType.JSON) for kind in ("number", "integer"))
    found = compare_schemas(question(earlier, later))
    finding, *others = [each for each in found.findings if each.direction == "backward" and "STRICT" in each.policies]
    assert others == []
    assert {finding.path, *finding.also_at} <= {f"f{number}.amount" for number in range(30)}
    assert (len({finding.path, *finding.also_at}), finding.also_left) == (21, 9)
    assert [each.findings for each in found.cells if each.policy == "STRICT"] == [1, 0]


@pytest.mark.slow
def test_the_findings_of_the_policy_in_force_mark_the_changes_at_their_places():
    found_in, marked_in = 0, 0
    for _, pair in rule_pairs():
        found = compare_schemas(question(*pair), NO_PROOFS)
        in_force = {each.direction for each in found.findings if "STRICT" in each.policies}
        marked = {direction for each in found.changes for direction in each.breaks}
        assert marked <= in_force
        found_in += len(in_force)
        marked_in += len(marked)
    assert found_in > 50
    assert marked_in > 0.7 * found_in


# Levels, and the versions that changes came in with.


def avro_of(fields: dict[str, str]) -> ParsedSchema:
    each = [{"name": name, "type": kind} for name, kind in fields.items()]
    return parsed(json.dumps({"type": "record", "name": "A", "fields": each}), SchemaType.AVRO)


def history_of(random: Random, length: int) -> list[dict[str, str]]:
    """Return versions of a record as fields with their types, each made from the one before."""
    versions = [{"a": "int", "b": "int", "c": "string"}]
    while len(versions) < length:
        fields = dict(versions[-1])
        name = random.choice("abcdef")
        if name in fields and len(fields) > 1 and random.random() < 0.4:
            del fields[name]
        else:
            fields[name] = random.choice(["int", "long", "double", "string"])
        versions.append(fields)
    return versions


def came_in(versions: Sequence[dict[str, str]], kind: str, name: str) -> int:
    """Return the number of the version that made a change between the first and the last, counted from 1.

    It follows the one field alone: the last step after which it is what it is in the end, or after which it is there.
    """
    states = [each.get(name) for each in versions]
    if kind == "field-added":
        return max(at for at in range(1, len(states)) if states[at - 1] is None) + 1
    if kind == "field-removed":
        return max(at for at in range(1, len(states)) if states[at - 1] is not None) + 1
    last = states[-1]
    return max(at for at in range(1, len(states)) if states[at - 1] not in {last, None}) + 1


@pytest.mark.slow
def test_each_change_came_in_with_the_version_that_a_plain_walk_of_its_field_finds():
    random, changes = Random(3), 0
    for _ in range(120):
        versions = history_of(random, random.randint(2, 7))
        schemas = [avro_of(each) for each in versions]
        history = [Earlier(each, number) for number, each in enumerate(schemas[:-1], 1)][::-1]
        asked = question(schemas[0], schemas[-1], history=history, versions=(1, len(schemas)))
        for each in compare_schemas(asked, NO_PROOFS).changes:
            if each.kind in {"field-added", "field-removed", "type-changed"}:
                changes += 1
                assert each.came_in == came_in(versions, each.kind, each.path), (versions, each)
    assert changes > 150


def test_what_came_and_went_is_no_change_and_what_a_draft_makes_has_no_version():
    first, second, third = ({"a": "int"}, {"a": "int", "b": "int"}, {"a": "int"})
    schemas = [avro_of(each) for each in (first, second, third)]
    history = [Earlier(schemas[1], 2), Earlier(schemas[0], 1)]
    assert compare_schemas(question(schemas[0], schemas[2], history=history, versions=(1, 3))).changes == ()
    draft = avro_of({"a": "long", "b": "int"})
    changes = compare_schemas(question(schemas[0], draft, history=history, versions=(1, None))).changes
    assert [(each.path, each.came_in) for each in changes] == [("a", None), ("b", 2)]
    unknown = compare_schemas(question(schemas[0], draft, versions=(1, 2))).changes
    assert {each.came_in for each in unknown} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND])
def test_the_levels_say_what_a_registration_under_each_would_get(policy: CompatibilityPolicy):
    random, refused = Random(17), 0
    for _ in range(60):
        *schemas, later = [avro_of(each) for each in history_of(random, random.randint(2, 6))]
        history = [Earlier(each, number) for number, each in enumerate(schemas, 1)][::-1]
        found = compare_schemas(question(schemas[0], later, policy=policy, history=history), NO_PROOFS)
        assert [each.level for each in found.levels] == [level.value for level in CompatibilityLevel]
        for answer in found.levels:
            report = check_compatibility(later, history, CompatibilityLevel(answer.level), policy=policy)
            assert answer.accepted == report.is_compatible
            versions = {failure.earlier.version for failure in report.failures}
            directions = [failure.direction.name.lower() for failure in report.failures]
            assert versions == ({answer.refused_by} if answer.refused_by else set())
            assert answer.direction == ("both" if len(directions) > 1 else "".join(directions))
            refused += not answer.accepted
    assert refused > 40


# Notes, limits, and the way to another process.


def test_two_languages_cannot_be_compared_and_a_registration_is_refused_by_every_level_but_none():
    avro, protobuf = parse_schema('"int"'), parse_schema('syntax = "proto3"; message A {}', SchemaType.PROTOBUF)
    found = compare_schemas(question(avro, protobuf, history=[Earlier(avro, 1)]))
    assert {each.answer for each in found.cells} == {CellAnswer.IMPOSSIBLE}
    assert found.note.startswith("The earlier schema is AVRO, the later one PROTOBUF")
    assert [each.accepted for each in found.levels] == [True, *[False] * 6]
    assert (found.changes, found.findings) == ((), ())


def test_equal_texts_say_so():
    found = compare_schemas(question(parse_schema('"int"'), parse_schema('"int"')))
    assert (found.note, found.changes, found.findings) == ("Both texts are equal", (), ())
    assert {each.answer for each in found.cells} == {CellAnswer.READS}
    assert [each.proof for each in found.cells if each.policy == "SOUND"] == ["200 values were written and read"] * 2


def test_a_policy_that_cannot_compare_the_schemas_says_why():
    earlier, later = (
        parsed(json.dumps({"properties": {"a": {"$ref": "gone.json"}, "b": {"type": kind}}}), SchemaType.JSON)
        for kind in ("string", "integer")
    )
    found = compare_schemas(question(earlier, later), NO_PROOFS)
    by_policy = {each.policy: each.answer for each in found.cells}
    assert by_policy["LOGICAL"] is CellAnswer.IMPOSSIBLE
    assert by_policy["STRICT"] is not CellAnswer.IMPOSSIBLE
    assert found.note.startswith("Unresolved reference 'gone.json'")


def test_a_comparison_that_ends_at_its_steps_is_not_decided():
    earlier, later = avro_of({"a": "int"}), avro_of({"a": "string"})
    limits = ComparisonLimits(witnesses=0, confirmed=0, comparison_steps=0, history_steps=0)
    found = compare_schemas(question(earlier, later, history=[Earlier(earlier, 1)]), limits)
    assert {each.answer for each in found.cells} == {CellAnswer.UNDECIDED}
    assert "ended at its limits" in found.note
    assert [each.accepted for each in found.levels] == [True, *[None] * 6]
    with pytest.raises(JudgementUndecided):
        compare_schemas(
            question(earlier, later), ComparisonLimits(witnesses=0, confirmed=0, comparison_steps=0, is_whole=True)
        )


def test_what_is_beyond_a_limit_is_counted():
    earlier, later = (avro_of({f"f{number}": kind for number in range(9)}) for kind in ("int", "string"))
    found = compare_schemas(question(earlier, later), ComparisonLimits(witnesses=2, confirmed=0, changes=4, findings=5))
    assert (len(found.changes), found.changes_left) == (4, 5)
    total = len(found.findings) + found.findings_left
    assert (len(found.findings), found.witnesses_left) == (5, total - 2)
    assert [each.witness is not None for each in found.findings] == [True, True, False, False, False]
    assert "the first 2 findings" in found.findings[2].no_witness


def test_a_comparison_crosses_to_another_process_and_back_and_is_json():
    earlier, later = avro_of({"a": "int"}), avro_of({"a": "string"})
    asked = question(earlier, later, history=[Earlier(earlier, 1)], versions=(1, 2))
    packed = pack((compare_schemas, (asked, ComparisonLimits())))
    work, given = unpack_call(packed, UnpackedSchemas())
    found: SchemaComparison = unpack(pack(work(*given)))
    assert found == compare_schemas(asked)
    assert SCHEMA_COMPARISON.read(ReplyJson(json.loads(json.dumps(SCHEMA_COMPARISON.write(found))))) == found


def test_a_witness_is_the_one_that_the_search_finds():
    earlier, later = avro_of({"a": "int"}), avro_of({"a": "string"})
    finding = compare_schemas(question(earlier, later)).findings[0]
    (difference,) = find_breaking(later, earlier, Direction.BACKWARD, policy=CompatibilityPolicy.STRICT)
    witness = search_for_witness(later, earlier, difference)
    assert isinstance(witness, Witness)
    assert finding.witness is not None
    assert (finding.witness.datum, finding.witness.body) == (witness.datum_json, witness.body.hex())
    assert finding.fix
