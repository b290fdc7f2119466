"""The storages that run the same tests, and the compiled classes of the engine ``java``."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.opening import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from counterfoil.registry.store.protocol import Storage
    from strategies.engines.java import Convert


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    url: str = {
        "memory": lambda: "sqlite://",
        "sqlite": lambda: f"sqlite:///{tmp_path}/registry.db",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
    }[request.param]()
    return url


@pytest.fixture
def store(store_url: str) -> Callable[[], AbstractAsyncContextManager[Storage]]:
    """A function that opens the storage; a second call opens it again, which a file and a database survive."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Storage]:
        storage = open_store(store_url)
        try:
            yield storage
        finally:
            await storage.close()

    return opened


@pytest.fixture
def run(
    store: Callable[[], AbstractAsyncContextManager[Storage]],
) -> Callable[[Callable[[Storage], Awaitable[None]]], None]:
    """Run a coroutine function with an open storage."""

    def run_with(behaviour: Callable[[Storage], Awaitable[None]]) -> None:
        async def main() -> None:
            async with store() as storage:
                await behaviour(storage)

        asyncio.run(main())

    return run_with


@pytest.fixture(scope="session")
def convert(spark: Any) -> Convert:
    """Return a function that converts values with the compiled class of a conversion."""
    from strategies.engines.java import compiled  # most tests of this folder need no engine

    return compiled(spark)
