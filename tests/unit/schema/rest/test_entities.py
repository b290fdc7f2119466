"""The vocabulary of the REST API: its JSON, as a server reads it in requests and a client in replies."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.errors import BadRequest, InvalidCompatibilityLevel
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, Schema
from counterfoil.schema.rest.keys import CHANGEABLE, KEK, NEW_KEK, Kek
from counterfoil.schema.rest.object_forms import (
    JsonValue,
    ReplyJson,
    RequestJson,
    UnexpectedShapeError,
    read_flag,
    read_integer,
    read_text,
    read_texts,
)
from counterfoil.schema.rest.schemas import METADATA, REFERENCE, RULE_SET, SCHEMA, metadata_document, rule_set_document
from counterfoil.schema.rest.subjects import (
    CONFIG_KEYS,
    LEVEL_IN_FORCE,
    Config,
    Mode,
    config_document,
    read_config,
    read_config_changes,
    read_mode,
)

BOTH = pytest.mark.parametrize("received", [RequestJson, ReplyJson])


# --- config

configs = st.builds(
    Config,
    alias=st.none() | st.text(max_size=3),
    normalize=st.none() | st.booleans(),
    validate_rules=st.none() | st.booleans(),
    compatibility_level=st.none() | st.sampled_from(CompatibilityLevel),
    compatibility_policy=st.none() | st.sampled_from(["STRICT", "LENIENT"]),
    compatibility_group=st.none() | st.text(max_size=3),
    default_metadata=st.none()
    | st.builds(Metadata, properties=st.dictionaries(st.text(max_size=2), st.text(max_size=2))),
    override_rule_set=st.none() | st.builds(RuleSet, domain_rules=st.just((Rule("r", "CEL", params={"a": "b"}),))),
)


@given(config=configs, received=st.sampled_from([RequestJson, ReplyJson]), in_force=st.booleans())
def test_a_config_survives_its_document(config: Config, received: type[JsonValue], in_force: bool) -> None:  # noqa: FBT001 - made by Hypothesis
    document = json.loads(json.dumps(config_document(config)))
    if in_force and "compatibility" in document:
        document[LEVEL_IN_FORCE] = document.pop("compatibility")
    assert read_config(received(document)) == config


def test_every_config_field_has_a_member() -> None:
    assert set(CONFIG_KEYS) == {field.name for field in fields(Config)}


def test_an_update_keeps_sets_and_clears() -> None:
    document = {"normalize": True, "alias": None, "unknown": 1, "compatibility": "full"}
    changed = replace(Config(alias="a", compatibility_group="g"), **read_config_changes(RequestJson(document)))
    assert changed == Config(normalize=True, compatibility_group="g", compatibility_level=CompatibilityLevel.FULL)


def test_an_unknown_policy_is_ignored_in_a_request_and_kept_in_a_reply() -> None:
    document = {"compatibilityPolicy": "of a later version"}
    assert read_config_changes(RequestJson(document)) == {"compatibility_policy": None}
    assert read_config(ReplyJson(document)).compatibility_policy == "of a later version"


def test_an_unknown_level_is_the_apis_error_in_a_request() -> None:
    with pytest.raises(InvalidCompatibilityLevel, match="SIDEWAYS"):
        read_config_changes(RequestJson({"compatibility": "SIDEWAYS"}))
    with pytest.raises(UnexpectedShapeError, match=r"^.compatibility is 'SIDEWAYS' and not one of NONE"):
        read_config(ReplyJson({"compatibility": "SIDEWAYS"}))


@BOTH
def test_a_mode_is_read_in_any_letter_case(received: type[JsonValue]) -> None:
    assert read_mode(received({"mode": "readonly"})) is Mode.READONLY
    assert read_mode(received({})) is None


# --- metadata, rules, references


@BOTH
def test_documents_leave_out_what_is_empty_and_sort_the_rest(received: type[JsonValue]) -> None:
    value = {"tags": {"b": ["Z", "A", "A"]}, "properties": {"k": "1", "n": None}, "x": 1}
    assert metadata_document(METADATA.read(received(value))) == {"tags": {"b": ["A", "Z"]}, "properties": {"k": "1"}}
    assert metadata_document(Metadata()) == {}
    assert metadata_document(None) is None


@BOTH
def test_rules_get_their_defaults(received: type[JsonValue]) -> None:
    rules = RULE_SET.read(received({"domainRules": [{"name": "r", "type": "CEL", "extra": 1}]}))
    assert rule_set_document(rules) == {
        "domainRules": [{"name": "r", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "CEL", "disabled": False}]
    }


def test_a_word_that_is_not_known_is_refused_in_a_request_and_kept_in_a_reply() -> None:
    value = {"domainRules": [{"name": "r", "kind": "LATER"}]}
    with pytest.raises(BadRequest, match=r"^domainRules\[0\]\.kind is 'LATER'; expected one of TRANSFORM, CONDITION$"):
        RULE_SET.read(RequestJson(value))
    assert RULE_SET.read(ReplyJson(value)).domain_rules[0].kind == "LATER"


def test_a_request_may_leave_out_what_a_reply_must_have() -> None:
    assert REFERENCE.read(RequestJson({})) == Reference("", "", -1)
    with pytest.raises(UnexpectedShapeError, match="the reply has no 'name'"):
        REFERENCE.read(ReplyJson({}))


def test_a_schema_has_a_text() -> None:
    assert SCHEMA.read(RequestJson({"schema": "x", "metadata": {}})) == Schema("x", metadata=Metadata())
    with pytest.raises(BadRequest, match="schema must be a text, not null"):
        SCHEMA.read(RequestJson({}))
    with pytest.raises(UnexpectedShapeError, match="the reply has no 'schema'"):
        SCHEMA.read(ReplyJson({}))


# --- keys


def test_a_key_survives_its_document() -> None:
    kek = Kek("k", "aws-kms", "arn:x", {"b": "1"}, doc="d", shared=True, deleted=True, ts=2**40)
    assert KEK.read(ReplyJson(json.loads(json.dumps(KEK.write(kek))))) == kek


def test_a_request_does_not_say_when_a_key_was_stored() -> None:
    assert NEW_KEK.read(RequestJson({"name": "k", "ts": 2**40, "shared": "true"})) == Kek("k", "", "", shared=True)


def test_a_null_clears_a_field_of_a_key() -> None:
    changes = CHANGEABLE.read_changes(RequestJson({"kmsProps": None, "doc": None, "shared": None, "name": "x"}))
    assert changes == {"kms_props": {}, "doc": None, "shared": False}


# --- plain values


def test_plain_values_of_a_request_are_coerced() -> None:
    assert [RequestJson(value).text() for value in (5, 1.5, True, "a")] == ["5", "1.5", "true", "a"]
    assert [RequestJson(value).integer() for value in (7, 1.9, -1.9, " 12 ", "-3")] == [7, 1, -1, 12, -3]
    assert [RequestJson(value).flag() for value in (True, 0, 2, "TRUE", "false")] == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (read_text, []),
        (read_text, {}),
        (read_integer, "x"),
        (read_integer, True),
        (read_integer, 2**31),
        (read_integer, float("inf")),
        (read_integer, float("nan")),
        (read_integer, "9" * 5000),
        (read_flag, "maybe"),
        (read_flag, 0.5),
        (read_texts, {}),
        (JsonValue.members, []),
    ],
)
def test_what_cannot_be_coerced_is_named(read: object, value: object) -> None:
    with pytest.raises(BadRequest, match=r"^the field must be "):
        read(RequestJson(value, "the field"))  # type: ignore[operator]  # one of the readers above


def test_the_body_itself_has_a_name() -> None:
    with pytest.raises(BadRequest, match=r"^The request body must be a JSON object, not an array$"):
        SCHEMA.read(RequestJson([]))
