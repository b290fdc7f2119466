"""Finding a schema among many versions, without reading them all each time."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST
from counterfoil.registry.subjects.reading import PARSED_AT_ONCE
from counterfoil.registry.subjects.versions import SchemaRequest
from counterfoil.registry.use_cases import use_cases
from counterfoil.schema.contexts import parse_subject
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.registry.subjects.versions import Content

ORDERS = parse_subject("orders")
VERSIONS = 200


class CountingStorage(MemoryStorage):
    """Tells how many contents were read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.guids: set[UUID] = set()

    async def content(self, guid: UUID) -> Content | None:
        self.reads += 1
        self.guids.add(guid)
        return await super().content(guid)


def record(fields: int) -> SchemaRequest:
    names = [{"name": f"f{number}", "type": ["null", "int"], "default": None} for number in range(fields)]
    return SchemaRequest(text=json.dumps({"type": "record", "name": "R", "fields": names}))


def with_field(name: str) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": "int", "default": 0}]}


@pytest.mark.slow
def test_versions_of_another_length_are_read_once_and_never_again() -> None:
    async def main() -> None:
        storage = CountingStorage()
        for fields in range(40):
            await use_cases(storage).registration.register(ORDERS, record(fields), by=NO_REQUEST)
        cases = use_cases(storage)
        await cases.registration.register(ORDERS, record(50), by=NO_REQUEST)
        storage.reads = 0
        for fields in range(60, 70):
            await cases.registration.register(ORDERS, record(fields), by=NO_REQUEST)
        assert storage.reads == 0

    asyncio.run(main())


def test_versions_that_are_as_long_are_read_once_and_never_again_unless_their_characters_are_the_same() -> None:
    async def main() -> None:
        storage = CountingStorage()
        cases = use_cases(storage, memory_chars=1)
        for number in range(20):
            request = SchemaRequest(text=json.dumps(with_field(f"f{number:04}")))
            await cases.registration.register(ORDERS, request, force=True, by=NO_REQUEST)
        storage.guids.clear()
        await cases.registration.register(
            ORDERS, SchemaRequest(text=json.dumps(with_field("f2000"))), force=True, by=NO_REQUEST
        )
        history = await storage.history(ORDERS)
        read = [entry.version - 1 for entry in history.entries if entry.guid in storage.guids]
        assert read == [
            2,
            11,
            19,
        ]  # f0002 has the same characters, those of f0011 add up alike; the last is inherited from

    asyncio.run(main())


def test_the_same_in_another_order_is_found_among_many() -> None:
    async def main() -> None:
        cases = use_cases(MemoryStorage())
        for fields in range(12):
            await cases.registration.register(ORDERS, record(fields), by=NO_REQUEST)
        for fields in range(12):
            document = json.loads(record(fields).text or "")
            swapped = [dict(reversed(field.items())) for field in document["fields"]]
            again = SchemaRequest(text=json.dumps({"fields": swapped, "name": "R", "type": "record"}))
            found = await cases.registration.register(ORDERS, again, by=NO_REQUEST)
            assert (found.schema_id, found.version) == (fields + 1, fields + 1)

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("level", ["BACKWARD", "FULL_TRANSITIVE"])
def test_others_are_answered_while_a_long_history_is_read_for_the_first_time(level: str) -> None:
    async def main() -> None:
        storage = MemoryStorage()
        writer = InProcessRegistry(storage)
        await writer.put("/config", {"compatibility": "NONE"})
        for number in range(VERSIONS):
            assert (await writer.register("s", with_field(f"f{number:03}"))).status == 200
        await writer.put("/config", {"compatibility": level})
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count_turns())
        assert (await InProcessRegistry(storage).register("s", with_field("later"))).status == 200
        counting.cancel()
        assert turns > VERSIONS / PARSED_AT_ONCE

    asyncio.run(main())
