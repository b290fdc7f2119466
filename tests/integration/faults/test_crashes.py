"""Servers and databases that are killed under a load of all kinds of writes, and clocks that jump: nothing is lost."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.opening import open_store
from local_services import PostgresClient, PostgresServer, RegistryProcess, wait_until
from strategies.registry.driver import InProcessRegistry
from strategies.registry.invariants import Story, violations
from strategies.registry.storm import PATIENT, Storm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = 2
A_DAY_MS = 86_400_000


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    url: str = {
        "sqlite": lambda: f"sqlite:///{tmp_path}/registry.db",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
    }[request.param]()
    return url


def test_a_server_that_is_killed_at_any_moment_loses_nothing(store: str) -> None:
    moments, story = random.Random(5), Story()
    patient = f"{store}?timeout_s=300" if store.startswith("postgresql") else store
    with RegistryProcess(store=patient, settings=PATIENT) as registry:
        for turn in range(ROUNDS):
            with Storm([registry.url] * 4, story=story, seed=turn, name=f"t{turn}") as storm:
                enough = story.acknowledged() + moments.randrange(20, 150)
                wait_until(lambda enough=enough: story.acknowledged() >= enough, what="writes")
                registry.kill()
            assert (storm.surprises, storm.refusals) == ([], [])
            registry.restart()
            assert violations(registry.url, story, max_lookups=60) == []


def test_a_database_that_is_killed_at_any_moment_loses_nothing() -> None:
    moments, story = random.Random(6), Story()
    with PostgresServer() as postgres, RegistryProcess(store=postgres.url()) as one:
        with RegistryProcess(store=postgres.url()) as other, Storm([one.url, other.url] * 2, story=story) as storm:
            for _ in range(2):
                enough = story.acknowledged() + moments.randrange(20, 150)
                wait_until(lambda enough=enough: story.acknowledged() >= enough, what="writes")
                postgres.kill()
                told = len(storm.refusals) + 10
                wait_until(lambda told=told: len(storm.refusals) >= told, what="refusals")
                postgres.restart()
            enough = story.acknowledged() + 50
            wait_until(lambda: story.acknowledged() >= enough, what="writes afterwards")
        assert storm.surprises == []
        assert violations(one.url, story, max_lookups=60) == []


@pytest.mark.parametrize("jump_ms", [-A_DAY_MS, A_DAY_MS])
def test_a_clock_that_jumps_changes_no_order(store: str, jump_ms: int, run_sql: Callable[[str, str], None]) -> None:
    """All that was written so far is made to look as if the clock had been another: it has jumped since."""

    async def main() -> None:
        before = await session(store, "before")
        moved = f"ts = ts - ({jump_ms})"
        await asyncio.to_thread(run_sql, store, f"UPDATE changes SET {moved}")
        await asyncio.to_thread(run_sql, store, f"UPDATE versions SET {moved}")
        after = await session(store, "after")
        stamps = [change.ts for change in after["changes"]]
        assert stamps == sorted(stamps)
        assert [change.seq for change in after["changes"]] == list(range(1, len(stamps) + 1))
        assert len(after["changes"]) == 2 * len(before["changes"])
        assert after["ids"] == [4, 5, 6]
        assert after["versions"] == [1, 2, 3, 4, 5, 6]

    asyncio.run(main())


async def session(store: str, name: str) -> dict[str, Any]:
    """What a server that runs for a while finds, after it has written three versions."""
    storage = open_store(store)
    try:
        registry = InProcessRegistry(storage)
        ids = []
        for number in range(3):
            field = {"name": f"{name}{number}", "type": "int", "default": 0}
            reply = await registry.register("s", {"type": "record", "name": "R", "fields": [field]})
            ids.append(reply.json["id"])
        versions = json.loads((await registry.get("/subjects/s/versions")).text)
        return {"ids": ids, "versions": versions, "changes": await storage.changes(0, 100)}
    finally:
        await storage.close()


@pytest.fixture
def run_sql(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function that runs a statement on the tables of a store that no server has open."""

    def run(store: str, statement: str) -> None:
        if store.startswith("sqlite"):
            with sqlite3.connect(store.removeprefix("sqlite:///")) as connection:
                connection.execute(statement)
            return
        postgres: PostgresClient = request.getfixturevalue("postgres")
        postgres.run(f"SET search_path = counterfoil;;{statement}", database=store.rpartition("/")[2])

    return run
