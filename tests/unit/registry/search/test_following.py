"""The task that follows the journal: what stops it, what does not, and what is listed as unreadable."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.judges.processes import JudgeDefect
from counterfoil.registry.search.following import Following
from counterfoil.registry.search.index import SearchIndex
from counterfoil.registry.search.protocol import IndexUnusable
from counterfoil.registry.search.sqlite import SqliteIndexDatabase
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.schema.errors import JudgementEnded, StoreUnavailable, TooManyJudgements
from strategies.registry.packed_judges import PackedJudges
from strategies.registry.waiting import until
from strategies.search.indexed import dumped, indexed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

RECORD = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'


class Damaged:
    """A storage whose contents are not what was registered, as on a disk that lost something."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def content(self, guid: UUID) -> Any:
        return replace(await self._storage.content(guid), text='"other"')


class Failing(SqliteIndexDatabase):
    """An index in memory whose next transactions raise ``errors``; ``removals`` counts how often it was removed."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__(None)
        self.errors = list(errors)
        self.removals = 0

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        if self.errors:
            raise self.errors.pop(0)
        async with super().writing() as found:
            yield found

    async def remove(self) -> None:
        self.removals += 1
        await super().remove()


def test_a_damaged_content_is_listed_and_stops_nothing():
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            await opened.register("orders", RECORD)
            await opened.register("rides", '"string"')
            storage: Any = Damaged(opened.storage)
            await Following(opened.index, storage, SchemaReader(storage, memory_chars=1000)).until_current()
            found = await opened.dump()
            assert [(scope, version) for scope, version, _ in found["unreadable"]] == [
                (".\x1forders", 1),
                (".\x1frides", 1),
            ]
            assert "is damaged" in found["unreadable"][0][2]
            assert [hit.text for hit in (await opened.search("orders")).hits] == ["orders"]

    asyncio.run(main())


def removals_after(*errors: Exception) -> int:
    """Return how often the index was removed until it is whole, whatever it raises first."""

    async def main() -> int:
        async with indexed("sqlite://") as opened:
            await opened.register("orders", RECORD)
            database = Failing(*errors)
            index = SearchIndex(database)
            task = asyncio.create_task(Following(index, opened.storage, opened.cases.reader).run())
            await until(lambda: _is_whole(index))
            task.cancel()
            assert [row[0] for row in (await dumped(index))["subjects"]] == [".\x1forders"]
            await database.close()
            return database.removals

    return asyncio.run(main())


async def _is_whole(index: SearchIndex) -> bool:
    try:
        async with index.database.reading() as found:
            return (await index.state(found)).current is not None
    except IndexUnusable:
        return False


@pytest.mark.slow
def test_only_an_index_that_cannot_be_used_is_removed():
    assert removals_after(IndexUnusable("damaged")) == 1
    assert removals_after(StoreUnavailable("away for a moment")) == 0
    assert removals_after(TooManyJudgements("busy")) == 0
    assert removals_after(ZeroDivisionError("a defect")) == 0


def test_a_name_that_is_too_long_is_listed():
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            await opened.register("n" * 700, RECORD)
            await opened.register("orders", RECORD)
            await opened.follow()
            [(scope, version, problem)] = (await opened.dump())["unreadable"]
            assert (len(scope), version) == (702, 0)
            assert "more than 600 characters" in problem
            assert {hit.subject for hit in (await opened.search("id")).hits} == {"orders"}

    asyncio.run(main())


def test_a_sensitive_property_is_found_by_its_name_alone():
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            metadata = {"properties": {"owner": "team", "token": "abcdef"}, "sensitive": ["token"]}
            await opened.register("orders", RECORD, metadata=metadata)
            await opened.follow()
            assert [hit.text for hit in (await opened.search("prop:token")).hits] == ["token"]
            assert not (await opened.search("abcdef")).hits
            assert [hit.text for hit in (await opened.search("prop:team")).hits] == ["owner=team"]

    asyncio.run(main())


def test_large_texts_are_read_in_the_judges():
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            fields = ",".join(f'{{"name":"field_{number}","type":"int"}}' for number in range(400))
            await opened.register("large", f'{{"type":"record","name":"Large","fields":[{fields}]}}')
            await opened.follow()
            assert [hit.text for hit in (await opened.search("field_399")).hits] == ["field_399"]
            assert (await opened.search("field")).counts == ("400 elements in 1 subject",)

    asyncio.run(main())


class Ended(PackedJudges):
    """Judges that end during each call."""

    async def _called(self, call: bytes) -> Any:
        del call
        raise JudgementEnded("its process was killed")


class Defective(PackedJudges):
    """Judges with a defect."""

    async def _called(self, call: bytes) -> Any:
        del call
        raise JudgeDefect("Traceback …")


@pytest.mark.slow
@pytest.mark.parametrize("judges", [PackedJudges, Ended, Defective])
def test_many_texts_are_read_by_judges_and_else_one_by_one(judges: type[PackedJudges]):
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            for number in range(70):
                field = {"name": f"field_{number}", "type": "string", "doc": f"The field {number}."}
                record = {"type": "record", "name": "Order", "fields": [field]}
                metadata = {"tags": {"Order.*": ["PII"]}, "properties": {"owner": f"team-{number}"}}
                await opened.register(f"s{number}", json.dumps(record), metadata=metadata)
            message = 'syntax = "proto3"; message Ride { int32 distance = 1; }'
            await opened.register("rides", message, schemaType="PROTOBUF")
            used, other = judges(), SearchIndex(SqliteIndexDatabase(None))
            reader = SchemaReader(opened.storage, memory_chars=10**6, large=LongJudgements(used))
            await Following(other, opened.storage, reader).until_current()
            await opened.follow()
            assert await dumped(other) == await opened.dump()
            assert used.works == ["facts_of_sources"] * 2
            await other.database.close()
            used.close()

    asyncio.run(main())


def test_how_far_it_is_behind():
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            await opened.follow()
            assert opened.following.behind == 0
            for subject in ("a", "b", "c"):
                await opened.register(subject, RECORD)
            assert opened.following.behind == 3
            await opened.follow()
            assert opened.following.behind == 0

    asyncio.run(main())
