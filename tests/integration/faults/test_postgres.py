"""A PostgreSQL that is slow, silent, read-only, full or crowded: typed answers, and all is well when it is again."""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.writes import NO_REQUEST
from local_services import PostgresClient, PostgresServer, RegistryProcess, wait_until
from local_services.postgres import unprivileged_user
from strategies.machine.small_disks import can_mount, filled, small_disk
from strategies.machine.tcp_proxy import TcpProxy
from strategies.registry.driver import InProcessRegistry
from strategies.registry.invariants import UNCERTAIN, Connection, violations
from strategies.registry.storm import Storm, is_said, is_typed_503, record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

LATENCY_S = 0.002
READS = [
    "/subjects",
    "/subjects/s/versions",
    "/subjects/s/versions/latest",
    "/subjects/s/versions/1/schema",
    "/subjects/s/versions/1/referencedby",
    "/schemas",
    "/schemas/ids/1",
    "/schemas/ids/1/schema",
    "/schemas/ids/1/subjects",
    "/schemas/ids/1/versions",
    "/contexts",
    "/config",
    "/config/s?defaultToGlobal=true",
    "/mode",
    "/health/ready",
]


def through(url: str, port: int, **query: object) -> str:
    """The database at ``url``, by way of another port."""
    place, _, database = url.rpartition("/")
    settings = "&".join(f"{name}={value}" for name, value in query.items())
    return f"{place.rpartition(':')[0]}:{port}/{database}?{settings}"


@pytest.fixture
def network(postgres: PostgresClient) -> Iterator[TcpProxy]:
    """The way to the database, which a test can make slow, silent, or cut."""
    with TcpProxy(postgres.port) as proxy:
        yield proxy


@asynccontextmanager
async def registry_on(url: str) -> AsyncIterator[InProcessRegistry]:
    """A registry with one schema in subject ``s``."""
    storage = open_store(url)
    try:
        registry = InProcessRegistry(storage, stale_reads_s=0)  # what is in memory is tested elsewhere
        await until_well(registry, "a")
        yield registry
    finally:
        await storage.close()


async def every_operation(registry: InProcessRegistry) -> list[Any]:
    """The answers to all kinds of reads and writes, asked at once."""
    return await asyncio.gather(
        *(registry.get(path) for path in READS),
        registry.post("/subjects/s", {"schema": record("R", "a")}),
        registry.post("/compatibility/subjects/s/versions/latest", {"schema": record("R", "a", "b")}),
        *writes(registry),
    )


def writes(registry: InProcessRegistry) -> list[Any]:
    return [
        registry.register("s", record("R", "a", "b")),
        registry.register("other", record("R", "c")),
        registry.delete("/subjects/s/versions/1"),
        registry.delete("/subjects/s"),
        registry.put("/config", {"compatibility": "FULL"}),
        registry.put("/mode/s", {"mode": "READONLY"}),
    ]


def is_refusal(reply: Any) -> bool:
    """Whether an answer is a 503 with all that belongs to it; that of ``/health/ready`` has a shape of its own."""
    if "steps" in reply.json:
        return reply.status == 503 and reply.headers["retry-after"] == "1"
    return is_typed_503(reply)


async def until_well(registry: InProcessRegistry, *fields: str) -> None:
    """Return when a schema with these fields is taken, by default a new one; within two minutes, or the test fails."""
    async with asyncio.timeout(120):
        while (await registry.register("s", record("R", *(fields or ("a", "well"))))).status != 200:
            continue
    assert (await registry.get("/health/ready")).status == 200


# --- the network ------------------------------------------------------------------------------------------------------


def test_waiting_writes_share_one_round_trip(postgres_url: str, network: TcpProxy) -> None:
    """A write that finds nobody writing costs one round trip; those that come meanwhile cost one together."""
    network.latency_s = LATENCY_S
    url = through(postgres_url, network.port, pool_size=1)

    async def main() -> None:
        async with registry_on(url) as registry:
            storage = registry.app.storage
            commit = storage.commit
            plans = await plans_for(registry, range(65))
            before = network.round_trips
            await commit(plans[0], by=NO_REQUEST)
            assert network.round_trips - before == 1
            before = network.round_trips
            await asyncio.gather(*(commit(plan, by=NO_REQUEST) for plan in plans[1:]))
            assert network.round_trips - before == 1

    asyncio.run(main())


async def plans_for(registry: InProcessRegistry, numbers: range) -> list[Any]:
    from counterfoil.registry.subjects.versions import make_content
    from counterfoil.schema.contexts import parse_subject
    from counterfoil.schema.model import SchemaType
    from strategies.registry.write_plans import version_plan

    stamp = await registry.app.storage.settings_revision()
    return [
        version_plan(
            parse_subject(f"p{number}"),
            make_content(record("P", f"f{number}"), SchemaType.AVRO),
            settings_revision=stamp,
        )
        for number in numbers
    ]


