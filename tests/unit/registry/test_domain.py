from __future__ import annotations

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.domain.config import CONFIG_FIELDS, Config, effective_config
from counterfoil.registry.domain.content import make_content
from counterfoil.registry.domain.documents import (
    config_document,
    metadata_document,
    read_config,
    read_config_changes,
    read_metadata,
    read_rule_set,
    rule_set_document,
)
from counterfoil.registry.domain.equivalence import may_match
from counterfoil.registry.domain.json_fields import boolean_of, integer_of, list_of, text_of
from counterfoil.registry.domain.merging import (
    merge_metadata,
    merge_rule_sets,
    merged_metadata,
    stamp_of,
    stamped,
    unstamped,
)
from counterfoil.registry.domain.modes import Mode, check_registration, effective_mode, parse_mode
from counterfoil.registry.domain.rules import check_rule_set
from counterfoil.registry.domain.subjects import check_name, check_subject
from counterfoil.registry.domain.versions import History, VersionEntry, parse_version
from counterfoil.schema.compatibility.levels import CompatibilityLevel
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, parse_subject
from counterfoil.schema.errors import (
    BadRequest,
    InvalidMode,
    InvalidRuleSet,
    InvalidSubject,
    InvalidVersion,
    OperationNotPermitted,
    SubjectNotFound,
    VersionNotFound,
)
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, SchemaType

SUBJECT = parse_subject("s")


# --- versions


@pytest.mark.parametrize("text", ["latest", "LATEST", " latest ", "-1"])
def test_words_for_the_latest(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("+1", 1), ("007", 7), ("2147483647", 2147483647)])
def test_version_numbers(text: str, number: int) -> None:
    assert parse_version(text) == number


@pytest.mark.parametrize("text", ["", "0", "-0", "-2", "2147483648", "1.0", "\u0661", "+", "--1", "+-1", "9" * 5000])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(InvalidVersion, match="2147483647"):
        parse_version(text)


def history(states: str) -> History:
    """A history whose n-th version is active or deleted as the n-th letter, ``a`` or ``d``, says."""
    entries = [
        VersionEntry(number, number, uuid.UUID(int=number), deleted=state == "d", ts=0)
        for number, state in enumerate(states, 1)
    ]
    return History(1, tuple(entries))


def test_latest_and_next() -> None:
    assert history("aad").latest.version == 2
    assert history("aad").next_version == 4
    assert History().latest is None
    assert History().next_version == 1


def test_a_miss_tells_subject_and_version_apart() -> None:
    with pytest.raises(SubjectNotFound):
        history("d").pick(SUBJECT, 1, deleted=False)
    with pytest.raises(VersionNotFound, match="7"):
        history("a").pick(SUBJECT, 7, deleted=False)
    assert history("d").pick(SUBJECT, 1, deleted=True).version == 1
    with pytest.raises(VersionNotFound, match="-1"):
        history("d").pick(SUBJECT, None, deleted=True)


# --- subjects


@pytest.mark.parametrize("text", ["__GLOBAL", "__EMPTY", "a\x01", "a\x85b", ":.\x7f:a", ":.__GLOBAL:x", ":.__GLOBAL:"])
def test_names_that_cannot_be_registered(text: str) -> None:
    with pytest.raises(InvalidSubject):
        check_subject(parse_subject(text))


@pytest.mark.parametrize("text", ["", "*", "a/b", ":x", "ü ï", ":.c:"])
def test_names_that_can(text: str) -> None:
    check_subject(parse_subject(text))


def test_config_may_be_kept_at_the_global_level() -> None:
    check_name(GLOBAL_LEVEL)


# --- modes


def test_the_narrowest_mode_wins() -> None:
    assert effective_mode([None, Mode.READONLY, Mode.IMPORT]) is Mode.READONLY
    assert effective_mode([None, None]) is Mode.READWRITE


def test_forward_is_for_the_global_level() -> None:
    assert parse_mode("forward", GLOBAL_LEVEL) is Mode.FORWARD
    for scope in (TOP_LEVEL, SUBJECT):
        with pytest.raises(InvalidMode):
            parse_mode("Forward", scope)


