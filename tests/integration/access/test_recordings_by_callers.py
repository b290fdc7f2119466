"""Recorded requests, each of them by callers with different rights: the same bytes with the fast lane and without.

Between the requests rules change, and credentials are revoked and accepted again. What a caller may read is tested
elsewhere; here a caller of whom nothing is cached, one of whom it is, and one without the lane must get the same.
"""

from __future__ import annotations

import asyncio
import os
from itertools import cycle
from typing import Any

import pytest

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rules import EVERYTHING, AccessRule, administrator, allow, deny, parse_pattern
from counterfoil.registry.store.memory import MemoryStorage
from strategies.access.callers import NamedCallers, Rules, access
from strategies.cases.each_case import check_each
from strategies.registry.driver import InProcessRegistry, Reply
from strategies.registry.recordings import fill, is_reading, request_of, sequences

ADMIN, READER, SOME, NOBODY = "admin", "reader", "some", "nobody"
CALLERS = (READER, SOME, NOBODY, None)
PARTS = 2
ONE_OF = 1 if os.environ.get("COUNTERFOIL_EXAMPLES") else 12
"""Which share of the sequences is replayed."""


def rules(*of_some: AccessRule) -> list[AccessRule]:
    return [administrator(f"User:{ADMIN}"), allow(f"User:{READER}", [AccessOperation.READ], EVERYTHING), *of_some]


def of_some(verb: Any, operation: AccessOperation, pattern: str) -> AccessRule:
    rule: AccessRule = verb(f"User:{SOME}", [operation], parse_pattern(pattern))
    return rule


RULES = (
    rules(),
    rules(of_some(allow, AccessOperation.READ, "*a*")),
    rules(of_some(allow, AccessOperation.READ, "*"), of_some(deny, AccessOperation.READ, "*e*")),
    rules(of_some(allow, AccessOperation.DESCRIBE, "registry")),
    rules(of_some(allow, AccessOperation.READ, ":*:*"), of_some(deny, AccessOperation.DESCRIBE_CONFIGS, "*")),
)


def sent_back(reply: Reply) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in reply.headers.items() if name != "x-request-id"}
    return reply.status, headers, reply.body


async def replay(sequence: dict[str, Any]) -> list[str]:
    """Return the first request that was answered differently."""
    storage, in_force, callers = MemoryStorage(), Rules(RULES[0]), NamedCallers((ADMIN, READER, SOME, NOBODY))
    control = access(in_force, callers)
    plain = InProcessRegistry(storage)
    fast, slow = (InProcessRegistry(storage, access=control, fast_lane=lane) for lane in (True, False))
    await fill(plain, sequence.get("idBase", 1))
    next_rules, is_revoked = cycle(RULES), False
    for index, step in enumerate(sequence["steps"]):
        path, body, headers = request_of(step)
        if not is_reading(step):
            await plain.ask(step["m"], path, body, headers)
            in_force.set(next(next_rules))
            continue
        by_admin = {**headers, "Authorization": f"Bearer {ADMIN}"}
        whole = [sent_back(await each.ask(step["m"], path, body, by_admin)) for each in (fast, fast, slow)]
        assert whole[0] == whole[1] == whole[2]
        for caller in CALLERS:
            signed = headers if caller is None else {**headers, "Authorization": f"Bearer {caller}"}
            replies = [sent_back(await each.ask(step["m"], path, body, signed)) for each in (fast, fast, slow)]
            if not replies[0] == replies[1] == replies[2]:
                return [f"{sequence['name']} step {index}: {step['m']} {path} by {caller}", *map(str, replies)]
            if caller is None or (caller == SOME and is_revoked):
                assert replies[0][0] == 401
        if index % 3 == 0:
            (callers.admit if is_revoked else callers.revoke)(SOME)
            is_revoked = not is_revoked
    return []


@pytest.mark.parametrize("part", range(PARTS))
def test_both_lanes_answer_each_caller_alike(part: int) -> None:
    def check(sequence: dict[str, Any]) -> None:
        wrong = asyncio.run(replay(sequence))
        assert not wrong, "\n".join(wrong)

    chosen = sequences()[::ONE_OF]
    check_each(((each["name"], each) for each in chosen[part::PARTS]), check)
