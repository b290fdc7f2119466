from __future__ import annotations

import uuid

import pytest

from counterfoil.registry.subjects.levels import (
    check_registration,
    effective_config,
    effective_mode,
    level_of,
    parse_mode,
)
from counterfoil.registry.subjects.versions import (
    SubjectHistory,
    VersionEntry,
    check_name,
    check_rule_set,
    check_subject,
    make_content,
    may_match,
    merge_metadata,
    merge_rule_sets,
    merged_metadata,
    parse_version,
    stamp_of,
    stamped,
    unstamped,
)
from counterfoil.schema.compatibility.policies import CompatibilityLevel
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, parse_subject
from counterfoil.schema.errors import (
    InvalidMode,
    InvalidRuleSet,
    InvalidSubject,
    InvalidVersion,
    OperationNotPermitted,
    SubjectNotFound,
    VersionNotFound,
)
from counterfoil.schema.model import Metadata, Reference, Rule, RuleSet, SchemaType
from counterfoil.schema.rest.subjects import Config, Mode

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


def history(states: str) -> SubjectHistory:
    """A history whose n-th version is active or deleted as the n-th letter, ``a`` or ``d``, says."""
    entries = [
        VersionEntry(number, number, uuid.UUID(int=number), deleted=state == "d", ts=0)
        for number, state in enumerate(states, 1)
    ]
    return SubjectHistory(1, tuple(entries))


def test_latest_and_next() -> None:
    assert history("aad").latest.version == 2
    assert history("aad").next_version == 4
    assert SubjectHistory().latest is None
    assert SubjectHistory().next_version == 1


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
    level = Config(compatibility_level=CompatibilityLevel.NONE, alias="a")
    assert effective_config(None, None, [None, level, Config()]) == level
    assert level_of(effective_config(None, None, [None])) is CompatibilityLevel.BACKWARD


def test_a_config_of_its_own_hides_the_level_above_but_not_the_plain_fields() -> None:
    top = Config(normalize=True, compatibility_level=CompatibilityLevel.FULL, alias="x", compatibility_group="g")
    found = effective_config(Config(compatibility_group="own"), top, ())
    assert found == Config(normalize=True, compatibility_group="own")
    assert level_of(found) is CompatibilityLevel.BACKWARD


# --- metadata and rules


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
