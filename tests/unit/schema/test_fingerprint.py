"""Content guids against the reference's, and Avro's fingerprints against published values."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from counterfoil.schema.fingerprint import all_fingerprints, content_guid, parsing_canonical_form, rabin_fingerprint
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import Metadata, Reference, ResolvedReference, Rule, RuleSet

TAGGED = Metadata(tags={"**.ssn": ("PII",)}, properties={"owner": "team-a"}, sensitive=("owner",))
RULE = Rule(
    name="r1",
    kind="CONDITION",
    mode="WRITE",
    type="CEL",
    tags=("Z", "A"),
    params={"b": "2", "a": "1"},
    expr="true",
    disabled=True,
)
ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'


@pytest.mark.parametrize(
    ("text", "rest", "guid"),
    [
        ('"string"', {}, "095d71cf-1255-6b9d-5e33-0ad575b3df5d"),
        ('"string"', {"metadata": Metadata()}, "cecc02e2-232b-87f1-1b0c-aa0e70dbb74d"),
        ('"string"', {"metadata": TAGGED}, "521cddc7-7231-d165-8573-99315442af6f"),
        ('"string"', {"rule_set": RuleSet(domain_rules=(RULE,))}, "4da3a4a1-e28a-e32d-aea0-c6b53cdcad90"),
        (ORDER, {"references": [Reference("ns.Item", "item-value", 3)]}, "83daee06-cc3b-ebf3-7938-3f503f4d7340"),
    ],
    ids=["text", "empty-metadata", "metadata", "rule", "reference"],
)
def test_content_guid_is_the_references(text: str, rest: dict[str, Any], guid: str) -> None:
    assert str(content_guid(text, **rest)) == guid


def test_everything_that_travels_with_a_schema_changes_its_guid() -> None:
    guids = {
        content_guid('"string"', **rest)
        for rest in (
            {},
            {"metadata": Metadata()},
            {"rule_set": RuleSet(enable_at="2030")},
            {"rule_set": RuleSet(migration_rules=(Rule("r"),))},
            {"rule_set": RuleSet(migration_rules=(Rule("r", disabled=True),))},
            {"rule_set": RuleSet(migration_rules=(Rule("r", on_failure="DLQ"),))},
            {"references": [Reference("a", "s", 1)]},
            {"references": [Reference("a", "s", 2)]},
        )
    }
    assert len(guids) == 8


def test_the_order_of_unordered_things_does_not_change_the_guid() -> None:
    one = Metadata(tags={"a": ("x", "y"), "b": ()}, properties={"p": "1", "q": "2"}, sensitive=("p", "q"))
    other = Metadata(tags={"b": (), "a": ("y", "x")}, properties={"q": "2", "p": "1"}, sensitive=("q", "p"))
    assert content_guid('"int"', metadata=one) == content_guid('"int"', metadata=other)


def test_an_unresolved_reference_version_has_a_guid() -> None:
    latest = content_guid('"int"', [Reference("a", "s", -1)])
    assert latest != content_guid('"int"', [Reference("a", "s", 1)])


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        ('"null"', 0x63DD24E7CC258F8A),
        ('"boolean"', 0x9F42FC78A4D4F764),
        ('"int"', 0x7275D51A3F395C8F),
        ('{"type":"array","items":"long"}', 0x5416C98BA22E5E71),
        ('{"type":"record","name":"foo","fields":[{"name":"f1","type":"boolean"}]}', 7843277075252814651),
    ],
)
def test_rabin_fingerprint_is_the_one_apache_avro_publishes(text: str, fingerprint: int) -> None:
    assert int.from_bytes(rabin_fingerprint(parse_avro(text)), "little") == fingerprint


def test_canonical_form_keeps_only_what_readers_depend_on() -> None:
    schema = parse_avro(
        """{"doc": "d", "name": "R", "namespace": "a", "aliases": ["Q"], "x": 1, "type": "record", "fields": [
            {"name": "e", "type": {"type": "enum", "name": "b.E", "symbols": ["A"], "default": "A"}, "default": "A"},
            {"name": "n", "type": ["null", "R", {"type": "long", "logicalType": "date"}], "order": "ignore"},
            {"name": "m", "type": {"type": "map", "values": {"size": 2, "type": "fixed", "name": "F"}}}]}"""
    )
    assert parsing_canonical_form(schema) == (
        '{"name":"a.R","type":"record","fields":['
        '{"name":"e","type":{"name":"b.E","type":"enum","symbols":["A"]}},'
        '{"name":"n","type":["null","a.R","long"]},'
        '{"name":"m","type":{"type":"map","values":{"name":"a.F","type":"fixed","size":2}}}]}'
    )


def test_canonical_form_declares_the_types_of_references() -> None:
    item = '{"type":"record","name":"ns.Item","fields":[]}'
    reference = ResolvedReference(Reference("ns.Item", "item-value", 1), item)
    schema = parse_avro('{"type":"array","items":"ns.Item"}', [reference])
    assert parsing_canonical_form(schema) == ('{"type":"array","items":{"name":"ns.Item","type":"record","fields":[]}}')


def _rabin_of_specification(form: bytes) -> bytes:
    """Return the fingerprint as the code in the specification computes it, bit by bit."""
    empty = fingerprint = 0xC15D213AA4D7A795
    for byte in form:
        fingerprint ^= byte
        for _ in range(8):
            fingerprint = (fingerprint >> 1) ^ (empty if fingerprint & 1 else 0)
    return fingerprint.to_bytes(8, "little")


@pytest.mark.parametrize("chars", [1, 2, 3, 4, 5, 6, 7, 8, 9, 100])
def test_fingerprints_of_forms_of_every_length(chars: int) -> None:
    schema = parse_avro(f'{{"type":"fixed","name":"{"n" * chars}","size":1}}')
    form = parsing_canonical_form(schema).encode()
    digests = hashlib.md5(form).digest(), hashlib.sha256(form).digest()
    assert all_fingerprints(schema) == (_rabin_of_specification(form), *digests)
    assert rabin_fingerprint(schema) == all_fingerprints(schema)[0]
