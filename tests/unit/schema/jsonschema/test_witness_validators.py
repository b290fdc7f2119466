"""Three validators and our evaluator against each other: on witnesses of recorded pairs and on generated values."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema
import jsonschema_rs
import pytest
from hypothesis import given

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.compatibility.findings import NoWitness, Witness
from counterfoil.schema.judgement import confirm_compatible, search_for_witness
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.policies import find_differences
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.jsonschema.validator import SchemaValidator
from counterfoil.schema.languages.jsonschema.values.samples import Sampler
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.written import root_of
from counterfoil.schema.model import Reference, ResolvedReference
from strategies.cases.depth import IS_DEEP, some_of
from strategies.json_schema.schemas import json_schemas, json_values

if TYPE_CHECKING:
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "verdicts.json.jsonl"
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


@cache
def recorded(*, compatible: bool) -> list[tuple[JsonSchema, JsonSchema]]:
    """Return reader and writer of each recorded pair with that verdict of STRICT."""
    lines = map(json.loads, RECORDINGS.read_text(encoding="ascii").splitlines())
    records = [record for record in lines if record["policy"] == "STRICT" and record["compatible"] is compatible]
    return [
        (
            parse_json_schema(record["reader_or_new"], _supplied(record, "new")),
            parse_json_schema(record["writer_or_old"], _supplied(record, "old")),
        )
        for record in records
    ]


def _supplied(record: dict[str, Any], side: str) -> list[ResolvedReference]:
    return [
        ResolvedReference(Reference(one["name"], one["subject"], one["version"]), one["schema"])
        for one in record.get("references", [])
        if one.get("side", side) == side
    ]


def _first_witness(reader: JsonSchema, writer: JsonSchema) -> Witness | NoWitness | None:
    searches = (search_for_witness(reader, writer, one) for one in find_differences(reader, writer))
    return next(filter(None, searches), None)


@pytest.mark.slow
def test_recorded_incompatible_pairs_have_witnesses_and_two_more_validators_confirm_each():
    """One test, since the searches take longer than all validators do."""
    assert len(recorded(compatible=False)) == 660
    pairs = some_of(recorded(compatible=False), 3)
    found = [(reader, writer, _first_witness(reader, writer)) for reader, writer in pairs]
    witnesses = [(reader, writer, json.loads(one.body)) for reader, writer, one in found if isinstance(one, Witness)]
    # The others have none: the reference is stricter than any value asks, or the writer accepts no value at all.
    assert len(witnesses) >= (531 if IS_DEEP else 169)

    alone = [each for each in witnesses if not each[0].references and not each[1].references]
    assert len(alone) > (500 if IS_DEEP else 150)
    assert [
        (writer.text, value)
        for reader, writer, value in alone
        if not accepted_by_rust(writer, value) or accepted_by_rust(reader, value)
    ] == []

    older = [one for one in alone if not one[0].draft.is_modern and not one[1].draft.is_modern]
    older = [one for one in older if isinstance(one[0].document, dict) and isinstance(one[1].document, dict)]
    assert len(older) > (250 if IS_DEEP else 75)
    assert [
        (writer.text, value)
        for reader, writer, value in older
        if not accepted_by_fastjsonschema(writer, value) or accepted_by_fastjsonschema(reader, value)
    ] == []


@pytest.mark.slow
def test_recorded_compatible_pairs_are_refuted_where_the_reference_is_unsound():
    pairs = recorded(compatible=True)[::3]
    confirmations = [confirm_compatible(reader, writer, 60) for reader, writer in pairs]
    refuted = [one.counter_witness for one in confirmations if one.counter_witness]
    assert len(pairs) == 226
    assert len(refuted) >= 25


@given(json_schemas(), json_values)
def test_all_agree_about_any_value(document: dict[str, Any], value: Any):
    schema = parse_json_schema(json.dumps(document))
    exact = json.loads(json.dumps(value), parse_float=Decimal)
    verdicts = {Evaluator(10_000).may_accept(root_of(schema), exact), SchemaValidator(schema).accepts(exact)}
    assert verdicts == {accepted_by_rust(schema, value)}


@given(json_schemas())
def test_all_agree_about_values_made_to_fit(document: dict[str, Any]):
    schema = parse_json_schema(json.dumps(document))
    root = root_of(schema)
    with suppress(OutOfSteps):  # some schemas let the making go on for long; what was made by then is good
        for value in islice(Sampler(Solver(Evaluator(100_000))).values([(root, True)], [root]), 20):
            assert SchemaValidator(schema).accepts(value)
            assert accepted_by_rust(schema, _floats(value))
