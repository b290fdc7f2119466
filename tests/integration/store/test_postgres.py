"""The registry on PostgreSQL: several servers on one database, and what happens when something goes away."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import threading
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.postgres.connections import parse_address
from counterfoil.registry.store.writes import StoreNotUsable
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable
from counterfoil.schema.exit_codes import ExitCode
from local_services import PostgresClient, PostgresServer, RegistryProcess, free_port, wait_until
from strategies.registry.driver import InProcessRegistry
from strategies.registry.served import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES = 2
ROUNDS = 3
INT, LONG = (json.dumps(name) for name in ("int", "long"))


def record(name: str, *fields: str) -> dict[str, Any]:
    """A record schema that any other of the same name is compatible with."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": "int", "default": 0} for field in fields],
    }


# --- several servers on one database ----------------------------------------------------------------------------------


@pytest.fixture
def nodes(postgres_url: str) -> Callable[..., None]:
    """Run a coroutine function with the registries of several servers on one database."""

    def run(story: Callable[..., Any], *, query: str = "") -> None:
        async def main() -> None:
            storages = [open_store(postgres_url + query) for _ in range(NODES)]
            try:
                await story(*(InProcessRegistry(storage) for storage in storages))
            finally:
                for storage in storages:
                    await storage.close()

        asyncio.run(main())

    return run


def test_each_node_sees_at_once_what_was_written_to_another(nodes: Any) -> None:
    async def story(one: InProcessRegistry, other: InProcessRegistry) -> None:
        for number in range(1, 20):
            assert (await one.register("s", record("R", f"f{number}"))).json["id"] == number
            assert (await other.get("/subjects/s/versions/latest")).json["version"] == number
            assert (await other.get(f"/schemas/ids/{number}")).json["version"] == number
        assert (await one.put("/config/s", {"compatibility": "NONE"})).status == 200
        assert (await other.register("s", INT)).status == 200
        assert (await other.put("/mode/s", {"mode": "READONLY"})).status == 200
        assert (await one.register("s", LONG)).code == 42205
        assert (await one.put("/mode/s", {"mode": "READWRITE"})).status == 200
        assert (await one.put("/config/s", {"alias": "t"})).status == 200
        assert (await other.get("/subjects/s/versions")).code == 40401

    nodes(story)


def test_what_a_node_remembers_goes_when_another_deletes_it(nodes: Any) -> None:
    async def story(one: InProcessRegistry, other: InProcessRegistry) -> None:
        assert (await one.register("s", INT)).json["id"] == 1
        for registry in (one, other, one, other):
            assert (await registry.get("/schemas/ids/1")).status == 200
        await other.delete("/subjects/s")
        assert (await one.get("/schemas/ids/1")).status == 200
        await other.delete("/subjects/s?permanent=true")
        assert (await one.get("/schemas/ids/1")).code == 40403
        assert (await other.get("/schemas/ids/1")).code == 40403

    nodes(story)


@pytest.mark.parametrize("query", ["", "?prepared_statements=off"])
@pytest.mark.parametrize("subjects", [1, 40])
def test_writers_on_all_nodes_get_ids_and_versions_of_their_own(nodes: Any, subjects: int, query: str) -> None:
    """Half of what the nodes are sent is the same: it must get one id, and one version in each subject."""

    async def story(*registries: InProcessRegistry) -> None:
        answers: dict[str, set[int]] = {}

        async def writer(node: int, number: int) -> None:
            for turn in range(6):
                shared = turn % 2
                field = f"f_{number}_{turn}" if shared else f"f_{node}_{number}_{turn}"
                subject = f"s{(number * 7 + turn) % subjects}"
                reply = await registries[node].register(subject, record("R", field))
                assert reply.status == 200, reply.text
                answers.setdefault(field, set()).add(reply.json["id"])

        await asyncio.gather(*(writer(node, number) for node in range(NODES) for number in range(8)))
        assert all(len(ids) == 1 for ids in answers.values())
        assert sorted(min(ids) for ids in answers.values()) == list(range(1, len(answers) + 1))
        for registry in registries:
            await check_versions(registry, expected=len(answers))

    nodes(story, query=query)


