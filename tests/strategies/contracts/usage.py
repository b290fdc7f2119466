"""Stories about a registry of their own, and the statistics of topics that it is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from strategies.contracts.stories import BASE
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


def play(story: Callable[[InProcessRegistry], Coroutine[Any, Any, None]], **settings: Any) -> None:
    asyncio.run(story(InProcessRegistry(**settings)))


async def count(registry: InProcessRegistry, *ids: int, **more: Any) -> None:
    """Post statistics of the topic, in production, in which these schema ids are."""
    counts = [{"schemaId": each, "count": 1} for each in ids]
    body = {"records": len(ids), "schemas": counts, "environment": "production", **more}
    assert (await registry.post(f"{BASE}/topics/orders/stats", body)).status == 200
