"""The change feed: pages and events, in order, without a gap, and cheap for many."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.app import assemble
from counterfoil.registry.changes.feed import Feed
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.changes import ScopeSettings
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import StoreUnavailable
from strategies.registry.driver import InProcessRegistry, Reply
from strategies.registry.event_listener import InProcessListener
from strategies.registry.write_plans import put


class WatchedStorage(MemoryStorage):
    """A storage that counts the reads of its journal, and can be away."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.is_away = False

    async def changes(self, after: int, limit: int) -> Any:
        if self.is_away:
            raise StoreUnavailable("The store is away")
        self.reads += 1
        return await super().changes(after, limit)


async def change(storage: MemoryStorage, name: str = "s") -> None:
    """One more change: settings of ``name`` that say nothing."""
    scope = QualifiedSubject(".", name)
    await put(storage, scope, ScopeSettings())


async def told_story() -> InProcessRegistry:
    registry = InProcessRegistry()
    await registry.register("s", '"int"')
    await registry.put("/config/s", {"compatibility": "NONE", "alias": "t"})
    await registry.put("/config/s", {"alias": None})
    await registry.register(":.c:s", '"string"')
    await registry.delete("/subjects/:.c:s")
    await registry.delete("/subjects/:.c:s?permanent=true")
    await registry.delete("/contexts/.c")
    await registry.put("/mode", {"mode": "READONLY"})
    return registry


def ask(*paths: str) -> list[Reply]:
    async def main() -> list[Reply]:
        registry = await told_story()
        return [await registry.get(path) for path in paths]

    return asyncio.run(main())


def test_a_page_tells_what_has_happened_in_order() -> None:
    [reply] = ask("/changes")
    page = reply.json
    assert (page["next"], page["more"]) == (8, False)
    assert [each["seq"] for each in page["changes"]] == list(range(1, 9))
    assert [(each["kind"], each["subject"], each["context"]) for each in page["changes"]] == [
        ("version-registered", "s", "."),
        ("settings-changed", "s", "."),
        ("settings-changed", "s", "."),
        ("version-registered", ":.c:s", ".c"),
        ("version-deleted", ":.c:s", ".c"),
        ("version-removed", ":.c:s", ".c"),
        ("context-deleted", ":.c:", ".c"),
        ("settings-changed", "", "."),
    ]
    first, second = page["changes"][0], page["changes"][1]
    assert (first["version"], first["id"], len(first["guid"])) == (1, 1, 36)
    assert first["time"].endswith("Z")
    assert "document" not in first
    assert second["document"] == {"config": {"compatibility": "NONE", "alias": "t"}}
    assert "version" not in second
    assert page["changes"][7]["document"] == {"mode": "READONLY"}


@pytest.mark.parametrize(
    ("query", "seqs", "following", "more"),
    [
        ("after=3&limit=2", [4, 5], 5, True),
        ("after=6&limit=2", [7, 8], 8, True),
        ("after=8", [], 8, False),
        ("after=latest", [], 8, False),
        ("limit=1&kind=version-deleted", [5], 5, True),
        ("after=5&limit=1&kind=version-deleted", [], 8, False),
        ("kind=version-deleted,version-removed", [5, 6], 8, False),
        ("kind=context-deleted&kind=version-removed", [6, 7], 8, False),
        ("subjectPrefix=s", [1, 2, 3], 8, False),
        ("subjectPrefix=", [1, 2, 3, 8], 8, False),
        ("subjectPrefix=:.c:", [4, 5, 6, 7], 8, False),
        ("subjectPrefix=:*:s", [1, 2, 3, 4, 5, 6], 8, False),
    ],
)
def test_pages_and_filters(query: str, seqs: list[int], following: int, *, more: bool) -> None:
    [reply] = ask(f"/changes?{query}")
    page = reply.json
    assert ([each["seq"] for each in page["changes"]], page["next"], page["more"]) == (seqs, following, more)


