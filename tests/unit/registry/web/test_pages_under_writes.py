"""A page that is made while others write names the change that is certain to be in it, and says that more may be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.driver import InProcessRegistry
from strategies.registry.hammer_pages import named_change, shown_versions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class BusyStorage(MemoryStorage):
    """A storage to which a version is written each time that a reader catches up, as often as ``writes`` says."""

    writes = 0
    write: Callable[[], Awaitable[object]] | None = None

    async def catch_up(self) -> None:
        """Write, and catch up."""
        if self.writes > 0 and self.write is not None:
            write, self.write = self.write, None
            self.writes -= 1
            await write()
            self.write = write
        await super().catch_up()


@pytest.mark.parametrize(("writes", "is_exact"), [(0, True), (1, True), (100, False)])
def test_the_change_that_a_page_names_is_in_it(writes: int, *, is_exact: bool) -> None:
    async def story() -> None:
        storage = BusyStorage()
        registry = InProcessRegistry(storage)
        await registry.put("/config/s", {"compatibility": "NONE"})
        number = 0

        async def register() -> None:
            nonlocal number
            number += 1
            made = await registry.post(
                "/subjects/s/versions", {"schema": f'{{"type":"fixed","name":"F","size":{number}}}'}
            )
            assert made.status == 200

        await register()
        storage.writes, storage.write = writes, register
        page = (await registry.get("/ui/subjects/s")).text
        storage.writes = 0
        change, found_exact = named_change(page)
        assert change is not None
        assert found_exact is is_exact
        versions = (await registry.get(f"/subjects/s/versions?as_of={change}")).json
        shown = shown_versions(page)
        assert shown[: len(versions)] == versions
        assert not is_exact or shown == versions

    asyncio.run(story())
