"""Keys on every storage: they come back as they were, one of many writers wins, and what is gone is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from counterfoil.registry.keys.services import open_kms
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from counterfoil.registry.store.protocol import Storage

KEKS = "/dek-registry/v1/keks"
LOCAL = {"kmsType": "local-kms", "kmsKeyId": "mine", "shared": True}
WRAPPED = {"encryptedKeyMaterial": "d3JhcHBlZA=="}


def registry_on(storage: Storage) -> InProcessRegistry:
    return InProcessRegistry(storage, wrapping=open_kms({"LOCAL_SECRET": "s3cret"}, brought=()))


def test_keys_come_back_as_they_were(run: Any) -> None:
    async def story(storage: Storage) -> None:
        registry = registry_on(storage)
        kek = {"name": "k", **LOCAL, "kmsProps": {"a": "ü"}, "doc": "o\u0000\U0001f511"}
        made = (await registry.post(KEKS, kek)).json
        assert made["doc"] == kek["doc"]
        subjects = ["s", ":.ctx:s", "%2F%C3%BC%25_", "a%2Fb"]
        deks = [(await registry.post(f"{KEKS}/k/deks/{subject}", {"version": 12})).json for subject in subjects]
        other = registry_on(storage)
        assert (await other.get(f"{KEKS}/k")).json == made
        for subject, dek in zip(subjects, deks, strict=True):
            assert (await other.get(f"{KEKS}/k/deks/{subject}/versions/12")).json == dek
        assert (await other.get(f"{KEKS}/k/deks")).json == ["/ü%_", ":.ctx:s", "a/b", "s"]
        assert (await other.get(f"{KEKS}/k/deks/s/versions")).json == [12]

    run(story)


def test_what_is_deleted_for_good_can_be_made_anew(run: Any) -> None:
    async def story(storage: Storage) -> None:
        registry = registry_on(storage)
        for _ in range(2):
            assert (await registry.post(KEKS, {"name": "k", **LOCAL})).status == 200
            assert (await registry.post(f"{KEKS}/k/deks/s", WRAPPED)).status == 200
            for path in (f"{KEKS}/k/deks/s", f"{KEKS}/k"):
                assert (await registry.delete(path)).status == 204
            assert (await registry.ask("POST", f"{KEKS}/k/undelete")).status == 204
            assert (await registry.ask("POST", f"{KEKS}/k/deks/s/undelete")).status == 204
            for path in (f"{KEKS}/k/deks/s", f"{KEKS}/k"):
                assert (await registry.delete(path)).status == 204
                assert (await registry.delete(f"{path}?permanent=true")).status in {204, 422}
            assert (await registry.delete(f"{KEKS}/k?permanent=true")).code == 40470
            assert await storage.records("kek") == await storage.records("dek") == []
        kinds = [change.document for change in await storage.changes(0, 100)]
        assert WRAPPED["encryptedKeyMaterial"] not in repr(kinds)

    run(story)


def test_of_many_writers_one_makes_the_key(run: Any) -> None:
    async def story(storage: Storage) -> None:
        nodes = [registry_on(storage) for _ in range(2)]
        keks = await asyncio.gather(*(node.post(KEKS, {"name": "k", **LOCAL}) for node in nodes * 3))
        assert sorted(reply.outcome if reply.code else 0 for reply in keks) == [0] + [40971] * 5
        deks = await asyncio.gather(*(node.post(f"{KEKS}/k/deks/s", {}) for node in nodes * 3))
        assert sorted(reply.code or 0 for reply in deks) == [0] + [40971] * 5
        winner = next(reply.json for reply in deks if reply.status == 200)
        assert (await nodes[0].get(f"{KEKS}/k/deks/s")).json == winner
        bodies = [{"version": version, **WRAPPED} for version in range(2, 12)]
        more = await asyncio.gather(*(nodes[body["version"] % 2].post(f"{KEKS}/k/deks/s", body) for body in bodies))
        assert {reply.status for reply in more} == {200}
        assert (await nodes[1].get(f"{KEKS}/k/deks/s/versions")).json == list(range(1, 12))

    run(story)


def test_a_kek_does_not_go_while_another_server_makes_a_key(run: Any) -> None:
    async def story(storage: Storage) -> None:
        one, other = registry_on(storage), registry_on(storage)
        for number in range(8):
            path = f"{KEKS}/k{number}"
            await one.post(KEKS, {"name": f"k{number}", **LOCAL})
            made, gone = await asyncio.gather(one.post(f"{path}/deks/s", WRAPPED), other.delete(path))
            assert (made.status, gone.status) in {(200, 422), (404, 204)}
            active = (await one.get(f"{path}/deks?deleted=true")).json
            assert active == (["s"] if made.status == 200 else [])

    run(story)


def test_keys_are_there_after_a_restart(
    store: Callable[[], AbstractAsyncContextManager[Storage]], store_url: str
) -> None:
    async def story() -> None:
        async with store() as storage:
            await registry_on(storage).post(KEKS, {"name": "k", **LOCAL})
            made = (await registry_on(storage).post(f"{KEKS}/k/deks/s", {})).json
        async with store() as storage:
            found = await registry_on(storage).get(f"{KEKS}/k/deks/s")
        assert found.code == 40470 if store_url == "sqlite://" else found.json == made

    asyncio.run(story())
