"""The entity tags of pages: they change with what a page shows, and with who may see it; an equal one saves reading."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.memory import MemoryStorage
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.store.changes import JournalChange
    from counterfoil.registry.subjects.versions import SubjectHistory
    from counterfoil.schema.contexts import QualifiedSubject

OF_JOURNAL = ["/ui/subjects", "/ui/subjects/a/versions/1", "/ui/ids/1", "/ui/changes", "/ui/rules", "/ui/help"]
OF_CONTENT = ["/ui", "/ui/subjects/a", "/ui/subjects/a/elements?path=x", "/ui/compare?from=a@1&to=a@1"]
SCHEMA = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "string"}]}


class CountedStorage(MemoryStorage):
    """A store that counts what is read of it, but for the number of the last change."""

    reads = 0

    async def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        self.reads += 1
        return await super().changes(after, limit)

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        self.reads += 1
        return await super().history(subject)


def run(story: Callable[[InProcessRegistry], Awaitable[Any]], **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(**settings)))


async def again(registry: InProcessRegistry, path: str, tag: str, **headers: str) -> Reply:
    return await registry.ask("GET", path, None, {"If-None-Match": tag, **headers})


@pytest.mark.parametrize("path", [*OF_JOURNAL, *OF_CONTENT])
def test_a_page_is_sent_again_after_a_change_alone(path: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", SCHEMA)
        first = await registry.get(path)
        same = await again(registry, path, first.headers["etag"])
        assert (first.status, same.status, same.body) == (200, 304, b"")
        assert same.headers["etag"] == first.headers["etag"]
        assert same.headers["cache-control"] == "private, no-cache"
        await registry.register("b", {"type": "enum", "name": "B", "symbols": ["X"]})
        changed = await again(registry, path, first.headers["etag"])
        assert changed.status == 200
        assert changed.headers["etag"] != first.headers["etag"]

    run(story)


@pytest.mark.parametrize("path", OF_JOURNAL)
def test_nothing_is_read_for_a_page_that_the_browser_has(path: str) -> None:
    storage = CountedStorage()

    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", SCHEMA)
        first = await registry.get(path)
        before = storage.reads
        assert (await again(registry, path, first.headers["etag"])).status == 304
        assert storage.reads == before

    run(story, storage=storage)


def test_tags_differ_by_path_query_and_moment() -> None:
    async def story(registry: InProcessRegistry) -> list[str]:
        await registry.register("a", SCHEMA)
        await registry.register("a", {**SCHEMA, "doc": "second"})
        paths = [
            "/ui/subjects",
            "/ui/subjects?prefix=a",
            "/ui/subjects?as_of=1",
            "/ui/ids/1",
            "/ui/subjects/a/versions/1",
        ]
        return [(await registry.get(path)).headers["etag"] for path in paths]

    tags = run(story)
    assert len(set(tags)) == len(tags)


def test_a_caller_with_other_rights_gets_no_304() -> None:
    """The tag of somebody who may read more is not accepted from somebody who may read less."""

    async def story(registry: InProcessRegistry) -> None:
        await registry.send("POST", "/subjects/own.s/versions", "admin", {"schema": '"int"'})
        await registry.send("POST", "/subjects/foreign.s/versions", "admin", {"schema": '"int"'})
        of_admin = await registry.send("GET", "/ui/subjects", "admin")
        tag = of_admin.headers["etag"]
        assert "foreign.s" in of_admin.text
        assert (await registry.send("GET", "/ui/subjects", "admin", If_None_Match=tag)).status == 304
        of_reader = await registry.send("GET", "/ui/subjects", "reader", If_None_Match=tag)
        assert of_reader.status == 200
        assert "foreign.s" not in of_reader.text
        version = "/ui/subjects/own.s/versions/1"
        tag = (await registry.send("GET", version, "reader")).headers["etag"]
        assert (await registry.send("GET", version, "reader", If_None_Match=tag)).status == 304
        assert (await registry.send("GET", version, "nobody", If_None_Match=tag)).status == 403

    run(story, access=access())
