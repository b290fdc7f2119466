"""While PostgreSQL is away, what is known is read from memory for a while, and says so; then all is as before."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.opening import open_store
from counterfoil.schema.errors import StoreUnavailable
from local_services import PostgresClient, PostgresServer, RegistryProcess, wait_until
from strategies.machine.tcp_proxy import TcpProxy
from strategies.registry.driver import InProcessRegistry, Reply
from strategies.registry.storm import is_typed_503, record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

WARNING = '110 - "Response is Stale"'
FIRST, SECOND = record("R", "a"), record("R", "a", "b")
LOOK_UP = {"schema": FIRST}
KNOWN = [
    "/schemas/ids/1",
    "/schemas/ids/1?fetchMaxId=false&subject=s",
    "/schemas/ids/2?subject=other",
    "/schemas/ids/1/schema",
    "/schemas/ids/1/subjects",
    "/schemas/ids/1/versions",
    "/subjects/s/versions",
    "/subjects/s/versions/1",
    "/subjects/s/versions/1?format=resolved",
    "/subjects/s/versions/latest",
    "/subjects/s/versions/2/schema",
    "/subjects",
    "/config",
    "/config/s?defaultToGlobal=true",
    "/mode",
]
UNKNOWN = ["/subjects?subjectPrefix=s", "/schemas", "/subjects/absent/versions", "/subjects/s/versions/9", "/changes"]


def through(url: str, port: int, **query: object) -> str:
    """The database at ``url``, by way of another port."""
    place, _, database = url.rpartition("/")
    settings = "&".join(f"{name}={value}" for name, value in query.items())
    return f"{place.rpartition(':')[0]}:{port}/{database}?{settings}"


@pytest.fixture
def network(postgres: PostgresClient) -> Iterator[TcpProxy]:
    """The way to the database."""
    with TcpProxy(postgres.port) as proxy:
        yield proxy


@asynccontextmanager
async def registry_on(url: str, **settings: Any) -> AsyncIterator[InProcessRegistry]:
    """A registry with two schemas in subject ``s``, where everything in ``KNOWN`` was requested once."""
    storage = open_store(url)
    try:
        registry = InProcessRegistry(storage, **settings)
        for schema in (FIRST, SECOND):
            assert (await registry.register("s", schema)).status == 200
        for path in KNOWN:
            await registry.get(path)
        assert (await registry.post("/subjects/s", LOOK_UP)).status == 200
        yield registry
    finally:
        await storage.close()


def is_stale(reply: Reply) -> bool:
    return reply.headers.get("warning") == WARNING


async def until(registry: InProcessRegistry, wanted: Callable[[Reply], bool]) -> None:
    """Return when the answer about a known id is as ``wanted``."""
    async with asyncio.timeout(120):
        async for reply in answers_of(registry):
            if wanted(reply):
                return


async def answers_of(registry: InProcessRegistry) -> AsyncIterator[Reply]:
    while True:
        yield await registry.get("/schemas/ids/1")
        await asyncio.sleep(0.001)  # what comes from memory leaves the event loop no turn


async def until_back(registry: InProcessRegistry) -> None:
    """Return when reads come from the store again."""
    await until(registry, lambda reply: reply.status == 200 and not is_stale(reply))


@pytest.mark.parametrize("settings", [{}, {"fast_lane": False}, {"compat_version": "6"}], ids=str)
def test_known_ids_and_versions_are_read_from_memory(postgres_url: str, network: TcpProxy, settings: Any) -> None:
    async def main() -> None:
        async with registry_on(through(postgres_url, network.port), **settings) as registry:
            before = {path: await registry.get(path) for path in KNOWN}
            looked_up = await registry.post("/subjects/s", LOOK_UP)
            with network.gone():
                await until(registry, is_stale)  # what was known of an id is used for some milliseconds without asking
                for path, there in before.items():
                    reply = await registry.get(path)
                    if path == "/subjects" and settings.get("fast_lane") is False:
                        assert is_typed_503(reply)  # lists are known as whole answers alone
                        continue
                    assert (reply.status, reply.body) == (there.status, there.body), path
                    assert is_stale(reply) or there.status != 200
                    assert not is_stale(there)
                reply = await registry.post("/subjects/s", LOOK_UP)
                assert (reply.body, is_stale(reply)) == (looked_up.body, True)
            await until_back(registry)
            for path in KNOWN:
                assert not is_stale(await registry.get(path)), path

    asyncio.run(main())


def test_what_is_not_known_and_every_write_is_refused(postgres_url: str, network: TcpProxy) -> None:
    """Without the store, no request is answered 404 from memory alone, and no schema is judged."""

    async def main() -> None:
        async with registry_on(through(postgres_url, network.port)) as registry:
            with network.gone():
                await registry.get("/schemas/ids/1")
                replies = [await registry.get(path) for path in UNKNOWN]
                replies += [
                    await registry.get("/subjects/s/versions?as_of=1"),
                    await registry.post("/compatibility/subjects/s/versions/latest", LOOK_UP),
                    await registry.register("s", FIRST),
                    await registry.register("s", record("R", "c")),
                    await registry.delete("/subjects/s"),
                    await registry.put("/config", {"compatibility": "FULL"}),
                ]
            for reply in replies:
                assert is_typed_503(reply), reply.text
                assert not is_stale(reply)

    asyncio.run(main())


def test_a_setting_turns_it_off(postgres_url: str, network: TcpProxy) -> None:
    async def main() -> None:
        async with registry_on(through(postgres_url, network.port), stale_reads_s=0) as registry:
            with network.gone():
                await until(registry, is_typed_503)
                assert (await registry.get("/health/ready")).status == 503

    asyncio.run(main())


def test_it_ends_after_its_time(postgres_url: str, network: TcpProxy) -> None:
    """Counted from the loss of the store; then reads are refused like writes, until the store is back."""

    async def main() -> None:
        url = through(postgres_url, network.port)
        async with registry_on(url, stale_reads_s=4) as registry:
            with network.gone():
                await until(registry, is_stale)
                ready = await registry.get("/health/ready")
                assert (ready.status, ready.json["steps"][0]["state"]) == (200, "stale reads")
                assert "writes are refused" in ready.json["steps"][0]["on"]
                await until(registry, is_typed_503)
                assert (await registry.get("/health/ready")).status == 503
            await until_back(registry)
            assert (await registry.get("/health/ready")).json["status"] == "ready"

    asyncio.run(main())


def test_writes_of_this_server_are_never_hidden(postgres_url: str, network: TcpProxy) -> None:
    """What was known before a write is not given after it, whether the store is there or not."""

    async def main() -> None:
        async with registry_on(through(postgres_url, network.port)) as registry:
            assert (await registry.register("s", record("R", "a", "b", "c"))).status == 200
            assert (await registry.delete("/subjects/s/versions/1")).status == 200
            assert (await registry.put("/config/s", {"compatibility": "FULL"})).status == 200
            with network.gone():
                for path in (
                    "/subjects/s/versions",
                    "/subjects/s/versions/1",
                    "/config/s",
                    "/subjects/s/versions/latest",
                ):
                    assert is_typed_503(await registry.get(path)), path
            await until_back(registry)
            assert (await registry.get("/subjects/s/versions")).json == [2, 3]
            with network.gone():
                reply = await registry.get("/subjects/s/versions")
                assert (reply.json, is_stale(reply)) == ([2, 3], True)

    asyncio.run(main())


def test_what_another_server_wrote_is_seen_as_soon_as_the_store_is_back(postgres_url: str, network: TcpProxy) -> None:
    """The servers are cut off from each other: one reads from memory, the other writes."""

    async def main() -> None:
        other = InProcessRegistry(open_store(postgres_url))
        try:
            async with registry_on(through(postgres_url, network.port)) as registry:
                with network.gone():
                    assert is_stale(await registry.get("/subjects/s/versions/latest"))
                    assert (await other.register("s", record("R", "a", "z"))).status == 200
                    await other.delete("/subjects/s/versions/1")
                    reply = await registry.get("/subjects/s/versions")
                    assert (reply.json, is_stale(reply)) == ([1, 2], True)
                await until_back(registry)
                assert (await registry.get("/subjects/s/versions")).json == [2, 3]
                assert (await registry.get("/subjects/s/versions/latest")).json["version"] == 3
        finally:
            await other.app.storage.close()

    asyncio.run(main())


def test_a_store_that_is_slow_to_answer_is_not_waited_for(postgres_url: str, network: TcpProxy) -> None:
    """The limit for a statement is long here: what is known is given long before, what is not is waited for."""

    async def main() -> None:
        async with registry_on(through(postgres_url, network.port, timeout_s=60)) as registry:
            network.latency_s = 4.0
            await until(registry, is_stale)
            for path in ("/schemas/ids/1", "/subjects/s/versions/latest?deleted=true"):
                assert is_stale(await registry.get(path))
            assert (await registry.get("/subjects?subjectPrefix=s")).json == ["s"]
            network.latency_s = 0.0
            await until_back(registry)

    asyncio.run(main())


def random_write(chance: random.Random) -> tuple[str, str, Any]:
    """Method, path and body of a write that may well succeed."""
    context = chance.choice(["", ":.c:"])
    subject = f"{context}s{chance.randrange(3)}"
    schema = record("R", *[f"f{number}" for number in range(chance.randrange(1, 5))])
    body: dict[str, Any] = {"schema": schema}
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            return "POST", f"/subjects/{subject}/versions", body
        case 4:
            fixed = {"id": chance.randrange(1, 9), "version": chance.randrange(1, 6)}
            return "POST", f"/subjects/i{chance.randrange(2)}/versions", body | fixed
        case 5:
            return "DELETE", f"/subjects/{subject}/versions/{chance.choice(['latest', '1', '2'])}", None
        case 6:
            return "DELETE", f"/subjects/{subject}?permanent={chance.choice(['true', 'false'])}", None
        case 7:
            return "PUT", f"/config/{subject}", {"compatibility": chance.choice(["NONE", "FULL"])}
        case 8:
            return "PUT", "/config/a", {"alias": f"s{chance.randrange(3)}"}
        case _:
            return "DELETE", "/contexts/.c", None


LATER = [
    *(f"/schemas/ids/{number}" for number in range(1, 9)),
    *(f"/schemas/ids/{number}/versions?subject=s1" for number in range(1, 9)),
    *(f"/subjects/{subject}/versions" for subject in ("s0", "s1", "s2", "a", "i0", "i1", ":.c:s0", ":.c:s1")),
    *(f"/subjects/{subject}/versions/latest" for subject in ("s0", "s1", "s2", "a", "i0", ":.c:s0")),
    *("/contexts", "/config", "/config/s1?defaultToGlobal=true", "/mode/s2?defaultToGlobal=true", "/subjects"),
]


@pytest.mark.parametrize("seed", range(2))
def test_memory_gives_what_the_store_gives(postgres_url: str, seed: int) -> None:
    """After any write, by this server or another one that this one heard of, what is in memory is still in force."""

    async def main() -> None:
        chance = random.Random(seed)
        given = 0
        other = InProcessRegistry(open_store(postgres_url))
        registry = InProcessRegistry(open_store(postgres_url))
        contact = registry.app.storage.contact
        try:
            for subject in ("i0", "i1"):
                await registry.put(f"/mode/{subject}", {"mode": "IMPORT"})
            for _ in range(30):
                method, path, body = random_write(chance)
                writer = chance.choice([registry, registry, other])
                text = None if body is None else json.dumps(body).encode()
                reply = await writer.ask(method, path, text, {"Content-Type": "application/json"})
                assert reply.status < 500, reply.text
                await registry.app.storage.catch_up()
                for read in chance.sample(LATER, 10):
                    contact.note_lost(StoreUnavailable("It is said to be away"))
                    remembered = await registry.get(read)
                    contact.note_reached()
                    there = await registry.get(read)
                    assert not is_stale(there)
                    if remembered.status != 503:
                        given += is_stale(remembered)  # what is known of an id is used for some milliseconds as it is
                        assert (remembered.status, remembered.body) == (there.status, there.body), (read, method, path)
        finally:
            await registry.app.storage.close()
            await other.app.storage.close()
        assert given > 10

    asyncio.run(main())


# --- as its users run it ----------------------------------------------------------------------------------------------


def ask(registry: RegistryProcess, path: str) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=120)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    finally:
        connection.close()


def post(registry: RegistryProcess, subject: str, schema: Any) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=120)
    try:
        body = json.dumps({"schema": schema})
        connection.request("POST", f"/subjects/{subject}/versions", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    finally:
        connection.close()


def lines_of(log: Path, level: str) -> list[dict[str, Any]]:
    """The lines of a level about the store."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line["levelname"] == level and line["name"].endswith(".store")]


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    """A database that can be stopped without harm to others."""
    with PostgresServer() as running:
        yield running