async def check_versions(registry: InProcessRegistry, *, expected: int) -> None:
    """Every subject counts its versions from 1 without a gap, and there are as many as were answered."""
    found = 0
    for subject in (await registry.get("/subjects")).json:
        versions = (await registry.get(f"/subjects/{subject}/versions")).json
        assert versions == list(range(1, len(versions) + 1))
        found += len(versions)
    assert found == expected


def test_random_operations_on_all_nodes_leave_nothing_broken(nodes: Any) -> None:
    """Registrations, references, deletions and settings at once: no unexpected answer, no dangling id or reference."""
    allowed = {200, 404, 409, 422}

    async def story(*registries: InProcessRegistry) -> None:
        given: list[int] = []

        async def client(registry: InProcessRegistry, chance: random.Random) -> None:
            for _ in range(40):
                reply = await operation(registry, chance)
                assert reply.status in allowed, reply.text
                if reply.status == 200 and isinstance(reply.json, dict) and "id" in reply.json:
                    given.append(reply.json["id"])

        await asyncio.gather(*(client(registry, random.Random(n)) for n in range(6) for registry in registries))
        await check_references(registries[0])
        fresh = await registries[1].register("fresh", record("Fresh", "f"))
        assert fresh.json["id"] > max(given)

    nodes(story)


def operation(registry: InProcessRegistry, chance: random.Random) -> Any:
    subject = f"s{chance.randrange(5)}"
    match chance.randrange(12):
        case 0:
            return registry.delete(f"/subjects/{subject}")
        case 1:
            return registry.delete(f"/subjects/{subject}?permanent=true")
        case 2:
            return registry.delete(f"/subjects/{subject}/versions/latest")
        case 3:
            return registry.put(f"/config/{subject}", {"compatibility": chance.choice(["NONE", "FULL"])})
        case 4:
            references = [{"name": "R", "subject": f"s{chance.randrange(5)}", "version": -1}]
            return registry.register(subject, record(f"U{chance.randrange(4)}", "f"), references=references)
        case 5:
            return registry.get(f"/schemas/ids/{chance.randrange(1, 20)}")
        case 6:
            return registry.get(f"/subjects/{subject}/versions/latest")
        case _:
            return registry.register(subject, record("R", f"f{chance.randrange(30)}"))


async def check_references(registry: InProcessRegistry) -> None:
    """Every stored version can be read by its id, and every reference points at a version that is there."""
    schemas = (await registry.get("/schemas?deleted=true")).json
    assert schemas
    for stored in schemas:
        by_id = await registry.get(f"/schemas/ids/{stored['id']}")
        assert by_id.json["schema"] == stored["schema"]
        for reference in stored.get("references", []):
            path = f"/subjects/{reference['subject']}/versions/{reference['version']}?deleted=true"
            assert (await registry.get(path)).status == 200


def test_a_pooler_that_loses_prepared_statements_is_noticed(postgres_url: str) -> None:
    async def main() -> None:
        storage = open_store(f"{postgres_url}?pool_size=1")
        try:
            registry = InProcessRegistry(storage)
            assert (await registry.register("s", INT)).status == 200
            connections: Any = storage
            await connections._connections.rows("DEALLOCATE ALL")
            assert (await registry.get("/subjects/s/versions")).json == [1]
            assert (await registry.register("s", INT)).status == 200
        finally:
            await storage.close()

    asyncio.run(main())


def test_it_runs_on_the_programs_that_are_fetched_too() -> None:
    with PostgresServer(fetched=True) as newer:
        assert newer.run("SHOW server_version")[0][0].startswith("17.")
        with RegistryProcess(store=newer.url()) as registry:
            assert post(f"{registry.url}/subjects/s/versions", "int")[1]["id"] == 1
            newer.kill()
            newer.restart()
            wait_until(lambda: answers(f"{registry.url}/subjects"), what="the server to notice the database")
            assert get(f"{registry.url}/subjects") == ["s"]


# --- a database that is slow, or gone ---------------------------------------------------------------------------------


def test_a_write_that_waits_too_long_is_refused_and_the_next_succeeds(postgres_url: str) -> None:
    import asyncpg

    async def main() -> None:
        storage = open_store(f"{postgres_url}?timeout_s=0.5")
        registry = InProcessRegistry(storage)
        holder = await asyncpg.connect(postgres_url)
        try:
            async with holder.transaction():
                await holder.execute("SELECT FROM counterfoil.stamps FOR UPDATE")
                reply = await registry.register("s", INT)
                assert (reply.status, reply.code) == (503, StoreTimeout.code)
                assert reply.headers["retry-after"] == "1"
                assert (await registry.get("/subjects")).json == []
            assert (await registry.register("s", INT)).json["id"] == 1
        finally:
            await holder.close()
            await storage.close()

    asyncio.run(main())


