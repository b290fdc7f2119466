"""The registry on a PostgreSQL behind PgBouncer in transaction mode, where no connection is anybody's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.changes import WrittenChanges
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.protocol import StorageRecord
from counterfoil.registry.store.writes import NO_REQUEST, StaleWrite
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import SubjectPrefix, parse_subject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.versions import Visibility
from local_services import PgBouncer, PostgresClient, RegistryProcess, wait_until
from strategies.machine.tcp_proxy import TcpProxy
from strategies.registry.driver import InProcessRegistry
from strategies.registry.invariants import violations
from strategies.registry.storm import PATIENT, Storm, is_typed_503, record
from strategies.registry.write_plans import put_record, version_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

POOLED = 3


@pytest.fixture(scope="module")
def pooler(postgres: PostgresClient) -> Iterator[PgBouncer]:
    """Fewer connections than there are callers, so that they change hands with every transaction."""
    with PgBouncer(postgres.port, pool_size=POOLED) as running:
        yield running


@pytest.fixture
def pooled_url(postgres_url: str, pooler: PgBouncer) -> str:
    return on_port(postgres_url, pooler.port)


def on_port(url: str, port: int) -> str:
    place, _, database = url.rpartition("/")
    return f"{place.rpartition(':')[0]}:{port}/{database}"


def test_all_that_a_store_does_is_done(pooled_url: str) -> None:
    """The plans and reads of a storage, each of them, with more callers than connections."""
    subjects = [parse_subject(f"s{number}") for number in range(30)]

    async def main() -> None:
        storage = open_store(f"{pooled_url}?pool_size=20")
        try:
            stamp = await storage.settings_revision()
            contents = [make_content(f'"c{number}"', SchemaType.AVRO) for number in range(30)]
            pairs = zip(subjects, contents, strict=True)
            plans = [version_plan(subject, content, settings_revision=stamp) for subject, content in pairs]
            outcomes = await asyncio.gather(*(storage.commit(plan, by=NO_REQUEST) for plan in plans))
            assert sorted(outcome.registered[0][0] for outcome in outcomes) == [*range(1, 31)]
            for _ in range(3):
                histories = await asyncio.gather(*(storage.history(subject) for subject in subjects))
                assert [history.entries[0].guid for history in histories] == [content.guid for content in contents]
                found = await asyncio.gather(*(storage.content(content.guid) for content in contents))
                assert found == contents
                uses = await asyncio.gather(*(storage.uses(".", number) for number in range(1, 31)))
                assert all(len(use) == 1 for use in uses)
                ids = await asyncio.gather(*(storage.id_of_guid(".", content.guid) for content in contents))
                assert sorted(number for number in ids if number is not None) == [*range(1, 31)]
            assert await storage.subjects(SubjectPrefix(None, ""), Visibility.WITH_DELETED) == sorted(subjects, key=str)
            assert [change.seq for change in await storage.changes(0, 100)] == [*range(1, 31)]
            with pytest.raises(StaleWrite):
                await storage.commit(plans[0], by=NO_REQUEST)
            await put_record(storage, "k", ("a", "b"), {"x": 1})
            (stored,) = await storage.records("k", ("a",))
            assert isinstance(stored, StorageRecord)
            assert stored.document == {"x": 1}
            await storage.check()
        finally:
            await storage.close()

    asyncio.run(main())


@pytest.mark.parametrize("servers", [1, 2])
def test_servers_behind_it_write_at_once(pooled_url: str, servers: int) -> None:
    """Each server's statements have the names that the other's have too, if it prepares any."""
    running = [RegistryProcess(store=f"{pooled_url}?timeout_s=300", settings=PATIENT) for _ in range(servers)]
    try:
        urls = [registry.url for registry in running]
        with Storm([urls[number % servers] for number in range(4)]) as storm:
            wait_until(lambda: storm.story.acknowledged() > 120, what="writes")
        assert (storm.surprises, storm.refusals) == ([], [])
        for url in urls:
            assert violations(url, storm.story, max_lookups=30) == []
    finally:
        for registry in running:
            registry.stop()


@pytest.mark.parametrize("query", ["", "?prepared_statements=off"])
def test_a_write_costs_two_round_trips(postgres_url: str, pooler: PgBouncer, query: str) -> None:
    """One to have the statement read and one to carry it out; more than that would be somebody else's work."""

    async def main(port: int) -> tuple[int, Any]:
        storage = open_store(on_port(postgres_url, port) + query)
        try:
            registry = InProcessRegistry(storage)
            assert (await registry.register("s", record("R", "a"))).status == 200
            stamp = await storage.settings_revision()
            plan = version_plan(parse_subject("t"), make_content('"t"', SchemaType.AVRO), settings_revision=stamp)
            before = network.round_trips
            outcome = await storage.commit(plan, by=NO_REQUEST)
            return network.round_trips - before, outcome
        finally:
            await storage.close()

    with TcpProxy(pooler.port) as network:
        trips, outcome = asyncio.run(main(network.port))
    assert isinstance(outcome, WrittenChanges)
    assert trips == 2


def test_it_is_noticed(pooled_url: str, postgres_url: str) -> None:
    """Nothing has to be set for it: statements are prepared on a connection of one's own alone."""

    async def main(url: str) -> bool | None:
        storage = open_store(url)
        try:
            await storage.check()
            connections: Any = storage
            return connections._connections._is_prepared
        finally:
            await storage.close()

    assert asyncio.run(main(pooled_url)) is False
    assert asyncio.run(main(postgres_url)) is True


def test_statements_that_fail_behind_it_leave_the_others_alone(pooled_url: str, postgres: PostgresClient) -> None:
    """The tables go and come back under load: an error in the middle of a statement mixes up no answers."""
    database = pooled_url.rpartition("/")[2]
    store = f"{pooled_url}?timeout_s=300"
    with RegistryProcess(store=store, settings=PATIENT) as registry, Storm([registry.url] * 4) as storm:
        for _ in range(2):
            enough = storm.story.acknowledged() + 20
            wait_until(lambda enough=enough: storm.story.acknowledged() > enough, what="writes")
            postgres.run("ALTER SCHEMA counterfoil RENAME TO away", database=database)
            told = len(storm.refusals) + 10
            wait_until(lambda told=told: len(storm.refusals) >= told, what="refusals")
            postgres.run("ALTER SCHEMA away RENAME TO counterfoil", database=database)
        enough = storm.story.acknowledged() + 20
        wait_until(lambda: storm.story.acknowledged() > enough, what="writes afterwards")
        storm.end()
        assert storm.surprises == []
        assert {reply.json["error_code"] for reply in storm.refusals} == {50001}
        assert violations(registry.url, storm.story, max_lookups=30) == []


def test_a_pooler_that_goes_away_is_reported_and_the_server_continues(
    postgres: PostgresClient, postgres_url: str
) -> None:
    async def main(url: str) -> None:
        storage = open_store(url)
        try:
            registry = InProcessRegistry(storage)
            assert (await registry.register("s", record("R", "a"))).status == 200
            await asyncio.to_thread(alone.kill)
            for reply in await asyncio.gather(registry.register("t", record("R", "a")), registry.get("/subjects")):
                assert is_typed_503(reply)
            await asyncio.to_thread(alone.restart)
            assert (await registry.register("t", record("R", "a"))).status == 200
        finally:
            await storage.close()

    with PgBouncer(postgres.port) as alone:
        asyncio.run(main(on_port(postgres_url, alone.port)))
