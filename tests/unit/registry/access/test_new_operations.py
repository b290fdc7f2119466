"""Operations that a later version adds: built-in roles have them, and roles that somebody has defined are named."""

from __future__ import annotations

import pytest

from counterfoil.registry.access.resources import ADDED_IN, ROLES, AccessOperation, Lack, lacks_of

FIRST = "DESCRIBE READ WRITE DELETE PURGE DESCRIBE_CONFIGS ALTER_CONFIGS ALTER_MODE IMPORT UNWRAP GRANT METRICS AUDIT"
FIRST += " DESCRIBE_ACCESS ALTER_ACCESS WEBHOOKS"
ADDED = {AccessOperation.WEBHOOKS: "9.1", AccessOperation.AUDIT: "9.2"}


def test_every_operation_is_of_the_first_version_or_names_the_version_that_added_it() -> None:
    assert {each.value for each in AccessOperation} == {*FIRST.split(), *(each.value for each in ADDED_IN)}
    assert all(any(each in role for name, role in ROLES.items() if name != "admin") for each in ADDED_IN)


@pytest.mark.parametrize(
    ("operations", "lacks"),
    [
        (ROLES["operator"] - {AccessOperation.WEBHOOKS}, [Lack(AccessOperation.WEBHOOKS, "9.1", "operator")]),
        (ROLES["operator"] - {AccessOperation.WEBHOOKS, AccessOperation.METRICS}, []),  # it never was an operator
        (ROLES["auditor"] - {AccessOperation.AUDIT}, [Lack(AccessOperation.AUDIT, "9.2", "auditor")]),
        (ROLES["operator"], []),
        (ROLES["reader"], []),
    ],
)
def test_a_role_lacks_what_a_role_like_it_got(operations: frozenset[AccessOperation], lacks: list[Lack]) -> None:
    assert lacks_of(operations, ADDED) == lacks
    assert lacks_of(operations) == []


def test_a_lack_is_a_sentence() -> None:
    [lack] = lacks_of(ROLES["operator"] - {AccessOperation.WEBHOOKS}, ADDED)
    assert str(lack) == "has all of operator but WEBHOOKS, which version 9.1 has added"