def test_more_requests_than_connections_wait_their_turn(postgres_url: str) -> None:
    async def main() -> None:
        storage = open_store(f"{postgres_url}?pool_size=2")
        registry = InProcessRegistry(storage)
        try:
            replies = await asyncio.gather(*(registry.register(f"s{number}", INT) for number in range(100)))
            assert {reply.status for reply in replies} == {200}
        finally:
            await storage.close()

    asyncio.run(main())


def test_a_database_that_hangs_is_reported_in_time_and_the_server_continues(own_postgres: PostgresServer) -> None:
    limit_s = 0.5

    async def main() -> None:
        storage = open_store(f"{own_postgres.url()}?timeout_s={limit_s}&pool_size=3")
        registry = InProcessRegistry(storage, stale_reads_s=0)  # what is in memory is tested elsewhere
        try:
            assert (await registry.register("s", INT)).status == 200
            with own_postgres.paused():
                asked = [registry.register(f"s{number}", INT) for number in range(10)]
                asked += [registry.get("/subjects"), registry.get("/schemas/ids/1"), registry.get("/health/ready")]
                replies = await asyncio.gather(*asked)
                assert {reply.status for reply in replies} == {503}
            async with asyncio.timeout(120):
                while (await registry.register("s", LONG)).status == 503:
                    continue
            assert (await registry.get("/schemas/ids/1")).status == 200
        finally:
            await storage.close()

    asyncio.run(main())


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


def post(url: str, schema: Any) -> tuple[int, Any, dict[str, str]]:
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.status, json.load(reply), dict(reply.headers)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), dict(error.headers)


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=120) as reply:
        return json.load(reply)


class Writers:
    """Threads that register new schemas, until they are told to stop; they keep every answer."""

    def __init__(self, urls: list[str], *, name: str) -> None:
        self.answers: dict[tuple[str, int], dict[str, Any]] = {}
        self.refusals: list[tuple[int, Any, dict[str, str]]] = []
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(url, f"{name}_{number}")) for number, url in enumerate(urls)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, url: str, name: str) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            subject = f"s{number % 7}"
            try:
                status, body, headers = post(f"{url}/subjects/{subject}/versions", record("R", f"f_{name}_{number}"))
            except (OSError, http.client.HTTPException, json.JSONDecodeError):  # the server is gone
                return
            if status == 200:
                self.answers[subject, body["version"]] = body
            else:
                self.refusals.append((status, body, headers))

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def check_answers(url: str, answers: dict[tuple[str, int], dict[str, Any]]) -> None:
    """Everything that was answered is there as it was answered; no id was given to two."""
    for (subject, version), answer in answers.items():
        stored = get(f"{url}/subjects/{subject}/versions/{version}")
        assert (stored["id"], stored["schema"]) == (answer["id"], answer["schema"])
    ids = [answer["id"] for answer in answers.values()]
    assert len(set(ids)) == len(ids)


def test_a_killed_server_loses_nothing_and_hinders_nobody(postgres_url: str) -> None:
    moments = random.Random(7)
    answers: dict[tuple[str, int], dict[str, Any]] = {}
    with RegistryProcess(store=postgres_url) as stays, RegistryProcess(store=postgres_url) as killed:
        for turn in range(ROUNDS):
            writers = Writers([stays.url, killed.url] * 2, name=f"w{turn}")
            enough = moments.randrange(20, 120)
            wait_until(lambda writers=writers, enough=enough: len(writers.answers) >= enough, what="registrations")
            killed.kill()
            more = len(writers.answers) + 20
            wait_until(lambda writers=writers, more=more: len(writers.answers) >= more, what="the other server")
            writers.stop()
            assert writers.refusals == []
            assert not answers.keys() & writers.answers.keys()
            answers.update(writers.answers)
            killed.restart()
        check_answers(killed.url, answers)
        for subject in get(f"{stays.url}/subjects"):
            versions = get(f"{stays.url}/subjects/{subject}/versions")
            assert versions == list(range(1, len(versions) + 1))


