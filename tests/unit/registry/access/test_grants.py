"""Whoever may grant gives nothing that it does not have itself, whatever its rules are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from access_rules import ALICE, OPERATIONS, PATTERNS, PRINCIPALS, RESOURCES, RULE_LISTS
from counterfoil.registry.api.access.permits import permit_own_scopes, permit_rule
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.patterns import EVERYTHING, parse_pattern
from counterfoil.registry.domain.access.resources import Kind, Resource
from counterfoil.registry.domain.access.rights import Rights
from counterfoil.registry.domain.access.rules import Rule, Scope, allow, deny
from counterfoil.schema.errors import Forbidden

BOB = "User:bob"
OWNER = (Operation.WRITE, Operation.DELETE, Operation.ALTER_CONFIGS, Operation.GRANT)
GRANTED = st.builds(
    allow,
    st.just(BOB),
    st.frozensets(OPERATIONS, min_size=1, max_size=3),
    PATTERNS,
)
MAKERS = st.builds(
    lambda rules, operations, pattern: [*rules, allow(ALICE, {Operation.GRANT, *operations}, pattern)],
    RULE_LISTS,
    st.frozensets(OPERATIONS, max_size=8),
    PATTERNS | st.just(EVERYTHING),
)
PAY = Resource(Kind.SUBJECT, "pay.a", ".")


@dataclass
class Maker:
    """The request of somebody with these rights, as far as permits use it."""

    rights: Rights
    caller_name: str = ALICE

    @property
    def caller(self) -> Any:
        return self

    def may(self, operation: Operation, resource: Resource) -> bool:
        return self.rights.allows(operation, resource)


def is_permitted(maker: Maker, rule: Rule) -> bool:
    try:
        permit_rule(maker, rule)  # type: ignore[arg-type]  # it has what permits use
    except Forbidden:
        return False
    return True


@given(MAKERS, GRANTED, OPERATIONS, RESOURCES)
@example([allow(ALICE, OWNER, parse_pattern("pay.*"))], allow(BOB, OWNER, parse_pattern("pay.a*")), Operation.READ, PAY)
def test_a_granted_rule_gives_nothing_that_its_maker_does_not_have(
    rules: list[Rule], granted: Rule, operation: Operation, resource: Resource
) -> None:
    maker = Maker(Rights(rules, PRINCIPALS))
    if is_permitted(maker, granted) and Rights([granted], {BOB}).allows(operation, resource):
        assert maker.rights.allows(operation, resource) or maker.rights.holds(Operation.ALTER_ACCESS, EVERYTHING)


@given(MAKERS, st.frozensets(OPERATIONS, min_size=1, max_size=3), PATTERNS, OPERATIONS, RESOURCES)
@example([allow(ALICE, OWNER, parse_pattern("pay.*"))], frozenset(OWNER), parse_pattern("pay.a*"), Operation.READ, PAY)
def test_a_token_of_ones_own_has_nothing_that_its_owner_does_not_have(
    rules: list[Rule], operations: frozenset[Operation], pattern: Any, operation: Operation, resource: Resource
) -> None:
    maker, scope = Maker(Rights(rules, PRINCIPALS)), Scope(operations, pattern)
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
    assert not is_permitted(owner, allow(BOB, [Operation.PURGE], parse_pattern("pay.a")))
    assert not is_permitted(owner, deny(BOB, [Operation.READ], parse_pattern("pay.a")))
    denied = Maker(Rights([*owner.rights.rules, deny(ALICE, [Operation.READ], parse_pattern("pay.a"))], {ALICE}))
    assert not is_permitted(denied, allow(BOB, [Operation.READ], parse_pattern("pay.*")))
    assert is_permitted(denied, allow(BOB, [Operation.READ], parse_pattern("pay.b")))
