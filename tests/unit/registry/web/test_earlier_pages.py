"""Pages as of an earlier moment show what was then, and every link on them that keeps the moment is answered."""

from __future__ import annotations

import asyncio
import html
import re
from typing import TYPE_CHECKING, Any

import pytest

from strategies.pages.shop import ORDERS, shop_requests
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PATH = re.compile(r'(?:href|action)="(/[^"#]*)')
MOMENT = 8
"""The change by which orders has its first five versions, of which the fifth is not deleted yet."""


async def filled() -> InProcessRegistry:
    registry = InProcessRegistry()
    for each in list(shop_requests())[:16]:
        found = await getattr(registry, each.method.lower())(each.path, *([] if each.body is None else [each.body]))
        assert found.status == each.status, (each, found.text)
    return registry


def run(story: Callable[[InProcessRegistry], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        return await story(await filled())

    return asyncio.run(whole())


def main_of(text: str) -> str:
    """Return the content of a page as text."""
    main = re.search(r"<main.*?</main>", text, re.DOTALL)
    assert main is not None
    return html.unescape(re.sub(r"<[^>]+>", "", main[0]))


@pytest.mark.slow
def test_every_link_that_keeps_the_moment_is_answered() -> None:
    async def story(registry: InProcessRegistry) -> None:
        waiting, known = [f"/ui/?as_of={MOMENT}"], {f"/ui/?as_of={MOMENT}"}
        failures = []
        while waiting:
            path = waiting.pop()
            found = await registry.get(path)
            if found.status not in {200, 303}:
                failures.append((path, found.status, main_of(found.text)[-300:]))
            for link in map(html.unescape, PATH.findall(found.text)):
                if "as_of=" in link and link not in known:
                    known.add(link)
                    waiting.append(link)
        assert failures == []
        assert len(known) > 40

    run(story)


def test_the_first_page_and_the_changes_are_those_of_then() -> None:
    async def story(registry: InProcessRegistry) -> None:
        home = await registry.get(f"/ui/?as_of={MOMENT}")
        text = main_of(home.text)
        assert f"As of change {MOMENT}" in text
        assert "Version 6" not in text
        assert "was deleted" not in text
        then = text.partition("Subjects then")[2]
        assert [then.count(name) > 0 for name in ("common-money-value", "orders-key", ORDERS, "refunds-value")] == [
            True, True, True, False,
        ]  # fmt: skip
        changes = main_of((await registry.get(f"/ui/changes?as_of={MOMENT}")).text)
        assert "Version 5" in changes
        assert "Version 6" not in changes
        assert 'data-feed="' not in home.text
        assert "Version 6" in main_of((await registry.get("/ui/changes")).text)

    run(story)


@pytest.mark.parametrize(
    ("path", "is_dated"),
    [
        *((path, True) for path in ("/ui/", "/ui/changes", "/ui/subjects")),
        *((path, False) for path in ("/ui/help", "/ui/rules", "/ui/search", "/ui/ids/1")),
    ],
)
def test_a_page_offers_earlier_moments_if_it_has_some(path: str, *, is_dated: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert ('name="as_of"' in (await registry.get(path)).text) == is_dated
        assert (await registry.get(f"{path}?as_of={MOMENT}")).status == (200 if is_dated else 400)

    run(story)


# --- the first steps


@pytest.mark.parametrize(
    ("host", "settings", "address"),
    [
        ("registry.example:8081", {}, "http://registry.example:8081"),
        ("[::1]:8081", {}, "http://[::1]:8081"),
        ("registry.example", {"public_path": "/schemas"}, "http://registry.example/schemas"),
        ("registry.example", {"public_url": "https://kafka.example/schemas"}, "https://kafka.example/schemas"),
        ("<script>alert(1)</script>", {}, "http://localhost"),
        ("a' -o /etc/passwd", {}, "http://localhost"),
    ],
)
def test_an_empty_registry_names_its_own_address(host: str, settings: dict[str, str], address: str) -> None:
    async def story() -> None:
        registry = InProcessRegistry(allowed_hosts="*", **settings)
        for path in ("/ui/", "/ui/help"):
            found = await registry.ask("GET", path, None, {"Host": host})
            assert found.status == 200, found.text
            shown = html.unescape(found.text)
            assert host not in shown.replace(address, "")
            assert address in shown
        assert f"curl -X POST {address}/subjects/orders-value/versions" in html.unescape(
            (await registry.ask("GET", "/ui/", None, {"Host": host})).text
        )

    asyncio.run(story())