@pytest.mark.parametrize("way", ["killed", "paused"])
def test_clients_that_start_during_a_fail_over_are_served(
    own_postgres: PostgresServer, tmp_path: Path, way: str
) -> None:
    log = tmp_path / "registry.log"
    database = own_postgres.create_database(f"fail_over_{way}")
    with RegistryProcess(store=f"{database}?timeout_s=5", log=log) as registry:
        assert post(registry, "s", FIRST).status == 200
        before = ask(registry, "/schemas/ids/1"), ask(registry, "/subjects/s/versions/latest")
        if way == "killed":
            own_postgres.kill()
            check_away(registry, before)
            own_postgres.restart()
        else:
            with own_postgres.paused():
                check_away(registry, before)
        wait_until(lambda: not is_stale(ask(registry, "/schemas/ids/1")), what="the store to be back")
        assert post(registry, "s", SECOND).status == 200
        assert ask(registry, "/subjects/s/versions/latest").json["version"] == 2
    lost, back = lines_of(log, "ERROR"), lines_of(log, "INFO")
    assert [line["message"] for line in lost] == ["the store is lost"]
    assert "PostgreSQL" in lost[0]["cause"]
    assert [line["message"] for line in back] == ["the store is back"]
    assert back[0]["lost_for_s"] > 0