@pytest.mark.parametrize(
    ("mode", "with_id", "allowed"),
    [
        (Mode.READWRITE, False, True),
        (Mode.READWRITE, True, False),
        (Mode.READONLY, False, False),
        (Mode.READONLY_OVERRIDE, True, False),
        (Mode.IMPORT, True, True),
        (Mode.IMPORT, False, False),
        (Mode.FORWARD, True, True),
        (Mode.FORWARD, False, False),
    ],
)
def test_who_may_register(mode: Mode, with_id: bool, allowed: bool) -> None:  # noqa: FBT001 - a column of the table
    if allowed:
        check_registration(mode, SUBJECT, with_id=with_id)
    else:
        with pytest.raises(OperationNotPermitted):
            check_registration(mode, SUBJECT, with_id=with_id)


# --- config


def test_a_scope_without_config_takes_the_next_level_whole() -> None:
    level = Config(compatibility=CompatibilityLevel.NONE, alias="a")
    assert effective_config(None, None, [None, level, Config()]) == level
    assert effective_config(None, None, [None]).level is CompatibilityLevel.BACKWARD


def test_a_config_of_its_own_hides_the_level_above_but_not_the_plain_fields() -> None:
    top = Config(normalize=True, compatibility=CompatibilityLevel.FULL, alias="x", compatibility_group="g")
    found = effective_config(Config(compatibility_group="own"), top, ())
    assert found == Config(normalize=True, compatibility_group="own")
    assert found.level is CompatibilityLevel.BACKWARD


def test_an_update_keeps_sets_and_clears() -> None:
    changes = read_config_changes({"normalize": True, "alias": None, "unknown": 1, "compatibility": "full"})
    changed = Config(alias="a", compatibility_group="g").updated(changes)
    assert changed == Config(normalize=True, compatibility_group="g", compatibility=CompatibilityLevel.FULL)


configs = st.builds(
    Config,
    alias=st.none() | st.text(max_size=3),
    normalize=st.none() | st.booleans(),
    validate_rules=st.none() | st.booleans(),
    compatibility=st.none() | st.sampled_from(CompatibilityLevel),
    compatibility_policy=st.none() | st.sampled_from(["STRICT", "LENIENT"]),
    default_metadata=st.none()
    | st.builds(Metadata, properties=st.dictionaries(st.text(max_size=2), st.text(max_size=2))),
    override_rule_set=st.none() | st.builds(RuleSet, domain_rules=st.just((Rule("r", "CEL", params={"a": "b"}),))),
)


@given(configs)
def test_a_config_survives_its_document(config: Config) -> None:
    assert read_config(json.loads(json.dumps(config_document(config)))) == config


def test_every_config_field_has_a_document_field() -> None:
    everything = Config(
        alias="a", alias_for_deks="d", normalize=True, validate_fields=True, validate_new_schemas=True,
        validate_rules=True, compatibility=CompatibilityLevel.NONE, compatibility_policy="STRICT",
        compatibility_group="g", default_metadata=Metadata(), override_metadata=Metadata(),
        default_rule_set=RuleSet(), override_rule_set=RuleSet(),
    )  # fmt: skip
    assert len(config_document(everything)) == len(CONFIG_FIELDS)


# --- metadata and rules


def test_documents_leave_out_what_is_empty_and_sort_the_rest() -> None:
    metadata = read_metadata({"tags": {"b": ["Z", "A", "A"]}, "properties": {"k": 1, "n": None}, "x": 1}, "metadata")
    assert metadata_document(metadata) == {"tags": {"b": ["A", "Z"]}, "properties": {"k": "1"}}
    assert metadata_document(Metadata()) == {}
    assert metadata_document(None) is None


def test_rules_get_their_defaults() -> None:
    rules = read_rule_set({"domainRules": [{"name": "r", "type": "CEL", "extra": 1}]}, "ruleSet")
    assert rule_set_document(rules) == {
        "domainRules": [{"name": "r", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "CEL", "disabled": False}]
    }


def test_merging_metadata_replaces_by_key_and_joins_what_is_sensitive() -> None:
    under = Metadata({"p": ("A",)}, {"a": "1", "b": "1"}, ("a",))
    over = Metadata({"p": ("B",), "q": ("C",)}, {"b": "2"}, ("b",))
    assert merge_metadata(under, over) == Metadata({"p": ("B",), "q": ("C",)}, {"a": "1", "b": "2"}, ("a", "b"))
    config = Config(default_metadata=Metadata(properties={"a": "d", "d": "d"}), override_metadata=over)
    assert merged_metadata(config, under).properties == {"a": "1", "b": "2", "d": "d"}
    assert merged_metadata(Config(), None) is None


