"""The pages of what is not there: the part that is missing, what removed it, and names like it."""

from __future__ import annotations

import asyncio
import html
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from counterfoil.registry.search.opening import open_index
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.use_cases import use_cases
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEXT = {"schema": '"string"'}
ONE = {"X_Request_Id": "one"}


@asynccontextmanager
async def registry_with_index(*subjects: str, removed: tuple[str, ...] = ()) -> AsyncIterator[InProcessRegistry]:
    """Yield a registry with some subjects, of which some have been removed for good."""
    storage, index = open_store("sqlite://"), open_index("sqlite://")
    registry = InProcessRegistry(storage, index=index, access=access(), denied_reads="404")
    for each in (*subjects, *removed):
        assert (await registry.send("POST", f"/subjects/{each}/versions", "admin", TEXT)).status == 200
    for each in removed:
        for query in ("", "?permanent=true"):
            assert (await registry.send("DELETE", f"/subjects/{each}{query}", "admin")).status == 200
    following = use_cases(storage, index=index).following
    assert following is not None
    await following.until_current()
    try:
        yield registry
    finally:
        await index.database.close()
        await storage.close()


def shown(found: Reply) -> str:
    """Return the content of a page as text."""
    main = re.search(r"<main.*?</main>", found.text, re.DOTALL)
    assert main is not None
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main[0])).split())


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("/ui/none", "page /ui/none"),
        ("/ui/subjects/none", "subject none"),
        ("/ui/subjects/none/versions/3", "subject none"),
        ("/ui/subject?name=none", "subject none"),
        ("/ui/subjects/own.orders/versions/9", "version 9 of subject own.orders"),
        ("/ui/subject?name=own.orders&version=9", "version 9 of subject own.orders"),
        ("/ui/subjects/own.orders/elements?path=a.b", "element a.b"),
        ("/ui/subjects/own.orders/versions/1?at=a.b", "place a.b"),
        ("/ui/ids/99", "schema id 99"),
        ("/ui/guids/none", "guid none"),
        ("/ui/rules/none", "rule none"),
        ("/ui/refusals/none", "request none"),
        ("/ui/topics/none", "topic none"),
        ("/ui/subjects/%3Cb%3E", "subject <b>"),
    ],
)
def test_the_missing_part_is_named(path: str, missing: str) -> None:
    async def story() -> None:
        async with registry_with_index("own.orders") as registry:
            found = await registry.send("GET", path, "admin")
            assert found.status == 404, found.text
            assert f"Missing: {missing} ." in shown(found)
            assert "<b>" not in found.text.replace("<b>404</b>", "")

    asyncio.run(story())


def test_the_change_that_removed_it_is_named() -> None:
    async def story() -> None:
        async with registry_with_index("own.kept", removed=("own.gone",)) as registry:
            found = await registry.send("GET", "/ui/subjects/own.gone", "reader")
            assert "removed for good by change 4 at 2" in shown(found)
            assert "removed for good" in shown(await registry.send("GET", "/ui/subjects/own.gone/versions/1", "reader"))
            await registry.send("PUT", "/config/own.kept", "admin", {"compatibility": "NONE"})
            await registry.send("POST", "/subjects/own.kept/versions", "admin", {"schema": '"int"'})
            for query in ("", "?permanent=true"):
                await registry.send("DELETE", f"/subjects/own.kept/versions/1{query}", "admin")
            version = await registry.send("GET", "/ui/subjects/own.kept/versions/1", "reader")
            assert "Missing: version 1 of subject own.kept ." in shown(version)
            assert "removed for good by change 8 at 2" in shown(version)
            assert 'href="/ui/subjects/own.kept"' in version.text
            never = await registry.send("GET", "/ui/subjects/own.kept/versions/9", "reader")
            assert (never.status, "removed for good" in never.text) == (404, False)

    asyncio.run(story())


def test_the_nearest_names_are_those_that_the_caller_may_read() -> None:
    async def story() -> None:
        names = ("own.orders-value", "own.invoices-value", "foreign.orders-value")
        async with registry_with_index(*names) as registry:
            path = "/ui/subjects/own.order-value"
            assert 'href="/ui/subjects/own.orders-value"' in (await registry.send("GET", path, "reader")).text
            part = (await registry.send("GET", "/ui/subjects/orders-value", "reader")).text
            assert 'href="/ui/subjects/own.orders-value"' in part
            assert "foreign" not in part
            assert (
                'href="/ui/subjects/foreign.orders-value"'
                in (await registry.send("GET", "/ui/subjects/orders-value", "admin")).text
            )
            far = await registry.send("GET", "/ui/subjects/zzzzzz", "admin")
            assert "Similar names" not in far.text

    asyncio.run(story())


@pytest.mark.parametrize(
    "path",
    [
        "/ui/subjects/foreign.orders-value",
        "/ui/subjects/foreign.orders-value/versions/1",
        "/ui/subjects/foreign.orders-value/versions/9",
        "/ui/subjects/foreign.orders-value?as_of=1",
        "/ui/subjects/foreign.order-value",
        "/ui/subject?name=foreign.orders-value",
        "/ui/subject?name=foreign.gone&version=1",
        "/ui/subjects/foreign.gone",
        "/ui/subjects/foreign.gone/versions/1?as_of=1",
        "/ui/subjects/orders-value",
        "/ui/ids/2",
    ],
)
def test_the_page_is_the_same_whether_what_the_caller_may_not_read_exists(path: str) -> None:
    """Two registries: one has subjects of others and has had one that is removed, the other one never had them."""

    async def asked(*others: str, removed: tuple[str, ...] = ()) -> tuple[int, str]:
        async with registry_with_index("own.orders-value", *others, removed=removed) as registry:
            found = await registry.send("GET", path, "reader", **ONE)
            return found.status, found.text

    async def story() -> None:
        there, absent = await asked("foreign.orders-value", removed=("foreign.gone",)), await asked()
        assert there == absent
        assert there[0] == 404

    asyncio.run(story())
