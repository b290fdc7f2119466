"""Stories that are told to a registry over each store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from counterfoil.registry.store.protocol import Storage


@pytest.fixture
def tell(
    store: Callable[[], AbstractAsyncContextManager[Storage]],
) -> Callable[[Callable[[InProcessRegistry], Awaitable[None]]], None]:
    """Run a story against an empty registry."""

    def run(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
        async def main() -> None:
            async with store() as storage:
                await story(InProcessRegistry(storage))

        asyncio.run(main())

    return run