def test_merging_rules_keeps_the_order_of_what_is_not_replaced() -> None:
    one, two, other_two, three = Rule("1", "a"), Rule("2", "a"), Rule("2", "b"), Rule("3", "a")
    merged = merge_rule_sets(
        RuleSet(domain_rules=(two, one), enable_at="ALL"), RuleSet(domain_rules=(three, other_two))
    )
    assert merged == RuleSet(domain_rules=(one, three, other_two), enable_at="ALL")


def test_the_version_stamp() -> None:
    assert stamp_of(stamped(None, 4)) == "4"
    assert unstamped(stamped(Metadata(properties={"k": "v"}), 4)) == Metadata(properties={"k": "v"})
    assert unstamped(None) is None


@pytest.mark.parametrize(
    "rules",
    [
        RuleSet(domain_rules=(Rule("a", "CEL"),), encoding_rules=(Rule("a", "CEL"),)),
        RuleSet(domain_rules=(Rule("9a", "CEL"),)),
        RuleSet(domain_rules=(Rule("a" * 257, "CEL"),)),
        RuleSet(domain_rules=(Rule("a"),)),
        RuleSet(domain_rules=(Rule("a", "CEL", mode="UPDOWN"),)),
        RuleSet(migration_rules=(Rule("a", "CEL", mode="READ"),)),
        RuleSet(domain_rules=(Rule("a", "CEL", mode="READ", on_failure="DLQ,NONE"),)),
    ],
)
def test_invalid_rules(rules: RuleSet) -> None:
    with pytest.raises(InvalidRuleSet):
        check_rule_set(rules)


def test_valid_rules() -> None:
    check_rule_set(None)
    check_rule_set(
        RuleSet(
            migration_rules=(Rule("up", "JSONATA", mode="UPDOWN", on_success="NONE,ERROR"),),
            domain_rules=(Rule("_a-1", "CEL", on_failure="DLQ,NONE"),),
        )
    )


# --- equivalence


def stored(**parts: object) -> object:
    return make_content('"int"', SchemaType.AVRO, **parts)  # type: ignore[arg-type]  # a short way to say parts


@pytest.mark.parametrize(
    ("asked", "held", "same"),
    [
        ({}, {}, True),
        ({}, {"references": (Reference("n", "s", 1),)}, True),
        ({"references": (Reference("n", "s", 1),)}, {}, False),
        ({"references": (Reference("n", "s", 1),)}, {"references": (Reference("n", "s", 2),)}, False),
        ({}, {"metadata": Metadata()}, False),
        ({}, {"metadata": stamped(None, 3)}, True),
        ({"metadata": Metadata()}, {"metadata": stamped(None, 9)}, True),
        ({"metadata": stamped(None, 3)}, {}, True),
        ({"metadata": stamped(None, 2)}, {}, False),
        ({"metadata": stamped(None, 2)}, {"metadata": stamped(None, 3)}, False),
        ({"rule_set": RuleSet()}, {}, False),
    ],
)
def test_what_may_match_version_3(asked: dict, held: dict, same: bool) -> None:  # noqa: FBT001 - a column of the table
    assert may_match(stored(**asked), stored(**held), 3) is same


# --- lenient JSON


def test_plain_values_are_coerced() -> None:
    assert [text_of(value, "x") for value in (5, 1.5, True, "a")] == ["5", "1.5", "true", "a"]
    assert [integer_of(value, "x") for value in (7, 1.9, -1.9, " 12 ", "-3")] == [7, 1, -1, 12, -3]
    assert [boolean_of(value, "x") for value in (True, 0, 2, "TRUE", "false")] == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (text_of, []),
        (text_of, {}),
        (integer_of, "x"),
        (integer_of, True),
        (integer_of, 2**31),
        (integer_of, float("inf")),
        (integer_of, float("nan")),
        (integer_of, "9" * 5000),
        (boolean_of, "maybe"),
        (boolean_of, 0.5),
        (lambda value, what: list_of(value, what, text_of), {}),
    ],
)
def test_what_cannot_be_coerced_is_named(read: object, value: object) -> None:
    with pytest.raises(BadRequest, match="the field"):
        read(value, "the field")  # type: ignore[operator]  # one of the readers above
