"""Keys go along, from a store and over the API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.moving.facts import Clashes, PeerRefused, UnreadableContent
from counterfoil.registry.moving.importing import FactImport, ImportOutcome, MoveProgress
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget
from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import Filter, json_reply, ours, peer_of

if TYPE_CHECKING:
    from counterfoil.sdk.transport import AsyncTransport, Reply, Request

QUIET = MoveProgress()
KEKS = "/dek-registry/v1/keks"


async def with_keys() -> tuple[InProcessRegistry, MemoryStorage]:
    """A registry with keys, some soft-deleted, in two contexts."""
    storage = MemoryStorage()
    registry = InProcessRegistry(storage)
    for name in ("one", "two", "zero"):
        body = {"name": name, "kmsType": "local-kms", "kmsKeyId": f"id of {name}", "kmsProps": {"a": "b"}}
        assert (await registry.post(KEKS, body)).status == 200
    made: list[tuple[str, str, dict[str, Any]]] = [
        ("one", "s", {"encryptedKeyMaterial": "AAAA"}),
        ("one", "s", {"encryptedKeyMaterial": "BBBB", "version": 2}),
        ("one", ":.c:s/t", {"encryptedKeyMaterial": "CCCC", "algorithm": "AES256_SIV"}),
        ("two", "s", {"encryptedKeyMaterial": "DDDD"}),
    ]
    for name, subject, fields in made:
        body = {"subject": subject, **fields}
        assert (await registry.post(f"{KEKS}/{name}/deks", body)).status == 200
    assert (await registry.delete(f"{KEKS}/one/deks/s/versions/2")).status == 204
    assert (await registry.delete(f"{KEKS}/two/deks/s")).status == 204
    assert (await registry.delete(f"{KEKS}/two")).status == 204
    return registry, storage


async def records(storage: MemoryStorage, *, times: bool = True) -> list[Any]:
    found = await StoreSource(storage, origin="").records()
    gone = () if times else ("ts",)
    return [(each.kind, each.key, {k: v for k, v in each.document.items() if k not in gone}) for each in found]


async def copied(source: AsyncTransport, target: Any, **options: Any) -> ImportOutcome:
    async with peer_of(source, retries=0) as peer:
        reading = PeerSource(peer)
        if isinstance(target, MemoryStorage):
            return await FactImport(lambda: facts_of(reading), StoreTarget(target), QUIET).run(verify=True, **options)
        async with peer_of(target, retries=0) as other:
            return await FactImport(lambda: facts_of(reading), PeerTarget(other, QUIET), QUIET).run(
                verify=True, **options
            )


def test_keys_are_read_over_the_api_as_a_store_keeps_them() -> None:
    async def check() -> None:
        (registry, first), second = await with_keys(), MemoryStorage()
        outcome = await copied(ours(registry), second)
        assert outcome.written["record"] == 7
        assert await records(second) == await records(first)

    asyncio.run(check())


@pytest.mark.slow
def test_keys_are_made_over_the_api() -> None:
    async def check() -> None:
        (registry, first), second = await with_keys(), MemoryStorage()
        target = InProcessRegistry(second)
        await copied(ours(registry), ours(target))
        assert await records(second, times=False) == await records(first, times=False)
        assert not (await copied(ours(registry), ours(target))).written

    asyncio.run(check())


class Refusing(Filter):
    """Refuses all data encryption keys of one KEK."""

    async def asend(self, request: Request) -> Reply:
        if request.method == "POST" and "/keks/two/deks" in request.url:
            return json_reply(422, {"message": "no"})
        return await super().asend(request)


@pytest.mark.slow
def test_an_import_of_keys_that_failed_is_completed_by_the_next() -> None:
    async def check() -> None:
        (registry, first), second = await with_keys(), MemoryStorage()
        target = InProcessRegistry(second)
        with pytest.raises(PeerRefused, match=r"refused: 422 .*no"):
            await copied(ours(registry), Refusing(target, fields=frozenset(), by_id=True))
        await copied(ours(registry), ours(target))
        assert await records(second, times=False) == await records(first, times=False)

    asyncio.run(check())


def test_other_keys_clash() -> None:
    async def check() -> None:
        registry, _ = await with_keys()
        other = {"name": "one", "kmsType": "local-kms", "kmsKeyId": "another"}
        for transport in (ours, lambda _: None):
            storage = MemoryStorage()
            target = InProcessRegistry(storage)
            await target.post(KEKS, other)
            with pytest.raises(Clashes, match="kek 'one'"):
                await copied(ours(registry), transport(target) or storage)

    asyncio.run(check())


class Sealed(Filter):
    """Cannot unwrap the keys of one KEK, and so does not show them."""

    async def asend(self, request: Request) -> Reply:
        if request.method == "GET" and "/keks/two/deks/s/versions/1" in request.url:
            return json_reply(500, {"error_code": 50070, "message": "no such key"})
        return await super().asend(request)


def test_keys_that_are_not_shown_are_reported() -> None:
    async def check() -> None:
        registry, _ = await with_keys()
        with pytest.raises(UnreadableContent, match="version 1 of the AES256_GCM key of 's' under 'two'"):
            await copied(Sealed(registry, fields=frozenset()), MemoryStorage())

    asyncio.run(check())


def test_what_this_api_cannot_carry_clashes() -> None:
    async def check() -> None:
        from counterfoil.registry.moving.facts import RecordFact

        async with peer_of(ours(InProcessRegistry())) as peer:
            standing = await PeerTarget(peer, QUIET).standing(RecordFact("note", ("a",), {}))
        assert standing.problem == "note 'a' cannot be carried over by this API; import into the store itself"

    asyncio.run(check())
