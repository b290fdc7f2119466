"""Refusals where they are kept: in memory, in a SQLite file and in PostgreSQL, shared by servers and bounded."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.inspection.refusals import KEPT_MS, KeptRefusal, RefusalMemory
from counterfoil.registry.search.opening import open_index
from counterfoil.registry.search.stored_refusals import StoredRefusals, refusal_records
from counterfoil.registry.use_cases import epoch_ms
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.inspection import ReferenceName
from counterfoil.schema.rest.search_index import RefusalRow
from strategies.registry.waiting import until
from strategies.search.indexed import Indexed, indexed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from counterfoil.registry.inspection.refusals import RefusalRecords
    from counterfoil.registry.search.index import SearchIndex

NOW = 10 * KEPT_MS


def refusal(
    text: int, last: int, *, subject: str = "s", request: str = "", schema: str = "{", by: str | None = None
) -> KeptRefusal:
    request = request or f"r{text}-{last}"
    row = RefusalRow(request, subject, 40901, f"no {text} \x00\ud800é", NOW + last, NOW + last, by=by)
    references = (ReferenceName("a\x00", ":.eu:b", 3),)
    return KeptRefusal(row, "AVRO", schema, 7, references, (f"message {last}",), f"{text:064x}", (request,))


@asynccontextmanager
async def opened(url: str, **limits: Any) -> AsyncIterator[tuple[SearchIndex, RefusalRecords]]:
    index = open_index(url)
    await index.database.prepare()
    records: RefusalRecords = (
        StoredRefusals(index.database, lambda: NOW, **limits)
        if index.database.is_shared
        else RefusalMemory(lambda: NOW)
    )
    try:
        yield index, records
    finally:
        await records.close()
        await index.database.close()


async def all_of(records: RefusalRecords, subject: str | None = None, *, limit: int = 3) -> list[KeptRefusal]:
    found: list[KeptRefusal] = []
    while page := await records.newest(
        found[-1].place if found else "", limit, None if subject is None else parse_subject(subject)
    ):
        found += page
    return found


def test_what_is_kept_is_read_again_whole(store_url: str) -> None:
    async def main() -> None:
        hostile = '{"\ud800\x00": "' + "x" * 100_000
        async with opened(store_url) as (_, records):
            given = refusal(1, 5, subject=":.eu:a/\x00ü", request="r\xe9", schema=hostile, by="User:a")
            await records.add(given)
            assert await records.find("r\xe9") == [given]
            await records.close()  # it is stored, where there is a store
            assert await records.find("r\xe9") == [given]
            [row] = await records.newest("", 9, parse_subject(":.eu:a/\x00ü"))
            assert (row.row, row.references, row.place) == (given.row, given.references, given.place)
            assert await records.newest("", 9, parse_subject(":.eu:a/ü")) == []
            assert await records.find("r") == []

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_they_equal_those_in_memory(store_url: str, seed: int) -> None:
    """Whatever is added in whichever order, and however much of it is stored when it is read."""

    async def main() -> None:
        drawn = random.Random(seed)
        memory = RefusalMemory(lambda: NOW)
        async with opened(store_url) as (_, records):
            for step in range(40):
                text = drawn.randint(0, 12)
                given = refusal(text, 10 * step, subject=f"s{text % 3}", request=f"r{drawn.randint(0, 5)}")
                await memory.add(given)
                await records.add(given)
                if drawn.random() < 0.2:
                    await records.close()
                subject = drawn.choice((None, "s0", "none"))
                expected = await all_of(memory, subject)
                found = await all_of(records, subject, limit=drawn.randint(3, 6))
                assert [(each.row, each.digest) for each in found] == [(each.row, each.digest) for each in expected]
                request = f"r{drawn.randint(0, 6)}"
                assert await records.find(request) == await memory.find(request)

    asyncio.run(main())


def test_servers_of_one_store_count_together(store_url: str) -> None:
    async def main() -> None:
        async with opened(store_url) as (one, first), opened(store_url) as (_, second):
            if not one.database.is_shared:
                assert isinstance(refusal_records(one, lambda: NOW), RefusalMemory)
                assert isinstance(refusal_records(None, lambda: NOW), RefusalMemory)
                return
            for number in range(30):
                for server, records in enumerate((first, second)):
                    await records.add(refusal(1, 10 * number + server, request=f"{server}.{number}"))
                    if number == 0:
                        await records.close()  # both have it at hand
            await first.close()
            await second.close()
            for records in (first, second):
                [found] = await records.newest("", 9, None)
                assert (found.row.count, found.row.first, found.row.last) == (60, NOW, NOW + 291)
                assert len(found.request_ids) == 20
                assert [each.row.count for each in await records.find("1.29")] == [60]
                assert await records.find("0.0") == []  # the newest requests alone are named

    asyncio.run(main())


def test_the_newest_are_kept(store_url: str) -> None:
    async def main() -> None:
        async with opened(store_url, most=10) as (index, records):
            if not index.database.is_shared:
                return
            for number in range(25):
                await records.add(refusal(number, number))
                if number % 4 == 0:
                    await records.close()
            await records.close()
            assert [each.row.request_id for each in await all_of(records)] == [f"r{n}-{n}" for n in range(24, 14, -1)]
            assert await records.find("r14-14") == []
            requests = f"{index.database.dialect.schema}refusal_requests_1"
            async with index.database.reading() as found:
                assert (await found.rows(f"SELECT count(*) FROM {requests}"))[0][0] == 10
        async with opened(store_url, max_bytes=20_000) as (_, records):
            for number in range(30, 40):
                noise = random.Random(number).randbytes(4_000).hex()
                await records.add(refusal(number, number, schema=noise))
            await records.close()
            kept = [each.row.request_id for each in await all_of(records)]
            assert kept[0] == "r39-39"
            assert 2 <= len(kept) <= 5

    asyncio.run(main())


def test_they_end_after_a_time(store_url: str) -> None:
    async def main() -> None:
        async with opened(store_url) as (_, records):
            await records.add(refusal(1, -KEPT_MS - 1))
            await records.add(refusal(2, -KEPT_MS + 1))
            await records.close()
            assert [each.row.request_id for each in await records.newest("", 9, None)] == [f"r2-{1 - KEPT_MS}"]
            assert await records.find(f"r1-{-KEPT_MS - 1}") == []

    asyncio.run(main())


def test_an_index_that_is_built_anew_keeps_them(store_url: str) -> None:
    async def main() -> None:
        async with indexed(store_url) as one:
            await one.follow()
            database = one.index.database
            if not database.is_shared:
                return
            records = StoredRefusals(database, lambda: NOW)
            await one.register("a", '"int"')
            await one.follow()
            await records.add(refusal(1, 1))
            await records.close()
            async with database.writing() as writing:
                assert writing is not None
                await one.index.request_building(writing)
            await one.follow()
            assert len(await records.find("r1-1")) == 1
            await _make_older(database)
        async with indexed(store_url) as again:
            await again.follow()
            assert [hit.subject for hit in (await again.search("a")).hits] == ["a"]
            assert len(await StoredRefusals(again.index.database, lambda: NOW).find("r1-1")) == 1

    asyncio.run(main())


async def _make_older(database: Any) -> None:
    """Give an index another format."""
    async with database.writing() as writing:
        if database.dialect.schema:
            await writing.rows("UPDATE counterfoil_search.state SET document = '{\"format\": 0}'")
        else:
            await writing.rows("PRAGMA user_version = 0")


def test_they_wait_in_memory_while_another_server_writes(store_url: str) -> None:
    async def main() -> None:
        async with opened(store_url) as (other, _), opened(store_url) as (index, records):
            if not index.database.is_shared:
                return

            async def stored() -> int:
                async with index.database.reading() as found:
                    table = f"{index.database.dialect.schema}refusals_1"
                    return int((await found.rows(f"SELECT count(*) FROM {table}"))[0][0])

            async def is_stored() -> bool:
                return await stored() == 2

            await records.add(refusal(1, 1))
            await records.close()
            async with other.database.noting() as writing:
                assert writing is not None
                await records.add(refusal(2, 2))
                await asyncio.sleep(0)
                assert [each.row.request_id for each in await records.newest("", 9, None)] == ["r2-2", "r1-1"]
                assert len(await records.find("r2-2")) == 1
                assert await stored() == 1
            await until(is_stored)
            assert [each.row.request_id for each in await records.newest("", 9, None)] == ["r2-2", "r1-1"]

    asyncio.run(main())


def test_a_server_that_starts_again_shows_them(store_url: str) -> None:
    async def refused(opened: Indexed, text: str) -> str:
        reply = await opened.registry.register("a", text)
        assert reply.status == 409
        return reply.headers["x-request-id"]

    async def main() -> None:
        async with indexed(store_url) as one:
            await one.register("a", '"int"')
            early = await refused(one, '"string"')  # the index is not open yet
            assert (await one.registry.get(f"/inspect/v1/refusals/{early}")).status == 200
            await one.follow()
            late = await refused(one, '"bytes"')
            if not one.index.database.is_shared:
                return
            reader = StoredRefusals(one.index.database, epoch_ms)

            async def are_stored() -> bool:
                return bool(await reader.find(early)) and bool(await reader.find(late))

            await until(are_stored)
        async with indexed(store_url) as again:
            await again.follow()
            rows = (await again.registry.get("/inspect/v1/refusals")).json["refusals"]
            assert {each["requestId"] for each in rows} == {early, late}
            assert (await again.registry.get(f"/inspect/v1/refusals/{late}")).json["schema"] == '"bytes"'

    asyncio.run(main())
