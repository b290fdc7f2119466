"""The change feed and the past over every storage, and with several servers on one database."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from counterfoil.registry.store.changes import JournalChangeKind, WrittenChanges
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.postgres.news import MAX_TOLD
from counterfoil.schema.contexts import parse_subject
from strategies.registry.driver import InProcessRegistry
from strategies.registry.earlier_moments import STORY, check_every_moment
from strategies.registry.event_listener import InProcessListener

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage

WRITERS = 6
TURNS = 8


def record(*fields: str) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "R",
        "fields": [{"name": field, "type": "int", "default": 0} for field in fields],
    }


async def write(registry: InProcessRegistry, writer: int) -> None:
    """Registrations, deletions and settings, in subjects that others write too."""
    chance = random.Random(writer)
    for turn in range(TURNS):
        subject = f"s{chance.randrange(4)}"
        match chance.randrange(6):
            case 0:
                await registry.delete(f"/subjects/{subject}")
            case 1:
                await registry.put(f"/config/{subject}", {"compatibility": chance.choice(["NONE", "FULL"])})
            case _:
                await registry.register(subject, record(f"f{writer}_{turn}"))


def test_every_storage_answers_as_of_each_moment(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        await check_every_moment(STORY, storage, every=3)

    run(behaviour)


def test_listeners_hear_all_changes_in_order_while_many_write(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        early = InProcessListener(registry.app)
        await asyncio.gather(*(write(registry, writer) for writer in range(WRITERS)))
        last = await storage.last_change()
        late = InProcessListener(registry.app, f"/changes?after={last // 2}")
        await early.has(last)
        await late.has(last - last // 2)
        assert early.seqs == list(range(1, last + 1))
        assert late.seqs == list(range(last // 2 + 1, last + 1))
        assert [block["data"] for block in early.blocks if "data" in block] == await all_changes(registry)
        await asyncio.gather(early.hang_up(), late.hang_up())

    run(behaviour)


def test_what_is_read_after_the_last_change_has_it(run: Any) -> None:
    """While others write, the versions of a subject are never older than the last change that was read before them."""

    async def behaviour(storage: Storage) -> None:
        registry = InProcessRegistry(storage)
        subjects = [parse_subject(f"s{number}") for number in range(4)]
        writing = asyncio.gather(*(write(registry, writer) for writer in range(WRITERS)))
        reads = 0
        while not writing.done():
            last = await storage.last_change()
            await storage.catch_up()
            for subject in subjects:
                found = await storage.history(subject)
                earlier = await storage.changes_of(subject, last)
                versions = [each.seq for each in earlier if each.version is not None]
                assert found.revision >= max(versions, default=0), (subject, last)
            reads += 1
            await asyncio.sleep(0)
        await writing
        assert reads > 1

    run(behaviour)


async def all_changes(registry: InProcessRegistry) -> list[Any]:
    found, page = [], {"next": 0, "more": True}
    while page["more"]:
        page = (await registry.get(f"/changes?after={page['next']}&limit=7")).json
        found += page["changes"]
    return found


def test_servers_on_one_database_tell_the_same_at_once(postgres_url: str) -> None:
    async def main() -> None:
        storages = [open_store(postgres_url) for _ in range(2)]
        one, other = (InProcessRegistry(storage) for storage in storages)
        listeners = [InProcessListener(registry.app) for registry in (one, other)]
        await asyncio.gather(*(listener.has_begun() for listener in listeners))
        await asyncio.gather(*(write((one, other)[writer % 2], writer) for writer in range(WRITERS)))
        last = await storages[0].last_change()
        await asyncio.gather(*(listener.has(last) for listener in listeners))
        assert listeners[0].seqs == listeners[1].seqs == list(range(1, last + 1))
        assert await all_changes(one) == await all_changes(other)

        for number in range(6):
            assert (await one.register(f"new{number}", record("f"))).status == 200
            await listeners[1].has(last + number + 1)
        await asyncio.gather(*(listener.hang_up() for listener in listeners))
        for storage in storages:
            await storage.close()

    asyncio.run(main())


def test_what_other_servers_did_is_reported_change_by_change(postgres_url: str) -> None:
    async def main() -> None:
        storages = [open_store(postgres_url) for _ in range(2)]
        one, other = (InProcessRegistry(storage) for storage in storages)
        told: list[Any] = []
        storages[0].observe(told.append)
        await storages[0].catch_up()

        await other.register("s", record("f"))
        await other.register("t", record("g"))
        await storages[0].catch_up()
        await storages[0].catch_up()
        [news] = told
        assert isinstance(news, WrittenChanges)
        assert [(change.kind, str(change.subject)) for change in news.changes] == [
            (JournalChangeKind.REGISTERED, "s"),
            (JournalChangeKind.REGISTERED, "t"),
        ]

        told.clear()
        await one.register("u", record("h"))
        await storages[0].catch_up()
        [news] = told  # its own write, when it was carried out, and not again as another server's
        assert [(change.kind, str(change.subject)) for change in news.changes] == [(JournalChangeKind.REGISTERED, "u")]

        told.clear()
        await other.put("/config/s", {"compatibility": "NONE"})
        await storages[0].catch_up()
        [news] = told
        assert [change.kind for change in news.changes] == [JournalChangeKind.SETTINGS]
        assert news.has_new_terms

        told.clear()
        await other.register("s", record("x"))
        await one.delete("/subjects/t")  # which looks first at what others have written
        await storages[0].catch_up()
        news = [change for each in told for change in each.changes]
        assert [(change.kind, str(change.subject)) for change in news] == [
            (JournalChangeKind.REGISTERED, "s"),
            (JournalChangeKind.DELETED, "t"),
        ]
        for storage in storages:
            await storage.close()

    asyncio.run(main())


def test_too_much_to_tell_is_anything_at_all(postgres_url: str) -> None:
    async def main() -> None:
        storages = [open_store(postgres_url) for _ in range(2)]
        told: list[Any] = []
        storages[0].observe(told.append)
        await storages[0].catch_up()
        other = InProcessRegistry(storages[1])
        await asyncio.gather(*(other.register(f"s{number}", record("f")) for number in range(MAX_TOLD + 1)))
        await storages[0].catch_up()
        assert told == [None]
        for storage in storages:
            await storage.close()

    asyncio.run(main())


PATHS = [
    *(f"/schemas/ids/{number}" for number in range(1, 9)),
    *(f"/subjects/{subject}/versions{rest}" for subject in "ab" for rest in ("", "/latest", "/1")),
    "/subjects",
    "/contexts",
    "/subjects/:.c:a/versions/latest",
]


async def write_anything(writer: InProcessRegistry, chance: random.Random) -> None:
    subject, field = chance.choice("ab"), f"f{chance.randrange(6)}"
    match chance.randrange(10):
        case 0:
            await writer.delete(f"/subjects/{subject}/versions/latest")
        case 1:
            await writer.delete(f"/subjects/{subject}")
            await writer.delete(f"/subjects/{subject}?permanent=true")
        case 2:
            await writer.put(f"/config/{subject}", {"alias": chance.choice(["a", "b", ""])})
        case 3:
            await writer.register(":.c:a", record(field))
        case 4:
            await writer.delete("/subjects/:.c:a")
            await writer.delete("/subjects/:.c:a?permanent=true")
            await writer.delete("/contexts/.c")
        case _:
            await writer.register(subject, record(field))


async def check_same(plain: InProcessRegistry, *kept: InProcessRegistry) -> None:
    for path in PATHS:
        expected = await plain.get(path)
        for registry in kept:
            found = await registry.get(path)
            assert (path, found.status, found.text) == (path, expected.status, expected.text)
    body = {"schema": '{"type":"record","name":"R","fields":[{"name":"f1","type":"int","default":0}]}'}
    expected = await plain.post("/subjects/a", body)
    for registry in kept:
        assert (await registry.post("/subjects/a", body)).text == expected.text


def test_what_is_kept_in_memory_never_outlives_a_write_on_another_server(postgres_url: str) -> None:
    """Each read, of whatever kind, on either server, directly after each answered write, against the store itself."""

    async def main() -> None:
        storages = [open_store(postgres_url) for _ in range(3)]
        one, other = (InProcessRegistry(storage) for storage in storages[:2])
        plain = InProcessRegistry(storages[2], fast_lane=False)
        chance = random.Random(7)
        await one.put("/config", {"compatibility": "NONE"})
        for _ in range(40):
            await write_anything(chance.choice((one, other)), chance)
            await check_same(plain, one, other)
        for storage in storages:
            await storage.close()

    asyncio.run(main())
