"""Validation of JSON: two validators with the same verdicts, references by name and by identifier, and no network."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import example, given, reject

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import Reference, ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import SchemaUnusable, ValidationError
from counterfoil.sdk.serde.json import JsonCodec
from counterfoil.sdk.serde.json.schemas import PythonValidator, RustValidator, compile_validator
from strategies.json_schema.schemas import json_schemas, json_values

KINDS: list[Any] = [RustValidator, PythonValidator]


def parsed(schema: Any, validation: Validation = Validation.STRICT, **documents: Any) -> Any:
    references = [
        ResolvedReference(Reference(name, name, 1), json.dumps(document)) for name, document in documents.items()
    ]
    return parse_json_schema(json.dumps(schema), references, validation=validation)


# --- the same verdicts ---------------------------------------------------------------------------------------------


@given(json_schemas(), json_values)
@example({"multipleOf": 0.1}, 0.3)
@example({"type": "integer"}, 1.0)
@example({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, 1.0)
@example({"const": True}, 1)
@example({"enum": [1.0]}, 1)
@example({"uniqueItems": True}, [1, 1.0])
@example({"uniqueItems": True}, [1, True])
@example({"maximum": 18446744073709551616}, 18446744073709551617)
@example({"type": "object", "required": ["a", "b"], "additionalProperties": False}, {"c": 1, "d": 2})
@example({"if": {"type": "string"}, "then": {"minLength": 2}}, "é")
@example({"format": "date-time"}, "no date")
@example({"contentEncoding": "base64", "contentMediaType": "application/json"}, "no base64!")
@example({"allOf": [False]}, 1)
@example({"allOf": [{"$ref": "#/definitions/x"}], "definitions": {"x": False}}, 1)
@example({"properties": {"a": False}}, {"a": 1})
@example({"properties": {"properties": {"items": False}}}, {"properties": [1]})
@example({"anyOf": [{"items": {"if": True, "then": False}}]}, [1])
@example({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [True], "items": False}, [1, 2, 3])
@example(schema=False, value=1)
def test_both_validators_agree(schema: Any, value: Any):
    try:
        rust = RustValidator(parsed(schema))
    except ValueError:
        reject()  # compile_validator leaves such a schema to the other one
    python = PythonValidator(parsed(schema))
    assert rust.is_valid(value) == python.is_valid(value)
    ours, theirs = rust.violations(value), python.violations(value)
    assert bool(ours) == bool(theirs) == (not rust.is_valid(value))
    assert {(one.path, one.keyword) for one in ours if not one.is_inner} == {
        (one.path, one.keyword) for one in theirs if not one.is_inner
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("draft", "keyword"),
    [
        ("http://json-schema.org/draft-04/schema#", {"minimum": 1, "exclusiveMinimum": True}),
        ("http://json-schema.org/draft-06/schema#", {"exclusiveMinimum": 1}),
        ("http://json-schema.org/draft-07/schema#", {"if": {"maximum": 1}, "then": False}),
        ("https://json-schema.org/draft/2019-09/schema", {"exclusiveMinimum": 1}),
        ("https://json-schema.org/draft/2020-12/schema", {"exclusiveMinimum": 1}),
        ("https://example.com/unknown-draft", {"if": {"maximum": 1}, "then": False}),
    ],
)
def test_every_draft_has_its_keywords(kind: Any, draft: str, keyword: dict[str, Any]):
    schema = parsed({"$schema": draft, "type": "number", **keyword})
    try:
        validator = kind(schema)
    except ValueError:
        assert "unknown" in draft  # jsonschema-rs wants a draft that it knows, and so the other one validates
        validator = compile_validator(schema)
    assert validator.is_valid(1.5)
    assert not validator.is_valid(1)


@pytest.mark.parametrize("kind", KINDS)
def test_violations_name_path_and_keyword(kind: Any):
    schema = parsed(
        {
            "properties": {
                "fare": {"minimum": 0},
                "stops": {"items": {"required": ["lat"]}},
                "who": {"oneOf": [{"type": "null"}, {"properties": {"n": {"type": "string"}}, "type": "object"}]},
            }
        }
    )
    found = kind(schema).violations({"fare": -1, "stops": [{"lat": 1}, {}], "who": {"n": 5}})
    outer = {(one.path, one.keyword) for one in found if not one.is_inner}
    assert outer == {("fare", "minimum"), ("stops[1]", "required"), ("who", "oneOf")}
    assert ("who.n", "type") in {(one.path, one.keyword) for one in found if one.is_inner}
    assert all(one.message for one in found)


def test_a_pattern_that_takes_too_long_is_a_violation():
    schema = parsed({"type": "string", "pattern": "^(a+)+\\1b$"})
    value = "a" * 40
    for kind in KINDS:
        validator = kind(schema)
        assert not validator.is_valid(value)
        assert validator.violations(value)


def test_a_schema_that_one_validator_does_not_take_is_left_to_the_other(caplog: pytest.LogCaptureFixture):
    schema = parsed({"type": "string", "pattern": "(?i)^a\\.b$"})
    with caplog.at_level(logging.DEBUG):
        validator = compile_validator(schema)
    assert isinstance(validator, PythonValidator)
    assert "jsonschema-rs does not take the schema" in caplog.text
    assert validator.is_valid("A.b")
    assert not validator.is_valid("aXb")


# --- references ------------------------------------------------------------------------------------------------------

ZONE = {"type": "integer"}
DRAFT_2020 = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
REFERENCES = {
    "by name": ({"properties": {"p": {"$ref": "place.json"}}}, {"place.json": ZONE}),
    "with a pointer": (
        {"properties": {"p": {"$ref": "place.json#/definitions/zone"}}},
        {"place.json": {"definitions": {"zone": ZONE}}},
    ),
    "by name, below an identifier": (
        {"$id": "http://taxi.example/a/ride.json", "properties": {"p": {"$ref": "place.json"}}},
        {"place.json": ZONE},
    ),
    "by name, below the identifier of a part": (
        {"properties": {"p": {"$id": "http://taxi.example/parts/p.json", "allOf": [{"$ref": "place.json"}]}}},
        {"place.json": ZONE},
    ),
    "by an identifier that is a name": (
        {"properties": {"p": {"$ref": "http://taxi.example/place.json"}}},
        {"http://taxi.example/place.json": ZONE},
    ),
    "by the identifier of the document": (
        {"properties": {"p": {"$ref": "http://taxi.example/place.json"}}},
        {"place": {"$id": "http://taxi.example/place.json", **ZONE}},
    ),
    "by the identifier of a part of a document": (
        {"properties": {"p": {"$ref": "http://taxi.example/zone.json"}}},
        {"place": {"definitions": {"z": {"$id": "http://taxi.example/zone.json", **ZONE}}}},
    ),
    "to a document with references": (
        {"properties": {"p": {"$ref": "place.json"}}},
        {"zone.json": ZONE, "place.json": {"allOf": [{"$ref": "zone.json"}]}},
    ),
    "to a document that refers below its own identifier": (
        {"properties": {"p": {"$ref": "place.json"}}},
        {
            "http://taxi.example/zone.json": ZONE,
            "place.json": {"$id": "http://taxi.example/place.json", "allOf": [{"$ref": "zone.json"}]},
        },
    ),
    "by an identifier without a hierarchy": (
        {"$id": "urn:taxi:ride", "properties": {"p": {"$ref": "place.json"}}},
        {"place.json": ZONE},
    ),
    "by an anchor": (
        {**DRAFT_2020, "properties": {"p": {"$ref": "place.json#zone"}}},
        {"place.json": {**DRAFT_2020, "$defs": {"z": {"$anchor": "zone", **ZONE}}}},
    ),
    "to a document of another draft": (
        {**DRAFT_2020, "properties": {"p": {"$ref": "place.json"}}},
        {"place.json": {**DRAFT_4, "type": "integer", "minimum": 0, "exclusiveMinimum": True}},
    ),
    "by a name with a space": ({"properties": {"p": {"$ref": "my%20place.json"}}}, {"my%20place.json": ZONE}),
    "to two documents that refer to each other": (
        {"properties": {"p": {"$ref": "a.json"}}},
        {"a.json": {"type": ["integer", "array"], "items": {"$ref": "b.json"}}, "b.json": {"$ref": "a.json"}},
    ),
    "by a name with a slash, to itself": (
        {"properties": {"p": {"$ref": "d/x.json"}}},
        {"d/x.json": {"type": "integer", "items": {"$ref": "d/x.json"}}},
    ),
    "by a name with a slash, below another": (
        {"properties": {"p": {"$ref": "d/x.json"}}},
        {"d/y.json": {"type": "integer"}, "d/x.json": {"allOf": [{"$ref": "d/y.json"}]}},
    ),
    "to where no keyword leads": (
        {"properties": {"p": {"$ref": "a.json#/components/a%20b~1c"}}},
        {"a.json": {"components": {"a b/c": {"$ref": "#/components/z"}, "z": ZONE}}},
    ),
    "dynamically": (
        {**DRAFT_2020, "$dynamicAnchor": "node", "properties": {"p": ZONE, "q": {"$ref": "tree.json"}}},
        {"tree.json": {**DRAFT_2020, "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}},
    ),
    "to false": ({"properties": {"q": {"$ref": "never.json"}, "p": ZONE}}, {"never.json": False}),
}


@pytest.mark.parametrize("kind", [compile_validator, PythonValidator])
@pytest.mark.parametrize("case", REFERENCES)
def test_references_lead_to_registered_schemas(kind: Any, case: str):
    schema, documents = REFERENCES[case]
    validator = kind(parsed(schema, **documents))
    assert validator.is_valid({"p": 4})
    assert not validator.is_valid({"p": "four"})


@pytest.mark.parametrize("case", [case for case in REFERENCES if "without a hierarchy" not in case])
def test_the_compiled_validator_takes_references(case: str):
    schema, documents = REFERENCES[case]
    assert isinstance(compile_validator(parsed(schema, **documents)), RustValidator)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reference_to_the_metaschema_of_a_draft_needs_no_network(kind: Any):
    validator = kind(parsed({"$ref": "http://json-schema.org/draft-07/schema#"}))
    assert validator.is_valid({"type": "string"})
    assert not validator.is_valid({"type": 1})


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ({"properties": {"p": {"$ref": "http://127.0.0.1:1/place.json"}}}, "http://127.0.0.1:1/place.json"),
        ({"items": {"$ref": "#/definitions/none"}}, "#/definitions/none"),
        ({"allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": {"not": {"$ref": "b.json"}}}}, "b.json"),
        ({**DRAFT_2020, "$ref": "#nowhere"}, "#nowhere"),
    ],
)
def test_a_reference_without_a_target_is_an_error_that_names_it(schema: Any, reference: str):
    """A registry may hold such a schema; it is refused when a serializer is made with it, and otherwise here."""
    lenient = parsed(schema, Validation.LENIENT)
    for work in (
        lambda: JsonCodec().encoder(lenient),
        lambda: JsonCodec().decoder(lenient, None, b""),
        lambda: (
            JsonCodec(validate=False, model=None).decoder(lenient, None, b"")(b"1", 0) and compile_validator(lenient)
        ),
    ):
        with pytest.raises(SchemaUnusable, match="nothing is fetched") as caught:
            work()
        assert caught.value.reference == reference
    with pytest.raises(SchemaParseError):
        parsed(schema)


def test_a_reference_without_a_target_that_nothing_uses_is_no_error():
    schema = parsed({"type": "integer", "definitions": {"a": {"$ref": "none.json"}}}, Validation.LENIENT)
    assert compile_validator(schema).is_valid(1)


LARGE_PATTERN = "((b{1000}){1000}){2}"


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": LARGE_PATTERN},
        {"properties": {"a": {"items": {"pattern": LARGE_PATTERN}}}},
        {"patternProperties": {LARGE_PATTERN: True}},
        {"$ref": "#/definitions/a", "definitions": {"a": {"not": {"pattern": LARGE_PATTERN}}}},
        {"allOf": [{"propertyNames": {"pattern": LARGE_PATTERN}}]},
        {"$ref": "other.json#/definitions/a"},
    ],
)
def test_a_schema_with_a_pattern_that_is_too_large_is_refused_when_its_plan_is_made(schema: Any):
    documents = {"other.json": {"definitions": {"a": {"pattern": LARGE_PATTERN}}}} if "other" in str(schema) else {}
    large = parsed(schema, **documents)
    for work in (lambda: JsonCodec().encoder(large), lambda: JsonCodec().decoder(large, None, b"")):
        with pytest.raises(SchemaUnusable, match="too large"):
            work()
    assert JsonCodec(validate=False, model=None).encoder(large)


def test_patterns_that_no_validator_tries_may_be_large():
    schema = parsed({"pattern": "^.{0,65535}$", "definitions": {"a": {"pattern": LARGE_PATTERN}}})
    assert compile_validator(schema).is_valid("b")


# --- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("validate", "on_write", "on_read"),
    [
        (None, True, True),
        (True, True, True),
        ("both", True, True),
        ("write", True, False),
        ("read", False, True),
        (False, False, False),
    ],
)
def test_values_are_validated_when_the_codec_says_so(validate: Any, *, on_write: bool, on_read: bool):
    schema, codec = parsed({"type": "integer"}), JsonCodec(validate=validate)
    for is_checked, work in (
        (on_write, lambda: codec.encoder(schema)("x", b"")),
        (on_read, lambda: codec.decoder(schema, None, b"")(b'"x"', 0)),
    ):
        if is_checked:
            with pytest.raises(ValidationError, match="type"):
                work()
        else:
            assert work() in (b'"x"', "x")


def test_what_is_validated_on_writing_is_what_is_written():
    """A date is a string in JSON, and a tuple an array."""
    schema = parsed({"properties": {"at": {"type": "string"}, "pair": {"type": "array", "maxItems": 2}}})
    from datetime import date
    from decimal import Decimal

    encode = JsonCodec().encoder(schema)
    assert encode({"at": date(2026, 1, 2), "pair": (1, Decimal("2.5"))}, b"") == b'{"at":"2026-01-02","pair":[1,2.5]}'
    with pytest.raises(ValidationError, match="at:"):
        encode({"at": Decimal(1)}, b"")