def test_a_killed_database_is_reported_and_everything_continues_when_it_is_back(own_postgres: PostgresServer) -> None:
    settings = {"COUNTERFOIL_STALE_READS_S": "0"}  # what is in memory is tested elsewhere
    with RegistryProcess(store=own_postgres.url(), settings=settings) as registry:
        writers = Writers([registry.url] * 4, name="w")
        for turn in range(2):
            enough = len(writers.answers) + 20
            wait_until(lambda enough=enough: len(writers.answers) >= enough, what="registrations")
            own_postgres.kill()
            told = len(writers.refusals) + 8
            wait_until(lambda told=told: len(writers.refusals) >= told, what="refusals")
            assert waits_on_the_store(registry.url), turn
            own_postgres.restart()
        enough = len(writers.answers) + 20
        wait_until(lambda: len(writers.answers) >= enough, what="registrations after the restart")
        writers.stop()
        for status, body, headers in writers.refusals:
            assert (status, body["error_code"], headers["retry-after"]) == (503, StoreUnavailable.code, "1"), body
        check_answers(registry.url, writers.answers)
        assert get(f"{registry.url}/health/ready")["status"] == "ready"


def answers(url: str) -> bool:
    """Whether a GET succeeds."""
    try:
        get(url)
    except urllib.error.HTTPError:
        return False
    return True


def waits_on_the_store(url: str) -> bool:
    """Whether the server says that it is not ready, and lives all the same."""
    assert get(f"{url}/health/live")["status"] == "live"
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(f"{url}/health/ready")
    steps = json.load(refused.value)["steps"]
    return refused.value.code == 503 and steps[0]["state"] == "waiting"


# --- a database that cannot be the store ------------------------------------------------------------------------------


def refused(store: str) -> str:
    """The one line that ``counterfoil serve`` ends with."""
    status, [line] = refusal(store=store, environment={"PGPASSWORD": ""})
    assert status == ExitCode.PRECONDITION, line
    return line


def test_a_server_that_is_not_there_is_named() -> None:
    port = free_port()
    said = refused(f"postgresql://me:secret@127.0.0.1:{port}/registry")
    assert f"postgresql://me@127.0.0.1:{port}/registry" in said
    assert "cannot be reached" in said
    assert "secret" not in said


def test_a_database_that_is_not_there_is_named(postgres: PostgresClient) -> None:
    assert 'database "nothing" does not exist' in refused(postgres.url("nothing"))


def test_a_wrong_password_is_reported(postgres: PostgresClient) -> None:
    postgres.run("DROP ROLE IF EXISTS guarded;;CREATE ROLE guarded LOGIN PASSWORD 'right';;SELECT 1")
    said = refused(postgres.url().replace("counterfoil@", "guarded:wrong@"))
    assert "refuses the user" in said
    assert "wrong" not in said


def test_a_user_who_may_not_create_tables_is_reported(postgres: PostgresClient, postgres_url: str) -> None:
    role = f"r{uuid.uuid4().hex[:8]}"
    postgres.run(f"CREATE ROLE {role} LOGIN;;SELECT 1")
    assert "may not create" in refused(postgres_url.replace("counterfoil@", f"{role}@"))


def test_a_read_only_server_is_reported(postgres: PostgresClient, postgres_url: str) -> None:
    database = postgres_url.rpartition("/")[2]
    postgres.run(f"ALTER DATABASE {database} SET default_transaction_read_only = on;;SELECT 1")
    assert "read-only" in refused(postgres_url)


def test_a_schema_of_another_program_is_reported(postgres: PostgresClient, postgres_url: str) -> None:
    postgres.run("CREATE SCHEMA counterfoil;;SELECT 1", database=postgres_url.rpartition("/")[2])
    assert "another program" in refused(postgres_url)


@pytest.mark.parametrize("query", ["pool_size=0", "pool_size=2.5", "timeout_s=-1", "prepared_statements=maybe"])
def test_a_setting_in_the_url_that_cannot_be_is_named(query: str) -> None:
    with pytest.raises(StoreNotUsable, match=query.partition("=")[0]):
        parse_address(f"postgresql://h/d?{query}")


def test_of_servers_that_start_at_once_one_makes_the_tables(postgres_url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        opened = [threads.submit(open_store, postgres_url) for _ in range(6)]
        assert all(each.result() for each in opened)
