"""Refusals in memory: bounded in number, in bytes and in time; and what is kept of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from counterfoil.registry.inspection import refusals
from counterfoil.registry.inspection.refusals import KEPT_MS, KeptRefusal, RefusalLog, RefusalMemory
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import Author, Requester
from counterfoil.registry.subjects.versions import SchemaRequest
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import InvalidSchema, OperationNotPermitted
from counterfoil.schema.rest.search_index import RefusalRow
from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    import pytest

BY = Requester(Author("User:a", "request"), None)


def refusal(number: int, *, last: int = 0, text: str = "x", subject: str = "s") -> KeptRefusal:
    row = RefusalRow(f"r{number}", subject, 40901, "no", last, last)
    return KeptRefusal(row, "AVRO", text, 0, digest=f"d{number}", request_ids=(f"r{number}",))


def test_it_is_bounded_in_bytes_and_keeps_the_newest() -> None:
    async def story() -> None:
        memory = RefusalMemory(lambda: 0, max_bytes=50_000)
        for number in range(40):
            await memory.add(refusal(number, last=number, text="x" * 4_000))
        kept = await memory.newest("", 100, None)
        assert [each.row.request_id for each in kept] == [f"r{number}" for number in range(39, 39 - len(kept), -1)]
        assert 5 <= len(kept) <= 12
        assert await memory.find("r0") == []

    asyncio.run(story())


def test_it_forgets_after_a_time() -> None:
    async def story() -> None:
        now = 0
        memory = RefusalMemory(lambda: now)
        await memory.add(refusal(1))
        await memory.add(refusal(2, last=10))
        now = KEPT_MS + 5
        assert [each.row.request_id for each in await memory.newest("", 9, None)] == ["r2"]
        now = KEPT_MS + 15
        assert await memory.newest("", 9, None) == []

    asyncio.run(story())


def test_the_same_text_moves_to_the_front_and_has_the_latest_requests() -> None:
    async def story() -> None:
        memory = RefusalMemory(lambda: 0)
        for number in (1, 2):
            await memory.add(refusal(number, last=number))
        for number in range(30):
            again = refusal(1, last=10 + number)
            await memory.add(KeptRefusal(again.row, "AVRO", "x", 0, digest="d1", request_ids=(f"again{number}",)))
        first, second = await memory.newest("", 9, None)
        assert (first.row.count, first.row.first, first.row.last, second.digest) == (31, 1, 39, "d2")
        assert len(first.request_ids) == 20
        assert await memory.find("again29") == [first]

    asyncio.run(story())


def test_what_is_no_refusal_is_not_kept_and_a_failure_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(RefusalMemory):
        async def add(self, refusal: KeptRefusal) -> None:
            raise OSError(refusal.digest)

    async def story() -> None:
        memory = RefusalMemory(lambda: 0)
        request, subject = SchemaRequest("{"), parse_subject("s")
        log = RefusalLog(MemoryStorage(), memory, now_ms=lambda: 0)
        await log.note(subject, request, OperationNotPermitted("no"), by=BY)
        await log.note(subject, request, InvalidSchema("no"), by=Requester(Author(None, None), None))
        assert await memory.newest("", 9, None) == []
        await log.note(subject, request, InvalidSchema("no"), by=BY)
        [kept] = await memory.newest("", 9, None)
        assert (kept.row.by, kept.row.error_code, kept.schema) == ("User:a", 42201, "{")
        await RefusalLog(MemoryStorage(), Broken(lambda: 0), now_ms=lambda: 0).note(
            subject, request, InvalidSchema("no"), by=BY
        )

    asyncio.run(story())
    assert "a refusal could not be kept" in caplog.text


def test_callers_see_refusals_of_what_they_may_read() -> None:
    async def story() -> None:
        registry = InProcessRegistry(access=access())
        reference = {"name": "x", "subject": "foreign.s", "version": 1}
        await registry.send("POST", "/subjects/own.s/versions", "owner", {"schema": "{"}, X_Request_Id="own")
        hidden: dict[str, Any] = {"schema": "{", "references": [reference]}
        await registry.send("POST", "/subjects/own.s/versions", "admin", hidden, X_Request_Id="hidden")
        for caller, expected in (("admin", ["hidden", "own"]), ("reader", ["own"]), ("nobody", [])):
            rows = (await registry.send("GET", "/inspect/v1/refusals", caller)).json["refusals"]
            assert [each["requestId"] for each in rows] == expected
            for request_id in ("own", "hidden"):
                reply = await registry.send("GET", f"/inspect/v1/refusals/{request_id}", caller)
                assert reply.status == (200 if request_id in expected else 404)
        assert rows == []

    asyncio.run(story())


def test_nothing_is_kept_with_the_setting_off() -> None:
    async def story() -> None:
        registry = InProcessRegistry(refusals="off")
        await registry.register("a", "{")
        assert (await registry.get("/inspect/v1/refusals")).json == {"refusals": []}

    asyncio.run(story())
    assert refusals.MAX_REFUSALS == 10_000