def test_a_network_that_stalls_is_reported_in_time_and_the_server_continues(
    postgres_url: str, network: TcpProxy
) -> None:
    limit_s = 0.5

    async def main() -> None:
        async with registry_on(through(postgres_url, network.port, timeout_s=limit_s, pool_size=4)) as registry:
            with network.stalled():
                replies = await every_operation(registry)
            assert all(is_refusal(reply) for reply in replies), [reply.text for reply in replies]
            assert {reply.code for reply in replies if reply.code} == {50002}
            await until_well(registry)

    asyncio.run(main())


def test_a_connection_that_is_cut_costs_reads_nothing(postgres_url: str, network: TcpProxy) -> None:
    async def main() -> None:
        async with registry_on(through(postgres_url, network.port, pool_size=2)) as registry:
            for _ in range(5):
                network.cut()
                assert (await registry.get("/subjects/s/versions")).json == [1]
            network.cut()
            await until_well(registry)

    asyncio.run(main())


def test_a_write_whose_answer_is_lost_is_reported_as_uncertain(postgres_url: str, network: TcpProxy) -> None:
    async def main() -> None:
        async with registry_on(through(postgres_url, network.port, pool_size=1)) as registry:
            (plan,) = await plans_for(registry, range(1))
            with network.deaf():
                outcome = (
                    await asyncio.gather(registry.app.storage.commit(plan, by=NO_REQUEST), return_exceptions=True)
                )[0]
            assert UNCERTAIN in str(outcome)
            assert (await registry.get("/subjects/p0/versions")).json == [1]  # it was carried out, and whole
            assert (await registry.register("p0", record("P", "f0"))).json["version"] == 1

    asyncio.run(main())


MIN_FAULTS = 4


def uncertain(storm: Storm) -> bool:
    """Whether some write of the storm was answered as one that may have been carried out."""
    return any(UNCERTAIN in reply.json["message"] for reply in list(storm.refusals))


def test_a_network_that_is_cut_and_deaf_under_load_loses_nothing(postgres_url: str, network: TcpProxy) -> None:
    url = through(postgres_url, network.port, timeout_s=2)
    with RegistryProcess(store=url) as one, RegistryProcess(store=url) as other:
        with Storm([one.url, other.url] * 2) as storm:
            for turn in itertools.count():
                if turn >= MIN_FAULTS and uncertain(storm):  # whether a write was under way is up to chance
                    break
                enough = storm.story.acknowledged() + 30
                wait_until(lambda enough=enough: storm.story.acknowledged() > enough, what="writes")
                if turn % 2:
                    with network.deaf():
                        told = len(storm.refusals) + 2
                        wait_until(lambda told=told: len(storm.refusals) >= told, what="refusals")
                else:
                    network.cut()
            enough = storm.story.acknowledged() + 30
            wait_until(lambda: storm.story.acknowledged() > enough, what="writes afterwards")
        assert storm.surprises == []
        assert violations(one.url, storm.story, max_lookups=50) == []
        assert violations(other.url, storm.story, max_lookups=50) == []


# --- the database itself ----------------------------------------------------------------------------------------------


def alter(postgres: PostgresClient, url: str, setting: str) -> None:
    """Change a setting of the database at ``url`` for its connections, which begin anew."""
    database = url.rpartition("/")[2]
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    postgres.run(f'ALTER DATABASE "{database}" {setting};;{end}')


def test_a_read_only_database_answers_reads_and_refuses_writes(postgres: PostgresClient, postgres_url: str) -> None:
    with RegistryProcess(store=postgres_url) as registry:
        with Storm([registry.url] * 3) as storm:
            wait_until(lambda: storm.story.acknowledged() > 40, what="writes before")
            alter(postgres, postgres_url, "SET default_transaction_read_only = on")
            wait_until(lambda: is_said("read-only", storm), what="refusals")
            connection = Connection(registry.url)
            for path in ("/subjects", "/schemas", "/schemas/ids/1", "/config", "/health/ready"):
                connection.get(path)
            connection.close()
            alter(postgres, postgres_url, "RESET default_transaction_read_only")
            enough = storm.story.acknowledged() + 40
            wait_until(lambda: storm.story.acknowledged() > enough, what="writes afterwards")
        assert storm.surprises == []
        assert violations(registry.url, storm.story, max_lookups=50) == []


def test_an_exhausted_pool_is_reported(postgres_url: str) -> None:
    """The only connection waits for a lock; whoever needs one meanwhile is told that there is none."""

    async def main() -> None:
        async with registry_on(f"{postgres_url}?pool_size=1&timeout_s=0.5") as registry:
            async with locked(postgres_url, "LOCK TABLE counterfoil.subjects"):
                paths = [f"/subjects?subjectPrefix={number}" for number in range(8)]
                replies = await asyncio.gather(*map(registry.get, paths))
            assert all(is_typed_503(reply) for reply in replies)
            assert any("pool_size" in reply.text for reply in replies)
            await until_well(registry)

    asyncio.run(main())


