"""Requests about associations, as short as the tests of them need."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.registry.store.memory import MemoryStorage
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STRING, INT, LONG = ('"string"', '"int"', '"long"')
OWN = ":.c1:orders-value"
OWN_KEY = ":.c1:orders-key"


def record(*fields: str) -> str:
    return json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": f, "type": "int", "default": 0} for f in fields]}
    )


def resource(*associations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The body about the topic ``orders`` of the namespace ``c1``."""
    names = {"resourceName": "orders", "resourceNamespace": "c1", "resourceId": "id-1"}
    kept = {name: value for name, value in {**names, **fields}.items() if value is not None}
    return {**kept, "associations": list(associations)}


def strong(text: str = STRING, **fields: Any) -> dict[str, Any]:
    return {"schema": {"schema": text}, **fields}


def weak(subject: str = "shared", **fields: Any) -> dict[str, Any]:
    return {"subject": subject, **fields}


@dataclass
class Asked:
    """What a story asks the registry with."""

    registry: InProcessRegistry

    async def create(self, *associations: dict[str, Any], query: str = "", **fields: Any) -> Any:
        return await self.registry.post(f"/associations{query}", resource(*associations, **fields))

    async def put(
        self, *associations: dict[str, Any], resource_id: str = "id-1", query: str = "", **fields: Any
    ) -> Any:
        body = resource(*associations, **{"resourceId": None, **fields})
        return await self.registry.put(f"/associations/resources/{resource_id}{query}", body)

    async def found(self, path: str = "/associations/resources/id-1") -> list[tuple[str, str, str]]:
        listed = (await self.registry.get(path)).json
        return [(each["associationType"], each["subject"], each["lifecycle"]) for each in listed]

    async def mutate(self, *associations: dict[str, Any], query: str = "", **fields: Any) -> dict[str, Any]:
        """The one slot of a batch about one resource."""
        reply = await self.registry.post(
            f"/associations:batchMutate{query}", {"requests": [resource(*associations, **fields)]}
        )
        assert reply.status == 207, reply.text
        (slot,) = reply.json["results"]
        assert isinstance(slot, dict)
        return slot


def code_of(slot: dict[str, Any]) -> int | None:
    return slot["error"]["error_code"] if "error" in slot else None


Story: TypeAlias = "Callable[[Asked], Awaitable[None]]"
Tell: TypeAlias = "Callable[[Story], None]"


def told_in_memory(story: Story) -> None:
    """Run a story on an empty registry in memory."""

    async def main() -> None:
        await story(Asked(InProcessRegistry(MemoryStorage())))

    asyncio.run(main())
