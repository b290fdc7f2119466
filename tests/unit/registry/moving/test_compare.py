"""Two registries side by side."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from counterfoil.registry.moving.importing import MoveProgress
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.runs import ComparedVerdicts, RegistryDifference, differences
from strategies.registry.driver import InProcessRegistry
from strategies.registry.histories import ITEM
from strategies.registry.peers import Filter, json_reply, karapace, ours, peer_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.transport import AsyncTransport, Reply, Request

QUIET = MoveProgress()


async def compared(
    left: InProcessRegistry, right: InProcessRegistry, *, make: Callable[[InProcessRegistry], Filter] = ours
) -> list[RegistryDifference]:
    async with peer_of(ours(left)) as one, peer_of(make(right)) as other:
        return [each async for each in differences(PeerSource(one), PeerSource(other), QUIET)]


async def a_pair() -> tuple[InProcessRegistry, InProcessRegistry]:
    pair = InProcessRegistry(), InProcessRegistry()
    for registry in pair:
        await registry.register("item", ITEM)
        await registry.register("item", '"string"')
        await registry.register("json", '{"type": "object"}', schemaType="JSON")
    return pair


def test_the_same_is_the_same_in_any_spelling() -> None:
    async def check() -> None:
        left, right = await a_pair()
        assert await compared(left, right) == []
        assert await compared(left, right, make=karapace) == []

    asyncio.run(check())


def test_every_difference_of_content_is_found() -> None:
    async def check() -> None:
        left, right = await a_pair()
        await left.put("/config", {"compatibility": "NONE"})
        await right.put("/mode/item", {"mode": "READONLY"})
        await left.put("/config/nobody", {"alias": "item"})
        await left.register("only", '"int"')
        await right.register("shift", '"bytes"')
        await right.register("json", '{"type": "object"}', schemaType="JSON", metadata={"properties": {"a": "b"}})
        for registry, text in ((left, '"long"'), (right, '"double"')):
            await registry.register(":.c:other", text)
        await left.register(":.d:x", '"int"')
        await left.delete("/subjects/json/versions/1")
        found = await compared(left, right)
        told = {(each.what, each.where): (each.left, each.right) for each in found}
        guids = told.pop(("guid", "subject ':.c:other' version 1"))
        assert guids[0] != guids[1]
        assert told == {
            ("context", "context '.d'"): ("there", None),
            ("subject", "subject ':.d:x'"): ([1], None),
            ("subject", "subject 'only'"): ([1], None),
            ("subject", "subject 'shift'"): (None, [1]),
            ("schema", "subject ':.c:other' version 1"): ('"long"', '"double"'),
            ("deleted", "subject 'json' version 1"): (True, False),
            ("version", "subject 'json' version 2"): (None, "there"),
            ("config", "context '.'"): ({"compatibility": "NONE"}, None),
            ("config", "subject 'nobody'"): ({"compatibility": "BACKWARD", "alias": "item"}, None),
            ("mode", "subject 'item'"): (None, "READONLY"),
        }
        assert "subject 'json' version 1: deleted is True on the left, False on the right" in map(str, found)

    asyncio.run(check())


def test_other_ids_are_found() -> None:
    async def check() -> None:
        left, right = InProcessRegistry(), InProcessRegistry()
        await left.register("first", '"int"')
        for registry in (left, right):
            await registry.register("item", ITEM)
        assert RegistryDifference("id", "subject 'item' version 1", 2, 1) in await compared(left, right)

    asyncio.run(check())


class Lenient(Filter):
    """Finds everything compatible."""

    async def asend(self, request: Request) -> Reply:
        if urlsplit(request.url).path.startswith("/compatibility"):
            return json_reply(200, {"is_compatible": True})
        return await super().asend(request)


def test_verdicts_are_compared() -> None:
    async def judged(left: InProcessRegistry, right: AsyncTransport) -> tuple[list[Any], int]:
        async with peer_of(ours(left)) as one, peer_of(right) as other:
            verdicts = ComparedVerdicts(one, other, QUIET)
            found = [each async for each in verdicts.differences(PeerSource(one), PeerSource(other))]
            return found, verdicts.compared

    async def check() -> None:
        left, right = InProcessRegistry(), InProcessRegistry()
        for registry in (left, right):
            await registry.put("/config", {"compatibility": "NONE"})
            await registry.register("a", '"int"')
            await registry.register("a", '"string"')
            await registry.put("/config", {"compatibility": "FULL"})
        assert await judged(left, ours(right)) == ([], 2)
        found, _ = await judged(left, Lenient(right, fields=frozenset()))
        where = "subject 'a' version 1 against the latest"
        assert found == [RegistryDifference("verdict", where, "incompatible", "compatible")]
        assert json.dumps(found[0].left) == '"incompatible"'

    asyncio.run(check())
