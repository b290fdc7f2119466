"""Requests of a caller with certain rules, to a registry of several teams."""

from __future__ import annotations

import asyncio
from typing import Any

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rules import AccessRule, administrator, allow, parse_pattern
from strategies.access.callers import NamedCallers, Rules, access
from strategies.languages.marked_schemas import enum
from strategies.registry.driver import InProcessRegistry

ALICE, ADMIN = "alice", "admin"


def play(story: Any, *rules: AccessRule, **options: Any) -> None:
    control = access(Rules([*rules, administrator(f"User:{ADMIN}")]), NamedCallers([ALICE, ADMIN]))
    asyncio.run(story(InProcessRegistry(access=control, **options)))


def reader(text: str, *operations: AccessOperation) -> AccessRule:
    return allow(f"User:{ALICE}", operations or [AccessOperation.READ], parse_pattern(text))


async def registered(registry: InProcessRegistry, *names: str) -> None:
    for number, name in enumerate(names):
        reply = await registry.send("POST", f"/subjects/{name}/versions", ADMIN, {"schema": enum(f"Mark{number}")})
        assert reply.status == 200
