"""Pages to be printed: one page without windows, with its address and its time in the foot."""

from __future__ import annotations

import asyncio
import html
import json
import re
from typing import TYPE_CHECKING

import pytest

from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FIELDS = 620
"""More than the rows of two windows of elements, and than the lines of two windows of a source."""

FOOT = re.compile(r'<span class="printed">Printed <time[^>]*>20\d\d[^<]*</time> UTC from <bdi class="n">([^<]*)</bdi>')


def record(count: int) -> str:
    fields = [{"name": f"f{number}", "type": "string", "default": ""} for number in range(count)]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def run(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    async def whole() -> None:
        registry = InProcessRegistry(public_url="https://kafka.example/schemas")
        for count in (FIELDS - 1, FIELDS):
            assert (await registry.register("wide", record(count))).status == 200
        await story(registry)

    asyncio.run(whole())


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("/ui/subjects/wide/versions/2", r'<tr id="e-f\d+"'),
        ("/ui/subjects/wide/versions/2?view=source", r'<li id="L\d+"'),
        ("/ui/subjects/wide/versions/2?as_of=2", r'<tr id="e-f\d+"'),
    ],
)
def test_a_printed_page_has_all_rows(path: str, row: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        usual = await registry.get(path)
        link = re.search(r'href="/schemas(/ui[^"]*print=1)"', usual.text)
        assert link is not None
        assert "printed" not in usual.text.partition("<footer>")[2].replace("print.css", "")
        printed = await registry.get(html.unescape(link[1]))
        assert printed.status == 200
        assert len(re.findall(row, usual.text)) < FIELDS <= len(re.findall(row, printed.text))
        assert 'class="next"' in usual.text
        assert 'class="next"' not in printed.text
        foot = FOOT.search(printed.text)
        assert foot is not None
        assert html.unescape(foot[1]) == f"https://kafka.example/schemas{path}"
        assert "print=1" not in printed.text

    run(story)


def test_the_window_is_no_part_of_what_is_printed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        first = await registry.get("/ui/subjects/wide/versions/2?prefix=f")
        following = re.search(r'href="/schemas(/ui[^"]*)" rel="next"', first.text)
        assert following is not None
        assert "after=" in following[1]
        second = await registry.get(html.unescape(following[1]))
        assert second.status == 200
        assert 'href="/schemas/ui/subjects/wide/versions/2?prefix=f&amp;print=1"' in second.text

    run(story)


def test_all_versions_of_a_subject_are_printed() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.put("/config/many", {"compatibility": "NONE"})
        for number in range(120):
            schema = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}"]})
            assert (await registry.register("many", schema)).status == 200
        row = r'<th scope="row"><a href="[^"]*">v\d+</a>'
        assert len(re.findall(row, (await registry.get("/ui/subjects/many")).text)) == 100
        printed = (await registry.get("/ui/subjects/many?print=1")).text
        assert len(re.findall(row, printed)) == 120
        assert FOOT.search(printed) is not None

    run(story)


@pytest.mark.slow
def test_a_comparison_is_printed_with_its_address() -> None:
    """Its tables have limits of their own, which the JSON has too; they are no windows."""

    async def story(registry: InProcessRegistry) -> None:
        path = "/ui/compare?from=wide%401&to=wide%402&view=split"
        usual, printed = await registry.get(path), await registry.get(f"{path}&print=1")
        assert 'print=1"' in usual.text
        assert usual.text.count("<tr") == printed.text.count("<tr") > 2
        foot = FOOT.search(printed.text)
        assert foot is not None
        assert html.unescape(foot[1]) == f"https://kafka.example/schemas{path}"

    run(story)


@pytest.mark.parametrize("path", ["/ui/", "/ui/subjects", "/ui/help", "/ui/compare"])
def test_other_pages_are_not_offered_to_be_printed(path: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert "print=1" not in (await registry.get(path)).text
        assert FOOT.search((await registry.get(f"{path}?print=1")).text) is None

    run(story)
