"""Whoever may grant gives nothing that it does not have itself, whatever its rules are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from counterfoil.registry.access.bodies import permit_own_scopes, permit_rule
from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rights import Rights
from counterfoil.registry.access.rules import EVERYTHING, AccessRule, OperationScope, allow, deny, parse_pattern
from counterfoil.schema.errors import Forbidden
from strategies.access.rules import ALICE, OPERATIONS, PATTERNS, PRINCIPALS, RESOURCES, RULE_LISTS

BOB = "User:bob"
OWNER = (AccessOperation.WRITE, AccessOperation.DELETE, AccessOperation.ALTER_CONFIGS, AccessOperation.GRANT)
GRANTED = st.builds(
    allow,
    st.just(BOB),
    st.frozensets(OPERATIONS, min_size=1, max_size=3),
    PATTERNS,
)
MAKERS = st.builds(
    lambda rules, operations, pattern: [*rules, allow(ALICE, {AccessOperation.GRANT, *operations}, pattern)],
    RULE_LISTS,
    st.frozensets(OPERATIONS, max_size=8),
    PATTERNS | st.just(EVERYTHING),
)
PAY = AccessResource(ResourceKind.SUBJECT, "pay.a", ".")


@dataclass
class Maker:
    """The request of somebody with these rights, as far as permits use it."""

    rights: Rights
    name: str = ALICE

    @property
    def authenticated(self) -> Any:
        return self

    def may(self, operation: AccessOperation, resource: AccessResource) -> bool:
        return self.rights.allows(operation, resource)


def is_permitted(maker: Maker, rule: AccessRule) -> bool:
    try:
        permit_rule(maker, rule)  # type: ignore[arg-type]  # it has what permits use
    except Forbidden:
        return False
    return True


@given(MAKERS, GRANTED, OPERATIONS, RESOURCES)
@example(
    [allow(ALICE, OWNER, parse_pattern("pay.*"))], allow(BOB, OWNER, parse_pattern("pay.a*")), AccessOperation.READ, PAY
)
def test_a_granted_rule_gives_nothing_that_its_maker_does_not_have(
    rules: list[AccessRule], granted: AccessRule, operation: AccessOperation, resource: AccessResource
) -> None:
    maker = Maker(Rights(rules, PRINCIPALS))
    if is_permitted(maker, granted) and Rights([granted], {BOB}).allows(operation, resource):
        assert maker.rights.allows(operation, resource) or maker.rights.holds(AccessOperation.ALTER_ACCESS, EVERYTHING)


@given(MAKERS, st.frozensets(OPERATIONS, min_size=1, max_size=3), PATTERNS, OPERATIONS, RESOURCES)
@example(
    [allow(ALICE, OWNER, parse_pattern("pay.*"))], frozenset(OWNER), parse_pattern("pay.a*"), AccessOperation.READ, PAY
)
def test_a_token_of_ones_own_has_nothing_that_its_owner_does_not_have(
    rules: list[AccessRule],
    operations: frozenset[AccessOperation],
    pattern: Any,
    operation: AccessOperation,
    resource: AccessResource,
) -> None:
    maker, scope = Maker(Rights(rules, PRINCIPALS)), OperationScope(operations, pattern)
    if Rights(rules, PRINCIPALS, [scope]).allows(operation, resource):
        assert maker.rights.allows(operation, resource)
    try:
        permit_own_scopes(maker, [scope])  # type: ignore[arg-type]  # it has what permits use
    except Forbidden:
        return
    if Rights([allow(ALICE, operations, pattern)], {ALICE}).allows(operation, resource):
        assert maker.rights.allows(operation, resource)


def test_the_examples_are_permitted_and_others_are_not() -> None:
    owner = Maker(Rights([allow(ALICE, OWNER, parse_pattern("pay.*"))], {ALICE}))
    assert is_permitted(owner, allow(BOB, OWNER, parse_pattern("pay.a*")))
    assert not is_permitted(owner, allow(BOB, OWNER, parse_pattern("pa*")))
    assert not is_permitted(owner, allow(BOB, [AccessOperation.PURGE], parse_pattern("pay.a")))
    assert not is_permitted(owner, deny(BOB, [AccessOperation.READ], parse_pattern("pay.a")))
    denied = Maker(Rights([*owner.rights.rules, deny(ALICE, [AccessOperation.READ], parse_pattern("pay.a"))], {ALICE}))
    assert not is_permitted(denied, allow(BOB, [AccessOperation.READ], parse_pattern("pay.*")))
    assert is_permitted(denied, allow(BOB, [AccessOperation.READ], parse_pattern("pay.b")))
