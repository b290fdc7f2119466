"""The laws of rules: denial, implication, order; lists by ranges are lists by single decisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.identity import CallerIdentity
from counterfoil.registry.access.questions import parse_resource
from counterfoil.registry.access.resources import (
    ALIASES,
    IMPLIED,
    REGISTRY,
    ROLES,
    AccessOperation,
    AccessResource,
    ResourceKind,
    scope_resource,
    subject_resource,
)
from counterfoil.registry.access.rights import Needs, Rights, decide, principals_of
from counterfoil.registry.access.rules import (
    ANONYMOUS,
    EVERYBODY,
    EVERYTHING,
    AccessRule,
    Glob,
    InvalidPattern,
    OperationScope,
    administrator,
    allow,
    deny,
    parse_pattern,
    pattern_of,
)
from counterfoil.registry.store.name_ranges import ALL_NAMES
from counterfoil.schema.contexts import parse_subject
from strategies.access.rules import ALICE, OPERATIONS, PATTERN_TEXTS, PATTERNS, PRINCIPALS, RESOURCES, RULE_LISTS, RULES


def _said(rules: list[AccessRule], operation: AccessOperation, resource: AccessResource) -> bool:
    return decide(rules, PRINCIPALS, operation, resource).allowed


@given(RULE_LISTS, RULES, OPERATIONS, RESOURCES)
def test_a_denial_takes_away_and_an_allowance_gives(
    rules: list[AccessRule], other: AccessRule, operation: AccessOperation, resource: AccessResource
) -> None:
    before, after = _said(rules, operation, resource), _said([*rules, other], operation, resource)
    assert before <= after if other.allows else after <= before


@given(RULE_LISTS, OPERATIONS, RESOURCES)
def test_deny_beats_allow(rules: list[AccessRule], operation: AccessOperation, resource: AccessResource) -> None:
    plain = [rule for rule in rules if not rule.is_final]
    assert not _said([*plain, deny(EVERYBODY, [operation], EVERYTHING)], operation, resource)
    assert _said([*plain, administrator(ALICE)], operation, resource)


@given(RULE_LISTS, OPERATIONS, RESOURCES)
def test_whoever_may_do_something_may_do_what_it_implies(
    rules: list[AccessRule], operation: AccessOperation, resource: AccessResource
) -> None:
    if _said(rules, operation, resource):
        assert all(_said(rules, implied, resource) for implied in IMPLIED[operation])


@given(RULE_LISTS, st.randoms(use_true_random=False), OPERATIONS, RESOURCES)
def test_the_order_of_rules_has_no_effect(
    rules: list[AccessRule], random: object, operation: AccessOperation, resource: AccessResource
) -> None:
    shuffled = list(rules)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis's own kind of random.Random
    assert _said(rules, operation, resource) == _said(shuffled, operation, resource)


@given(RULE_LISTS, OPERATIONS, RESOURCES)
def test_the_deciding_rule_is_one_that_is_about_it(
    rules: list[AccessRule], operation: AccessOperation, resource: AccessResource
) -> None:
    allowed, by = decide(rules, PRINCIPALS, operation, resource)
    assert by is not None or not allowed
    if by is not None:
        assert by.allows == allowed
        assert by.principal in PRINCIPALS
        assert by.pattern.covers(resource)


@given(RULE_LISTS, st.none() | st.lists(PATTERNS, max_size=3), OPERATIONS, st.sampled_from([".", ".c", ".d"]))
def test_ranges_are_the_filter_name_by_name(
    rules: list[AccessRule], scopes: list[object] | None, operation: AccessOperation, context: str
) -> None:
    limits = None if scopes is None else [OperationScope(frozenset({operation}), each) for each in scopes]  # type: ignore[arg-type]  # patterns
    rights = Rights(rules, PRINCIPALS, limits)
    ranges, is_exact = rights.names(operation, context)
    assert list(ranges) == sorted(ranges)
    for name in ("a", "b", "ab", "aa", "ba", "a-", "*", "\\", "a*", "b-a", "a\\b", "aaab"):
        allowed = rights.allows(operation, AccessResource(ResourceKind.SUBJECT, name, context))
        found = any(low <= name and (high is None or name < high) for low, high in ranges)
        assert found == allowed if is_exact else found >= allowed


@given(RULE_LISTS, RULE_LISTS)
def test_the_same_key_is_the_same_lists(rules: list[AccessRule], others: list[AccessRule]) -> None:
    one, other = Rights(rules, PRINCIPALS), Rights(others, PRINCIPALS)
    if one.key == other.key:
        for context in (".", ".c"):
            assert one.names(AccessOperation.DESCRIBE, context) == other.names(AccessOperation.DESCRIBE, context)
    assert one.key == Rights(reversed(rules), PRINCIPALS).key


def test_an_administrator_sees_all_names_whatever_is_denied_to_others() -> None:
    denied = AccessRule(
        "User:*", allows=False, operations=frozenset({AccessOperation.DESCRIBE}), pattern=parse_pattern("*-pii")
    )
    rights = Rights([administrator("User:alice"), denied], ("User:alice", "User:*"))
    assert rights.names(AccessOperation.DESCRIBE, ".") == (ALL_NAMES, True)


@given(PATTERN_TEXTS)
def test_a_pattern_is_read_as_it_is_printed(text: str) -> None:
    pattern = parse_pattern(text)
    assert parse_pattern(str(pattern)) == pattern


@given(
    st.sampled_from([ResourceKind.SUBJECT, ResourceKind.KEK, ResourceKind.APPLICATION]),
    st.text("ab*:\\", min_size=1, max_size=8).filter(lambda name: not name.startswith((":.", ":*"))),
    st.sampled_from([".", ".c", ".a*\\"]),
)
def test_a_resource_is_named_by_a_pattern_of_itself(kind: ResourceKind, name: str, context: str) -> None:
    resource = AccessResource(kind, name, context if kind is ResourceKind.SUBJECT else "")
    text = str(pattern_of(resource))
    assert parse_pattern(text).covers(resource)
    assert parse_resource(text) == resource


@given(st.text("ab*\\", max_size=8), st.text("ab*\\", max_size=8))
def test_a_glob_matches_as_its_stars_say(glob: str, name: str) -> None:
    def naive(parts: tuple[str, ...], rest: str) -> bool:
        head, *tail = parts
        if not rest.startswith(head):
            return False
        rest = rest[len(head) :]
        return any(naive(tuple(tail), rest[at:]) for at in range(len(rest) + 1)) if tail else not rest

    read = Glob.of(glob)
    assert read.matches(name) == naive(read.parts, name)


def test_names_are_compared_whole() -> None:
    read = parse_pattern("foo")
    assert read.covers(AccessResource(ResourceKind.SUBJECT, "foo", "."))
    assert not any(
        read.covers(each)
        for each in (
            AccessResource(ResourceKind.SUBJECT, "foobar", "."),
            AccessResource(ResourceKind.SUBJECT, "xfoo", "."),
            AccessResource(ResourceKind.SUBJECT, "FOO", "."),
            AccessResource(ResourceKind.SUBJECT, "foo", ".c"),
            AccessResource(ResourceKind.KEK, "foo"),
        )
    )


def test_a_right_on_the_registry_holds_for_everything_inside_and_one_on_a_context_for_its_subjects() -> None:
    subject, kek = AccessResource(ResourceKind.SUBJECT, "a", ".c"), AccessResource(ResourceKind.KEK, "k")
    of_registry = Rights([allow(ALICE, [AccessOperation.READ], parse_pattern("registry"))], {ALICE})
    of_context = Rights([allow(ALICE, [AccessOperation.READ], parse_pattern("context:.c"))], {ALICE})
    assert [of_registry.allows(AccessOperation.READ, each) for each in (subject, kek, REGISTRY)] == [True, True, True]
    assert [of_context.allows(AccessOperation.READ, each) for each in (subject, kek, REGISTRY)] == [True, False, False]
    assert of_context.sees_context(".c")
    assert not of_context.sees_context(".d")


def test_everybody_is_not_the_anonymous_caller() -> None:
    assert EVERYBODY in principals_of(CallerIdentity(ALICE))
    assert principals_of(CallerIdentity(ANONYMOUS)) == {ANONYMOUS}


def test_scopes_limit_and_never_give() -> None:
    scopes = [OperationScope(frozenset({AccessOperation.READ}), parse_pattern("b*"))]
    rights = Rights([allow(ALICE, [AccessOperation.WRITE], parse_pattern("a*"))], {ALICE}, scopes)
    assert not rights.allows(AccessOperation.READ, AccessResource(ResourceKind.SUBJECT, "b", "."))
    assert not rights.allows(AccessOperation.READ, AccessResource(ResourceKind.SUBJECT, "a", "."))
    assert Rights([administrator(ALICE)], {ALICE}, scopes).allows(
        AccessOperation.DESCRIBE, AccessResource(ResourceKind.SUBJECT, "b", ".")
    )


def test_one_of_several_resources_is_enough_for_a_stored_answer() -> None:
    rights = Rights([allow(ALICE, [AccessOperation.READ], parse_pattern("b"))], {ALICE})
    a, b = subject_resource(parse_subject("a")), subject_resource(parse_subject("b"))
    assert rights.meets(Needs.of(AccessOperation.READ, a, b))
    assert not rights.meets(Needs.of(AccessOperation.READ, a))


def test_the_settings_of_the_default_context_are_the_registrys() -> None:
    resources = {text: str(scope_resource(parse_subject(text))) for text in ("", ":.:", ":.__GLOBAL:", ":.c:", "a")}
    assert resources == {
        "": "Registry",
        ":.:": "Registry",
        ":.__GLOBAL:": "Registry",
        ":.c:": "Context: .c",
        "a": "Subject: a",
    }


@pytest.mark.parametrize("text", ["", "context:a", "kek:", "subject:", ":.c:", ":.c", "context:"])
def test_a_text_that_is_no_pattern(text: str) -> None:
    with pytest.raises(InvalidPattern, match=r"no pattern"):
        parse_pattern(text)


def test_confluents_roles_are_sets_of_operations() -> None:
    assert set(ALIASES) == {"DeveloperRead", "DeveloperWrite", "DeveloperManage", "ResourceOwner", "SystemAdmin"}
    assert all(operations <= ROLES["admin"] for operations in (*ROLES.values(), *ALIASES.values()))
