"""Properties of the Avro texts, and agreement with Apache Avro's own parser."""

from __future__ import annotations

import json
from typing import Any

import avro.schema
import fastavro
import fastavro.schema
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.fingerprint import (
    md5_fingerprint,
    parsing_canonical_form,
    rabin_fingerprint,
    sha256_fingerprint,
)
from counterfoil.schema.languages.avro.schema import parse_avro
from strategies.avro.schemas import avro_documents, avro_schemas, shuffled


@given(avro_schemas())
def test_canonical_text_is_its_own_canonical_text(text: str) -> None:
    canonical = parse_avro(text).canonical()
    assert parse_avro(canonical).canonical() == canonical


@given(avro_schemas())
def test_normalised_text_is_its_own_normalised_text_and_canonical(text: str) -> None:
    normalized = parse_avro(text).normalized()
    assert parse_avro(normalized).normalized() == normalized
    assert parse_avro(normalized).canonical() == normalized


@given(avro_documents(), st.data())
def test_the_order_of_attributes_makes_no_difference(document: object, data: st.DataObject) -> None:
    other = data.draw(shuffled(document))
    schema, again = parse_avro(json.dumps(document)), parse_avro(json.dumps(other, indent=2))
    assert schema.canonical() == again.canonical()
    assert schema.is_equivalent(again)


@given(avro_schemas(), avro_schemas())
def test_equivalent_schemas_have_one_normalised_text(one: str, other: str) -> None:
    first, second = parse_avro(one), parse_avro(other)
    assert first.is_equivalent(first)
    assert first.is_equivalent(second) == second.is_equivalent(first)
    if first.is_equivalent(second):
        assert first.normalized() == second.normalized()


@given(avro_schemas())
def test_canonical_text_keeps_what_the_schema_says(text: str) -> None:
    schema = parse_avro(text)
    assert schema.is_equivalent(parse_avro(schema.canonical()))
    assert parse_avro(schema.resolved()).is_equivalent(schema)


@given(avro_schemas())
def test_apache_avro_reads_what_we_accept_and_gives_the_same_canonical_form(text: str) -> None:
    schema = parse_avro(text)
    assert parsing_canonical_form(schema) == _apache_form(text)
    assert parsing_canonical_form(schema) == _apache_form(schema.canonical())


@given(avro_schemas())
def test_fastavro_gives_the_same_canonical_form(text: str) -> None:
    form = fastavro.schema.to_parsing_canonical_form(json.loads(text))
    assert parsing_canonical_form(parse_avro(text)) == form


@given(avro_schemas())
def test_fingerprints_agree_with_fastavro_and_apache_avro(text: str) -> None:
    schema = parse_avro(text)
    form = parsing_canonical_form(schema)
    for name, ours in (
        ("CRC-64-AVRO", rabin_fingerprint(schema)),
        ("md5", md5_fingerprint(schema)),
        ("sha256", sha256_fingerprint(schema)),
    ):
        assert ours.hex() == fastavro.schema.fingerprint(form, name)
        if avro.schema.parse(form).canonical_form == form:
            assert ours == avro.schema.parse(form).fingerprint(name)


def _apache_form(text: str) -> str:
    """Apache's canonical form, with two things done that its Python library leaves undone.

    An annotated primitive stays ``{"type":"int"}`` there, against the rule PRIMITIVES, and a fixed is declared again
    wherever it is used.
    """
    return json.dumps(_mended(json.loads(avro.schema.parse(text).canonical_form), set()), separators=(",", ":"))


def _mended(form: Any, declared: set[str]) -> Any:
    if isinstance(form, list):
        return [_mended(item, declared) for item in form]
    if not isinstance(form, dict):
        return form
    if list(form) == ["type"] and isinstance(form["type"], str):
        return form["type"]
    if form.get("type") == "fixed":
        if form["name"] in declared:
            return form["name"]
        declared.add(form["name"])
    return {key: _mended(item, declared) if key in _INNER else item for key, item in form.items()}


_INNER = ("type", "fields", "items", "values")
