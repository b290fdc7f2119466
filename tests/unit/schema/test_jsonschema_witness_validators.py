"""Three validators and our evaluator against each other: on witnesses of recorded pairs and on generated values."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema
import jsonschema_rs
import pytest
from hypothesis import given, settings

from counterfoil.schema.formats.jsonschema.parse import parse_json_schema
from counterfoil.schema.formats.jsonschema.policies import find_differences
from counterfoil.schema.formats.jsonschema.read.drafts import Draft
from counterfoil.schema.formats.jsonschema.values.samples import Sampler
from counterfoil.schema.formats.jsonschema.values.solver import Solver
from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator, OutOfSteps
from counterfoil.schema.formats.jsonschema.view.written import root_of
from counterfoil.schema.formats.jsonschema.witness.validator import SchemaValidator
from counterfoil.schema.judgement.witnesses import search_for_witness
from counterfoil.schema.witness import Witness
from json_schemas import json_schemas, json_values

if TYPE_CHECKING:
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings" / "verdicts.json.jsonl"
RUST_CLASS_BY_DRAFT = {
    Draft.DRAFT_4: jsonschema_rs.Draft4Validator,
    Draft.DRAFT_6: jsonschema_rs.Draft6Validator,
    Draft.DRAFT_7: jsonschema_rs.Draft7Validator,
    Draft.DRAFT_2019_09: jsonschema_rs.Draft201909Validator,
    Draft.DRAFT_2020_12: jsonschema_rs.Draft202012Validator,
}


def accepted_by_rust(schema: JsonSchema, value: Any) -> bool:
    validator = RUST_CLASS_BY_DRAFT[schema.draft](_document(schema), validate_formats=False)
    return bool(validator.is_valid(value))


def accepted_by_fastjsonschema(schema: JsonSchema, value: Any) -> bool:
    document = {"$schema": schema.draft.value + "#", **_document(schema)}
    try:
        fastjsonschema.compile(document, use_default=False, use_formats=False)(value)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


def _document(schema: JsonSchema) -> Any:
    """What other validators read; ``contentEncoding`` is an annotation, which both of them assert."""
    return _without_encodings(json.loads(schema.text))


def _without_encodings(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_encodings(item) for key, item in value.items() if key != "contentEncoding"}
    return [_without_encodings(item) for item in value] if isinstance(value, list) else value


def _floats(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_floats(item) for item in value]
        case dict():
            return {key: _floats(item) for key, item in value.items()}
    return value


@pytest.fixture(scope="module")
def witnesses() -> list[tuple[JsonSchema, JsonSchema, Any]]:
    """Reader, writer and witness of every recorded STRICT pair that stands by itself."""
    found = []
    for record in map(json.loads, RECORDINGS.read_text(encoding="ascii").splitlines()):
        if record["policy"] != "STRICT" or record["compatible"] or record.get("references"):
            continue
        reader, writer = (parse_json_schema(record[side]) for side in ("reader_or_new", "writer_or_old"))
        witness = next(
            filter(None, (search_for_witness(reader, writer, one) for one in find_differences(reader, writer))), None
        )
        if isinstance(witness, Witness):
            found.append((reader, writer, json.loads(witness.body)))
    return found


def test_another_validator_says_the_same_of_every_witness(witnesses: list[tuple[JsonSchema, JsonSchema, Any]]):
    assert len(witnesses) > 500
    assert [
        (writer.text, value)
        for reader, writer, value in witnesses
        if not accepted_by_rust(writer, value) or accepted_by_rust(reader, value)
    ] == []


def test_a_third_validator_says_the_same_of_every_witness_up_to_draft_7(
    witnesses: list[tuple[JsonSchema, JsonSchema, Any]],
):
    older = [one for one in witnesses if not one[0].draft.is_modern and not one[1].draft.is_modern]
    older = [one for one in older if isinstance(one[0].document, dict) and isinstance(one[1].document, dict)]
    assert len(older) > 250
    assert [
        (writer.text, value)
        for reader, writer, value in older
        if not accepted_by_fastjsonschema(writer, value) or accepted_by_fastjsonschema(reader, value)
    ] == []


@settings(max_examples=150, deadline=None)
@given(json_schemas(), json_values)
def test_all_agree_about_any_value(document: dict[str, Any], value: Any):
    schema = parse_json_schema(json.dumps(document))
    exact = json.loads(json.dumps(value), parse_float=Decimal)
    verdicts = {Evaluator(10_000).may_accept(root_of(schema), exact), SchemaValidator(schema).accepts(exact)}
    assert verdicts == {accepted_by_rust(schema, value)}


@settings(max_examples=60, deadline=None)
@given(json_schemas())
def test_all_agree_about_values_made_to_fit(document: dict[str, Any]):
    schema = parse_json_schema(json.dumps(document))
    root = root_of(schema)
    with suppress(OutOfSteps):  # some schemas let the making go on for long; what was made by then is good
        for value in islice(Sampler(Solver(Evaluator(100_000))).values([(root, True)], [root]), 20):
            assert SchemaValidator(schema).accepts(value)
            assert accepted_by_rust(schema, _floats(value))