def test_a_context_in_the_path_and_one_subject() -> None:
    context, subject, elsewhere, page, kind = ask(
        "/contexts/.c/changes",
        "/subjects/s/changes",
        "/contexts/.c/subjects/s/changes",
        "/subjects/s/changes?after=1&limit=1",
        "/subjects/s/changes?kind=version-registered",
    )
    assert [each["seq"] for each in context.json["changes"]] == [4, 5, 6, 7]
    assert [each["seq"] for each in subject.json["changes"]] == [1, 2, 3]
    assert [each["seq"] for each in elsewhere.json["changes"]] == [4, 5, 6]
    assert ([each["seq"] for each in page.json["changes"]], page.json["next"], page.json["more"]) == ([2], 2, True)
    assert [each["seq"] for each in kind.json["changes"]] == [1]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("after=9", "after is 9, but the last change here is 8"),
        ("after=-1", "expected the number of a change, or latest"),
        ("after=x", "expected the number of a change, or latest"),
        ("after=" + "9" * 30, "expected the number of a change, or latest"),
        ("limit=0", "limit is '0'; expected a number from 1 to 1000"),
        ("limit=1001", "expected a number from 1 to 1000"),
        ("limit=%C2%B2", "expected a number from 1 to 1000"),
        ("kind=version-lost", "expected one of version-registered, version-deleted"),
    ],
)
def test_a_wrong_parameter_is_refused(query: str, problem: str) -> None:
    replies = ask(f"/changes?{query}", f"/subjects/s/changes?{query}")
    assert all((reply.status, problem in reply.json["message"]) == (400, True) for reply in replies)


@given(st.integers(1, 40), st.integers(1, 7), st.sampled_from(["", "&subjectPrefix=a", "&subjectPrefix=c"]))
def test_pages_put_together_are_the_journal(count: int, limit: int, chosen: str) -> None:
    async def main() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        for number in range(count):
            await change(storage, "ab"[number % 2])
        found, after, more = [], 0, True
        while more:
            page = (await registry.get(f"/changes?after={after}&limit={limit}{chosen}")).json
            found += [each["seq"] for each in page["changes"]]
            after, more = page["next"], page["more"]
        every = {"": range(1, count + 1), "&subjectPrefix=a": range(1, count + 1, 2)}.get(chosen, ())
        assert (found, after) == (list(every), count)

    asyncio.run(main())


@pytest.mark.slow
def test_a_page_of_a_long_journal_without_what_is_wanted_goes_on_all_the_same() -> None:
    async def main() -> None:
        storage = MemoryStorage()
        registry = InProcessRegistry(storage)
        for _ in range(10_500):
            await change(storage)
        page = (await registry.get("/changes?kind=version-removed")).json
        assert page == {"changes": [], "next": 10_000, "more": True}
        page = (await registry.get("/changes?kind=version-removed&after=10000")).json
        assert page == {"changes": [], "next": 10_500, "more": False}

    asyncio.run(main())


# --- events -----------------------------------------------------------------------------------------------------------


def app_over(storage: Any, *, heartbeat_s: float = 15.0) -> Any:
    return assemble(storage, ServerSettings(store="sqlite://"), heartbeat_s=heartbeat_s)


