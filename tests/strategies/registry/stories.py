"""Sequences of requests to an empty registry, over either storage."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.registry.store.sqlite.storage import SqliteStorage
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


def record(name: str, *fields: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": field[0], "type": field[1], **({"default": field[2]} if len(field) > 2 else {})}
            for field in fields
        ],
    }


A = record("R", ("f1", "string"))
B = record("R", ("f1", "string"), ("f2", "string", ""))
C = record("R", ("f1", "string"), ("f2", "string", ""), ("f3", "string", ""))
X = record("R", ("f1", "int"))

Tell: TypeAlias = "Callable[[Callable[[Any], Awaitable[None]]], None]"


def teller(storage_name: str, folder: Path) -> Tell:
    """Return a function that runs a story against an empty registry on ``memory`` or on ``sqlite`` in ``folder``."""

    def run(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
        async def main() -> None:
            storage = None if storage_name == "memory" else SqliteStorage(folder / "registry.db")
            try:
                await story(InProcessRegistry(storage))
            finally:
                if storage is not None:
                    await storage.close()

        asyncio.run(main())

    return run
