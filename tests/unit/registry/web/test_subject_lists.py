"""The list of subjects: a thousand of them, page by page, by prefix, context, and with the deleted ones."""

from __future__ import annotations

import asyncio
import html
import re

import pytest

from strategies.registry.driver import InProcessRegistry

COUNT = 1000
ROW = re.compile(r'<tr( class="gone")?><th scope="row"><a class="n" href="[^"]*"><bdi>([^<]*)</bdi>')
NEXT = re.compile(r'href="([^"]*)" rel="next"')
PLAIN = [f"orders.{number:04}" for number in range(COUNT - 100)]
EUROPEAN = [f":.eu:orders.{number:04}" for number in range(100)]
GONE = [*PLAIN[5:900:50], EUROPEAN[3]]


async def filled() -> InProcessRegistry:
    registry = InProcessRegistry()
    for each in (*PLAIN, *EUROPEAN):
        assert (await registry.register(each, '"string"')).status == 200
    for each in GONE:
        assert (await registry.delete(f"/subjects/{each}")).status == 200
    return registry


async def listed(registry: InProcessRegistry, query: str) -> tuple[list[str], list[str], int]:
    """Return the subjects of all pages that follow one another, those marked as deleted, and the number of pages."""
    path, found, gone, pages = f"/ui/subjects{query}", [], [], 0
    while path:
        text = (await registry.get(path)).text
        rows = [(bool(mark), html.unescape(name)) for mark, name in ROW.findall(text)]
        assert len(rows) <= 100
        found += [name for _, name in rows]
        gone += [name for mark, name in rows if mark]
        following = NEXT.search(text)
        path = html.unescape(following[1]) if following else ""
        pages += 1
    return found, gone, pages


@pytest.mark.slow
def test_every_filter_over_a_thousand_subjects() -> None:
    active = [each for each in PLAIN if each not in GONE], [each for each in EUROPEAN if each not in GONE]

    async def check(registry: InProcessRegistry, query: str, expected: list[str], gone: list[str], pages: int) -> None:
        assert await listed(registry, query) == (expected, gone, pages), query

    async def story() -> None:
        registry = await filled()
        checks: list[tuple[str, list[str], list[str], int]] = [
            ("", [*active[0], *active[1]], [], 10),
            ("?deleted=true", [*PLAIN, *EUROPEAN], GONE, 10),
            ("?prefix=orders.01", [each for each in active[0] if each.startswith("orders.01")], [], 1),
            ("?prefix=orders.00&deleted=true", [*PLAIN[:100], *EUROPEAN], [*GONE[:2], EUROPEAN[3]], 2),
            ("?context=.eu", active[1], [], 1),
            ("?context=.eu&prefix=orders.000", [each for each in active[1] if "orders.000" in each], [], 1),
            ("?prefix=:.eu:orders.009", [each for each in active[1] if "orders.009" in each], [], 1),
            ("?context=.&prefix=orders.08", [each for each in active[0] if "orders.08" in each], [], 1),
            ("?prefix=none", [], [], 1),
            ("?sort=changed", [*active[0], *active[1]], [], 10),
        ]  # fmt: skip
        for each in checks:
            await check(registry, *each)

    asyncio.run(story())


def test_the_changes_of_a_subject_are_the_newest_hundred() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        for number in range(130):
            level = "FULL" if number % 2 else "NONE"
            await registry.put("/config/s", {"compatibility": level})
        await registry.post("/subjects/s/versions", {"schema": '"int"'})
        page = (await registry.get("/ui/subjects/s?tab=changes")).text
        rows = re.findall(r'data-label="change">(\d+)<', page)
        assert [int(each) for each in rows] == list(range(131, 31, -1))

    asyncio.run(story())