def test_events_are_the_changes() -> None:
    async def main() -> None:
        registry = await told_story()
        listener = InProcessListener(registry.app)
        await listener.has(8)
        page = (await registry.get("/changes")).json
        events = [block for block in listener.blocks if "data" in block]
        assert [event["data"] for event in events] == page["changes"]
        assert [(event["id"], event["event"]) for event in events] == [
            (str(each["seq"]), each["kind"]) for each in page["changes"]
        ]
        await listener.hang_up()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "headers", "seqs"),
    [
        ("/changes?after=6", {}, [7, 8, 9]),
        ("/changes?after=6", {"last-event-id": ""}, [7, 8, 9]),
        ("/changes?after=latest", {}, [9]),
        ("/changes?after=2", {"last-event-id": "7"}, [8, 9]),
        ("/changes?after=latest&kind=settings-changed", {"last-event-id": "1"}, [2, 3, 8, 9]),
        ("/contexts/.c/changes", {}, [4, 5, 6, 7]),
        ("/changes", {"accept": "text/event-stream, application/json;q=0.5"}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_events_begin_where_it_is_requested(path: str, headers: dict[str, str], seqs: list[int]) -> None:
    async def main() -> None:
        registry = await told_story()
        listener = InProcessListener(registry.app, path, headers)
        await listener.has_begun()
        await registry.put("/mode", {"mode": "READWRITE"})
        await listener.has(len(seqs))
        assert listener.seqs == seqs
        await listener.hang_up()

    asyncio.run(main())


def test_what_cannot_be_sent_as_events_is_an_ordinary_error() -> None:
    async def main() -> None:
        storage = WatchedStorage()
        registry = InProcessRegistry(storage)
        headers = {"Accept": "text/event-stream"}
        assert (await registry.ask("GET", "/changes?after=5", headers=headers)).status == 400
        assert (await registry.ask("GET", "/changes", headers={**headers, "Last-Event-ID": "x"})).status == 400
        assert (await registry.ask("GET", "/changes", headers={"Accept": "text/html"})).status == 406
        head = await registry.ask("HEAD", "/changes", headers=headers)
        assert (head.status, head.media_type, head.text) == (200, "text/event-stream", "")

    asyncio.run(main())


def test_a_heartbeat_tells_how_far_it_is() -> None:
    async def main() -> None:
        storage = MemoryStorage()
        listener = InProcessListener(app_over(storage, heartbeat_s=0.02), "/changes?kind=version-removed")
        for number in (3, 5):
            while int(await storage.last_change()) < number:
                await change(storage)
            await listener.until(partial(_has_come_to, listener, number), what=f"change {number}")
        assert listener.seqs == []
        assert all("comment" in block or "retry" in block for block in listener.blocks)
        await listener.hang_up()

    asyncio.run(main())


def _has_come_to(listener: InProcessListener, number: int) -> bool:
    return any(block.get("id") == str(number) for block in listener.blocks)


LISTENERS = 300


@pytest.mark.slow
def test_hundreds_of_listeners_cost_one_read_a_change() -> None:
    async def main() -> None:
        storage = WatchedStorage()
        app = app_over(storage)
        await change(storage)
        listeners = [InProcessListener(app, "/changes?after=latest") for _ in range(LISTENERS)]
        await asyncio.gather(*(listener.has_begun() for listener in listeners))
        await change(storage)
        for listener in listeners:
            await listener.has(1)
        before = storage.reads
        for number in range(2, 7):
            await change(storage)
            for listener in listeners:
                await listener.has(number)
        assert storage.reads - before <= 5
        assert all(listener.seqs == [2, 3, 4, 5, 6, 7] for listener in listeners)
        await asyncio.gather(*(listener.hang_up() for listener in listeners))

    asyncio.run(main())


@pytest.mark.slow
def test_a_slow_reader_waits_for_itself_alone_and_misses_nothing() -> None:
    async def main() -> None:
        storage = WatchedStorage()
        app = app_over(storage)
        slow, quick = InProcessListener(app), InProcessListener(app)
        slow.is_reading.clear()
        total = 9000  # more than the newest that are kept
        for _ in range(total // 100):
            for _ in range(100):
                await change(storage)
            await asyncio.sleep(0)
        await quick.has(total)
        assert slow.seqs == []
        slow.is_reading.set()
        await slow.has(total)
        assert slow.seqs == quick.seqs == list(range(1, total + 1))
        await asyncio.gather(slow.hang_up(), quick.hang_up())

    asyncio.run(main())


def test_the_newest_changes_are_bounded_by_their_size() -> None:
    async def main() -> None:
        storage = WatchedStorage()
        feed = Feed(storage, kept_bytes=10_000)
        with feed.listening():
            await feed.news.wait()
            for _ in range(100):
                news = feed.news
                await change(storage)
                await news.wait()
            before = storage.reads
            assert [each.seq for each in await feed.after(95, 64)] == [96, 97, 98, 99, 100]
            assert storage.reads == before
            assert [each.seq for each in await feed.after(10, 3)] == [11, 12, 13]
            assert storage.reads == before + 1

    asyncio.run(main())


def test_listeners_wait_for_a_store_that_cannot_be_reached() -> None:
    async def main() -> None:
        storage = WatchedStorage()
        app = app_over(storage, heartbeat_s=0.05)
        listener = InProcessListener(app)
        await change(storage)
        await listener.has(1)
        storage.is_away = True
        await change(storage)
        await asyncio.sleep(0)
        late = InProcessListener(app)
        await late.has_begun()
        storage.is_away = False
        await listener.has(2)
        await late.has(2)
        assert listener.seqs == late.seqs == [1, 2]
        await asyncio.gather(listener.hang_up(), late.hang_up())

    asyncio.run(main())


def test_streams_end_when_the_server_does_and_nobody_polls_for_nobody() -> None:
    async def main() -> None:
        storage = MemoryStorage()
        app = app_over(storage)
        idle, stalled = InProcessListener(app), InProcessListener(app)
        await asyncio.gather(idle.has_begun(), stalled.has_begun())
        stalled.is_reading.clear()
        await change(storage)
        await idle.has(1)
        app.lifecycle.stop()
        await asyncio.wait_for(asyncio.gather(idle.task, stalled.task, return_exceptions=True), 120)
        assert json.dumps(idle.seqs) == "[1]"
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
