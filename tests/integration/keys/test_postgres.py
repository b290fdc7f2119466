"""Keys on two servers with one PostgreSQL: what one was told the other knows, and one of them makes a key."""

from __future__ import annotations

import asyncio
from typing import Any

from counterfoil.registry.keys.services import open_kms
from counterfoil.registry.store.opening import open_store
from strategies.registry.driver import InProcessRegistry

KEKS = "/dek-registry/v1/keks"
LOCAL = {"kmsType": "local-kms", "kmsKeyId": "mine", "shared": True}
ROUNDS = 10


def test_one_of_two_servers_makes_a_key(postgres_url: str) -> None:
    async def story(one: InProcessRegistry, other: InProcessRegistry) -> None:
        for number in range(ROUNDS):
            kek = {"name": f"k{number}", **LOCAL}
            made = await asyncio.gather(*(node.post(KEKS, kek) for node in (one, other)))
            assert sorted(reply.status for reply in made) == [200, 409]
            deks = f"{KEKS}/k{number}/deks"
            made = await asyncio.gather(*(node.post(f"{deks}/s", {}) for node in (one, other, one, other)))
            assert sorted(reply.code or 0 for reply in made) == [0, 40971, 40971, 40971]
            winner = next(reply.json for reply in made if reply.status == 200)
            assert (await one.get(f"{deks}/s")).json == (await other.get(f"{deks}/s")).json == winner
            await one.delete(f"{deks}/s")
            undeleted, gone = await asyncio.gather(
                one.ask("POST", f"{deks}/s/undelete"), other.delete(f"{KEKS}/k{number}")
            )
            assert (undeleted.status, gone.status) in {(204, 422), (404, 204)}
            found = await asyncio.gather(*(node.get(f"{deks}/s") for node in (one, other)))
            assert {reply.status for reply in found} == {200 if undeleted.status == 204 else 404}

    asyncio.run(on_two_servers(postgres_url, story))


async def on_two_servers(url: str, story: Any) -> None:
    storages = [open_store(url) for _ in range(2)]
    try:
        wrapping = open_kms({"LOCAL_SECRET": "s3cret"}, brought=())
        await story(*(InProcessRegistry(storage, wrapping=wrapping) for storage in storages))
    finally:
        for storage in storages:
            await storage.close()
