"""The search of servers that are killed, that share a database, and beside which the index is built anew."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from counterfoil.registry.search.following import Following
from counterfoil.registry.search.index import SearchIndex
from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.reindexing import reindex
from counterfoil.registry.search.sqlite import SqliteIndexDatabase
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.subjects.reading import SchemaReader
from local_services import RegistryProcess
from local_services.process import wait_until
from strategies.search.indexed import dumped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def ask(url: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.loads(reply.read())


def register(url: str, number: int) -> None:
    fields = [{"name": f"field_{number}", "type": "string", "default": "", "doc": f"The field {number}."}]
    schema = json.dumps({"type": "record", "name": "Order", "fields": fields})
    ask(url, f"/subjects/orders-{number % 7}/versions", {"schema": schema})


def register_all(url: str, numbers: Sequence[int]) -> None:
    for number in numbers:
        register(url, number)


def await_current(url: str) -> Any:
    """Return the state of the index when it has every change."""

    def state() -> Any:
        return ask(url, "/inspect/v1/search?q=order")["index"]

    wait_until(lambda: state()["state"] == "current", what="the index to have every change")
    return state()


def dump_beside_a_new_one(store: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the index of a store has, and what one has that is built anew."""

    async def read() -> tuple[dict[str, Any], dict[str, Any]]:
        storage, index, other = open_store(store), open_index(store), SearchIndex(SqliteIndexDatabase(None))
        try:
            await index.database.prepare()
            await Following(other, storage, SchemaReader(storage, memory_chars=10**6)).until_current()
            return await dumped(index), await dumped(other)
        finally:
            for each in (index.database, other.database, storage):
                await each.close()

    return asyncio.run(read())


def test_a_server_that_is_killed_at_any_moment_continues(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/registry.db"
    drawn = random.Random(5)
    with RegistryProcess(store=store, log=tmp_path / "log") as server:
        number = 0
        for _ in range(4):
            killed_after_s = drawn.uniform(0.05, 0.6)
            timer = threading.Timer(killed_after_s, server.kill)
            timer.start()
            try:
                while True:
                    register(server.url, number)
                    number += 1
            except (urllib.error.URLError, OSError, json.JSONDecodeError):
                pass
            timer.join()
            server.restart()
        assert number > 0
        state = await_current(server.url)
        assert state["indexed"] == state["last"] >= number
    followed, anew = dump_beside_a_new_one(store)
    assert followed == anew


def test_two_servers_of_one_database(postgres_url: str, tmp_path: Path):
    with (
        RegistryProcess(store=postgres_url, log=tmp_path / "one") as one,
        RegistryProcess(store=postgres_url, log=tmp_path / "two") as two,
    ):
        threads = [
            threading.Thread(target=register_all, args=(each.url, range(first, 40, 2)))
            for first, each in enumerate((one, two))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for each in (one, two):
            assert await_current(each.url)["last"] == 40
        assert reindex(postgres_url).lines[0].startswith("The search index is complete to change 40;")
        one.kill()
        register(two.url, 100)
        assert await_current(two.url)["indexed"] == 41
        one.restart()
        assert await_current(one.url)["indexed"] == 41
    followed, anew = dump_beside_a_new_one(postgres_url)
    assert followed == anew


def test_a_server_builds_the_index_that_a_command_asks_for():
    with RegistryProcess() as server:
        for number in range(10):
            register(server.url, number)
        await_current(server.url)
        told: list[str] = []
        assert reindex(server.store, tell=told.append).change == 10
        assert told == ["A server has the store open, and builds the index"]
        assert await_current(server.url)["indexed"] == 10