def check_away(registry: RegistryProcess, before: tuple[Reply, Reply]) -> None:
    wait_until(lambda: is_stale(ask(registry, "/schemas/ids/1")), what="the loss to be noticed")
    for path, there in zip(("/schemas/ids/1", "/subjects/s/versions/latest"), before, strict=True):
        for _ in range(5):
            reply = ask(registry, path)
            assert (reply.status, reply.body, is_stale(reply)) == (200, there.body, True)
    assert is_typed_503(post(registry, "s", SECOND))
    ready = ask(registry, "/health/ready")
    assert (ready.status, ready.json["steps"][0]["state"]) == (200, "stale reads")
    counted = re.search(r"^counterfoil_stale_answers_total (\S+)$", ask(registry, "/metrics").text, re.MULTILINE)
    assert counted is not None
    assert float(counted[1]) >= 10


def test_the_loss_of_the_store_is_noticed_without_a_request(own_postgres: PostgresServer, tmp_path: Path) -> None:
    log = tmp_path / "registry.log"
    database = own_postgres.create_database("idle")
    with RegistryProcess(store=database, log=log):
        own_postgres.kill()
        wait_until(lambda: lines_of(log, "ERROR") != [], what="the loss to be noticed")
        own_postgres.restart()
        wait_until(lambda: lines_of(log, "INFO") != [], what="the return to be noticed")


def test_a_removed_file_is_reported_and_reads_go_on(tmp_path: Path) -> None:
    """A SQLite file is read as it was opened, which is not stale: nobody else writes it."""
    log, file = tmp_path / "registry.log", tmp_path / "registry.db"
    with RegistryProcess(store=f"sqlite:///{file}", log=log) as registry:
        assert post(registry, "s", FIRST).status == 200
        file.rename(tmp_path / "away.db")
        wait_until(lambda: lines_of(log, "ERROR") != [], what="the loss to be noticed")
        reply = ask(registry, "/schemas/ids/1")
        assert (reply.status, is_stale(reply)) == (200, False)
        assert is_typed_503(post(registry, "s", SECOND))
        assert ask(registry, "/health/ready").status == 503
        (tmp_path / "away.db").rename(file)
        wait_until(lambda: lines_of(log, "INFO") != [], what="the return to be noticed")
    assert len(lines_of(log, "ERROR")) == 1
