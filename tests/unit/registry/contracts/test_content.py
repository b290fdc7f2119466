"""Which contents of a contract are the same: a zero counts, also for what an earlier release stored."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.contracts.records import RECORD_KINDS
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST, record_write
from strategies.contracts.stories import BASE, expectation, promise, publish, schema
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def play(story: Callable[[InProcessRegistry, MemoryStorage], Awaitable[None]]) -> None:
    storage = MemoryStorage()
    asyncio.run(story(InProcessRegistry(storage), storage))


def limited(version: str = "2.1.0", **limits: Any) -> tuple[str, str]:
    """Return a producer's contract whose total has limits, with its schema."""
    document = json.loads(promise(version))
    document["schema"][0]["properties"][0]["logicalTypeOptions"] = limits
    return json.dumps(document), schema()


def port(version: str, **own: Any) -> str:
    """Return a consumer's file; ``reads`` may be empty, which is another statement than none."""
    document = json.loads(expectation())
    document["version"] = version
    properties = [{"property": name, "value": value} for name, value in own.items()]
    document["inputPorts"][0]["customProperties"] = properties
    return json.dumps(document)


async def hash_of(content: Any) -> str:
    """Return the hash that a contract gets which nobody has published."""
    other = InProcessRegistry()
    await publish(other, "shop", "1", content)
    found: str = (await other.get(f"{BASE}/contracts/orders/versions/2.1.0")).json["hash"]
    return found


async def store_with_hash(storage: MemoryStorage, now: str, former: str) -> None:
    """Let a store have the hash that release 0.2.0 gave to a contract."""
    for kind in sorted(RECORD_KINDS):
        for record in await storage.records(kind):
            text = json.dumps(record.document)
            if now in text:
                document = json.loads(text.replace(now, former))
                await storage.commit(record_write(kind, record.key, document, revision=record.revision), by=NO_REQUEST)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (limited(minimum=0, maximum=9), limited(maximum=9)),
        (limited(minimum=-1, maximum=0), limited(minimum=-1)),
        (port("1.0.0", reads=[]), port("1.0.0", reads=[{"path": "total"}])),
        (port("1.0.0", reads=[{"path": "total", "min": 0}]), port("1.0.0", reads=[{"path": "total"}])),
    ],
)
def test_one_version_cannot_have_another_content_that_differs_by_a_zero(one: Any, other: Any) -> None:
    async def story(registry: InProcessRegistry, _: MemoryStorage) -> None:
        assert (await publish(registry, "shop", "1", one)).status == 200
        assert (await publish(registry, "shop", "1", one)).status == 200
        assert (await publish(registry, "shop", "1", other)).status == 409
        assert (await publish(registry, "shop", "2", other)).status == 409

    play(story)


def test_a_zero_is_a_difference_of_two_versions() -> None:
    async def story(registry: InProcessRegistry, _: MemoryStorage) -> None:
        for number, limits in enumerate([{"maximum": 9}, {"minimum": 0, "maximum": 9}, {"minimum": 0, "maximum": 9}]):
            await publish(registry, "shop", str(number), limited(f"2.{number}.0", **limits))
        versions = f"{BASE}/contracts/orders/versions"
        found = [(await registry.get(f"{versions}/2.{each}.0/diff?from=2.{each - 1}.0")).json for each in (1, 2)]
        assert [each["same"] for each in found] == [False, True]

    play(story)


def test_a_contract_with_a_zero_that_an_earlier_release_stored_is_the_same_one() -> None:
    async def story(registry: InProcessRegistry, storage: MemoryStorage) -> None:
        with_zero, without = limited(minimum=0, maximum=9), limited(maximum=9)
        await publish(registry, "shop", "1", with_zero)
        now, former = await hash_of(with_zero), await hash_of(without)
        await store_with_hash(storage, now, former)
        for version in ("1", "2"):
            reply = await publish(registry, "shop", version, with_zero)
            assert reply.status == 200, reply.text
            assert [each["hash"] for each in reply.json["contracts"]] == [former]
            assert (await publish(registry, "shop", version, without)).status == 409

    play(story)