@asynccontextmanager
async def locked(url: str, lock: str = "SELECT FROM counterfoil.stamps FOR UPDATE") -> AsyncIterator[None]:
    """Somebody holds a lock, the one that every write needs by default."""
    holder = await asyncpg.connect(url)
    try:
        async with holder.transaction():
            await holder.execute(lock)
            yield
    finally:
        await holder.close()


def test_a_statement_that_the_database_ends_was_not_carried_out(postgres: PostgresClient, postgres_url: str) -> None:
    async def main() -> None:
        async with registry_on(postgres_url) as registry:
            await asyncio.to_thread(alter, postgres, postgres_url, "SET statement_timeout = 300")
            async with locked(postgres_url):
                reply = await registry.register("s", record("R", "a", "b"))
            assert is_typed_503(reply)
            assert (reply.code, UNCERTAIN in reply.text) == (50002, False)
            assert "statement_timeout" in reply.text
            assert (await registry.get("/subjects/s/versions")).json == [1]
            await until_well(registry)

    asyncio.run(main())


def test_too_many_connections_are_reported(postgres: PostgresClient, postgres_url: str) -> None:
    database = postgres_url.rpartition("/")[2]
    postgres.run(
        f"CREATE ROLE few_{database} LOGIN CONNECTION LIMIT 0;;GRANT CREATE ON DATABASE {database} TO few_{database}"
    )

    async def main() -> None:
        url = postgres_url.replace("counterfoil@", f"few_{database}@")
        await limit(5)
        async with registry_on(url) as registry:
            storage: Any = registry.app.storage
            await storage._connections.close()
            await limit(0)
            replies = await every_operation(registry)
            assert all(is_refusal(reply) for reply in replies), [reply.text for reply in replies]
            assert any("too many connections" in reply.text for reply in replies)
            await limit(5)
            await until_well(registry)

    async def limit(connections: int) -> None:
        await asyncio.to_thread(postgres.run, f"ALTER ROLE few_{database} CONNECTION LIMIT {connections}")

    asyncio.run(main())
    postgres.run(f"DROP OWNED BY few_{database};;DROP ROLE few_{database}", database=database)


def test_tables_that_are_gone_are_reported(postgres: PostgresClient, postgres_url: str) -> None:
    database = postgres_url.rpartition("/")[2]

    async def main() -> None:
        async with registry_on(postgres_url) as registry:
            await asyncio.to_thread(postgres.run, "ALTER SCHEMA counterfoil RENAME TO away", database=database)
            replies = await every_operation(registry)
            assert all(is_refusal(reply) for reply in replies), [reply.text for reply in replies]
            assert any("missing" in reply.text for reply in replies)
            await asyncio.to_thread(postgres.run, "ALTER SCHEMA away RENAME TO counterfoil", database=database)
            await until_well(registry)

    asyncio.run(main())


def test_a_subject_too_long_for_an_index_is_refused_alone(postgres_url: str) -> None:
    async def main() -> None:
        async with registry_on(postgres_url) as registry:
            name = "".join(chr(33 + (number * number * 31 + number // 7) % 90) for number in range(9000))
            name = "".join(letter for letter in name if letter.isalnum())
            replies = await asyncio.gather(
                *(registry.register(f"s{number}", record("R", "a")) for number in range(10)),
                registry.register(name, record("R", "a")),
            )
            assert {reply.status for reply in replies[:-1]} == {200}
            assert (replies[-1].status, replies[-1].code) in {(422, 42209), (422, 42208), (200, None)}

    asyncio.run(main())


if can_mount():

    def test_a_full_disk_is_reported_and_forgotten(open_folder: Path) -> None:
        # A server of its own: while one disk is full, no database of the whole server can be removed.
        with small_disk(open_folder, size_mb=40) as disk, PostgresServer() as postgres:
            user = unprivileged_user()
            assert user is not None
            os.chown(disk, user.pw_uid, user.pw_gid)
            postgres.run(f"CREATE TABLESPACE small LOCATION '{disk}'")
            postgres.run("CREATE DATABASE on_a_small_disk TABLESPACE small")
            check_full_disk(postgres.url("on_a_small_disk"), disk)
            postgres.drop_database("on_a_small_disk")
            postgres.run("DROP TABLESPACE small")

    def check_full_disk(url: str, disk: Path) -> None:
        with RegistryProcess(store=url) as registry:
            with Storm([registry.url] * 3) as storm:
                wait_until(lambda: storm.story.acknowledged() > 40, what="writes before")
                with filled(disk):
                    wait_until(lambda: is_said("disk is full", storm), what="refusals")
                    connection = Connection(registry.url)
                    for path in ("/subjects", "/schemas", "/schemas/ids/1", "/config", "/health/ready"):
                        connection.get(path)
                    connection.close()
                enough = storm.story.acknowledged() + 40
                wait_until(lambda: storm.story.acknowledged() > enough, what="writes afterwards")
            assert storm.surprises == []
            assert violations(registry.url, storm.story, max_lookups=50) == []
